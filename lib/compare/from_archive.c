/* SPDX-License-Identifier: MIT */
/*
 * compare/from_archive: the entries of an archive, and hashes of its files.
 *
 * An archive is read once, so every file is hashed while it is read. A hard link refers
 * to the last entry before it with its target's path; contents that follow with a later
 * name of a file (cpio) are those of all its names.
 */
#include <string.h>
#include <sys/stat.h>

#include "archive/list.h"
#include "compare/side.h"
#include "compare/sum.h"

#define NS_PER_SECOND 1000000000

/* A hard link. */
struct link {
	uint32_t number;
	uint64_t target; /* path, in the text */
	uint64_t size;	 /* contents stored with it */
	uint64_t sum[2];
};

struct archive_reading {
	struct side *side;
	struct sum *sum;
	struct link *links;
	size_t link_count, link_room;
	bool is_link; /* the current entry */
	bool has_fraction;
};

static int list_archive_entry(void *user, const struct archive_listed *from,
			      dwarfs_error **err)
{
	struct archive_reading *reading = user;
	struct side_listing *listing = &reading->side->listing;
	struct side_entry entry = {
		.target = NO_TEXT,
		.xattrs = NO_TEXT,
		.seconds = from->seconds,
		.nanoseconds = from->nanoseconds,
		.mode = from->mode,
		.uid = from->uid,
		.gid = from->gid,
		.major = from->major,
		.minor = from->minor,
		.file = NO_FILE,
		.known = from->has_time ? KNOWN_ALL : KNOWN_ALL & ~(unsigned)KNOWN_TIME,
	};
	struct side_entry *listed;
	struct link link = { 0 };
	uint32_t file, path;
	int ret;

	if (S_ISREG(from->mode) && !from->hard_link) {
		if ((ret = dw_side_add_file(listing, 0, 0, &file, err)) < 0)
			return ret;
		entry.file = file;
	}
	reading->has_fraction |= from->nanoseconds != 0;
	reading->is_link = from->hard_link != NULL;
	if ((ret = dw_side_path(listing, from->path, from->path_bytes, &path, err)) < 0)
		return ret;
	ret = dw_side_add(listing, path, &entry, &listed, err);
	if (ret == 0 && from->target) {
		listed->target_bytes = (uint32_t)strlen(from->target);
		ret = dw_side_text(listing, from->target, listed->target_bytes,
				   &listed->target, err);
	}
	if (ret < 0 || !from->hard_link)
		return ret;
	link.number = listed->number;
	if ((ret = dw_side_text(listing, from->hard_link, strlen(from->hard_link),
				&link.target, err)) < 0 ||
	    (ret = dw_grow(&reading->links, &reading->link_room, reading->link_count + 1,
			   err)) < 0)
		return ret;
	reading->links[reading->link_count++] = link;
	return 0;
}

static int take_xattr(void *user, const char *name, const void *value, size_t bytes,
		      dwarfs_error **err)
{
	struct archive_reading *reading = user;

	if (reading->side->is_bare)
		return 0;
	return dw_side_add_xattr(&reading->side->listing, name, value, bytes, err);
}

static int take_data(void *user, const void *data, size_t bytes, uint64_t offset,
		     dwarfs_error **err)
{
	struct archive_reading *reading = user;
	const uint64_t at = dw_sum_bytes(reading->sum);

	if (offset < at)
		return dw_fail(err, DWARFS_ERR_CORRUPT, "has contents out of order");
	if (reading->side->is_unread)
		return 0;
	dw_sum_hole(reading->sum, offset - at);
	dw_sum_data(reading->sum, data, bytes);
	return 0;
}

static int take_end(void *user, uint64_t size, dwarfs_error **err)
{
	struct archive_reading *reading = user;
	struct side_listing *listing = &reading->side->listing;
	const struct side_entry *listed = &listing->list[listing->count - 1];
	uint64_t sum[2];

	(void)err;
	if (size > dw_sum_bytes(reading->sum))
		dw_sum_hole(reading->sum, size - dw_sum_bytes(reading->sum));
	dw_sum_finish(reading->sum, sum);
	if (reading->is_link) {
		struct link *link = &reading->links[reading->link_count - 1];

		link->size = size;
		memcpy(link->sum, sum, sizeof(sum));
		return 0;
	}
	listing->files[listed->file].size = size;
	listing->files[listed->file].has_sum = true;
	memcpy(listing->files[listed->file].sum, sum, sizeof(sum));
	return 0;
}

/* -- links --------------------------------------------------------------------------- */

/* Entries by path and number. */
struct by_path {
	const struct side_listing *listing;
	uint32_t *numbers;
};

static int compare_numbers(const void *left, const void *right, void *user)
{
	const struct side_listing *listing = user;
	const uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	const uint32_t left_path = listing->list[a].path;
	const uint32_t right_path = listing->list[b].path;

	if (left_path != right_path)
		return left_path < right_path ? -1 : 1;
	return (a > b) - (a < b);
}

/* The last entry of a path before some number; else the first one of it; else none. */
static uint32_t find(const struct by_path *index, uint32_t path, uint32_t before)
{
	const struct side_listing *listing = index->listing;
	size_t low = 0, high = listing->count;
	uint32_t found = UINT32_MAX;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		const struct side_entry *listed = &listing->list[index->numbers[middle]];

		if (listed->path < path)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < listing->count; low++) {
		const uint32_t number = index->numbers[low];
		const struct side_entry *listed = &listing->list[number];

		if (listed->path != path || (number >= before && found != UINT32_MAX))
			break;
		if (number != before)
			found = number;
	}
	return found;
}

static int fail_link(const struct side_listing *listing, uint32_t path,
		     const char *target, dwarfs_error **err)
{
	auto_buffer struct buffer text = { 0 };
	int ret = dw_side_path_text(listing, path, &text, err);

	return ret < 0 ? ret
		       : dw_fail(err, DWARFS_ERR_CORRUPT,
				 "entry '%s' is a hard link to '%s', which is not there",
				 (const char *)text.data, target);
}

/* Attributes are those of the file. */
static int join(struct archive_reading *reading, const struct by_path *index,
		const struct link *link, dwarfs_error **err)
{
	struct side_listing *listing = &reading->side->listing;
	const char *path = dw_side_at(listing, link->target);
	struct side_entry *listed = &listing->list[link->number];
	const uint32_t target_path = dw_side_find_path(listing, path);
	const uint32_t target = target_path == NO_PATH
					? UINT32_MAX
					: find(index, target_path, link->number);
	const uint32_t own_path = listed->path;
	struct side_contents *contents;

	if (target == UINT32_MAX || (listing->list[target].file == NO_FILE &&
				     S_ISREG(listing->list[target].mode)))
		return fail_link(listing, own_path, path, err);
	*listed = listing->list[target];
	listed->path = own_path;
	listed->number = link->number;
	if (listed->file == NO_FILE || link->size == 0)
		return 0;
	contents = &listing->files[listed->file];
	contents->size = link->size;
	memcpy(contents->sum, link->sum, sizeof(contents->sum));
	return 0;
}

static int join_archive_links(struct archive_reading *reading, dwarfs_error **err)
{
	struct side_listing *listing = &reading->side->listing;
	auto_free uint32_t *numbers = NULL;
	struct by_path index = { .listing = listing };
	int ret = 0;

	if (reading->link_count == 0)
		return 0;
	index.numbers = numbers = dw_calloc(listing->count, sizeof(*numbers));
	if (!numbers)
		return dw_fail_nomem(err);
	for (size_t i = 0; i < listing->count; i++)
		numbers[i] = (uint32_t)i;
	qsort_r(numbers, listing->count, sizeof(*numbers), compare_numbers, listing);
	for (size_t i = 0; i < reading->link_count && ret == 0; i++)
		ret = join(reading, &index, &reading->links[i], err);
	return ret;
}

/* -- directories --------------------------------------------------------------------- */

/* Directories that are only mentioned in paths; nothing is known of them. */
static int add_parents(struct side_listing *listing, dwarfs_error **err)
{
	const struct side_entry directory = {
		.target = NO_TEXT,
		.xattrs = NO_TEXT,
		.mode = S_IFDIR | 0755,
		.file = NO_FILE,
	};
	auto_free bool *is_listed = NULL;
	struct side_entry *listed;
	uint32_t root;
	int ret = dw_side_path(listing, "", 0, &root, err);

	if (ret < 0)
		return ret;
	if (!(is_listed = dw_calloc(listing->path_count, sizeof(*is_listed))))
		return dw_fail_nomem(err);
	for (size_t i = 0; i < listing->count; i++)
		is_listed[listing->list[i].path] = true;
	for (uint32_t i = 0; i < listing->path_count && ret == 0; i++)
		if (!is_listed[i])
			ret = dw_side_add(listing, i, &directory, &listed, err);
	return ret;
}

int dw_list_archive(struct side *side, struct dwarfs_progress *progress,
		    dwarfs_error **err)
{
	static const struct archive_list_fns fns = { list_archive_entry, take_xattr,
						     take_data, take_end };
	struct archive_reading reading = { .side = side };
	int ret = dw_sum_new(&reading.sum, err);

	side->listing.has_links = true;
	if (ret == 0)
		ret = dw_archive_list(side->io, &fns, &reading, progress, err);
	if (ret == 0)
		ret = join_archive_links(&reading, err);
	if (ret == 0)
		ret = add_parents(&side->listing, err);
	side->listing.resolution_ns = reading.has_fraction ? 1 : NS_PER_SECOND;
	dw_sum_free(reading.sum);
	dw_free(reading.links);
	if (ret < 0 && ret != DWARFS_ERR_CANCELLED && dwarfs_io_name(side->io))
		dw_explain(err, ret, "'%s'", dwarfs_io_name(side->io));
	return ret;
}

bool dw_can_list_archives(void)
{
	return true;
}

int dw_is_archive(dwarfs_io *io, dwarfs_error **err)
{
	return dw_archive_is_one(io, err);
}
