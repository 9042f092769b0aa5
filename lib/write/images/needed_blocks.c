/* SPDX-License-Identifier: MIT */
/*
 * write/images/needed_blocks: which blocks of source images a new image needs.
 *
 * mark:    contents -> chunks in the image -> blocks; of equal ones the first (equal_blocks.c)
 * count:   blocks that are dropped or rewritten
 * compact: contents in blocks of which too much is not needed are stored anew; a block is
 *          judged by the contents of all images that are in it or in one equal to it
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

	if (ret < 0)
		return dw_explain(err, ret, "'%s'", image->name);
	if (chunk_out->block == DW_NONE || chunk_out->block < image->block_count)
		return 0;
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

static int mark_needed(const struct build_run *run, const struct image_file *file,
		       const struct kept_blocks *kept, dwarfs_error **err)
{
	const struct source_image *image = run->assembly->images[file->image];
	struct source_chunk chunk;
	uint32_t at = 0;
	int ret;

	while ((ret = next_stored(image, file, &at, &chunk, err)) > 0)
		dw_kept_place(kept, file->image, chunk.block)->number = 0;
	return ret;
}

void dw_needed_blocks_clear(const struct source_image *image, struct kept_place *places)
{
	for (uint32_t i = 0; i < image->block_count; i++)
		places[i].number = DW_NONE;
}

/* The file of an image that contents are kept in, or NULL. */
static const struct image_file *kept_file(const struct build_run *run,
					  const struct tree *tree,
					  const struct content *content)
{
	return content->kept_inode == DW_NONE
		       ? NULL
		       : dw_kept_file_of(run, &tree->inodes[content->kept_inode]);
}

/* Mark the blocks that contents are kept in. */
static int mark_kept(const struct build_run *run, const struct tree *tree,
		     const struct contents *contents, const struct kept_blocks *kept,
		     dwarfs_error **err)
{
	for (size_t i = 0; i < contents->count; i++) {
		const struct image_file *file = kept_file(run, tree, &contents->list[i]);
		int ret = file ? mark_needed(run, file, kept, err) : 0;

		if (ret < 0)
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
		    (ret = mark_needed(run, file, kept, err)) < 0)
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
		if ((ret = dw_source_stored_bytes(image, i, &bytes, err)) < 0)
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
	uint32_t image, block; /* whose place is used */
	uint32_t offset;
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

static bool is_compacted(const struct source_image *image)
{
	return image->keeps_blocks && !image->changes_block_size;
}

/* The file of an image whose blocks are compacted that contents are kept in, or NULL. */
static const struct image_file *compacted_file(const struct build_run *run,
					       const struct tree *tree,
					       const struct content *content)
{
	const struct image_file *file = kept_file(run, tree, content);

	return file && is_compacted(run->assembly->images[file->image]) ? file : NULL;
}

static int add_needed(struct needed_ranges *needed, const struct source_image *image,
		      const struct image_file *file, const struct kept_blocks *kept,
		      dwarfs_error **err)
{
	struct source_chunk chunk;
	uint32_t at = 0;
	int ret;

	while ((ret = next_stored(image, file, &at, &chunk, err)) > 0) {
		const struct kept_place *place = &kept->places[file->image][chunk.block];

		if ((ret = dw_grow(&needed->list, &needed->room, needed->count + 1,
				   err)) < 0)
			return ret;
		needed->list[needed->count++] =
			(struct needed_range){ place->image, place->block, chunk.offset,
					       chunk.size };
	}
	return ret;
}

static bool is_same_block(const struct needed_range *a, const struct needed_range *b)
{
	return a->image == b->image && a->block == b->block;
}

static int compare_ranges(const void *left, const void *right)
{
	const struct needed_range *a = left, *b = right;

	if (a->image != b->image)
		return a->image < b->image ? -1 : 1;
	if (a->block != b->block)
		return a->block < b->block ? -1 : 1;
	return a->offset < b->offset ? -1 : a->offset > b->offset;
}

/* How many bytes of the block of the first range are needed; *at_out is that of the next
 * block. */
static uint64_t count_needed(const struct needed_ranges *needed, size_t at,
			     size_t *at_out)
{
	const struct needed_range *first = &needed->list[at];
	uint64_t bytes = 0, end = 0;

	for (; at < needed->count && is_same_block(&needed->list[at], first); at++) {
		const struct needed_range *range = &needed->list[at];
		uint64_t to = range->offset + range->size;
		uint64_t from = range->offset > end ? range->offset : end;

		bytes += to > from ? to - from : 0;
		end = to > end ? to : end;
	}
	*at_out = at;
	return bytes;
}

/* Mark the blocks of which more than the limit is not needed. */
static int mark_sparse_blocks(const struct build_run *run,
			      const struct needed_ranges *needed,
			      const struct kept_blocks *kept, dwarfs_error **err)
{
	size_t at = 0;

	while (at < needed->count) {
		const struct needed_range *first = &needed->list[at];
		const struct source_image *image = run->assembly->images[first->image];
		uint64_t used = count_needed(needed, at, &at), bytes;
		int ret = dw_source_block_bytes(image, first->block, &bytes, err);

		if (ret < 0)
			return ret;
		if (used < bytes &&
		    (bytes - used) * 100 > (uint64_t)run->options->max_unused * bytes)
			kept->places[first->image][first->block].is_sparse = true;
	}
	return 0;
}

static int find_sparse_blocks(const struct build_run *run, const struct tree *tree,
			      const struct contents *contents,
			      const struct kept_blocks *kept, dwarfs_error **err)
{
	__attribute__((cleanup(free_needed))) struct needed_ranges needed = { 0 };

	for (size_t i = 0; i < contents->count; i++) {
		const struct image_file *file =
			compacted_file(run, tree, &contents->list[i]);
		int ret = file ? add_needed(&needed, run->assembly->images[file->image],
					    file, kept, err)
			       : 0;

		if (ret < 0)
			return ret;
	}
	if (needed.count > 0)
		qsort(needed.list, needed.count, sizeof(*needed.list), compare_ranges);
	return mark_sparse_blocks(run, &needed, kept, err);
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
			    const struct image_file *file, const struct kept_blocks *kept,
			    dwarfs_error **err)
{
	struct source_chunk chunk;
	uint32_t at = 0;
	int ret;

	while ((ret = next_stored(image, file, &at, &chunk, err)) > 0)
		if (dw_kept_place(kept, file->image, chunk.block)->is_sparse)
			return 1;
	return ret;
}

/* Whether contents in sparse blocks can be stored anew. Of an image whose damage is accepted,
 * those that cannot be decompressed stay in their blocks, which are copied. */
static int can_move(const struct source_image *image, const struct image_file *file,
		    const struct kept_blocks *kept, dwarfs_error **err)
{
	int ret = has_sparse_block(image, file, kept, err);

	if (ret <= 0 || !image->is_lenient)
		return ret;
	ret = image->ops->check_file(image->user, file->inode, NULL);
	return ret == DWARFS_ERR_NOMEM ? dw_fail_nomem(err) : ret == 0;
}

/* Let contents in blocks of which too much is not needed be stored anew; *moved_out is how
 * many they are. */
static int move_contents(const struct build_run *run, const struct tree *tree,
			 struct contents *contents, const struct kept_blocks *kept,
			 size_t *moved_out, dwarfs_error **err)
{
	int ret = find_sparse_blocks(run, tree, contents, kept, err);

	*moved_out = 0;
	if (ret < 0)
		return ret;
	for (size_t i = 0; i < contents->count; i++) {
		struct content *content = &contents->list[i];
		const struct image_file *file = compacted_file(run, tree, content);
		const struct source_image *image;
		struct fragment *fragment;

		if (!file)
			continue;
		image = run->assembly->images[file->image];
		if ((ret = can_move(image, file, kept, err)) == 0)
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

/* Count the blocks that were needed before, and are not now. */
static int count_moved(const struct build_run *run, const struct source_image *image,
		       const struct kept_place *places, dwarfs_error **err)
{
	for (uint32_t i = 0; i < image->block_count; i++) {
		uint64_t bytes;
		int ret;

		if (!places[i].was_needed || places[i].number != DW_NONE)
			continue;
		if ((ret = dw_source_stored_bytes(image, i, &bytes, err)) < 0)
			return ret;
		dw_source_block_count(run, image, i, DWARFS_COUNT_BLOCKS_REWRITTEN,
				      bytes);
	}
	return 0;
}

/* Remember the marks of the blocks that may be rewritten, and clear them. */
static void take_marks(const struct source_image *image, struct kept_place *places)
{
	for (uint32_t i = 0; i < image->block_count; i++)
		places[i].was_needed = places[i].number != DW_NONE;
	dw_needed_blocks_clear(image, places);
}

/* Mark the blocks anew, and count those that are rewritten. */
static int mark_again(const struct build_run *run, const struct tree *tree,
		      const struct contents *contents, const struct kept_blocks *kept,
		      dwarfs_error **err)
{
	const struct assembly *assembly = run->assembly;
	int ret;

	for (size_t i = 0; i < assembly->image_count; i++)
		if (is_compacted(assembly->images[i]))
			take_marks(assembly->images[i], kept->places[i]);
	ret = mark_kept(run, tree, contents, kept, err);
	for (size_t i = 0; i < assembly->image_count && ret == 0; i++)
		if (is_compacted(assembly->images[i]))
			ret = count_moved(run, assembly->images[i], kept->places[i], err);
	return ret;
}

/* Contents that are moved out of one block may leave parts of others without use. */
static int compact_images(struct build_run *run, const struct tree *tree,
			  struct contents *contents, const struct kept_blocks *kept,
			  dwarfs_error **err)
{
	size_t moved = 1;
	int ret;

	if (run->options->max_unused >= 100)
		return 0;
	for (unsigned pass = 0; pass < MAX_PASSES && moved > 0; pass++) {
		if ((ret = move_contents(run, tree, contents, kept, &moved, err)) < 0 ||
		    (ret = dw_progress_tick(&run->progress, err)) < 0)
			return ret;
	}
	return mark_again(run, tree, contents, kept, err);
}

/* -- all of it ------------------------------------------------------------------------- */

int dw_needed_blocks_find(struct build_run *run, const struct tree *tree,
			  struct contents *contents, const struct kept_blocks *kept,
			  dwarfs_error **err)
{
	const struct assembly *assembly = run->assembly;
	int ret;

	if ((ret = mark_kept(run, tree, contents, kept, err)) < 0 ||
	    (ret = dw_equal_blocks_find(run, kept, err)) < 0 ||
	    (ret = mark_repacked(run, tree, kept, err)) < 0 ||
	    (ret = count_dropped(run, kept, err)) < 0 ||
	    (ret = compact_images(run, tree, contents, kept, err)) < 0)
		return ret;
	for (size_t i = 0; i < assembly->image_count; i++)
		if (!assembly->images[i]->keeps_blocks)
			dw_needed_blocks_clear(assembly->images[i], kept->places[i]);
	return 0;
}
