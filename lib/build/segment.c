/* SPDX-License-Identifier: MIT */
/*
 * build/segment: fragments -> chunks in blocks.
 *
 * Reads each fragment once, piece by piece. What the matcher finds to be stored already
 * becomes a chunk that refers to it; the rest goes into the block being filled, and on
 * into the next one. Holes become chunks without bytes. What a file has beyond its scanned
 * size is left out, and one that ends earlier is stored that short.
 */
#include <errno.h>
#include <string.h>

#include "build/matcher.h"
#include "build/segment.h"

/* An anchor in 2^shift bytes. */
#define MIN_SHIFT 4
#define MAX_SHIFT 16

/* A codec that finds matches itself gains nothing from shorter ones in its block. */
#define NEAR_MINIMUM 2048

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
	bool has_first_block;
	uint8_t *piece;
	uint64_t input_bytes; /* dealt with since a block was closed */
	struct buffer path;   /* of the file being read */
};

/* The fragment being stored. Errors of the input are no errors of the run: they end the
 * fragment, not the image. */
struct storing {
	struct fragment *fragment;
	struct content *content;
	struct source source;
	uint64_t next_place; /* where a match would go on; UINT64_MAX: there was none */
	size_t literals;     /* bytes at the end of the block that were stored last */
	int errnum;	     /* reading failed here */
	bool ended;	     /* the file was shorter than expected */
};

size_t dw_block_bytes(const struct build_options *options, const struct stream *stream)
{
	size_t bytes = (size_t)1 << options->block_bits;
	size_t frame = (size_t)stream->samples.bytes_per_sample * stream->samples.channels;

	return stream->samples.is_known && frame ? bytes - bytes % frame : bytes;
}

unsigned dw_anchor_shift(const struct stream_settings *settings)
{
	unsigned shift = settings->window_bits > settings->step_bits
				 ? settings->window_bits - settings->step_bits
				 : 0;

	return shift < MIN_SHIFT ? MIN_SHIFT : shift > MAX_SHIFT ? MAX_SHIFT : shift;
}

/* -- chunks ---------------------------------------------------------------------------- */

static struct chunk *last_chunk(const struct segmenter *segmenter,
				const struct fragment *fragment)
{
	return fragment->chunk_count ? &segmenter->chunks->list[segmenter->chunks->count - 1]
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

/* -- blocks ---------------------------------------------------------------------------- */

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
		if (segmenter->history)
			dw_history_turn(segmenter->history, segmenter->block);
	}
	*room_out = segmenter->block_bytes - segmenter->block->size;
	return 0;
}

/* Where the next byte would be stored. */
static uint64_t next_place(const struct segmenter *segmenter)
{
	const struct block *block = segmenter->block;

	return (block->number - segmenter->first_block) *
		       (uint64_t)segmenter->block_bytes +
	       block->size;
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
		if (segmenter->history && fragment->chunk_count != before &&
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

/* A run of bytes that is stored already, which may go on from block to block. */
static int add_match(struct segmenter *segmenter, struct storing *storing, uint64_t place,
		     size_t size, dwarfs_error **err)
{
	struct build_run *run = segmenter->run;

	run->counts[DWARFS_COUNT_BYTES_SEGMENTS] += size;
	run->progress.bytes_saved += size;
	storing->literals = 0;
	while (size > 0) {
		size_t offset = (size_t)(place % segmenter->block_bytes);
		size_t room = segmenter->block_bytes - offset;
		uint32_t before = storing->fragment->chunk_count;
		struct chunk chunk = {
			.block = segmenter->first_block +
				 (uint32_t)(place / segmenter->block_bytes),
			.offset = (uint32_t)offset,
			.size = size < room ? size : room,
		};
		int ret = add_chunk(segmenter, storing->fragment, chunk, err);

		if (ret < 0)
			return ret;
		run->counts[DWARFS_COUNT_SEGMENTS] +=
			storing->fragment->chunk_count - before;
		place += chunk.size;
		size -= (size_t)chunk.size;
	}
	storing->next_place = place;
	return 0;
}

/* -- pieces ---------------------------------------------------------------------------- */

/* A match that reached the end of the last piece may go on in this one. */
static int go_on_with_match(struct segmenter *segmenter, struct storing *storing,
			    const uint8_t *data, size_t size, size_t *done_out,
			    dwarfs_error **err)
{
	*done_out = 0;
	if (storing->next_place == UINT64_MAX)
		return 0;
	*done_out = dw_matcher_extend(segmenter->matcher, storing->next_place, data, size);
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
	ret = segmenter->matcher
		      ? match_piece(segmenter, storing, data, size, err)
		      : add_literals(segmenter, storing, data, size, err);
	if (ret < 0)
		return ret;
	return dw_progress_tick(&segmenter->run->progress, err);
}

/* -- reading --------------------------------------------------------------------------- */

/* A run of data of the file. */
static int store_run(struct segmenter *segmenter, struct storing *storing, uint64_t from,
		     uint64_t to, dwarfs_error **err)
{
	size_t piece_bytes = MATCH_PIECE_BYTES - MATCH_PIECE_BYTES % segmenter->granularity;

	while (from < to) {
		size_t want = to - from < piece_bytes ? (size_t)(to - from) : piece_bytes;
		const uint8_t *data = segmenter->piece;
		int64_t got = (int64_t)want;
		int ret;

		if (storing->source.kept.data)
			data = storing->source.kept.data + from;
		else
			got = dw_source_read_at(&storing->source, segmenter->piece, want,
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

static int store_runs(struct segmenter *segmenter, struct storing *storing, uint64_t at,
		      uint64_t end, dwarfs_error **err)
{
	int ret;

	if (end > storing->source.size) { /* what is missing must not look like a hole */
		storing->ended = true;
		end = storing->source.size;
	}
	while (at < end && !storing->errnum) {
		uint64_t from = end, to = end;

		ret = dw_source_next_data(&storing->source, at, end, &from, &to);
		if (ret < 0) {
			storing->errnum = -ret;
			return 0;
		}
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

/* The bytes of a fragment, from the first file that has them. */
static int store_fragment(struct segmenter *segmenter, uint32_t number, bool *differs_out,
			  dwarfs_error **err)
{
	struct fragment *fragment = &segmenter->contents->fragments[number];
	struct storing storing = {
		.fragment = fragment,
		.content = &segmenter->contents->list[fragment->content],
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
	ret = dw_source_begin(segmenter->run, tree, segmenter->contents, fragment->content,
			      &storing.source);
	if (ret < 0) {
		storing.errnum = -ret;
	} else {
		ret = store_runs(segmenter, &storing, fragment->offset, end, err);
		unchanged = dw_source_is_unchanged(&storing.source);
		dw_source_end(&storing.source);
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

/* -- fragments ------------------------------------------------------------------------- */

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

		if ((ret = store_fragment(segmenter, in->numbers[i], &differs, err)) < 0)
			return ret;
		if (differs &&
		    (ret = part_from(segmenter, segmenter->contents->list[content].inode,
				     err)) < 0)
			return ret;
		progress->items_done++;
		if ((ret = dw_progress_tick(progress, err)) < 0)
			return ret;
	}
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

/* What looks for matches, where that is wanted. */
static int new_matcher(struct segmenter *segmenter, dwarfs_error **err)
{
	const struct stream_settings *settings = segmenter->in->settings;
	struct matcher_options options = {
		.block_bytes = segmenter->block_bytes,
		.granularity = segmenter->granularity,
		.far_minimum = segmenter->granularity << settings->window_bits,
		.total_bytes = total_bytes(segmenter->in),
		.index_bytes = segmenter->in->budget->index_bytes,
		.lookback = settings->lookback,
		.shift = dw_anchor_shift(settings),
	};
	int ret;

	if (settings->window_bits == 0 || settings->lookback == 0)
		return 0;
	options.near_minimum = options.far_minimum;
	if (finds_matches_itself(&settings->codec) && options.near_minimum < NEAR_MINIMUM)
		options.near_minimum = NEAR_MINIMUM;
	ret = dw_history_new(segmenter->run, segmenter->tree, segmenter->contents,
			     segmenter->compressor, segmenter->block_bytes,
			     segmenter->in->budget->history_bytes,
			     &segmenter->history, err);
	if (ret < 0)
		return ret;
	return dw_matcher_new(&options, segmenter->history, &segmenter->matcher, err);
}

static void free_segmenter(struct segmenter *segmenter)
{
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
	};
	struct codec_spec codec = in->settings->codec;
	int ret;

	codec.samples = stream->samples;
	if (stream->samples.is_known)
		segmenter.granularity = (size_t)stream->samples.bytes_per_sample *
					stream->samples.channels;
	if (!(segmenter.piece = malloc(MATCH_PIECE_BYTES)))
		return dw_fail_nomem(err);
	if ((ret = dw_compressor_turn(compressor, in->stream, stream->category, &codec,
				      segmenter.block_bytes, err)) < 0 ||
	    (ret = new_matcher(&segmenter, err)) < 0)
		return ret;
	ret = store_all(&segmenter, err);
	in->run->progress.path = NULL;
	return ret;
}
