/* SPDX-License-Identifier: MIT */
/*
 * write/images/needed_blocks: which blocks of source images a new image needs.
 *
 * mark:    contents -> chunks in the image -> blocks
 * count:   blocks that are dropped or rewritten
 * compact: contents in blocks of which too much is not needed are stored anew
 */
#include <string.h>

#include "write/categorize/categorize.h"
#include "write/images/needed_blocks.h"
#include "write/items/assembly.h"

/* Of compaction: each stores contents anew that the one before made necessary. */
#define MAX_PASSES 64

/* -- which are needed ------------------------------------------------------------------ */

int dw_source_chunk_get(const struct source_image *image, uint64_t number,
			struct source_chunk *chunk_out, dwarfs_error **err)
{
	int ret = image->ops->chunk(image->user, number, chunk_out, err);

	if (ret < 0 || chunk_out->block == DW_NONE ||
	    chunk_out->block < image->block_count)
		return ret;
	return dw_fail(err, DWARFS_ERR_CORRUPT,
		       "'%s': a chunk is in block %" PRIu32 " of %" PRIu32, image->name,
		       chunk_out->block, image->block_count);
}

/* The next chunk of a file that is no hole, from number *at: 1, or 0 if there is none. */
static int next_stored(const struct source_image *image, const struct image_file *file,
		       uint32_t *at, struct source_chunk *chunk_out, dwarfs_error **err)
{
	while (*at < file->chunk_count) {
		int ret = dw_source_chunk_get(image, file->first_chunk + (*at)++,
					      chunk_out, err);

		if (ret < 0)
			return ret;
		if (chunk_out->block != DW_NONE)
			return 1;
	}
	return 0;
}

static int mark_needed(const struct source_image *image, const struct image_file *file,
		       struct kept_place *places, dwarfs_error **err)
{
	struct source_chunk chunk;
	uint32_t at = 0;
	int ret;

	while ((ret = next_stored(image, file, &at, &chunk, err)) > 0)
		places[chunk.block].number = 0;
	return ret;
}

void dw_needed_blocks_clear(const struct source_image *image, struct kept_place *places)
{
	for (uint32_t i = 0; i < image->block_count; i++)
		places[i].number = DW_NONE;
}

/* Mark the blocks that contents are kept in. */
static int mark_kept(const struct build_run *run, const struct tree *tree,
		     const struct contents *contents, const struct kept_blocks *kept,
		     dwarfs_error **err)
{
	for (size_t i = 0; i < contents->count; i++) {
		const struct image_file *file;
		int ret;

		if (contents->list[i].kept_inode == DW_NONE)
			continue;
		file = dw_kept_file_of(run, &tree->inodes[contents->list[i].kept_inode]);
		if ((ret = mark_needed(run->assembly->images[file->image], file,
				       kept->places[file->image], err)) < 0)
			return ret;
	}
	return 0;
}

/* Mark the blocks of images that are packed again. */
static int mark_repacked(const struct build_run *run, const struct tree *tree,
			 const struct kept_blocks *kept, dwarfs_error **err)
{
	for (size_t i = 0; i < tree->inode_count; i++) {
		const struct image_file *file = dw_image_file_of(run, &tree->inodes[i]);
		int ret;

		if (file && !run->assembly->images[file->image]->keeps_blocks &&
		    (ret = mark_needed(run->assembly->images[file->image], file,
				       kept->places[file->image], err)) < 0)
			return ret;
	}
	return 0;
}

/* -- counts ---------------------------------------------------------------------------- */

void dw_source_block_count(const struct build_run *run, const struct source_image *image,
			   uint32_t block, enum dwarfs_count count, uint64_t bytes)
{
	const char *what = count == DWARFS_COUNT_BLOCKS_COPIED	    ? "copied"
			   : count == DWARFS_COUNT_BLOCKS_REWRITTEN ? "rewritten"
								    : "dropped";

	run->counts[count]++;
	run->counts[count + 1] += bytes; /* the one of bytes follows that of blocks */
	dw_log(run->context, DWARFS_LOG_VERBOSE,
	       "'%s': block %" PRIu32 ", %" PRIu64 " bytes: %s", image->name, block,
	       bytes, what);
}

/* Count the marked blocks of an image as rewritten, or those without a mark as dropped. Blocks
 * of a base are not dropped: they stay in the base. */
static int count_marked(const struct build_run *run, const struct source_image *image,
			const struct kept_place *places, bool needed, dwarfs_error **err)
{
	for (uint32_t i = 0; i < image->block_count && (needed || !image->is_base); i++) {
		uint64_t bytes;
		int ret;

		if ((places[i].number != DW_NONE) != needed)
			continue;
		if ((ret = image->ops->stored_bytes(image->user, i, &bytes, err)) < 0)
			return ret;
		dw_source_block_count(run, image, i,
				      needed ? DWARFS_COUNT_BLOCKS_REWRITTEN
					     : DWARFS_COUNT_BLOCKS_DROPPED,
				      bytes);
	}
	return 0;
}

/* Count the blocks that are not kept: before compaction, those that nothing needs. */
static int count_dropped(const struct build_run *run, const struct kept_blocks *kept,
			 dwarfs_error **err)
{
	const struct assembly *assembly = run->assembly;
	int ret = 0;

	for (size_t i = 0; i < assembly->image_count && ret == 0; i++) {
		const struct source_image *image = assembly->images[i];

		ret = count_marked(run, image, kept->places[i], false, err);
		if (ret == 0 && !image->keeps_blocks)
			ret = count_marked(run, image, kept->places[i], true, err);
	}
	return ret;
}

/* -- compaction ------------------------------------------------------------------------ */

/* A range of a block that contents need. */
struct needed_range {
	uint32_t block, offset;
	uint64_t size;
};

struct needed_ranges {
	struct needed_range *list;
	size_t count, room;
};

static void free_needed(struct needed_ranges *needed)
{
	dw_free(needed->list);
}

static int add_needed(struct needed_ranges *needed, const struct source_image *image,
		      const struct image_file *file, dwarfs_error **err)
{
	struct source_chunk chunk;
	uint32_t at = 0;
	int ret;

	while ((ret = next_stored(image, file, &at, &chunk, err)) > 0) {
		if ((ret = dw_grow(&needed->list, &needed->room, needed->count + 1,
				   err)) < 0)
			return ret;
		needed->list[needed->count++] =
			(struct needed_range){ chunk.block, chunk.offset, chunk.size };
	}
	return ret;
}

static int compare_ranges(const void *left, const void *right)
{
	const struct needed_range *a = left, *b = right;

	if (a->block != b->block)
		return a->block < b->block ? -1 : 1;
	return a->offset < b->offset ? -1 : a->offset > b->offset;
}

/* How many bytes of the block of the first range are needed; *at_out is that of the next
 * block. */
static uint64_t count_needed(const struct needed_ranges *needed, size_t at,
			     size_t *at_out)
{
	uint32_t block = needed->list[at].block;
	uint64_t bytes = 0, end = 0;

	for (; at < needed->count && needed->list[at].block == block; at++) {
		const struct needed_range *range = &needed->list[at];
		uint64_t to = range->offset + range->size;
		uint64_t from = range->offset > end ? range->offset : end;

		bytes += to > from ? to - from : 0;
		end = to > end ? to : end;
	}
	*at_out = at;
	return bytes;
}

/* Mark the blocks of an image of which more than the limit is not needed. */
static int mark_sparse_blocks(const struct build_run *run,
			      const struct source_image *image,
			      const struct needed_ranges *needed, uint8_t *is_sparse,
			      dwarfs_error **err)
{
	size_t at = 0;

	while (at < needed->count) {
		uint32_t block = needed->list[at].block;
		uint64_t used = count_needed(needed, at, &at), bytes;
		int ret = image->ops->block_bytes(image->user, block, &bytes, err);

		if (ret < 0)
			return ret;
		if (used < bytes &&
		    (bytes - used) * 100 > (uint64_t)run->options->max_unused * bytes)
			is_sparse[block] = true;
	}
	return 0;
}

/* The stream for contents that are stored anew: that of their first block, unless its bytes
 * are samples, which need not begin there. */
static int find_new_stream(struct contents *contents, const struct source_image *image,
			   const struct image_file *file, uint32_t *stream_out,
			   dwarfs_error **err)
{
	uint32_t category = CATEGORY_DEFAULT, at = 0;
	struct source_chunk chunk;
	int ret = next_stored(image, file, &at, &chunk, err);

	if (ret < 0)
		return ret;
	if (ret > 0 && !dw_category_samples(image->blocks[chunk.block].category))
		category = image->blocks[chunk.block].category;
	return dw_streams_find(&contents->streams, category, 0, NULL, NULL, stream_out,
			       err);
}

static int has_sparse_block(const struct source_image *image,
			    const struct image_file *file, const uint8_t *is_sparse,
			    dwarfs_error **err)
{
	struct source_chunk chunk;
	uint32_t at = 0;
	int ret;

	while ((ret = next_stored(image, file, &at, &chunk, err)) > 0)
		if (is_sparse[chunk.block])
			return 1;
	return ret;
}

/* The file of an image that contents are kept in, if it is this image. */
static const struct image_file *file_in(const struct build_run *run,
					const struct tree *tree,
					const struct content *content, uint32_t image)
{
	const struct image_file *file;

	if (content->kept_inode == DW_NONE)
		return NULL;
	file = dw_kept_file_of(run, &tree->inodes[content->kept_inode]);
	return file->image == image ? file : NULL;
}

/* Whether contents in sparse blocks can be stored anew. Of an image whose damage is accepted,
 * those that cannot be decompressed stay in their blocks, which are copied. */
static int can_move(const struct source_image *image, const struct image_file *file,
		    const uint8_t *is_sparse, dwarfs_error **err)
{
	int ret = has_sparse_block(image, file, is_sparse, err);

	if (ret <= 0 || !image->is_lenient)
		return ret;
	ret = image->ops->check_file(image->user, file->inode, NULL);
	return ret == DWARFS_ERR_NOMEM ? dw_fail_nomem(err) : ret == 0;
}

/* Let contents in blocks of which too much is not needed be stored anew; *moved_out is how
 * many they are. */
static int move_contents(const struct build_run *run, const struct tree *tree,
			 struct contents *contents, uint32_t number, size_t *moved_out,
			 dwarfs_error **err)
{
	const struct source_image *image = run->assembly->images[number];
	__attribute__((cleanup(free_needed))) struct needed_ranges needed = { 0 };
	auto_free uint8_t *is_sparse = dw_calloc(image->block_count, 1);
	int ret;

	*moved_out = 0;
	if (!is_sparse)
		return dw_fail_nomem(err);
	for (size_t i = 0; i < contents->count; i++) {
		const struct image_file *file =
			file_in(run, tree, &contents->list[i], number);

		if (file && (ret = add_needed(&needed, image, file, err)) < 0)
			return ret;
	}
	if (needed.count > 0)
		qsort(needed.list, needed.count, sizeof(*needed.list), compare_ranges);
	if ((ret = mark_sparse_blocks(run, image, &needed, is_sparse, err)) < 0)
		return ret;
	for (size_t i = 0; i < contents->count; i++) {
		struct content *content = &contents->list[i];
		const struct image_file *file = file_in(run, tree, content, number);
		struct fragment *fragment;

		if (!file || (ret = can_move(image, file, is_sparse, err)) == 0)
			continue;
		fragment = &contents->fragments[content->first_fragment];
		if (ret < 0 || (ret = find_new_stream(contents, image, file,
						      &fragment->stream, err)) < 0)
			return ret;
		content->kept_inode = DW_NONE;
		++*moved_out;
	}
	return 0;
}

/* Mark the blocks of one image that contents are kept in. */
static int mark_kept_in(const struct build_run *run, const struct tree *tree,
			const struct contents *contents, uint32_t number,
			struct kept_place *places, dwarfs_error **err)
{
	const struct source_image *image = run->assembly->images[number];

	dw_needed_blocks_clear(image, places);
	for (size_t i = 0; i < contents->count; i++) {
		const struct image_file *file =
			file_in(run, tree, &contents->list[i], number);
		int ret = file ? mark_needed(image, file, places, err) : 0;

		if (ret < 0)
			return ret;
	}
	return 0;
}

/* Count the blocks that were needed before, and are not now. */
static int count_moved(const struct build_run *run, const struct source_image *image,
		       const struct kept_place *places, const uint8_t *were_needed,
		       dwarfs_error **err)
{
	for (uint32_t i = 0; i < image->block_count; i++) {
		uint64_t bytes;
		int ret;

		if (!were_needed[i] || places[i].number != DW_NONE)
			continue;
		if ((ret = image->ops->stored_bytes(image->user, i, &bytes, err)) < 0)
			return ret;
		dw_source_block_count(run, image, i, DWARFS_COUNT_BLOCKS_REWRITTEN,
				      bytes);
	}
	return 0;
}

/* Contents that are moved out of one block may leave parts of others without use. */
static int compact_image(struct build_run *run, const struct tree *tree,
			 struct contents *contents, uint32_t number,
			 struct kept_place *places, dwarfs_error **err)
{
	const struct source_image *image = run->assembly->images[number];
	auto_free uint8_t *were_needed = dw_calloc(image->block_count, 1);
	size_t moved = 1;
	int ret;

	if (!were_needed)
		return dw_fail_nomem(err);
	for (uint32_t i = 0; i < image->block_count; i++)
		were_needed[i] = places[i].number != DW_NONE;
	for (unsigned pass = 0; pass < MAX_PASSES && moved > 0; pass++) {
		if ((ret = move_contents(run, tree, contents, number, &moved, err)) < 0 ||
		    (ret = dw_progress_tick(&run->progress, err)) < 0)
			return ret;
	}
	if ((ret = mark_kept_in(run, tree, contents, number, places, err)) < 0)
		return ret;
	return count_moved(run, image, places, were_needed, err);
}

static int compact_images(struct build_run *run, const struct tree *tree,
			  struct contents *contents, const struct kept_blocks *kept,
			  dwarfs_error **err)
{
	const struct assembly *assembly = run->assembly;

	if (run->options->max_unused >= 100)
		return 0;
	for (uint32_t i = 0; i < assembly->image_count; i++) {
		int ret;

		if (!assembly->images[i]->keeps_blocks ||
		    assembly->images[i]->changes_block_size)
			continue;
		ret = compact_image(run, tree, contents, i, kept->places[i], err);
		if (ret < 0)
			return ret;
	}
	return 0;
}
/* -- all of it ------------------------------------------------------------------------- */

int dw_needed_blocks_find(struct build_run *run, const struct tree *tree,
			  struct contents *contents, const struct kept_blocks *kept,
			  dwarfs_error **err)
{
	const struct assembly *assembly = run->assembly;
	int ret;

	if ((ret = mark_kept(run, tree, contents, kept, err)) < 0 ||
	    (ret = mark_repacked(run, tree, kept, err)) < 0 ||
	    (ret = count_dropped(run, kept, err)) < 0 ||
	    (ret = compact_images(run, tree, contents, kept, err)) < 0)
		return ret;
	for (size_t i = 0; i < assembly->image_count; i++)
		if (!assembly->images[i]->keeps_blocks)
			dw_needed_blocks_clear(assembly->images[i], kept->places[i]);
	return 0;
}
