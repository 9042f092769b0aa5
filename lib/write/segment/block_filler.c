/* SPDX-License-Identifier: MIT */
/*
 * write/segment/block_filler: bytes -> chunks in the blocks of a stream, which are filled
 * one after the other and submitted to the compressor.
 *
 * Does not read files or search matches: its callers decide what to store and what to
 * refer to.
 */
#include <string.h>

#include "write/segment/block_filler.h"

/* -- chunks ------------------------------------------------------------------------- */

static struct chunk *last_chunk(const struct block_filler *filler,
				const struct fragment *fragment)
{
	return fragment->chunk_count ? &filler->chunks->list[filler->chunks->count - 1]
				     : NULL;
}

int dw_chunks_append(struct chunks *chunks, struct fragment *fragment, struct chunk chunk,
		     dwarfs_error **err)
{
	int ret;

	if (fragment->chunk_count == UINT32_MAX || chunks->count >= UINT32_MAX - 1)
		return dw_fail(err, DWARFS_ERR_RANGE, "too many chunks for one image");
	if ((ret = dw_grow(&chunks->list, &chunks->room, chunks->count + 1, err)) < 0)
		return ret;
	chunks->list[chunks->count++] = chunk;
	fragment->chunk_count++;
	return 0;
}

int dw_block_filler_add_chunk(struct block_filler *filler, struct fragment *fragment,
			      struct chunk chunk, dwarfs_error **err)
{
	struct chunks *chunks = filler->chunks;
	struct chunk *last = last_chunk(filler, fragment);

	fragment->size += chunk.size;
	if (last && chunk.block != DW_NONE && last->block == chunk.block &&
	    last->offset + last->size == chunk.offset) {
		last->size += chunk.size;
		return 0;
	}
	return dw_chunks_append(chunks, fragment, chunk, err);
}

/* -- blocks ------------------------------------------------------------------------- */

int dw_block_filler_close(struct block_filler *filler, dwarfs_error **err)
{
	struct block *block = dw_steal(filler->block);

	if (!block)
		return 0;
	block->input_bytes = filler->input_bytes;
	filler->input_bytes = 0;
	dw_kept_window_free_decoded(filler->kept);
	return dw_compressor_close(filler->compressor, block, err);
}

/* Free bytes of the open block, which may have less memory than a whole one. */
static size_t free_bytes(const struct block_filler *filler)
{
	const struct block *block = filler->block;

	return (block->room < filler->block_bytes ? block->room : filler->block_bytes) -
	       block->size;
}

int dw_block_filler_room(struct block_filler *filler, size_t *room_out,
			 dwarfs_error **err)
{
	int ret;

	if (filler->block && free_bytes(filler) == 0 &&
	    (ret = dw_block_filler_close(filler, err)) < 0)
		return ret;
	if (!filler->block) {
		if ((ret = dw_compressor_open(filler->compressor, &filler->block, err)) <
		    0)
			return ret;
		if (!filler->has_first_block)
			filler->first_block = filler->block->number;
		filler->has_first_block = true;
		filler->last_block = filler->block->number;
		if (filler->window)
			dw_stored_window_turn(filler->window, filler->block);
	}
	*room_out = free_bytes(filler);
	return 0;
}

uint64_t dw_block_filler_next(const struct block_filler *filler)
{
	const struct block *block = filler->block;

	return (block->number - filler->first_block) * (uint64_t)filler->block_bytes +
	       block->size;
}

uint64_t dw_block_filler_end(const struct block_filler *filler)
{
	uint64_t last = filler->last_block - filler->first_block;

	if (filler->block)
		return dw_block_filler_next(filler);
	return filler->has_first_block ? (last + 1) * filler->block_bytes : 0;
}

int dw_block_filler_store(struct block_filler *filler, struct fill_state *fill,
			  const uint8_t *data, size_t size, dwarfs_error **err)
{
	struct fragment *fragment = fill->fragment;

	while (size > 0) {
		struct block *block;
		struct chunk chunk;
		size_t room;
		bool goes_on = fill->literals > 0;
		uint32_t before = fragment->chunk_count;
		int ret = dw_block_filler_room(filler, &room, err);

		if (ret < 0)
			return ret;
		room = room < size ? room : size;
		block = filler->block;
		fill->literals = block->size ? fill->literals + room : room;
		chunk = (struct chunk){ block->number, (uint32_t)block->size, room };
		ret = dw_block_filler_add_chunk(filler, fragment, chunk, err);
		if (ret < 0)
			return ret;
		/* After a match, a chunk may continue with bytes of another file. */
		if (filler->window && (fragment->chunk_count != before || !goes_on) &&
		    (ret = dw_stored_window_note(filler->window, fragment->content,
						 fragment->offset + fragment->size - room,
						 err)) < 0)
			return ret;
		memcpy(block->data + block->size, data, room);
		block->size += room;
		data += room;
		size -= room;
	}
	return 0;
}

size_t dw_block_filler_literals(const struct block_filler *filler,
				const struct fill_state *fill)
{
	const struct chunk *last = last_chunk(filler, fill->fragment);
	size_t count = fill->literals;

	if (!last || !filler->block || filler->block->size == 0)
		return 0;
	return count < last->size ? count : (size_t)last->size;
}

void dw_block_filler_take_back(struct block_filler *filler, struct fill_state *fill,
			       size_t size)
{
	struct fragment *fragment = fill->fragment;
	struct chunk *last = last_chunk(filler, fragment);

	if (size == 0)
		return;
	filler->block->size -= size;
	fill->literals -= size;
	fragment->size -= size;
	last->size -= size;
	if (last->size > 0)
		return;
	filler->chunks->count--;
	fragment->chunk_count--;
}

int dw_block_filler_refer(struct block_filler *filler, struct fill_state *fill,
			  uint64_t place, size_t size, dwarfs_error **err)
{
	fill->literals = 0;
	while (size > 0) {
		size_t offset = (size_t)(place % filler->block_bytes);
		size_t room = filler->block_bytes - offset;
		struct chunk chunk = {
			.block = filler->first_block +
				 (uint32_t)(place / filler->block_bytes),
			.offset = (uint32_t)offset,
			.size = size < room ? size : room,
		};
		int ret = dw_block_filler_add_chunk(filler, fill->fragment, chunk, err);

		if (ret < 0)
			return ret;
		place += chunk.size;
		size -= (size_t)chunk.size;
	}
	fill->next_place = place;
	return 0;
}
