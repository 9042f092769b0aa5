/* SPDX-License-Identifier: MIT */
/*
 * build/segment: fragments -> chunks in blocks.
 *
 * Reads each fragment once, piece by piece. What the matcher finds to be stored already
 * becomes a chunk that refers to it; the rest goes into the block being filled, and on
 * into the next one. Holes become chunks without bytes. What a file has beyond its
 * scanned size is left out, and one that ends earlier is stored that short.
 */
#include <errno.h>
#include <string.h>

#include "build/density.h"
#include "build/locality.h"
#include "build/matcher.h"
#include "build/segment.h"

/* An anchor in 2^shift bytes. */
#define MIN_SHIFT 4
#define MAX_SHIFT 16

/* What a match costs in packed bytes: two chunks more, and bytes that the codec no longer
 * sees before those that follow. In the same block it saves only so much less. Long
 * matches save work in any case. */
#define CHUNK_COST  UINT64_C(64)
#define NEAR_FACTOR 8
#define MOST_WORTH  UINT64_C(4096)

/* Fragments of one unit of locality that were stored since a place. */
struct batch {
	bool is_open;
	uint32_t unit;
	size_t first_number, first_chunk;
	uint64_t place; /* where its first byte was stored, or would have been */
	uint64_t bytes;
};

struct segmenter {
	const struct segment_input *in;
	struct build_run *run;
	struct tree *tree;
	struct contents *contents;
	struct compressor *compressor;
	struct chunks *chunks;
	struct history *history;
	struct matcher *matcher; /* NULL: nothing is looked for */
	struct block *block;	 /* being filled, or NULL */
	size_t block_bytes, granularity;
	uint32_t first_block; /* number of the first one of this stream */
	uint32_t last_block;  /* of the last one that was begun */
	bool has_first_block;
	uint8_t *piece;
	uint64_t input_bytes;	   /* dealt with since a block was closed */
	struct buffer path;	   /* of the file being read */
	struct source source;	   /* of the contents being read, if any */
	uint32_t source_content;   /* DW_NONE: none is begun */
	struct locality *locality; /* NULL: any block may be referred to */
	struct batch batch;
};

/* The fragment being stored. Errors of the input are no errors of the run: they end the
 * fragment, not the image. */
struct storing {
	struct fragment *fragment;
	struct content *content;
	struct source *source;
	uint64_t next_place; /* where a match would go on; UINT64_MAX: there was none */
	size_t literals;     /* bytes at the end of the block that were stored last */
	int errnum;	     /* reading failed here */
	bool ended;	     /* the file was shorter than expected */
};

size_t dw_block_bytes(const struct build_options *options, const struct stream *stream)
{
	size_t bytes = (size_t)1 << options->block_bits;
	size_t frame =
		(size_t)stream->samples.bytes_per_sample * stream->samples.channels;

	return stream->samples.is_known && frame ? bytes - bytes % frame : bytes;
}

unsigned dw_anchor_shift(const struct stream_settings *settings)
{
	unsigned shift = settings->window_bits > settings->step_bits
				 ? settings->window_bits - settings->step_bits
				 : 0;

	return shift < MIN_SHIFT ? MIN_SHIFT : shift > MAX_SHIFT ? MAX_SHIFT : shift;
}

/* -- chunks ------------------------------------------------------------------------- */

static struct chunk *last_chunk(const struct segmenter *segmenter,
				const struct fragment *fragment)
{
	return fragment->chunk_count
		       ? &segmenter->chunks->list[segmenter->chunks->count - 1]
		       : NULL;
}

/* Bytes of the fragment at some place of a block; longer if it goes on there. */
static int add_chunk(struct segmenter *segmenter, struct fragment *fragment,
		     struct chunk chunk, dwarfs_error **err)
{
	struct chunks *chunks = segmenter->chunks;
	struct chunk *last = last_chunk(segmenter, fragment);
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

static int add_hole(struct segmenter *segmenter, struct storing *storing, uint64_t size,
		    dwarfs_error **err)
{
	struct chunk hole = { .block = DW_NONE, .size = size };

	if (size == 0)
		return 0;
	storing->content->hole_bytes += size;
	storing->next_place = UINT64_MAX;
	storing->literals = 0;
	segmenter->input_bytes += size;
	return add_chunk(segmenter, storing->fragment, hole, err);
}

/* -- blocks ------------------------------------------------------------------------- */

static int close_block(struct segmenter *segmenter, dwarfs_error **err)
{
	struct block *block = dw_steal(segmenter->block);

	if (!block)
		return 0;
	block->input_bytes = segmenter->input_bytes;
	segmenter->input_bytes = 0;
	return dw_compressor_close(segmenter->compressor, block, err);
}

static int room_in_block(struct segmenter *segmenter, size_t *room_out,
			 dwarfs_error **err)
{
	int ret;

	if (segmenter->block && segmenter->block->size == segmenter->block_bytes &&
	    (ret = close_block(segmenter, err)) < 0)
		return ret;
	if (!segmenter->block) {
		if ((ret = dw_compressor_open(segmenter->compressor, &segmenter->block,
					      err)) < 0)
			return ret;
		if (!segmenter->has_first_block)
			segmenter->first_block = segmenter->block->number;
		segmenter->has_first_block = true;
		segmenter->last_block = segmenter->block->number;
		if (segmenter->history)
			dw_history_turn(segmenter->history, segmenter->block);
	}
	*room_out = segmenter->block_bytes - segmenter->block->size;
	return 0;
}

/* Where the next byte would be stored: in the open block. */
static uint64_t next_place(const struct segmenter *segmenter)
{
	const struct block *block = segmenter->block;

	return (block->number - segmenter->first_block) *
		       (uint64_t)segmenter->block_bytes +
	       block->size;
}

/* How many bytes are stored so far, as places go. */
static uint64_t stored_end(const struct segmenter *segmenter)
{
	uint64_t last = segmenter->last_block - segmenter->first_block;

	if (segmenter->block)
		return next_place(segmenter);
	return segmenter->has_first_block ? (last + 1) * segmenter->block_bytes : 0;
}

/* Bytes that are not stored yet, to the end of the block. */
static int add_literals(struct segmenter *segmenter, struct storing *storing,
			const uint8_t *data, size_t size, dwarfs_error **err)
{
	struct fragment *fragment = storing->fragment;

	while (size > 0) {
		struct block *block;
		struct chunk chunk;
		size_t room;
		bool goes_on = storing->literals > 0;
		uint32_t before = fragment->chunk_count;
		int ret = room_in_block(segmenter, &room, err);

		if (ret < 0)
			return ret;
		room = room < size ? room : size;
		block = segmenter->block;
		storing->literals = block->size ? storing->literals + room : room;
		chunk = (struct chunk){ block->number, (uint32_t)block->size, room };
		ret = add_chunk(segmenter, fragment, chunk, err);
		if (ret < 0)
			return ret;
		/* Behind a match a chunk may go on with bytes of another file. */
		if (segmenter->history && (fragment->chunk_count != before || !goes_on) &&
		    (ret = dw_history_note(segmenter->history, fragment->content,
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

/*
 * How many bytes at the end of the block are literals of this fragment. A chunk that ends
 * there does not tell: it may refer to bytes that others have, too.
 */
static size_t literals_at_end(const struct segmenter *segmenter,
			      const struct storing *storing)
{
	const struct chunk *last = last_chunk(segmenter, storing->fragment);
	size_t count = storing->literals;

	if (!last || !segmenter->block || segmenter->block->size == 0)
		return 0;
	return count < last->size ? count : (size_t)last->size;
}

static void take_back(struct segmenter *segmenter, struct storing *storing, size_t size)
{
	struct fragment *fragment = storing->fragment;
	struct chunk *last = last_chunk(segmenter, fragment);

	if (size == 0)
		return;
	segmenter->block->size -= size;
	storing->literals -= size;
	fragment->size -= size;
	last->size -= size;
	if (last->size > 0)
		return;
	segmenter->chunks->count--;
	fragment->chunk_count--;
}

/* Refer to stored bytes, which may go on from block to block. */
static int refer(struct segmenter *segmenter, struct storing *storing, uint64_t place,
		 size_t size, dwarfs_error **err)
{
	storing->literals = 0;
	while (size > 0) {
		size_t offset = (size_t)(place % segmenter->block_bytes);
		size_t room = segmenter->block_bytes - offset;
		struct chunk chunk = {
			.block = segmenter->first_block +
				 (uint32_t)(place / segmenter->block_bytes),
			.offset = (uint32_t)offset,
			.size = size < room ? size : room,
		};
		int ret = add_chunk(segmenter, storing->fragment, chunk, err);

		if (ret < 0)
			return ret;
		place += chunk.size;
		size -= (size_t)chunk.size;
	}
	storing->next_place = place;
	return 0;
}

/* A run of bytes that is stored already. */
static int add_match(struct segmenter *segmenter, struct storing *storing, uint64_t place,
		     size_t size, dwarfs_error **err)
{
	struct build_run *run = segmenter->run;
	uint32_t before = storing->fragment->chunk_count;
	int ret = refer(segmenter, storing, place, size, err);

	run->counts[DWARFS_COUNT_BYTES_SEGMENTS] += size;
	run->progress.bytes_saved += size;
	run->counts[DWARFS_COUNT_SEGMENTS] += storing->fragment->chunk_count - before;
	return ret;
}

/* -- pieces ------------------------------------------------------------------------- */

/* A match that reached the end of the last piece may go on in this one. */
static int go_on_with_match(struct segmenter *segmenter, struct storing *storing,
			    const uint8_t *data, size_t size, size_t *done_out,
			    dwarfs_error **err)
{
	*done_out = 0;
	if (storing->next_place == UINT64_MAX)
		return 0;
	*done_out =
		dw_matcher_extend(segmenter->matcher, storing->next_place, data, size);
	*done_out -= *done_out % segmenter->granularity;
	return add_match(segmenter, storing, storing->next_place, *done_out, err);
}

/* Store a piece where the matcher looks for what is stored already. */
static int match_piece(struct segmenter *segmenter, struct storing *storing,
		       const uint8_t *data, size_t size, dwarfs_error **err)
{
	struct fragment *fragment = storing->fragment;
	struct matcher *matcher = segmenter->matcher;
	size_t done, at, room;
	int ret;

	dw_matcher_begin(matcher, data, size, fragment->size);
	if ((ret = go_on_with_match(segmenter, storing, data, size, &done, err)) < 0)
		return ret;
	while (dw_matcher_next(matcher, done, &at)) {
		struct match match;

		if ((ret = add_literals(segmenter, storing, data + done, at - done,
					err)) < 0 ||
		    (ret = room_in_block(segmenter, &room, err)) < 0)
			return ret;
		done = at;
		if (!dw_matcher_look(matcher, next_place(segmenter),
				     literals_at_end(segmenter, storing), &match))
			continue;
		take_back(segmenter, storing, match.back);
		if ((ret = add_match(segmenter, storing, match.place, match.size, err)) <
		    0)
			return ret;
		done = at - match.back + match.size;
	}
	if (done < size)
		storing->next_place = UINT64_MAX;
	return add_literals(segmenter, storing, data + done, size - done, err);
}

static int store_piece(struct segmenter *segmenter, struct storing *storing,
		       const uint8_t *data, size_t size, dwarfs_error **err)
{
	int ret;

	size -= size % segmenter->granularity;
	segmenter->input_bytes += size;
	ret = segmenter->matcher &&
			      segmenter->chunks->count < segmenter->in->budget->max_chunks
		      ? match_piece(segmenter, storing, data, size, err)
		      : add_literals(segmenter, storing, data, size, err);
	if (ret < 0)
		return ret;
	return dw_progress_tick(&segmenter->run->progress, err);
}

/* -- reading ------------------------------------------------------------------------ */

/* A run of data of the file. */
static int store_run(struct segmenter *segmenter, struct storing *storing, uint64_t from,
		     uint64_t to, dwarfs_error **err)
{
	size_t piece_bytes =
		MATCH_PIECE_BYTES - MATCH_PIECE_BYTES % segmenter->granularity;

	while (from < to) {
		size_t want = to - from < piece_bytes ? (size_t)(to - from) : piece_bytes;
		const uint8_t *data = segmenter->piece;
		int64_t got = (int64_t)want;
		int ret;

		if (storing->source->kept.data)
			data = storing->source->kept.data + from;
		else
			got = dw_source_read_at(storing->source, segmenter->piece, want,
						from);
		if (got < 0) {
			storing->errnum = (int)-got;
			return 0;
		}
		ret = store_piece(segmenter, storing, data, (size_t)got, err);
		if (ret < 0)
			return ret;
		if ((size_t)got < want) {
			storing->ended = true;
			return 0;
		}
		from += want;
	}
	return 0;
}

/* Where there are samples, runs of data begin and end where frames do. */
static void align_run(const struct segmenter *segmenter, const struct fragment *fragment,
		      uint64_t at, uint64_t end, uint64_t *from, uint64_t *to)
{
	uint64_t grain = segmenter->granularity, past;

	if (grain == 1 || *from >= end)
		return;
	*from -= (*from - fragment->offset) % grain;
	if (*from < at)
		*from = at;
	past = (*to - fragment->offset) % grain;
	if (past != 0)
		*to = end - *to < grain - past ? end : *to + grain - past;
}

static int store_runs(struct segmenter *segmenter, struct storing *storing, uint64_t at,
		      uint64_t end, dwarfs_error **err)
{
	int ret;

	if (end > storing->source->size) { /* what is missing must not look like a hole */
		storing->ended = true;
		end = storing->source->size;
	}
	while (at < end && !storing->errnum) {
		uint64_t from = end, to = end;

		ret = dw_source_next_data(storing->source, at, end, &from, &to);
		if (ret < 0) {
			storing->errnum = -ret;
			return 0;
		}
		align_run(segmenter, storing->fragment, at, end, &from, &to);
		if ((ret = add_hole(segmenter, storing, from - at, err)) < 0 ||
		    (ret = store_run(segmenter, storing, from, to, err)) < 0)
			return ret;
		at = to;
	}
	return 0;
}

/* Report what went wrong with a file, once; false when all is well. */
static bool complain(struct segmenter *segmenter, const struct storing *storing,
		     int unchanged)
{
	const char *path = (const char *)segmenter->path.data;
	struct content *content = storing->content;
	bool is_known = content->differs;

	content->differs = storing->errnum || storing->ended || unchanged != 1;
	if (!content->differs || is_known)
		return content->differs;
	if (storing->errnum)
		dw_build_complain(segmenter->run, path, storing->errnum, "cannot read",
				  storing->fragment->offset + storing->fragment->size
					  ? "storing what was read before"
					  : "creating empty inode");
	else if (storing->ended)
		dw_build_complain(segmenter->run, path, 0,
				  "file became shorter while it was read",
				  "storing what was read");
	else
		dw_build_complain(segmenter->run, path, 0,
				  "file changed while it was read",
				  "storing what was read");
	return true;
}

static void end_source(struct segmenter *segmenter)
{
	if (segmenter->source_content != DW_NONE)
		dw_source_end(&segmenter->source);
	segmenter->source_content = DW_NONE;
}

/* Fragments of the same contents mostly follow one another. */
static int turn_source(struct segmenter *segmenter, uint32_t content)
{
	int ret;

	if (segmenter->source_content == content)
		return 0;
	end_source(segmenter);
	ret = dw_source_begin(segmenter->run, segmenter->tree, segmenter->contents,
			      content, &segmenter->source);
	if (ret == 0)
		segmenter->source_content = content;
	return ret;
}

/* The bytes of a fragment, from the first file that has them. */
static int store_fragment(struct segmenter *segmenter, uint32_t number, bool *differs_out,
			  dwarfs_error **err)
{
	struct fragment *fragment = &segmenter->contents->fragments[number];
	struct storing storing = {
		.fragment = fragment,
		.content = &segmenter->contents->list[fragment->content],
		.source = &segmenter->source,
		.next_place = UINT64_MAX,
	};
	uint64_t end = fragment->offset + fragment->size;
	uint64_t end_of_input = segmenter->input_bytes + fragment->size;
	struct tree *tree = segmenter->tree;
	int ret, unchanged = 1;

	if ((ret = dw_tree_path(tree, tree->inodes[storing.content->inode].entry,
				&segmenter->path, err)) < 0)
		return ret;
	segmenter->run->progress.path = (const char *)segmenter->path.data;
	fragment->size = 0;
	fragment->chunk_count = 0;
	fragment->first_chunk = segmenter->chunks->count;
	ret = turn_source(segmenter, fragment->content);
	if (ret < 0) {
		storing.errnum = -ret;
	} else {
		ret = store_runs(segmenter, &storing, fragment->offset, end, err);
		unchanged = dw_source_is_unchanged(storing.source);
		if (ret < 0)
			return ret;
	}
	if (storing.errnum == ENOMEM)
		return dw_fail_nomem(err);
	*differs_out = complain(segmenter, &storing, unchanged);
	if (*differs_out) /* what could not be read is dealt with, too */
		segmenter->input_bytes = end_of_input;
	return 0;
}

/* -- locality ----------------------------------------------------------------------- */

/* How much is stored before it is looked where it is spread, in blocks. */
#define BATCH_BLOCKS 4

/* Chunks that were replaced by bytes of the unit's own, by where they referred to. */
struct copy {
	uint64_t from, to; /* places */
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
	free(moving->old);
	free(moving->marks);
	free(moving->copies);
}

static uint64_t place_of(const struct segmenter *segmenter, const struct chunk *chunk)
{
	return (chunk->block - segmenter->first_block) *
		       (uint64_t)segmenter->block_bytes +
	       chunk->offset;
}

/* The slot of chunks that begin at a place. */
static struct copy *find_copy(const struct moving *moving, uint64_t from)
{
	size_t at = (size_t)(from * UINT64_C(0x9E3779B97F4A7C15) >> 32) & moving->mask;

	while (moving->copies[at].size > 0 && moving->copies[at].from != from)
		at = (at + 1) & moving->mask;
	return &moving->copies[at];
}

/* Store bytes again that are stored elsewhere; how many could be read. */
static int store_again(struct segmenter *segmenter, struct storing *storing,
		       uint64_t place, size_t size, size_t *done_out, dwarfs_error **err)
{
	*done_out = 0;
	while (*done_out < size) {
		size_t room, filled = 0;
		int ret;

		while (filled < MATCH_PIECE_BYTES && *done_out + filled < size) {
			size_t want = size - *done_out - filled;
			const uint8_t *data = dw_history_at(
				segmenter->history, place + *done_out + filled, &room);

			if (!data)
				break;
			want = want < room ? want : room;
			if (want > MATCH_PIECE_BYTES - filled)
				want = MATCH_PIECE_BYTES - filled;
			memcpy(segmenter->piece + filled, data, want);
			filled += want;
		}
		filled -= filled % segmenter->granularity;
		if (filled == 0)
			return 0;
		if ((ret = room_in_block(segmenter, &room, err)) < 0)
			return ret;
		dw_matcher_note(segmenter->matcher, segmenter->piece, filled,
				next_place(segmenter));
		if ((ret = add_literals(segmenter, storing, segmenter->piece, filled,
					err)) < 0)
			return ret;
		*done_out += filled;
	}
	return 0;
}

/* Have bytes of the unit's own instead of those that a chunk refers to. */
static int move_chunk(struct segmenter *segmenter, struct storing *storing,
		      struct moving *moving, const struct chunk *chunk,
		      dwarfs_error **err)
{
	struct build_run *run = segmenter->run;
	uint64_t from = place_of(segmenter, chunk);
	struct copy *copy = find_copy(moving, from);
	size_t size = (size_t)chunk->size, done = 0, room;
	uint64_t to;
	int ret;

	if (copy->size >= size)
		return refer(segmenter, storing, copy->to, size, err);
	if ((ret = room_in_block(segmenter, &room, err)) < 0)
		return ret;
	to = next_place(segmenter);
	if ((ret = store_again(segmenter, storing, from, size, &done, err)) < 0)
		return ret;
	if (done > 0)
		*copy = (struct copy){ from, to, done };
	run->counts[DWARFS_COUNT_BYTES_SEGMENTS] -= done;
	run->progress.bytes_saved -= done;
	return refer(segmenter, storing, from + done, size - done, err);
}

/* Make the chunks of a batch again. */
static int move_chunks(struct segmenter *segmenter, size_t first_number, size_t count,
		       struct moving *moving, dwarfs_error **err)
{
	size_t next = 0;
	int ret;

	for (size_t i = 0; i < count; i++) {
		uint32_t number = segmenter->in->numbers[first_number + i];
		struct fragment *fragment = &segmenter->contents->fragments[number];
		struct storing storing = {
			.fragment = fragment,
			.content = &segmenter->contents->list[fragment->content],
		};
		size_t end = next + fragment->chunk_count;

		fragment->size = 0;
		fragment->chunk_count = 0;
		fragment->first_chunk = segmenter->chunks->count;
		for (; next < end; next++) {
			const struct chunk *chunk = &moving->old[next];

			if (moving->marks[next]) {
				ret = move_chunk(segmenter, &storing, moving, chunk, err);
			} else {
				storing.literals = 0;
				ret = add_chunk(segmenter, fragment, *chunk, err);
			}
			if (ret < 0)
				return ret;
		}
	}
	return 0;
}

static int begin_moving(const struct segmenter *segmenter, size_t marked,
			struct moving *moving, dwarfs_error **err)
{
	const struct batch *batch = &segmenter->batch;
	size_t count = segmenter->chunks->count - batch->first_chunk, slots = 2;

	while (slots < 2 * marked)
		slots *= 2;
	moving->mask = slots - 1;
	moving->copies = dw_calloc(slots, sizeof(*moving->copies));
	moving->old = dw_calloc(count, sizeof(*moving->old));
	if (!moving->copies || !moving->old)
		return dw_fail_nomem(err);
	memcpy(moving->old, &segmenter->chunks->list[batch->first_chunk],
	       count * sizeof(*moving->old));
	return 0;
}

/* Look where the files of the batch are, up to a number, and draw together what is too
 * far away. */
static int draw_together(struct segmenter *segmenter, size_t end, dwarfs_error **err)
{
	const struct batch *batch = &segmenter->batch;
	size_t marked, count = segmenter->chunks->count - batch->first_chunk;
	__attribute__((cleanup(free_moving))) struct moving moving = { 0 };
	struct locality_batch judged = {
		.unit = batch->unit,
		.numbers = segmenter->in->numbers + batch->first_number,
		.count = end - batch->first_number,
		.chunks = segmenter->chunks->list + batch->first_chunk,
		.chunk_count = count,
	};
	int ret;

	if (count == 0)
		return 0;
	judged.first_block = segmenter->first_block +
			     (uint32_t)(batch->place / segmenter->block_bytes);
	judged.last_block = segmenter->last_block;
	judged.has_blocks = stored_end(segmenter) > batch->place;
	if (!(moving.marks = dw_calloc(count, 1)))
		return dw_fail_nomem(err);
	if ((ret = dw_locality_judge(segmenter->locality, &judged, moving.marks, &marked,
				     err)) < 0)
		return ret;
	if (marked == 0)
		return 0;
	if ((ret = begin_moving(segmenter, marked, &moving, err)) < 0)
		return ret;
	segmenter->chunks->count = batch->first_chunk;
	return move_chunks(segmenter, batch->first_number, judged.count, &moving, err);
}

/* Fragments have their chunks for good. */
static int share(struct segmenter *segmenter, size_t from, size_t end, dwarfs_error **err)
{
	for (size_t i = from; i < end; i++) {
		const struct fragment *fragment =
			&segmenter->contents->fragments[segmenter->in->numbers[i]];
		int ret = dw_locality_share(
			segmenter->locality, fragment,
			segmenter->chunks->list + fragment->first_chunk, err);

		if (ret < 0)
			return ret;
	}
	return 0;
}

static int settle(struct segmenter *segmenter, size_t end, dwarfs_error **err)
{
	int ret = draw_together(segmenter, end, err);

	if (ret < 0)
		return ret;
	segmenter->batch.is_open = false;
	return share(segmenter, segmenter->batch.first_number, end, err);
}

/* Before a fragment is stored: whether it belongs to the batch. */
static int turn_batch(struct segmenter *segmenter, size_t at, dwarfs_error **err)
{
	struct batch *batch = &segmenter->batch;
	const struct fragment *fragment =
		&segmenter->contents->fragments[segmenter->in->numbers[at]];
	uint64_t place = stored_end(segmenter);
	uint32_t unit;
	int ret;

	if (!segmenter->locality)
		return 0;
	if (!batch->is_open && at > 0 && (ret = share(segmenter, at - 1, at, err)) < 0)
		return ret;
	unit = dw_locality_unit(segmenter->locality, fragment->content);
	if (batch->is_open &&
	    (unit != batch->unit ||
	     batch->bytes >= BATCH_BLOCKS * (uint64_t)segmenter->block_bytes)) {
		if ((ret = settle(segmenter, at, err)) < 0)
			return ret;
		place = stored_end(segmenter);
	}
	if (!batch->is_open && place >= segmenter->run->options->near_bytes)
		*batch = (struct batch){
			.is_open = true,
			.unit = unit,
			.first_number = at,
			.first_chunk = segmenter->chunks->count,
			.place = place,
		};
	batch->bytes += fragment->size;
	return 0;
}

/* -- fragments ---------------------------------------------------------------------- */

/* The file that follows no longer shares the contents of one that changed. */
static int part_from(struct segmenter *segmenter, uint32_t inode, dwarfs_error **err)
{
	struct contents *contents = segmenter->contents;
	struct tree *tree = segmenter->tree;
	uint32_t next = tree->inodes[inode].next;
	int ret;

	if (next == DW_NONE)
		return 0;
	tree->inodes[inode].next = DW_NONE;
	if ((ret = dw_contents_add(contents, tree, next, err)) < 0)
		return ret;
	return dw_contents_add_fragment(contents, 0, tree->inodes[next].size, err);
}

static int store_all(struct segmenter *segmenter, dwarfs_error **err)
{
	const struct segment_input *in = segmenter->in;
	struct dwarfs_progress *progress = &segmenter->run->progress;
	int ret;

	for (size_t i = 0; i < in->count; i++) {
		uint32_t content = segmenter->contents->fragments[in->numbers[i]].content;
		bool differs;

		if ((ret = turn_batch(segmenter, i, err)) < 0 ||
		    (ret = store_fragment(segmenter, in->numbers[i], &differs, err)) < 0)
			return ret;
		if (differs &&
		    (ret = part_from(segmenter, segmenter->contents->list[content].inode,
				     err)) < 0)
			return ret;
		progress->items_done++;
		if ((ret = dw_progress_tick(progress, err)) < 0)
			return ret;
	}
	if (segmenter->batch.is_open && (ret = settle(segmenter, in->count, err)) < 0)
		return ret;
	return close_block(segmenter, err);
}

static uint64_t total_bytes(const struct segment_input *in)
{
	uint64_t total = 0;

	for (size_t i = 0; i < in->count; i++)
		total += in->contents->fragments[in->numbers[i]].size;
	return total;
}

static bool finds_matches_itself(const struct codec_spec *codec)
{
	return codec->id == CODEC_ZSTD || codec->id == CODEC_LZMA ||
	       codec->id == CODEC_BROTLI;
}

/*
 * The shortest matches that save more than their chunks cost, by how small the bytes
 * would get otherwise. A codec that finds matches itself gains little from others in its
 * block.
 */
static int choose_minima(const struct segmenter *segmenter,
			 struct matcher_options *options, dwarfs_error **err)
{
	const struct stream_settings *settings = segmenter->in->settings;
	uint64_t worth, least = UINT64_C(1) << settings->window_bits;
	uint32_t density;
	int ret = dw_density(segmenter->in, &density, err);

	if (ret < 0)
		return ret;
	worth = CHUNK_COST * DENSITY_UNIT / density;
	worth = worth < MOST_WORTH ? worth : MOST_WORTH;
	options->far_minimum = worth > least ? worth : least;
	options->near_minimum = options->far_minimum;
	if (finds_matches_itself(&settings->codec) &&
	    options->near_minimum < NEAR_FACTOR * worth)
		options->near_minimum = NEAR_FACTOR * worth;
	options->far_minimum *= segmenter->granularity;
	options->near_minimum *= segmenter->granularity;
	/* A match is measured within a piece, from wherever it begins. */
	if (options->far_minimum > MATCH_PIECE_BYTES / 2)
		options->far_minimum = MATCH_PIECE_BYTES / 2;
	if (options->near_minimum > MATCH_PIECE_BYTES / 2)
		options->near_minimum = MATCH_PIECE_BYTES / 2;
	return 0;
}

/* What keeps the files of a directory together, where there are blocks enough. */
static int new_locality(struct segmenter *segmenter, dwarfs_error **err)
{
	const struct segment_input *in = segmenter->in;
	struct locality_options options = {
		.stream = in->stream,
		.block_bytes = segmenter->block_bytes,
		.foreign_blocks = in->settings->foreign_blocks,
	};

	if (options.foreign_blocks == UINT32_MAX ||
	    total_bytes(in) <= segmenter->run->options->near_bytes)
		return 0;
	return dw_locality_new(&options, segmenter->tree, segmenter->contents,
			       &segmenter->locality, err);
}

/* What looks for matches, where that is wanted. */
static int new_matcher(struct segmenter *segmenter, dwarfs_error **err)
{
	const struct stream_settings *settings = segmenter->in->settings;
	struct matcher_options options = {
		.block_bytes = segmenter->block_bytes,
		.granularity = segmenter->granularity,
		.total_bytes = total_bytes(segmenter->in),
		.index_bytes = segmenter->in->budget->index_bytes,
		.lookback = settings->lookback,
		.shift = dw_anchor_shift(settings),
	};
	int ret;

	if (settings->window_bits == 0 || settings->lookback == 0)
		return 0;
	if ((ret = choose_minima(segmenter, &options, err)) < 0 ||
	    (ret = new_locality(segmenter, err)) < 0 ||
	    (ret = dw_history_new(segmenter->run, segmenter->tree, segmenter->contents,
				  segmenter->compressor, segmenter->block_bytes,
				  segmenter->in->budget->history_bytes,
				  &segmenter->history, err)) < 0)
		return ret;
	return dw_matcher_new(&options, segmenter->history, &segmenter->matcher, err);
}

static void free_segmenter(struct segmenter *segmenter)
{
	dw_locality_free(segmenter->locality);
	dw_matcher_free(segmenter->matcher);
	dw_history_free(segmenter->history);
	dw_block_release(segmenter->compressor, segmenter->block);
	free(segmenter->piece);
	dw_buffer_free(&segmenter->path);
}

int dw_segment(const struct segment_input *in, struct compressor *compressor,
	       struct chunks *chunks, dwarfs_error **err)
{
	const struct stream *stream = &in->contents->streams.list[in->stream];
	__attribute__((cleanup(free_segmenter))) struct segmenter segmenter = {
		.in = in,
		.run = in->run,
		.tree = in->tree,
		.contents = in->contents,
		.compressor = compressor,
		.chunks = chunks,
		.block_bytes = dw_block_bytes(in->run->options, stream),
		.granularity = 1,
		.source_content = DW_NONE,
	};
	struct packing packing = dw_packing_of(in->run->settings, stream->category);
	int ret;

	packing.codec.samples = stream->samples;
	if (stream->samples.is_known)
		segmenter.granularity = (size_t)stream->samples.bytes_per_sample *
					stream->samples.channels;
	if (!(segmenter.piece = malloc(MATCH_PIECE_BYTES)))
		return dw_fail_nomem(err);
	if ((ret = dw_compressor_turn(compressor, in->stream, stream->category, &packing,
				      segmenter.block_bytes, err)) < 0 ||
	    (ret = new_matcher(&segmenter, err)) < 0)
		return ret;
	ret = store_all(&segmenter, err);
	end_source(&segmenter);
	in->run->progress.path = NULL;
	return ret;
}
