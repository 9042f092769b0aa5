/* SPDX-License-Identifier: MIT */
/*
 * write/segment/locality: how many blocks the files of a directory are spread over.
 *
 * Foreign blocks are ranked by how many bytes a unit has in them, batch by batch; those
 * that it was once allowed stay allowed. Stores nothing itself.
 */
#include <string.h>

#include "write/segment/locality.h"

/* A file smaller than that is in one foreign block at most. */
#define SMALL_FILE_BYTES ((uint64_t)64 << 10)

struct directory_unit {
	uint64_t bytes; /* seen so far */
	uint32_t *blocks;
	size_t count, room;
	size_t foreign; /* of these blocks */
};

/* Bytes of a batch in a foreign block. */
struct share {
	uint32_t block;
	uint64_t bytes;
};

struct locality {
	struct locality_options options;
	const struct tree *tree;
	const struct contents *contents;
	uint32_t *unit_of; /* by directory */
	struct directory_unit *units;
	size_t unit_count;
	struct share *shares;
	size_t share_count, share_room;
};

/* -- units -------------------------------------------------------------------------- */

/* The directory that has an entry: the last one that begins there or before. */
static size_t directory_of(const struct tree *tree, uint32_t entry)
{
	size_t low = 0, high = tree->directory_count;

	while (low + 1 < high) {
		size_t middle = low + (high - low) / 2;

		if (tree->directories[middle].first_entry <= entry)
			low = middle;
		else
			high = middle;
	}
	return low;
}

static size_t directory_of_content(const struct locality *locality, uint32_t content)
{
	uint32_t inode = locality->contents->list[content].inode;

	return directory_of(locality->tree, locality->tree->inodes[inode].entry);
}

/* A directory comes before those below it, so its parent is known first. */
static void number_units(struct locality *locality, const uint64_t *bytes)
{
	const struct tree *tree = locality->tree;

	for (size_t i = 0; i < tree->directory_count; i++) {
		if (i > 0 && bytes[i] < locality->options.block_bytes)
			locality->unit_of[i] = locality->unit_of[directory_of(
				tree, tree->directories[i].entry)];
		else
			locality->unit_of[i] = (uint32_t)locality->unit_count++;
	}
}

int dw_locality_new(const struct locality_options *options, const struct tree *tree,
		    const struct contents *contents, struct locality **locality_out,
		    dwarfs_error **err)
{
	DW_AUTO(locality) struct locality *locality = dw_calloc(1, sizeof(*locality));
	auto_free uint64_t *bytes = dw_calloc(tree->directory_count, sizeof(*bytes));

	if (!locality || !bytes)
		return dw_fail_nomem(err);
	locality->options = *options;
	locality->tree = tree;
	locality->contents = contents;
	locality->unit_of = dw_calloc(tree->directory_count, sizeof(uint32_t));
	if (!locality->unit_of)
		return dw_fail_nomem(err);
	for (size_t i = 0; i < contents->fragment_count; i++) {
		const struct fragment *fragment = &contents->fragments[i];

		if (fragment->stream == options->stream)
			bytes[directory_of_content(locality, fragment->content)] +=
				fragment->size;
	}
	for (size_t i = tree->directory_count; i-- > 1;)
		bytes[directory_of(tree, tree->directories[i].entry)] += bytes[i];
	number_units(locality, bytes);
	locality->units = dw_calloc(locality->unit_count, sizeof(*locality->units));
	if (!locality->units)
		return dw_fail_nomem(err);
	*locality_out = dw_steal(locality);
	return 0;
}

void dw_locality_free(struct locality *locality)
{
	if (!locality)
		return;
	for (size_t i = 0; locality->units && i < locality->unit_count; i++)
		dw_free(locality->units[i].blocks);
	dw_free(locality->units);
	dw_free(locality->unit_of);
	dw_free(locality->shares);
	dw_free(locality);
}

uint32_t dw_locality_unit(const struct locality *locality, uint32_t content)
{
	return locality->unit_of[directory_of_content(locality, content)];
}

/* -- blocks of a unit --------------------------------------------------------------- */

/* Index of a block in the list of a unit, or where it would be inserted. */
static size_t find_block(const struct directory_unit *unit, uint32_t block)
{
	size_t low = 0, high = unit->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (unit->blocks[middle] < block)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool has_block(const struct directory_unit *unit, uint32_t block)
{
	size_t at = find_block(unit, block);

	return at < unit->count && unit->blocks[at] == block;
}

static int add_unit_block(struct directory_unit *unit, uint32_t block, bool is_foreign,
			  dwarfs_error **err)
{
	size_t at = find_block(unit, block);
	int ret;

	if (at < unit->count && unit->blocks[at] == block)
		return 0;
	if ((ret = dw_grow(&unit->blocks, &unit->room, unit->count + 1, err)) < 0)
		return ret;
	memmove(&unit->blocks[at + 1], &unit->blocks[at],
		(unit->count - at) * sizeof(*unit->blocks));
	unit->blocks[at] = block;
	unit->count++;
	unit->foreign += is_foreign;
	return 0;
}

int dw_locality_share(struct locality *locality, const struct fragment *fragment,
		      const struct chunk *chunks, dwarfs_error **err)
{
	const struct tree *tree = locality->tree;
	const struct content *content = &locality->contents->list[fragment->content];
	uint32_t first = dw_locality_unit(locality, fragment->content);

	for (uint32_t inode = tree->inodes[content->inode].next; inode != DW_NONE;
	     inode = tree->inodes[inode].next) {
		uint32_t unit =
			locality->unit_of[directory_of(tree, tree->inodes[inode].entry)];

		for (uint32_t i = 0; unit != first && i < fragment->chunk_count; i++) {
			int ret;

			if (chunks[i].block != DW_NONE &&
			    (ret = add_unit_block(&locality->units[unit], chunks[i].block,
						  false, err)) < 0)
				return ret;
		}
	}
	return 0;
}

/* How many more foreign blocks the unit may be in. */
static size_t allowance(const struct locality *locality,
			const struct directory_unit *unit)
{
	size_t own = unit->count - unit->foreign;
	uint64_t needed = unit->bytes / locality->options.block_bytes + 1;
	uint64_t allowed = locality->options.foreign_blocks;

	/* As the unit refers to other blocks instead of own bytes, it may use as many of
	 * them. */
	if (needed > own)
		allowed += needed - own;
	return allowed > unit->foreign ? (size_t)(allowed - unit->foreign) : 0;
}

/* -- shares ------------------------------------------------------------------------- */

static int by_block(const void *a, const void *b)
{
	const struct share *one = a, *two = b;

	return (one->block > two->block) - (one->block < two->block);
}

/* The largest first; of equal ones the newest. */
static int by_bytes(const void *a, const void *b)
{
	const struct share *one = a, *two = b;

	if (one->bytes != two->bytes)
		return one->bytes < two->bytes ? 1 : -1;
	return (one->block < two->block) - (one->block > two->block);
}

static int add_share(struct locality *locality, const struct chunk *chunk,
		     dwarfs_error **err)
{
	int ret = dw_grow(&locality->shares, &locality->share_room,
			  locality->share_count + 1, err);

	if (ret < 0)
		return ret;
	locality->shares[locality->share_count++] =
		(struct share){ chunk->block, chunk->size };
	return 0;
}

/* One share for each block. */
static void join_shares(struct locality *locality)
{
	struct share *shares = locality->shares;
	size_t count = 0;

	if (locality->share_count == 0)
		return;
	qsort(shares, locality->share_count, sizeof(*shares), by_block);
	for (size_t i = 0; i < locality->share_count; i++) {
		if (count > 0 && shares[count - 1].block == shares[i].block)
			shares[count - 1].bytes += shares[i].bytes;
		else
			shares[count++] = shares[i];
	}
	locality->share_count = count;
	qsort(shares, count, sizeof(*shares), by_bytes);
}

/* -- judging ------------------------------------------------------------------------ */

static bool is_foreign(const struct locality_batch *batch,
		       const struct directory_unit *unit, const struct chunk *chunk)
{
	return chunk->block != DW_NONE && chunk->block < batch->first_block &&
	       !has_block(unit, chunk->block);
}

/* Chunks of a small file in other foreign blocks than the one that has most of it. */
static int judge_file(struct locality *locality, const struct locality_batch *batch,
		      size_t from, size_t to, uint8_t *marks, dwarfs_error **err)
{
	const struct directory_unit *unit = &locality->units[batch->unit];
	int ret;

	locality->share_count = 0;
	for (size_t i = from; i < to; i++)
		if (is_foreign(batch, unit, &batch->chunks[i]) &&
		    (ret = add_share(locality, &batch->chunks[i], err)) < 0)
			return ret;
	join_shares(locality);
	for (size_t i = from; locality->share_count > 1 && i < to; i++)
		marks[i] = is_foreign(batch, unit, &batch->chunks[i]) &&
			   batch->chunks[i].block != locality->shares[0].block;
	return 0;
}

static int judge_small_files(struct locality *locality,
			     const struct locality_batch *batch, uint8_t *marks,
			     dwarfs_error **err)
{
	size_t at = 0;

	for (size_t i = 0; i < batch->count; i++) {
		const struct fragment *fragment =
			&locality->contents->fragments[batch->numbers[i]];
		int ret = 0;

		if (fragment->size < SMALL_FILE_BYTES && fragment->chunk_count > 1)
			ret = judge_file(locality, batch, at, at + fragment->chunk_count,
					 marks, err);
		if (ret < 0)
			return ret;
		at += fragment->chunk_count;
	}
	return 0;
}

/* Allow the unit the foreign blocks with most of its bytes. */
static int allow_blocks(struct locality *locality, const struct locality_batch *batch,
			const uint8_t *marks, dwarfs_error **err)
{
	struct directory_unit *unit = &locality->units[batch->unit];
	size_t allowed = allowance(locality, unit);
	int ret;

	locality->share_count = 0;
	for (size_t i = 0; i < batch->chunk_count; i++)
		if (!marks[i] && is_foreign(batch, unit, &batch->chunks[i]) &&
		    (ret = add_share(locality, &batch->chunks[i], err)) < 0)
			return ret;
	join_shares(locality);
	for (size_t i = 0; i < locality->share_count && i < allowed; i++)
		if ((ret = add_unit_block(unit, locality->shares[i].block, true, err)) <
		    0)
			return ret;
	return 0;
}

int dw_locality_judge(struct locality *locality, const struct locality_batch *batch,
		      uint8_t *marks, size_t *marked_out, dwarfs_error **err)
{
	struct directory_unit *unit = &locality->units[batch->unit];
	int ret;

	*marked_out = 0;
	if (batch->chunk_count > 0)
		memset(marks, 0, batch->chunk_count);
	for (size_t i = 0; i < batch->count; i++)
		unit->bytes += locality->contents->fragments[batch->numbers[i]].size;
	for (uint32_t i = batch->first_block; batch->has_blocks && i <= batch->last_block;
	     i++)
		if ((ret = add_unit_block(unit, i, false, err)) < 0)
			return ret;
	if ((ret = judge_small_files(locality, batch, marks, err)) < 0 ||
	    (ret = allow_blocks(locality, batch, marks, err)) < 0)
		return ret;
	for (size_t i = 0; i < batch->chunk_count; i++) {
		marks[i] = marks[i] || is_foreign(batch, unit, &batch->chunks[i]);
		*marked_out += marks[i];
	}
	return 0;
}
