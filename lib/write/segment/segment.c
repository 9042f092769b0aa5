/* SPDX-License-Identifier: MIT */
/*
 * write/segment/segment: fragments -> chunks in blocks.
 *
 * Reads each fragment once, piece by piece. Data that the matcher finds in stored data
 * becomes a chunk that refers to it; the rest is appended to the open block
 * (block_filler.c). Holes become chunks without bytes. Data beyond the scanned size is
 * ignored; a file that ends early is stored with its real size.
 */
#include <errno.h>
#include <string.h>

#include "os/file_io.h"
#include "write/digests/digests.h"
#include "write/items/assembly.h"
#include "write/segment/segmenter.h"

/* See least_match(). */
#define SCARCE_PART 2
#define FEW_CHUNKS  8

/* The fragment being stored. Errors of the input do not fail the run: they end the
 * fragment, not the image. */
struct storing {
	struct fill_state fill;
	struct content *content;
	struct source *source;
	int errnum;		 /* reading failed here */
	bool ended;		 /* the file was shorter than expected */
	struct digests *digests; /* that hash the contents, or NULL */
};

/* -- chunks ------------------------------------------------------------------------- */

static int add_hole(struct segmenter *segmenter, struct storing *storing, uint64_t size,
		    dwarfs_error **err)
{
	struct chunk hole = { .block = DW_NONE, .size = size };

	if (size == 0)
		return 0;
	if (storing->digests)
		dw_content_hash_add_hole(&storing->digests->hash, size);
	storing->content->hole_bytes += size;
	storing->fill.next_place = UINT64_MAX;
	storing->fill.literals = 0;
	segmenter->filler.input_bytes += size;
	segmenter->run->progress.bytes_read += size;
	return dw_block_filler_add_chunk(&segmenter->filler, storing->fill.fragment, hole,
					 err);
}

/* A run of bytes that is stored already. */
static int add_match(struct segmenter *segmenter, struct storing *storing, uint64_t place,
		     size_t size, dwarfs_error **err)
{
	struct build_run *run = segmenter->run;
	uint32_t before = storing->fill.fragment->chunk_count;
	int ret = dw_block_filler_refer(&segmenter->filler, &storing->fill, place, size,
					err);

	if (segmenter->kept_anchors)
		dw_kept_anchors_found(segmenter->kept_anchors, place, size);
	run->counts[DWARFS_COUNT_BYTES_SEGMENTS] += size;
	run->progress.bytes_saved += size;
	run->counts[DWARFS_COUNT_SEGMENTS] +=
		storing->fill.fragment->chunk_count - before;
	return ret;
}

/* -- pieces ------------------------------------------------------------------------- */

/* A match that reached the end of the last piece may go on in this one. */
static int go_on_with_match(struct segmenter *segmenter, struct storing *storing,
			    const uint8_t *data, size_t size, size_t *done_out,
			    dwarfs_error **err)
{
	*done_out = 0;
	if (storing->fill.next_place == UINT64_MAX)
		return 0;
	*done_out = dw_matcher_extend(segmenter->matcher, storing->fill.next_place, data,
				      size);
	*done_out -= *done_out % segmenter->granularity;
	return add_match(segmenter, storing, storing->fill.next_place, *done_out, err);
}

/* Store a piece where the matcher looks for what is stored already. */
static int match_piece(struct segmenter *segmenter, struct storing *storing,
		       const uint8_t *data, size_t size, dwarfs_error **err)
{
	struct fragment *fragment = storing->fill.fragment;
	struct matcher *matcher = segmenter->matcher;
	size_t done, at, room;
	int ret;

	if (segmenter->kept_anchors &&
	    (ret = dw_kept_anchors_prepare(segmenter->kept_anchors, data, size, err)) < 0)
		return ret;
	dw_matcher_begin(matcher, data, size, fragment->size);
	if ((ret = go_on_with_match(segmenter, storing, data, size, &done, err)) < 0)
		return ret;
	while (dw_matcher_next(matcher, done, &at)) {
		struct match match;

		if ((ret = dw_block_filler_store(&segmenter->filler, &storing->fill,
						 data + done, at - done, err)) < 0 ||
		    (ret = dw_block_filler_room(&segmenter->filler, &room, err)) < 0)
			return ret;
		done = at;
		if (!dw_matcher_look(
			    matcher, dw_block_filler_next(&segmenter->filler),
			    dw_block_filler_literals(&segmenter->filler, &storing->fill),
			    &match))
			continue;
		dw_block_filler_take_back(&segmenter->filler, &storing->fill, match.back);
		if ((ret = add_match(segmenter, storing, match.place, match.size, err)) <
		    0)
			return ret;
		done = at - match.back + match.size;
	}
	if (done < size)
		storing->fill.next_place = UINT64_MAX;
	return dw_block_filler_store(&segmenter->filler, &storing->fill, data + done,
				     size - done, err);
}

/*
 * The shortest match that is worth one of the chunks, where their number is limited: when they run out,
 * nothing more is deduplicated. It is a part of what each chunk has on average if all are used, and when
 * few are left so long that these suffice for any data.
 */
static uint64_t least_match(const struct segmenter *segmenter)
{
	const uint64_t most = segmenter->in->budget->max_chunks;
	const uint64_t used = segmenter->filler.chunks->count;
	const uint64_t done = segmenter->filler.input_bytes;
	const uint64_t left = segmenter->total > done ? segmenter->total - done : 0;

	if (most == UINT64_MAX || used >= most)
		return 0;
	if (most - used < most / FEW_CHUNKS)
		return 2 * (left / (most - used));
	return segmenter->total / most / SCARCE_PART;
}

static int store_piece(struct segmenter *segmenter, struct storing *storing,
		       const uint8_t *data, size_t size, dwarfs_error **err)
{
	int ret;

	size -= size % segmenter->granularity;
	if (storing->digests)
		dw_content_hash_add(&storing->digests->hash, data, size);
	segmenter->filler.input_bytes += size;
	if (segmenter->matcher)
		dw_matcher_set_least(segmenter->matcher, least_match(segmenter));
	ret = segmenter->matcher && segmenter->filler.chunks->count <
					    segmenter->in->budget->max_chunks
		      ? match_piece(segmenter, storing, data, size, err)
		      : dw_block_filler_store(&segmenter->filler, &storing->fill, data,
					      size, err);
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
		align_run(segmenter, storing->fill.fragment, at, end, &from, &to);
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
	const char *path = (const char *)segmenter->cursor.path.data;
	struct content *content = storing->content;
	bool is_known = content->differs;

	/* What is right with one fragment says nothing of those before it. */
	content->differs |= storing->errnum || storing->ended || unchanged != 1;
	if (!content->differs || is_known || segmenter->run->is_trial)
		return content->differs;
	if (storing->errnum)
		dw_build_complain(segmenter->run, path, storing->errnum, "cannot read",
				  storing->fill.fragment->offset +
						  storing->fill.fragment->size
					  ? "storing what was read before"
					  : "creating empty inode",
				  NULL);
	else if (storing->ended)
		dw_build_complain(segmenter->run, path, 0,
				  "file became shorter while it was read",
				  "storing what was read", NULL);
	else
		dw_build_complain(segmenter->run, path, 0,
				  "file changed while it was read",
				  "storing what was read", NULL);
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
	if (dw_fd_is_exhausted(-ret)) {
		dw_stored_window_close_files(segmenter->filler.window);
		ret = dw_source_begin(segmenter->run, segmenter->tree,
				      segmenter->contents, content, &segmenter->source);
	}
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
		.fill = { .fragment = fragment, .next_place = UINT64_MAX },
		.content = &segmenter->contents->list[fragment->content],
		.source = &segmenter->source,
	};
	uint64_t end = fragment->offset + fragment->size;
	uint64_t end_of_input = segmenter->filler.input_bytes + fragment->size;
	struct tree *tree = segmenter->tree;
	int ret, unchanged = 1;

	if ((ret = dw_path_cursor_go(&segmenter->cursor, tree,
				     tree->inodes[storing.content->inode].entry, err)) <
	    0)
		return ret;
	segmenter->run->progress.path = (const char *)segmenter->cursor.path.data;
	fragment->size = 0;
	fragment->chunk_count = 0;
	fragment->first_chunk = segmenter->filler.chunks->count;
	if (storing.content->fragment_count == 1)
		storing.digests = segmenter->run->digests;
	if (storing.digests)
		dw_content_hash_begin(&storing.digests->hash);
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
	if ((ret = dw_build_check_descriptors(segmenter->run,
					      segmenter->run->progress.path,
					      storing.errnum, "cannot read", err)) < 0)
		return ret;
	if (storing.errnum &&
	    (ret = dw_image_file_unreadable(
		     segmenter->run, &tree->inodes[storing.content->inode], err)) < 0)
		return dw_explain(err, ret, "'%s'", segmenter->run->progress.path);
	if (storing.digests &&
	    (ret = dw_digests_set_hashed(storing.digests, fragment->content, err)) < 0)
		return ret;
	*differs_out = complain(segmenter, &storing, unchanged);
	if (segmenter->run->is_trial)
		fragment->size = end - fragment->offset;
	if (*differs_out) /* what could not be read is dealt with, too */
		segmenter->filler.input_bytes = end_of_input;
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
		bool differs = false;

		if ((ret = dw_segmenter_turn_group(segmenter, i, err)) < 0 ||
		    (segmenter->gatherer &&
		     (ret = dw_gatherer_turn(segmenter->gatherer, i, err)) < 0) ||
		    (ret = store_fragment(segmenter, in->numbers[i], &differs, err)) < 0)
			return ret;
		if (differs && segmenter->run->is_trial)
			return 0;
		if (differs &&
		    (ret = part_from(segmenter, segmenter->contents->list[content].inode,
				     err)) < 0)
			return ret;
		progress->items_done++;
		if ((ret = dw_progress_tick(progress, err)) < 0)
			return ret;
	}
	if (segmenter->gatherer && (ret = dw_gatherer_end(segmenter->gatherer, err)) < 0)
		return ret;
	return dw_block_filler_close(&segmenter->filler, err);
}

int dw_segment(const struct segment_input *in, struct compressor *compressor,
	       struct chunks *chunks, dwarfs_error **err)
{
	auto_segmenter struct segmenter *segmenter = NULL;
	int ret = dw_segmenter_new(in, compressor, chunks, &segmenter, err);

	if (ret < 0)
		return ret;
	ret = store_all(segmenter, err);
	end_source(segmenter);
	in->run->progress.path = NULL;
	return ret;
}
