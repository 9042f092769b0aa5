/* SPDX-License-Identifier: MIT */
/*
 * compare/image_sums: hashes of the files of an image.
 *
 * Files are hashed in the order of their data. As parts of a file may be stored far
 * apart, many files may be in progress at once; files beyond a limit are postponed to the
 * next round, and files whose parts are out of order are read separately.
 */
#include <dwarfs/file.h>

#include "compare/side.h"
#include "compare/sum.h"

#define MOST_UNDER_WAY ((size_t)8192)
#define READ_BYTES     ((size_t)1 << 20)

/* In the order of the data a hole is delivered in pieces of at most half of the address space: of
 * an exbibyte, half a billion calls where that is 2 GiB. A file of more pieces is read alone,
 * which skips holes. */
#define MOST_PIECES 4096

DW_DEFINE_AUTO(compare_file, dwarfs_file *, dwarfs_file_free)

struct image_summing {
	struct side *side;
	struct dwarfs_progress *progress;
	struct sum **sums; /* by file, of those under way */
	struct sum **free; /* that can be used again */
	size_t under_way, free_count, free_room;
	uint32_t *file_of; /* by inode */
	uint32_t *later;   /* files for the next round */
	size_t later_count, later_room;
	uint32_t *alone; /* files to be read alone */
	size_t alone_count, alone_room;
	dwarfs_error *error;
	int code;
};

static int fail(struct image_summing *summing, int code)
{
	summing->code = code;
	return DWARFS_ERR_CANCELLED;
}

static int put_back(struct image_summing *summing, uint32_t file)
{
	int ret = dw_grow(&summing->free, &summing->free_room, summing->free_count + 1,
			  &summing->error);

	if (ret < 0)
		return ret;
	summing->free[summing->free_count++] = dw_steal(summing->sums[file]);
	summing->under_way--;
	return 0;
}

static int take_sum(struct image_summing *summing, uint32_t file)
{
	int ret;

	if (summing->free_count > 0)
		summing->sums[file] = summing->free[--summing->free_count];
	else if ((ret = dw_sum_new(&summing->sums[file], &summing->error)) < 0)
		return ret;
	summing->under_way++;
	return 0;
}

/* It has to wait: for the next round, or until it is read alone. */
static int set_aside(struct image_summing *summing, uint32_t file, bool is_alone)
{
	uint32_t **list = is_alone ? &summing->alone : &summing->later;
	size_t *count = is_alone ? &summing->alone_count : &summing->later_count;
	size_t *room = is_alone ? &summing->alone_room : &summing->later_room;
	int ret = dw_grow(list, room, *count + 1, &summing->error);

	if (ret == 0)
		(*list)[(*count)++] = file;
	return ret;
}

/* A piece of a file that is not under way: its first one, or it was set aside. */
static int begin_sum(struct image_summing *summing, uint32_t file, uint64_t offset)
{
	struct side_contents *contents = &summing->side->listing.files[file];

	if (!contents->is_wanted)
		return 0;
	if (offset == 0 && summing->under_way < MOST_UNDER_WAY)
		return take_sum(summing, file);
	contents->is_wanted = false;
	return set_aside(summing, file, offset != 0);
}

static int end_file(struct image_summing *summing, uint32_t file)
{
	struct side_contents *contents = &summing->side->listing.files[file];

	dw_sum_finish(summing->sums[file], contents->sum);
	contents->has_sum = true;
	contents->is_wanted = false;
	summing->progress->items_done++;
	return put_back(summing, file);
}

static int sum_bytes(struct image_summing *summing, uint32_t file, const void *data,
		     size_t bytes, uint64_t offset)
{
	struct sum *sum = summing->sums[file];
	uint64_t none[2];

	if (dw_sum_bytes(sum) != offset) {
		summing->side->listing.files[file].is_wanted = false;
		dw_sum_finish(sum, none);
		if (put_back(summing, file) < 0)
			return DWARFS_ERR_NOMEM;
		return set_aside(summing, file, true);
	}
	if (bytes == 0)
		return end_file(summing, file);
	if (data)
		dw_sum_data(sum, data, bytes);
	else
		dw_sum_hole(sum, bytes);
	summing->progress->bytes_done += bytes;
	return 0;
}

static int sum_piece(dwarfs_inode inode, const void *data, size_t bytes, uint64_t offset,
		     dwarfs_error **err, void *user)
{
	struct image_summing *summing = user;
	const uint32_t file = summing->file_of[inode.number];
	int ret = 0;

	if (!summing->sums[file])
		ret = begin_sum(summing, file, offset);
	if (ret == 0 && summing->sums[file])
		ret = sum_bytes(summing, file, data, bytes, offset);
	if (ret == 0)
		ret = dw_progress_tick(summing->progress, &summing->error);
	return ret < 0 ? fail(summing, ret) : 0;
}

static int end_failed_sum(dwarfs_inode inode, const dwarfs_error *why, dwarfs_error **err,
			  void *user)
{
	struct image_summing *summing = user;
	const uint32_t file = summing->file_of[inode.number];
	uint64_t none[2];
	int ret = dw_side_trouble(&summing->side->listing, file,
				  dwarfs_error_message(why), &summing->error);

	summing->side->listing.files[file].is_wanted = false;
	if (ret == 0 && summing->sums[file]) {
		dw_sum_finish(summing->sums[file], none);
		ret = put_back(summing, file);
	}
	return ret < 0 ? fail(summing, ret) : 0;
}

/* As many of these files as may be under way. */
static int read_round(struct image_summing *summing, const uint32_t *files, size_t count,
		      dwarfs_error **err)
{
	struct side_listing *listing = &summing->side->listing;
	auto_free dwarfs_inode *inodes = dw_calloc(count + 1, sizeof(*inodes));
	int ret;

	if (!inodes)
		return dw_fail_nomem(err);
	for (size_t i = 0; i < count; i++) {
		listing->files[files[i]].is_wanted = true;
		inodes[i] = dwarfs_inode_at((uint32_t)listing->files[files[i]].id);
		summing->file_of[inodes[i].number] = files[i];
	}
	ret = dwarfs_read_in_order(summing->side->image, inodes, count, sum_piece,
				   end_failed_sum, summing, NULL, err);
	return summing->code < 0 ? dw_error_copy(err, summing->code, summing->error)
				 : ret;
}

/* Hash data up to an offset. */
static int read_image_data(struct image_summing *summing, const dwarfs_file *file,
			   uint64_t end, void *buffer, struct sum *sum,
			   dwarfs_error **err)
{
	size_t got = 1;
	int ret = 0;

	while (ret == 0 && dw_sum_bytes(sum) < end && got > 0) {
		const uint64_t left = end - dw_sum_bytes(sum);

		ret = dwarfs_file_read(file, buffer,
				       left < READ_BYTES ? (size_t)left : READ_BYTES,
				       dw_sum_bytes(sum), &got, err);
		if (ret == 0)
			dw_sum_data(sum, buffer, got);
		if (ret == 0)
			ret = dw_progress_tick(summing->progress, err);
	}
	return ret;
}

/* Holes are not read, whatever their size. */
static int read_alone(struct image_summing *summing, const dwarfs_file *file,
		      void *buffer, struct sum *sum, dwarfs_error **err)
{
	const uint64_t size = dwarfs_file_bytes(file);
	int ret = 0;

	while (ret == 0 && dw_sum_bytes(sum) < size) {
		auto_error dwarfs_error *why = NULL;
		const uint64_t at = dw_sum_bytes(sum);
		uint64_t data = size, hole = size;

		ret = dwarfs_file_seek_data(file, at, &data, &why);
		if (ret < 0 && ret != DWARFS_ERR_NOT_FOUND)
			return dw_error_copy(err, ret, why);
		if (ret == 0 && (ret = dwarfs_file_seek_hole(file, data, &hole, err)) < 0)
			return ret;
		dw_sum_hole(sum, data - at);
		ret = read_image_data(summing, file, hole, buffer, sum, err);
		if (ret == 0 && dw_sum_bytes(sum) < hole)
			return dw_fail(err, DWARFS_ERR_CORRUPT,
				       "the contents end before the file");
	}
	return ret;
}

static int sum_alone(struct image_summing *summing, uint32_t file, void *buffer,
		     struct sum *sum, dwarfs_error **err)
{
	struct side_contents *contents = &summing->side->listing.files[file];
	DW_AUTO(compare_file) dwarfs_file *opened = NULL;
	auto_error dwarfs_error *why = NULL;
	int ret =
		dwarfs_file_open(summing->side->image,
				 dwarfs_inode_at((uint32_t)contents->id), &opened, &why);

	if (ret == 0)
		ret = read_alone(summing, opened, buffer, sum, &why);
	dw_sum_finish(sum, contents->sum);
	contents->has_sum = ret == 0;
	if (dw_is_fatal(ret))
		return dw_error_copy(err, ret, why);
	if (ret < 0)
		return dw_side_trouble(&summing->side->listing, file,
				       dwarfs_error_message(why), err);
	return 0;
}

static int read_all_alone(struct image_summing *summing, dwarfs_error **err)
{
	auto_free void *buffer = NULL;
	auto_sum struct sum *sum = NULL;
	int ret;

	if (summing->alone_count == 0)
		return 0;
	if (!(buffer = dw_malloc(READ_BYTES)))
		return dw_fail_nomem(err);
	ret = dw_sum_new(&sum, err);
	for (size_t i = 0; i < summing->alone_count && ret == 0; i++)
		ret = sum_alone(summing, summing->alone[i], buffer, sum, err);
	return ret;
}

/* The files for the first round; those for which it would take long are set aside. */
static int choose_files(struct image_summing *summing, uint32_t *round, size_t *count_out)
{
	const struct side_listing *listing = &summing->side->listing;
	int ret = 0;

	for (size_t i = 0; i < listing->file_count && ret == 0; i++) {
		struct side_contents *contents = &listing->files[i];

		if (contents->is_wanted &&
		    contents->size / (SIZE_MAX / 2 + 1) > MOST_PIECES) {
			contents->is_wanted = false;
			ret = set_aside(summing, (uint32_t)i, true);
		} else if (contents->is_wanted) {
			round[(*count_out)++] = (uint32_t)i;
		}
	}
	return ret;
}

static int sum_all_files(struct image_summing *summing, dwarfs_error **err)
{
	struct side_listing *listing = &summing->side->listing;
	auto_free uint32_t *round = NULL;
	size_t count = 0;
	int ret = 0;

	summing->sums = dw_calloc(listing->file_count, sizeof(*summing->sums));
	summing->file_of = dw_calloc(dwarfs_image_inode_count(summing->side->image),
				     sizeof(*summing->file_of));
	round = dw_calloc(listing->file_count, sizeof(*round));
	if (!summing->sums || !summing->file_of || !round)
		return dw_fail_nomem(err);
	if ((ret = choose_files(summing, round, &count)) < 0)
		return dw_error_copy(err, ret, summing->error);
	while (count > 0 && ret == 0) {
		summing->later_count = 0;
		ret = read_round(summing, round, count, err);
		dw_free(round);
		round = dw_steal(summing->later);
		count = summing->later_count;
		summing->later_room = 0;
	}
	return ret == 0 ? read_all_alone(summing, err) : ret;
}

int dw_sum_image(struct side *side, struct dwarfs_progress *progress, dwarfs_error **err)
{
	struct image_summing summing = { .side = side, .progress = progress };
	const size_t files = side->listing.file_count;
	int ret = sum_all_files(&summing, err);

	for (size_t i = 0; summing.sums && i < files; i++)
		dw_sum_free(summing.sums[i]);
	for (size_t i = 0; i < summing.free_count; i++)
		dw_sum_free(summing.free[i]);
	dw_free(summing.sums);
	dw_free(summing.free);
	dw_free(summing.file_of);
	dw_free(summing.later);
	dw_free(summing.alone);
	dwarfs_error_free(summing.error);
	return ret;
}
