/* SPDX-License-Identifier: MIT */
/*
 * write/metadata/file_chunks: tables of chunks, holes, shared files and sizes.
 */
#include "base/bytes.h"
#include "write/metadata/tables.h"

/* Files with at least this many chunks have their size stored, too. */
#define CACHED_CHUNKS 128

/*
 * The longest hole that does not widen the columns of the chunk table: the size column of
 * a hole counts whole blocks.
 */
static uint64_t longest_inline_hole(const struct tables *tables)
{
	const struct chunks *chunks = tables->in->chunks;
	uint64_t largest = 0;
	unsigned bits;

	for (size_t i = 0; i < chunks->count; i++)
		if (chunks->list[i].block != DW_NONE && chunks->list[i].size > largest)
			largest = chunks->list[i].size;
	bits = dw_bit_length(largest) + tables->options->block_bits;
	return (UINT64_C(1) << bits) - 1;
}

static int large_hole_index(struct tables *tables, uint64_t size, uint32_t *index_out,
			    dwarfs_error **err)
{
	int ret;

	for (size_t i = 0; i < tables->large_hole_count; i++) {
		if (tables->large_holes[i] == size) {
			*index_out = (uint32_t)i;
			return 0;
		}
	}
	if ((ret = dw_grow(&tables->large_holes, &tables->large_hole_room,
			   tables->large_hole_count + 1, err)) < 0)
		return ret;
	tables->large_holes[tables->large_hole_count] = size;
	*index_out = (uint32_t)tables->large_hole_count++;
	return 0;
}

static int fill_chunk(struct tables *tables, const struct chunk *from,
		      uint64_t inline_max, struct freeze_chunk *out, dwarfs_error **err)
{
	uint32_t block_bits = tables->options->block_bits;

	out->block = from->block;
	out->offset = from->offset;
	out->size = (uint32_t)from->size;
	if (from->block != DW_NONE)
		return 0;
	tables->out.has_hole_block_index = true;
	out->block = tables->in->block_count;
	if (from->size > inline_max) {
		out->offset = DW_LARGE_HOLE_OFFSET;
		return large_hole_index(tables, from->size, &out->size, err);
	}
	out->offset = (uint32_t)(from->size & ((UINT64_C(1) << block_bits) - 1));
	out->size = (uint32_t)(from->size >> block_bits);
	return 0;
}

static int cache_size(struct tables *tables, uint32_t file_index, uint32_t chunk_count,
		      dwarfs_error **err)
{
	const struct content *content = dw_tables_content(tables, file_index);
	int ret;

	if (chunk_count < CACHED_CHUNKS)
		return 0;
	if ((ret = dw_grow(&tables->sizes, &tables->size_room, tables->size_count + 1,
			   err)) < 0)
		return ret;
	tables->sizes[tables->size_count++] =
		(struct freeze_pair64){ file_index, content->size };
	if (content->hole_bytes == 0)
		return 0;
	if ((ret = dw_grow(&tables->allocated, &tables->allocated_room,
			   tables->allocated_count + 1, err)) < 0)
		return ret;
	tables->allocated[tables->allocated_count++] =
		(struct freeze_pair64){ file_index, content->size - content->hole_bytes };
	return 0;
}

/* Add the chunks of all fragments of contents, in order. */
static int fill_content(struct tables *tables, const struct content *content,
			uint64_t inline_max, uint32_t *next, dwarfs_error **err)
{
	const struct chunk *chunks = tables->in->chunks->list;

	for (uint32_t i = 0; i < content->fragment_count; i++) {
		const struct fragment *fragment =
			&tables->in->contents->fragments[content->first_fragment + i];

		for (uint32_t j = 0; j < fragment->chunk_count; j++) {
			int ret = fill_chunk(tables, &chunks[fragment->first_chunk + j],
					     inline_max, &tables->chunks[*next], err);

			if (ret < 0)
				return ret;
			++*next;
		}
	}
	return 0;
}

static int fill_chunks(struct tables *tables, dwarfs_error **err)
{
	const struct chunks *chunks = tables->in->chunks;
	uint64_t inline_max = longest_inline_hole(tables);
	bool pack = tables->packing.chunk_table;
	uint32_t next = 0;
	int ret;

	tables->chunks = dw_calloc(chunks->count, sizeof(*tables->chunks));
	tables->chunk_table = dw_calloc(tables->file_count + (size_t)1, sizeof(uint32_t));
	if (!tables->chunks || !tables->chunk_table)
		return dw_fail_nomem(err);
	for (uint32_t file_index = 0; file_index < tables->file_count; file_index++) {
		uint32_t first = next;

		ret = fill_content(tables, dw_tables_content(tables, file_index),
				   inline_max, &next, err);
		if (ret < 0)
			return ret;
		tables->chunk_table[file_index + 1] = pack ? next - first : next;
		if ((ret = cache_size(tables, file_index, next - first, err)) < 0)
			return ret;
	}
	tables->out.chunks = (struct freeze_table){ tables->chunks, next };
	tables->out.chunk_table = (struct freeze_table){ tables->chunk_table,
							 tables->file_count + (size_t)1 };
	return 0;
}

/* Map each shared file to its contents. */
static int fill_shared(struct tables *tables, dwarfs_error **err)
{
	const struct tree *tree = tables->in->tree;
	bool pack = tables->packing.shared_files;

	tables->shared = dw_calloc(tree->inode_count, sizeof(*tables->shared));
	if (!tables->shared)
		return dw_fail_nomem(err);
	for (uint32_t file_index = tables->unique_count; file_index < tables->file_count;
	     file_index++) {
		uint32_t count = 0;

		for (uint32_t inode = dw_tables_content(tables, file_index)->inode;
		     inode != DW_NONE; inode = tree->inodes[inode].next) {
			count++;
			if (!pack)
				tables->shared[tables->shared_count++] =
					file_index - tables->unique_count;
		}
		if (pack)
			tables->shared[tables->shared_count++] = count - 2;
	}
	tables->out.has_shared_files_table = true;
	tables->out.shared_files_table =
		(struct freeze_table){ tables->shared, tables->shared_count };
	return 0;
}

/* Sums over inodes, and the counts for the caller. */
static void fill_totals(struct tables *tables)
{
	const struct tree *tree = tables->in->tree;
	struct freeze_metadata *out = &tables->out;
	uint64_t *counts = tables->in->run->counts, holes = 0;

	counts[DWARFS_COUNT_BYTES_HOLES] = counts[DWARFS_COUNT_DUPLICATES] =
		counts[DWARFS_COUNT_BYTES_DUPLICATE] = 0;
	for (uint32_t file_index = 0; file_index < tables->file_count; file_index++) {
		const struct content *content = dw_tables_content(tables, file_index);

		counts[DWARFS_COUNT_BYTES_HOLES] += content->hole_bytes;
		for (uint32_t inode = content->inode; inode != DW_NONE;
		     inode = tree->inodes[inode].next) {
			uint32_t more = tree->inodes[inode].links - 1;

			out->total_fs_size += content->size;
			out->total_hardlink_size += more * content->size;
			holes += content->hole_bytes;
			if (inode == content->inode || content->size == 0)
				continue;
			counts[DWARFS_COUNT_DUPLICATES]++;
			counts[DWARFS_COUNT_BYTES_DUPLICATE] += content->size;
		}
	}
	for (uint32_t i = tables->first[CLASS_LNK]; i < tables->first[CLASS_REG]; i++) {
		uint32_t target = tree->inodes[tables->inode_of[i]].target;

		out->total_fs_size += dw_string_set_at(&tree->targets, target).size;
	}
	out->has_total_hardlink_size = out->total_hardlink_size != 0;
	out->has_total_allocated_fs_size = holes != 0;
	out->total_allocated_fs_size = out->total_fs_size - holes;
	counts[DWARFS_COUNT_CHUNKS] = out->chunks.count;
}

static void fill_holes(struct tables *tables)
{
	struct freeze_metadata *out = &tables->out;

	out->has_features = true;
	if (!out->has_hole_block_index)
		return;
	out->hole_block_index = tables->in->block_count;
	out->has_large_hole_size = true;
	out->large_hole_size =
		(struct freeze_table){ tables->large_holes, tables->large_hole_count };
	tables->feature = (struct span){ (const uint8_t *)DW_FEATURE_SPARSE,
					 sizeof(DW_FEATURE_SPARSE) - 1 };
	out->features = (struct freeze_table){ &tables->feature, 1 };
}

static void fill_size_cache(struct tables *tables)
{
	tables->out.has_reg_file_size_cache = tables->file_count > 0;
	tables->out.reg_file_size_cache = (struct freeze_size_cache){
		.size_lookup = { tables->sizes, tables->size_count },
		.min_chunk_count = CACHED_CHUNKS,
		.allocated_lookup = { tables->allocated, tables->allocated_count },
	};
}

int dw_tables_fill_files(struct tables *tables, dwarfs_error **err)
{
	int ret;

	if ((ret = fill_chunks(tables, err)) < 0 || (ret = fill_shared(tables, err)) < 0)
		return ret;
	fill_totals(tables);
	fill_holes(tables);
	fill_size_cache(tables);
	return 0;
}
