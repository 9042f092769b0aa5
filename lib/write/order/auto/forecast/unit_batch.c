/* SPDX-License-Identifier: MIT */
/*
 * write/order/auto/forecast/unit_batch: forecast what segment/gatherer.c stores again, so that
 * each unit of locality is in few blocks.
 *
 * Of two releases of kernel modules (777 MiB) that is 40 MiB by path, since the second release
 * refers to blocks in all parts of the first, and nearly nothing if the versions of a module are
 * side by side.
 */
#include "write/order/auto/forecast/unit_batch.h"
#include "write/segment/gatherer.h"

/* With more blocks there is no forecast of copies: a unit's list of blocks would be too long. */
#define MAX_BLOCKS ((double)(1 << 20))

/* Where segment.c has a gatherer. */
static bool gathers(const struct order_input *input, uint64_t bytes)
{
	return input->finds_segments && !input->continues_kept && input->settings &&
	       input->settings->foreign_blocks != UINT32_MAX &&
	       bytes > input->run->options->near_bytes &&
	       (double)bytes / (double)input->block_bytes <= MAX_BLOCKS;
}

int dw_unit_batch_init(struct unit_batch *batch, const struct order_input *input,
		       const struct sketch *sketch, const uint32_t *numbers,
		       uint64_t bytes, struct stored_shingles *stored, dwarfs_error **err)
{
	struct locality_options locality = {
		.stream = input->contents->fragments[numbers[0]].stream,
		.block_bytes = (size_t)input->block_bytes,
	};

	*batch = (struct unit_batch){
		.input = input, .sketch = sketch, .numbers = numbers, .stored = stored
	};
	if (!gathers(input, bytes))
		return 0;
	batch->near_bytes = (double)input->run->options->near_bytes;
	locality.foreign_blocks = input->settings->foreign_blocks;
	return dw_locality_new(&locality, input->tree, input->contents, &batch->locality,
			       err);
}

void dw_unit_batch_free(struct unit_batch *batch)
{
	dw_locality_free(batch->locality);
	dw_free(batch->chunks);
	dw_free(batch->shingles);
	dw_free(batch->marks);
}

static struct fragment *fragment_at(const struct unit_batch *batch, size_t at)
{
	return &batch->input->contents->fragments[batch->numbers[at]];
}

/* -- chunks ----------------------------------------------------------------------------- */

/* Space for the chunks of another fragment: its segments, and the blocks it may fill. */
static int reserve(struct unit_batch *batch, const struct sketch_piece *piece,
		   dwarfs_error **err)
{
	double blocks = (double)piece->bytes / batch->stored->block_bytes;
	size_t count = batch->count + piece->count + (size_t)blocks + 2;
	int ret;

	if ((ret = dw_grow(&batch->chunks, &batch->chunk_room, count, err)) < 0 ||
	    (ret = dw_grow(&batch->shingles, &batch->shingle_room, count, err)) < 0)
		return ret;
	return dw_grow(&batch->marks, &batch->mark_room, count, err);
}

static void add_chunk(struct unit_batch *batch, uint32_t block, double bytes,
		      uint32_t shingle)
{
	batch->shingles[batch->count] = shingle;
	batch->chunks[batch->count++] =
		(struct chunk){ .block = block, .size = (uint64_t)bytes };
}

void dw_unit_batch_refer(struct unit_batch *batch, double place, double bytes,
			 uint32_t number)
{
	if (batch->locality)
		add_chunk(batch, dw_stored_block(batch->stored, place), bytes, number);
}

/* The blocks that the current fragment filled, of contents that other units have, too. */
static void add_own_blocks(struct unit_batch *batch, const struct fragment *fragment)
{
	const struct content *content = &batch->input->contents->list[fragment->content];
	const struct stored_shingles *stored = batch->stored;
	uint32_t last = dw_stored_block(stored, stored->place);

	if (stored->place == batch->fragment_place ||
	    batch->input->tree->inodes[content->inode].next == DW_NONE)
		return;
	for (uint32_t block = dw_stored_block(stored, batch->fragment_place);
	     block <= last; block++)
		add_chunk(batch, block, 0, DW_NONE);
}

/* -- the end of a batch ----------------------------------------------------------------- */

/* What is in the batch already is not copied a second time. */
static void store_again(struct unit_batch *batch)
{
	struct stored_shingles *stored = batch->stored;

	for (size_t i = 0; i < batch->count; i++) {
		const struct shingle *shingle;
		double bytes = (double)batch->chunks[i].size;

		if (!batch->marks[i] || batch->shingles[i] == DW_NONE)
			continue;
		shingle = &batch->sketch->shingles[batch->shingles[i]];
		batch->chunks[i].block = dw_stored_block(stored, stored->place);
		if (dw_stored_places(stored, shingle)->list[0] * stored->unit_bytes >=
		    batch->place)
			continue;
		stored->forecast->segments -= bytes;
		stored->forecast->copied += bytes;
		dw_stored_add(stored, shingle, (struct stretch){ .bytes = bytes }, false);
	}
}

static int judge(struct unit_batch *batch, dwarfs_error **err)
{
	const struct stored_shingles *stored = batch->stored;
	struct locality_batch judged = {
		.unit = batch->unit,
		.numbers = batch->numbers + batch->first,
		.count = batch->end - batch->first,
		.chunks = batch->chunks,
		.chunk_count = batch->count,
		.first_block = dw_stored_block(stored, batch->place),
		.last_block = dw_stored_block(stored, stored->place),
		.has_blocks = stored->place > batch->place,
	};
	size_t marked;
	int ret = dw_locality_judge(batch->locality, &judged, batch->marks, &marked, err);

	if (ret == 0 && marked > 0)
		store_again(batch);
	return ret;
}

/* Units with the same contents may be in the blocks of these fragments, too. */
static int share(struct unit_batch *batch, dwarfs_error **err)
{
	size_t at = 0;
	int ret = 0;

	for (size_t i = batch->first; i < batch->end; i++) {
		struct fragment *fragment = fragment_at(batch, i);

		if (ret == 0)
			ret = dw_locality_share(batch->locality, fragment,
						batch->chunks + at, err);
		at += fragment->chunk_count;
		fragment->chunk_count = 0;
	}
	batch->count = 0;
	return ret;
}

/* Also after an error the fragments are as they were. */
int dw_unit_batch_end(struct unit_batch *batch, dwarfs_error **err)
{
	int ret, shared;

	if (!batch->locality)
		return 0;
	ret = batch->is_open ? judge(batch, err) : 0;
	shared = share(batch, ret < 0 ? NULL : err);
	batch->is_open = false;
	return ret < 0 ? ret : shared;
}

/* -- fragments -------------------------------------------------------------------------- */

/* While no batch is open, each fragment is judged alone. */
int dw_unit_batch_turn(struct unit_batch *batch, size_t at, dwarfs_error **err)
{
	const struct stored_shingles *stored = batch->stored;
	uint32_t unit;
	int ret;

	if (!batch->locality)
		return 0;
	unit = dw_locality_unit(batch->locality, fragment_at(batch, at)->content);
	if (!batch->is_open || unit != batch->unit ||
	    batch->bytes >= GATHERER_BATCH_BLOCKS * stored->block_bytes) {
		if ((ret = dw_unit_batch_end(batch, err)) < 0)
			return ret;
		batch->is_open = stored->place >= batch->near_bytes;
		batch->unit = unit;
		batch->first = batch->end = at;
		batch->place = stored->place;
		batch->bytes = 0;
	}
	batch->fragment_place = stored->place;
	batch->fragment_chunks = batch->count;
	return reserve(batch, &batch->sketch->pieces[batch->numbers[at]], err);
}

void dw_unit_batch_add(struct unit_batch *batch, size_t at)
{
	struct fragment *fragment = fragment_at(batch, at);

	if (!batch->locality)
		return;
	add_own_blocks(batch, fragment);
	fragment->chunk_count = (uint32_t)(batch->count - batch->fragment_chunks);
	batch->bytes += (double)batch->sketch->pieces[batch->numbers[at]].bytes;
	batch->end = at + 1;
}
