/* SPDX-License-Identifier: MIT */
/*
 * write/segment/gatherer: keep the files of a directory within few blocks.
 *
 * After some blocks of a directory are stored, locality.c marks the chunks that refer to
 * too many other blocks. Their bytes are stored again at the end, and the chunks
 * replaced.
 */
#include <string.h>

#include "write/segment/gatherer.h"
#include "write/segment/locality.h"

/* Fragments of one unit of locality, stored one after the other. */
struct batch {
	bool is_open;
	uint32_t unit;
	size_t first_number, first_chunk;
	uint64_t place; /* position of its first byte */
	uint64_t bytes;
};

struct gatherer {
	const struct segment_input *in;
	struct block_filler *filler;
	struct matcher *matcher;
	struct locality *locality;
	uint8_t *piece; /* MATCH_PIECE_BYTES, owned by the caller */
	size_t granularity;
	struct batch batch;
};

/* -- storing again ------------------------------------------------------------------- */

/* A copy of bytes of another block, by the position of the original. */
struct copy {
	uint64_t from, to; /* positions */
	size_t size;	   /* 0: none */
};

struct moving {
	struct chunk *old; /* of the batch */
	uint8_t *marks;	   /* which of them move */
	struct copy *copies;
	size_t mask; /* of copies, by from */
};

static void free_moving(struct moving *moving)
{
	dw_free(moving->old);
	dw_free(moving->marks);
	dw_free(moving->copies);
}

static uint64_t chunk_position(const struct gatherer *gatherer, const struct chunk *chunk)
{
	const struct block_filler *filler = gatherer->filler;

	return (chunk->block - filler->first_block) * (uint64_t)filler->block_bytes +
	       chunk->offset;
}

/* The slot of the copy of a position. */
static struct copy *find_copy(const struct moving *moving, uint64_t from)
{
	size_t at = (size_t)(from * UINT64_C(0x9E3779B97F4A7C15) >> 32) & moving->mask;

	while (moving->copies[at].size > 0 && moving->copies[at].from != from)
		at = (at + 1) & moving->mask;
	return &moving->copies[at];
}

/* Store a copy of stored bytes; gives how many could be read. */
static int store_again(struct gatherer *gatherer, struct fill_state *fill, uint64_t place,
		       size_t size, size_t *done_out, dwarfs_error **err)
{
	struct block_filler *filler = gatherer->filler;

	*done_out = 0;
	while (*done_out < size) {
		size_t room, filled = 0;
		int ret;

		while (filled < MATCH_PIECE_BYTES && *done_out + filled < size) {
			size_t want = size - *done_out - filled;
			const uint8_t *data = dw_stored_window_at(
				filler->window, place + *done_out + filled, &room);

			if (!data)
				break;
			want = want < room ? want : room;
			if (want > MATCH_PIECE_BYTES - filled)
				want = MATCH_PIECE_BYTES - filled;
			memcpy(gatherer->piece + filled, data, want);
			filled += want;
		}
		filled -= filled % gatherer->granularity;
		if (filled == 0)
			return 0;
		if ((ret = dw_block_filler_room(filler, &room, err)) < 0)
			return ret;
		dw_matcher_note(gatherer->matcher, gatherer->piece, filled,
				dw_block_filler_next(filler));
		if ((ret = dw_block_filler_store(filler, fill, gatherer->piece, filled,
						 err)) < 0)
			return ret;
		*done_out += filled;
	}
	return 0;
}

/* Replace a chunk of another block by a copy. */
static int move_chunk(struct gatherer *gatherer, struct fill_state *fill,
		      struct moving *moving, const struct chunk *chunk,
		      dwarfs_error **err)
{
	struct block_filler *filler = gatherer->filler;
	struct build_run *run = gatherer->in->run;
	uint64_t from = chunk_position(gatherer, chunk);
	struct copy *copy = find_copy(moving, from);
	size_t size = (size_t)chunk->size, done = 0, room;
	uint64_t to;
	int ret;

	if (copy->size >= size)
		return dw_block_filler_refer(filler, fill, copy->to, size, err);
	if ((ret = dw_block_filler_room(filler, &room, err)) < 0)
		return ret;
	to = dw_block_filler_next(filler);
	if ((ret = store_again(gatherer, fill, from, size, &done, err)) < 0)
		return ret;
	if (done > 0)
		*copy = (struct copy){ from, to, done };
	run->counts[DWARFS_COUNT_BYTES_SEGMENTS] -= done;
	run->progress.bytes_saved -= done;
	return dw_block_filler_refer(filler, fill, from + done, size - done, err);
}

/* Rebuild the chunks of a batch. */
static int move_chunks(struct gatherer *gatherer, size_t first_number, size_t count,
		       struct moving *moving, dwarfs_error **err)
{
	struct block_filler *filler = gatherer->filler;
	size_t next = 0;
	int ret;

	for (size_t i = 0; i < count; i++) {
		uint32_t number = gatherer->in->numbers[first_number + i];
		struct fragment *fragment = &gatherer->in->contents->fragments[number];
		struct fill_state fill = { .fragment = fragment };
		size_t end = next + fragment->chunk_count;

		fragment->size = 0;
		fragment->chunk_count = 0;
		fragment->first_chunk = filler->chunks->count;
		for (; next < end; next++) {
			const struct chunk *chunk = &moving->old[next];

			if (moving->marks[next]) {
				ret = move_chunk(gatherer, &fill, moving, chunk, err);
			} else {
				fill.literals = 0;
				ret = dw_block_filler_add_chunk(filler, fragment, *chunk,
								err);
			}
			if (ret < 0)
				return ret;
		}
	}
	return 0;
}

static int begin_moving(const struct gatherer *gatherer, size_t marked,
			struct moving *moving, dwarfs_error **err)
{
	const struct batch *batch = &gatherer->batch;
	size_t count = gatherer->filler->chunks->count - batch->first_chunk, slots = 2;

	while (slots < 2 * marked)
		slots *= 2;
	moving->mask = slots - 1;
	moving->copies = dw_calloc(slots, sizeof(*moving->copies));
	moving->old = dw_calloc(count, sizeof(*moving->old));
	if (!moving->copies || !moving->old)
		return dw_fail_nomem(err);
	memcpy(moving->old, &gatherer->filler->chunks->list[batch->first_chunk],
	       count * sizeof(*moving->old));
	return 0;
}

/* -- batches ------------------------------------------------------------------------- */

/* Check the blocks of the fragments of a batch, up to a number, and copy what is in too
 * many other blocks. */
static int draw_together(struct gatherer *gatherer, size_t end, dwarfs_error **err)
{
	struct block_filler *filler = gatherer->filler;
	const struct batch *batch = &gatherer->batch;
	size_t marked, count = filler->chunks->count - batch->first_chunk;
	__attribute__((cleanup(free_moving))) struct moving moving = { 0 };
	struct locality_batch judged = {
		.unit = batch->unit,
		.numbers = gatherer->in->numbers + batch->first_number,
		.count = end - batch->first_number,
		.chunks = filler->chunks->list + batch->first_chunk,
		.chunk_count = count,
	};
	int ret;

	if (count == 0)
		return 0;
	judged.first_block =
		filler->first_block + (uint32_t)(batch->place / filler->block_bytes);
	judged.last_block = filler->last_block;
	judged.has_blocks = dw_block_filler_end(filler) > batch->place;
	if (!(moving.marks = dw_calloc(count, 1)))
		return dw_fail_nomem(err);
	if ((ret = dw_locality_judge(gatherer->locality, &judged, moving.marks, &marked,
				     err)) < 0)
		return ret;
	if (marked == 0)
		return 0;
	if ((ret = begin_moving(gatherer, marked, &moving, err)) < 0)
		return ret;
	filler->chunks->count = batch->first_chunk;
	return move_chunks(gatherer, batch->first_number, judged.count, &moving, err);
}

/* Report the final chunks of fragments to locality. */
static int share(struct gatherer *gatherer, size_t from, size_t end, dwarfs_error **err)
{
	for (size_t i = from; i < end; i++) {
		const struct fragment *fragment =
			&gatherer->in->contents->fragments[gatherer->in->numbers[i]];
		int ret = dw_locality_share(
			gatherer->locality, fragment,
			gatherer->filler->chunks->list + fragment->first_chunk, err);

		if (ret < 0)
			return ret;
	}
	return 0;
}

static int settle(struct gatherer *gatherer, size_t end, dwarfs_error **err)
{
	int ret = draw_together(gatherer, end, err);

	if (ret < 0)
		return ret;
	gatherer->batch.is_open = false;
	return share(gatherer, gatherer->batch.first_number, end, err);
}

/* Begin, continue or end a batch before a fragment is stored. */
int dw_gatherer_turn(struct gatherer *gatherer, size_t at, dwarfs_error **err)
{
	struct block_filler *filler = gatherer->filler;
	struct batch *batch = &gatherer->batch;
	const struct fragment *fragment =
		&gatherer->in->contents->fragments[gatherer->in->numbers[at]];
	uint64_t place = dw_block_filler_end(filler);
	uint32_t unit;
	int ret;

	if (!batch->is_open && at > 0 && (ret = share(gatherer, at - 1, at, err)) < 0)
		return ret;
	unit = dw_locality_unit(gatherer->locality, fragment->content);
	if (batch->is_open &&
	    (unit != batch->unit ||
	     batch->bytes >= GATHERER_BATCH_BLOCKS * (uint64_t)filler->block_bytes)) {
		if ((ret = settle(gatherer, at, err)) < 0)
			return ret;
		place = dw_block_filler_end(filler);
	}
	if (!batch->is_open && place >= gatherer->in->run->options->near_bytes)
		*batch = (struct batch){
			.is_open = true,
			.unit = unit,
			.first_number = at,
			.first_chunk = filler->chunks->count,
			.place = place,
		};
	batch->bytes += fragment->size;
	return 0;
}

int dw_gatherer_end(struct gatherer *gatherer, dwarfs_error **err)
{
	return gatherer->batch.is_open ? settle(gatherer, gatherer->in->count, err) : 0;
}

/* -- create and free ----------------------------------------------------------------- */

void dw_gatherer_free(struct gatherer *gatherer)
{
	if (!gatherer)
		return;
	dw_locality_free(gatherer->locality);
	dw_free(gatherer);
}

int dw_gatherer_new(const struct segment_input *in, struct block_filler *filler,
		    struct matcher *matcher, size_t granularity, uint8_t *piece,
		    struct gatherer **gatherer_out, dwarfs_error **err)
{
	auto_gatherer struct gatherer *gatherer = dw_calloc(1, sizeof(*gatherer));
	struct locality_options options = {
		.stream = in->stream,
		.block_bytes = filler->block_bytes,
		.foreign_blocks = in->settings->foreign_blocks,
	};
	int ret;

	if (!gatherer)
		return dw_fail_nomem(err);
	gatherer->in = in;
	gatherer->filler = filler;
	gatherer->matcher = matcher;
	gatherer->granularity = granularity;
	gatherer->piece = piece;
	if ((ret = dw_locality_new(&options, in->tree, in->contents, &gatherer->locality,
				   err)) < 0)
		return ret;
	*gatherer_out = dw_steal(gatherer);
	return 0;
}
