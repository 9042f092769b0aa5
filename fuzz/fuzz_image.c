/* SPDX-License-Identifier: MIT */
/*
 * fuzz_image: open an image in one of many ways and call every reading function, through
 * public headers only.
 *
 * The last bytes of the input may choose the way (image_mode.h). Time and memory are
 * bounded by the limits below, whatever the image contains.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <dwarfs/dwarfs.h>

#include "fuzz.h"
#include "image_mode.h"

#define MAX_ENTRIES    4096	    /* of a walk or a directory */
#define MAX_READ_BYTES (1u << 22)   /* of all files together */
#define MAX_FILE_BYTES (256u << 10) /* of one file */

struct tour {
	const dwarfs_image *image;
	dwarfs_stat *stat;
	size_t bytes_left;
	size_t read_cost; /* in bytes, added to the size of each read */
	uint8_t buffer[16384];
};

static void describe(const dwarfs_image *image)
{
	const char *name;
	int64_t seconds;
	size_t i;

	dwarfs_image_format_minor(image);
	dwarfs_image_offset(image);
	dwarfs_image_bytes(image);
	dwarfs_image_block_bytes(image);
	dwarfs_image_original_bytes(image);
	dwarfs_image_hardlink_bytes(image);
	dwarfs_image_created_by(image);
	dwarfs_image_created_on(image, &seconds);
	dwarfs_image_has_index(image);
	dwarfs_image_is_mtime_only(image);
	fuzz_require(dwarfs_image_time_resolution_ns(image) > 0);
	for (i = 0; dwarfs_image_feature(image, i); i++)
		;
	for (i = 0; dwarfs_image_category(image, i); i++)
		;
	for (i = 0; dwarfs_image_packing(image, i); i++)
		;
	for (i = 0; i < MAX_ENTRIES && dwarfs_image_xattr_name(image, i, &name, NULL) > 0;
	     i++)
		fuzz_use(name, strlen(name));
	for (i = 0; i < dwarfs_image_block_count(image) && i < MAX_ENTRIES; i++)
		dwarfs_image_block_category(image, (uint32_t)i);
}

static void list_sections(const dwarfs_image *image)
{
	uint32_t count = dwarfs_image_section_count(image), i;
	uint64_t value;
	int field;

	for (i = 0; i < count && i < MAX_ENTRIES; i++)
		for (field = DWARFS_SECTION_FIELD_TYPE;
		     field <= DWARFS_SECTION_FIELD_NUMBER; field++)
			dwarfs_image_section(image, i, field, &value, NULL);
	fuzz_require(dwarfs_image_section(image, count, 0, &value, NULL) < 0);
}

static void read_history(const dwarfs_image *image)
{
	dwarfs_history *history = NULL;
	size_t step, item;
	int64_t seconds;
	int kind;

	if (dwarfs_history_new(image, &history, NULL) < 0)
		return;
	for (step = 0; step < dwarfs_history_count(history) && step < MAX_ENTRIES;
	     step++) {
		for (kind = DWARFS_HISTORY_VERSION; kind <= DWARFS_HISTORY_COMPILER;
		     kind++)
			fuzz_require(dwarfs_history_text(history, step, kind));
		for (kind = DWARFS_HISTORY_ARGUMENTS; kind <= DWARFS_HISTORY_LIBRARIES;
		     kind++)
			for (item = 0; dwarfs_history_item(history, step, kind, item);
			     item++)
				;
		dwarfs_history_time(history, step, &seconds);
	}
	dwarfs_history_free(history);
}

static void read_range(struct tour *tour, const dwarfs_file *file, uint64_t from,
		       uint64_t to)
{
	size_t bytes, used;

	while (from < to && tour->bytes_left > 0) {
		if (dwarfs_file_read(file, tour->buffer, sizeof(tour->buffer), from,
				     &bytes, NULL) < 0)
			return;
		fuzz_require(bytes > 0 && bytes <= sizeof(tour->buffer));
		fuzz_use(tour->buffer, bytes);
		used = bytes + tour->read_cost;
		tour->bytes_left -= used < tour->bytes_left ? used : tour->bytes_left;
		from += bytes;
	}
}

/* The start, the end, and the first extents. */
static void read_file(struct tour *tour, dwarfs_inode inode)
{
	uint64_t size, data, hole = 0;
	dwarfs_file *file = NULL;
	size_t bytes;
	int extents;

	if (dwarfs_file_open(tour->image, inode, &file, NULL) < 0)
		return;
	size = dwarfs_file_bytes(file);
	read_range(tour, file, 0, size < MAX_FILE_BYTES ? size : MAX_FILE_BYTES);
	if (size > MAX_FILE_BYTES)
		read_range(tour, file, size - 10, size);
	for (extents = 0; extents < 16; extents++) {
		if (dwarfs_file_seek_data(file, hole, &data, NULL) < 0 ||
		    dwarfs_file_seek_hole(file, data, &hole, NULL) < 0)
			break;
		fuzz_require(hole > data && hole <= size);
	}
	if (dwarfs_read(tour->image, inode, tour->buffer, 1, size, &bytes, NULL) == 0)
		fuzz_require(bytes == 0);
	dwarfs_file_free(file);
}

static void list_dir(struct tour *tour, dwarfs_inode inode)
{
	char name[DWARFS_NAME_BUFFER_BYTES];
	uint32_t count;
	dwarfs_entry entry, found;
	dwarfs_inode parent;
	size_t bytes;

	dwarfs_dir_parent(tour->image, inode, &parent, NULL);
	if (dwarfs_dir_range(tour->image, inode, &entry, &count, NULL) < 0)
		return;
	if (count > MAX_ENTRIES)
		count = MAX_ENTRIES;
	for (; count > 0; count--, entry.number++) {
		dwarfs_entry_dir(tour->image, entry, &parent, NULL);
		if (dwarfs_entry_name(tour->image, entry, name, sizeof(name), &bytes,
				      NULL) == 0)
			dwarfs_dir_find(tour->image, inode, name, bytes, &found, NULL);
	}
}

static void list_xattrs(struct tour *tour, dwarfs_inode inode)
{
	const char *name;
	const void *value;
	size_t bytes, again, names = 0;

	for (size_t i = 0;
	     dwarfs_xattr_at(tour->image, inode, i, &name, &value, &bytes, NULL) > 0;
	     i++) {
		fuzz_require(i < MAX_ENTRIES &&
			     strlen(name) < DWARFS_XATTR_NAME_BUFFER_BYTES);
		fuzz_use(value, bytes);
		names += strlen(name) + 1;
		fuzz_require(dwarfs_xattr_get(tour->image, inode, name, NULL, 0, &again,
					      NULL) == 0 &&
			     again == bytes);
	}
	if (dwarfs_xattr_list(tour->image, inode, (char *)tour->buffer,
			      sizeof(tour->buffer), &bytes, NULL) == 0)
		fuzz_require(bytes == names);
}

static void visit(struct tour *tour, dwarfs_entry entry)
{
	char target[DWARFS_LINK_BUFFER_BYTES];
	dwarfs_inode inode;
	size_t bytes;

	if (dwarfs_entry_inode(tour->image, entry, &inode, NULL) < 0)
		return;
	if (dwarfs_entry_stat(tour->image, entry, tour->stat, NULL) == 0) {
		dwarfs_stat_allocated_bytes(tour->stat);
		fuzz_require(dwarfs_stat_nanoseconds(tour->stat, DWARFS_MTIME) <
			     1000000000);
	}
	dwarfs_inode_stat(tour->image, inode, tour->stat, NULL);
	if (dwarfs_link_read(tour->image, inode, target, sizeof(target), &bytes, NULL) ==
	    0)
		fuzz_require(strlen(target) <= bytes);
	dwarfs_link_read_raw(tour->image, inode, target, 3, &bytes, NULL);
	list_dir(tour, inode);
	list_xattrs(tour, inode);
	if (tour->bytes_left > 0)
		read_file(tour, inode);
}

static void walk(struct tour *tour, int order)
{
	dwarfs_walk *steps = NULL;
	dwarfs_entry entry, found;
	unsigned count;

	if (dwarfs_walk_new(tour->image, DWARFS_ROOT_ENTRY, order, &steps, NULL) < 0)
		return;
	for (count = 0; count < MAX_ENTRIES; count++) {
		if (dwarfs_walk_next(steps, &entry, NULL) <= 0)
			break;
		dwarfs_find(tour->image, dwarfs_walk_path(steps), &found, NULL);
		dwarfs_walk_depth(steps);
		visit(tour, entry);
	}
	dwarfs_walk_free(steps);
}

/* -- many files at once ------------------------------------------------------------ */

/* How much was handed out, by any thread. */
struct pieces {
	atomic_size_t bytes;
};

/* Stops at the limit: a few bytes can claim many large files. */
static int take(struct pieces *pieces, const void *data, size_t bytes)
{
	if (data)
		fuzz_use(data, bytes);
	return atomic_fetch_add(&pieces->bytes, bytes) > MAX_READ_BYTES ? DWARFS_ERR_LIMIT
									: 0;
}

static int take_piece(dwarfs_inode inode, const void *data, size_t bytes, uint64_t offset,
		      dwarfs_error **err, void *user)
{
	(void)inode;
	(void)offset;
	(void)err;
	return take(user, data, bytes);
}

static int pass_over(dwarfs_inode inode, const dwarfs_error *why, dwarfs_error **err,
		     void *user)
{
	(void)inode;
	(void)err;
	(void)user;
	fuzz_require(dwarfs_error_code(why) < 0);
	return 0;
}

static int pass_over_part(dwarfs_inode inode, const dwarfs_error *why, uint32_t thread,
			  dwarfs_error **err, void *user)
{
	(void)thread;
	return pass_over(inode, why, err, user);
}

static int take_part(const dwarfs_part *part, uint32_t thread, dwarfs_error **err,
		     void *user)
{
	size_t i, bytes;
	uint64_t offset;
	int ret = 0;

	(void)thread;
	(void)err;
	for (i = 0; i < dwarfs_part_count(part) && ret == 0; i++) {
		const void *data = dwarfs_part_piece(part, i, &bytes, &offset);

		fuzz_require(data && offset + bytes <= dwarfs_part_file_bytes(part));
		ret = take(user, data, bytes);
	}
	return ret;
}

static void read_many(const dwarfs_image *image, const struct image_mode *mode)
{
	uint32_t count = dwarfs_image_inode_count(image), i;
	struct pieces pieces = { 0 };
	dwarfs_inode *inodes;

	if (count > MAX_ENTRIES)
		count = MAX_ENTRIES;
	inodes = calloc(count, sizeof(*inodes));
	for (i = 0; inodes && i < count; i++)
		inodes[i] = dwarfs_inode_at(count - 1 - i);
	if (inodes && mode->prefetch)
		dwarfs_prefetch(image, inodes, count, NULL);
	if (inodes && mode->in_order)
		dwarfs_read_in_order(image, inodes, count, take_piece, pass_over, &pieces,
				     NULL, NULL);
	if (inodes && mode->parallel)
		dwarfs_read_parallel(image, inodes, count, mode->workers % 2, take_part,
				     pass_over_part, &pieces, NULL, NULL);
	free(inodes);
}

static void see_everything(const dwarfs_image *image, const struct image_mode *mode)
{
	struct tour *tour = calloc(1, sizeof(*tour));
	uint64_t errors;

	if (tour && dwarfs_stat_new(&tour->stat, NULL) == 0) {
		tour->image = image;
		tour->bytes_left = MAX_READ_BYTES;
		/* Blocks that the cache cannot keep are decoded for each read. */
		if (dwarfs_image_block_bytes(image) > mode->cache_bytes)
			tour->read_cost = (size_t)dwarfs_image_block_bytes(image) / 64;
		describe(image);
		list_sections(image);
		read_history(image);
		read_many(image, mode);
		walk(tour, DWARFS_WALK_TREE);
		walk(tour, DWARFS_WALK_DATA);
		dwarfs_image_check(image, DWARFS_CHECK_INTEGRITY, NULL, NULL, NULL,
				   &errors, NULL);
		dwarfs_stat_free(tour->stat);
	}
	free(tour);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	dwarfs_error *err = NULL;
	struct image_mode mode;
	dwarfs_image *image;

	size = image_mode_take(data, size, &mode);
	image = image_mode_open(&mode, data, size, &err);
	if (image)
		see_everything(image, &mode);
	else if (err)
		fuzz_use(dwarfs_error_message(err), strlen(dwarfs_error_message(err)));
	dwarfs_error_free(err);
	dwarfs_image_free(image);
	return 0;
}
