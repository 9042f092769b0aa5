/* SPDX-License-Identifier: MIT */
/*
 * build/placer: bytes -> chunks in the blocks of a stream, which are filled one after the
 * other and handed to the compressor.
 *
 * Knows nothing of files: what to store, and where to refer to what is stored already, is
 * decided by others.
 */
#include <string.h>

#include "build/placer.h"

/* -- chunks ------------------------------------------------------------------------- */

static struct chunk *last_chunk(const struct placer *placer,
				const struct fragment *fragment)
{
	return fragment->chunk_count ? &placer->chunks->list[placer->chunks->count - 1]
				     : NULL;
}

int dw_placer_add_chunk(struct placer *placer, struct fragment *fragment,
			struct chunk chunk, dwarfs_error **err)
{
	struct chunks *chunks = placer->chunks;
	struct chunk *last = last_chunk(placer, fragment);
	int ret;

	fragment->size += chunk.size;
	if (last && chunk.block != DW_NONE && last->block == chunk.block &&
	    last->offset + last->size == chunk.offset) {
		last->size += chunk.size;
		return 0;
	}
	if (fragment->chunk_count == UINT32_MAX || chunks->count >= UINT32_MAX - 1)
		return dw_fail(err, DWARFS_ERR_RANGE, "too many chunks for one image");
	if ((ret = dw_grow(&chunks->list, &chunks->room, chunks->count + 1, err)) < 0)
		return ret;
	chunks->list[chunks->count++] = chunk;
	fragment->chunk_count++;
	return 0;
}

/* -- blocks ------------------------------------------------------------------------- */

int dw_placer_close(struct placer *placer, dwarfs_error **err)
{
	struct block *block = dw_steal(placer->block);

	if (!block)
		return 0;
	block->input_bytes = placer->input_bytes;
	placer->input_bytes = 0;
	return dw_compressor_close(placer->compressor, block, err);
}

int dw_placer_room(struct placer *placer, size_t *room_out, dwarfs_error **err)
{
	int ret;

	if (placer->block && placer->block->size == placer->block_bytes &&
	    (ret = dw_placer_close(placer, err)) < 0)
		return ret;
	if (!placer->block) {
		if ((ret = dw_compressor_open(placer->compressor, &placer->block, err)) <
		    0)
			return ret;
		if (!placer->has_first_block)
			placer->first_block = placer->block->number;
		placer->has_first_block = true;
		placer->last_block = placer->block->number;
		if (placer->history)
			dw_history_turn(placer->history, placer->block);
	}
	*room_out = placer->block_bytes - placer->block->size;
	return 0;
}

uint64_t dw_placer_next(const struct placer *placer)
{
	const struct block *block = placer->block;

	return (block->number - placer->first_block) * (uint64_t)placer->block_bytes +
	       block->size;
}

uint64_t dw_placer_end(const struct placer *placer)
{
	uint64_t last = placer->last_block - placer->first_block;

	if (placer->block)
		return dw_placer_next(placer);
	return placer->has_first_block ? (last + 1) * placer->block_bytes : 0;
}

int dw_placer_store(struct placer *placer, struct placing *placing, const uint8_t *data,
		    size_t size, dwarfs_error **err)
{
	struct fragment *fragment = placing->fragment;

	while (size > 0) {
		struct block *block;
		struct chunk chunk;
		size_t room;
		bool goes_on = placing->literals > 0;
		uint32_t before = fragment->chunk_count;
		int ret = dw_placer_room(placer, &room, err);

		if (ret < 0)
			return ret;
		room = room < size ? room : size;
		block = placer->block;
		placing->literals = block->size ? placing->literals + room : room;
		chunk = (struct chunk){ block->number, (uint32_t)block->size, room };
		ret = dw_placer_add_chunk(placer, fragment, chunk, err);
		if (ret < 0)
			return ret;
		/* Behind a match a chunk may go on with bytes of another file. */
		if (placer->history && (fragment->chunk_count != before || !goes_on) &&
		    (ret = dw_history_note(placer->history, fragment->content,
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

size_t dw_placer_literals(const struct placer *placer, const struct placing *placing)
{
	const struct chunk *last = last_chunk(placer, placing->fragment);
	size_t count = placing->literals;

	if (!last || !placer->block || placer->block->size == 0)
		return 0;
	return count < last->size ? count : (size_t)last->size;
}

void dw_placer_take_back(struct placer *placer, struct placing *placing, size_t size)
{
	struct fragment *fragment = placing->fragment;
	struct chunk *last = last_chunk(placer, fragment);

	if (size == 0)
		return;
	placer->block->size -= size;
	placing->literals -= size;
	fragment->size -= size;
	last->size -= size;
	if (last->size > 0)
		return;
	placer->chunks->count--;
	fragment->chunk_count--;
}

int dw_placer_refer(struct placer *placer, struct placing *placing, uint64_t place,
		    size_t size, dwarfs_error **err)
{
	placing->literals = 0;
	while (size > 0) {
		size_t offset = (size_t)(place % placer->block_bytes);
		size_t room = placer->block_bytes - offset;
		struct chunk chunk = {
			.block = placer->first_block +
				 (uint32_t)(place / placer->block_bytes),
			.offset = (uint32_t)offset,
			.size = size < room ? size : room,
		};
		int ret = dw_placer_add_chunk(placer, placing->fragment, chunk, err);

		if (ret < 0)
			return ret;
		place += chunk.size;
		size -= (size_t)chunk.size;
	}
	placing->next_place = place;
	return 0;
}
