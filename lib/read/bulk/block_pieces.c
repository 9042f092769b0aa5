/* SPDX-License-Identifier: MIT */
/*
 * read/bulk/block_pieces: which ranges of which blocks many files consist of.
 *
 * Takes chunks of files; gives pieces that can be sorted by block.
 */
#include "read/bulk/block_pieces.h"

void dw_pieces_free(struct pieces *pieces)
{
	dw_free(pieces->list);
	*pieces = (struct pieces){ 0 };
}

static bool continues_piece(const struct piece *last, const struct piece *next)
{
	if (last->file != next->file || last->is_hole != next->is_hole)
		return false;
	if (next->is_hole)
		return true;
	return last->block == next->block && last->offset + last->bytes == next->offset;
}

static int insert_piece(struct pieces *pieces, size_t start, struct piece piece,
			dwarfs_error **err)
{
	struct piece *last =
		pieces->count > start ? &pieces->list[pieces->count - 1] : NULL;
	int ret;

	if (last && continues_piece(last, &piece)) {
		last->bytes += piece.bytes;
		return 0;
	}
	ret = dw_grow(&pieces->list, &pieces->room, pieces->count + 1, err);
	if (ret == 0)
		pieces->list[pieces->count++] = piece;
	return ret;
}

static int add_file_chunks(struct pieces *pieces, const dwarfs_image *image,
			   struct chunk_range range, uint32_t file, uint64_t *bytes_out,
			   dwarfs_error **err)
{
	size_t start = pieces->count;
	uint64_t at = 0;
	int ret;

	for (uint64_t i = range.first; i < range.end; i++) {
		struct file_chunk chunk;
		struct piece piece = { .at = at, .block = NO_BLOCK, .file = file };

		if ((ret = dw_view_chunk(image->view, i, &chunk, err)) < 0)
			return ret;
		if (!chunk.is_hole && chunk.block >= image->block_count)
			return dw_fail(err, DWARFS_ERR_CORRUPT,
				       "metadata: a chunk is in block %" PRIu32
				       " of %" PRIu32,
				       chunk.block, image->block_count);
		if (chunk.bytes > INT64_MAX - at)
			return dw_fail(err, DWARFS_ERR_CORRUPT,
				       "metadata: a file is too large");
		at += chunk.bytes;
		piece.bytes = chunk.bytes;
		piece.is_hole = chunk.is_hole;
		if (!chunk.is_hole) {
			piece.block = chunk.block;
			piece.offset = (uint32_t)chunk.offset;
		}
		if (chunk.bytes > 0 &&
		    (ret = insert_piece(pieces, start, piece, err)) < 0)
			return ret;
	}
	*bytes_out = at;
	return 0;
}

/* A hole is sorted with the data before it, or else after it. */
static void place_holes(struct pieces *pieces, size_t start)
{
	uint32_t block = NO_BLOCK;

	for (size_t i = start; i < pieces->count && block == NO_BLOCK; i++)
		block = pieces->list[i].block;
	for (size_t i = start; i < pieces->count; i++) {
		if (pieces->list[i].is_hole)
			pieces->list[i].block = block;
		else
			block = pieces->list[i].block;
	}
}

int dw_pieces_add(struct pieces *pieces, const dwarfs_image *image,
		  struct chunk_range range, uint32_t file, uint64_t *bytes_out,
		  dwarfs_error **err)
{
	size_t start = pieces->count;
	int ret = add_file_chunks(pieces, image, range, file, bytes_out, err);

	if (ret < 0)
		pieces->count = start;
	place_holes(pieces, start);
	return ret;
}

static int compare_by_file(const void *left, const void *right)
{
	const struct piece *a = left, *b = right;

	if (a->block != b->block)
		return a->block < b->block ? -1 : 1;
	if (a->file != b->file)
		return a->file < b->file ? -1 : 1;
	return (a->at > b->at) - (a->at < b->at);
}

static int compare_offsets(const void *left, const void *right)
{
	const struct piece *a = left, *b = right;

	if (a->block != b->block)
		return a->block < b->block ? -1 : 1;
	return (a->offset > b->offset) - (a->offset < b->offset);
}

/* Usually they are sorted already. */
static void sort_pieces(struct pieces *pieces, int (*compare)(const void *, const void *))
{
	for (size_t i = 1; i < pieces->count; i++) {
		if (compare(&pieces->list[i - 1], &pieces->list[i]) <= 0)
			continue;
		qsort(pieces->list, pieces->count, sizeof(*pieces->list), compare);
		return;
	}
}

void dw_pieces_sort_by_file(struct pieces *pieces)
{
	sort_pieces(pieces, compare_by_file);
}

void dw_pieces_sort_by_offset(struct pieces *pieces)
{
	sort_pieces(pieces, compare_offsets);
}

size_t dw_pieces_end_of_block(const struct pieces *pieces, size_t first)
{
	size_t end = first + 1;

	while (end < pieces->count &&
	       pieces->list[end].block == pieces->list[first].block)
		end++;
	return end;
}

uint64_t dw_pieces_need(const struct pieces *pieces, size_t first, size_t end)
{
	uint64_t need = 0;

	for (size_t i = first; i < end; i++) {
		const struct piece *piece = &pieces->list[i];

		if (!piece->is_hole && piece->offset + piece->bytes > need)
			need = piece->offset + piece->bytes;
	}
	return need;
}
