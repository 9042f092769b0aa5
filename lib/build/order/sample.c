/* SPDX-License-Identifier: MIT */
/*
 * order/sample: some of the bytes of a stream, and how small they get in an order.
 *
 * A sample that consists of neighbours by path says nothing of an order that brings
 * together what is far apart, and the other way round. So each candidate gives runs of
 * its own neighbours, as many bytes as the others do, and all are measured on all of
 * them. Blocks are made smaller in proportion, so that the distance between what is
 * alike is as many blocks as in the whole.
 */
#include <string.h>

#include "base/bytes.h"
#include "build/order/sample.h"
#include "build/source.h"
#include "codec/codec.h"

#define PIECE_BYTES	 ((uint64_t)1 << 20) /* of a fragment at most */
#define RUN_BYTES	 ((uint64_t)1 << 20)
#define MIN_BLOCK_BYTES	 ((size_t)1 << 20)
#define ANCHOR_SHIFT	 7
#define BYTES_PER_ANCHOR 64 /* at least, so that their memory is bounded */

void dw_sample_free(struct sample *sample)
{
	free(sample->bytes);
	free(sample->anchors);
	free(sample->pieces);
	free(sample->piece_of);
	*sample = (struct sample){ 0 };
}

/* -- what is taken ------------------------------------------------------------------ */

static uint64_t piece_bytes(const struct order_input *input, uint32_t number)
{
	uint64_t size = input->contents->fragments[number].size;

	return size < PIECE_BYTES ? size : PIECE_BYTES;
}

/* Mark as much as share of the fragments, in runs that are equally far apart. */
static uint64_t mark_runs(const struct order_input *input,
			  const struct candidate *candidate, size_t count, uint64_t total,
			  uint64_t share, uint8_t *marks)
{
	uint64_t runs = share / RUN_BYTES ? share / RUN_BYTES : 1;
	uint64_t period = total / runs, length = share / runs;
	uint64_t at = 0, marked = 0;

	for (size_t i = 0; i < count; i++) {
		uint32_t number = candidate->numbers[i];
		uint64_t size = piece_bytes(input, number);

		if ((at + period / 2) % period < length && marked < share) {
			if (!marks[number])
				marked += size;
			marks[number] = 1;
		}
		at += size;
	}
	return marked;
}

static uint64_t mark(const struct order_input *input, const struct candidate *candidates,
		     size_t candidate_count, size_t count, uint64_t max_bytes,
		     uint64_t *total_out, uint8_t *marks)
{
	uint64_t total = 0, marked = 0;

	for (size_t i = 0; i < count; i++)
		total += piece_bytes(input, candidates[0].numbers[i]);
	*total_out = total;
	if (total <= max_bytes) {
		for (size_t i = 0; i < count; i++)
			marks[candidates[0].numbers[i]] = 1;
		return total;
	}
	/* What the others have taken already makes room for more. */
	for (size_t i = 0; i < candidate_count; i++)
		marked += mark_runs(input, &candidates[i], count, total,
				    (max_bytes - marked) / (candidate_count - i), marks);
	return marked;
}

static int add_piece(const struct order_input *input, uint32_t number,
		     struct sample *sample, size_t room, dwarfs_error **err)
{
	const struct contents *contents = input->contents;
	const struct fragment *fragment = &contents->fragments[number];
	size_t size = (size_t)piece_bytes(input, number), most;
	struct sample_piece *piece;
	int64_t got;
	int ret;

	if (size > room - sample->size)
		size = room - sample->size;
	got = dw_source_peek(input->run, input->tree, contents, fragment->content,
			     sample->bytes + sample->size, size, fragment->offset);
	if (got <= 0)
		return 0;
	if ((ret = dw_grow(&sample->pieces, &sample->piece_room, sample->piece_count + 1,
			   err)) < 0 ||
	    (ret = dw_grow(&sample->anchors, &sample->anchor_room,
			   sample->anchor_count + dw_anchors_room((size_t)got), err)) < 0)
		return ret;
	piece = &sample->pieces[sample->piece_count];
	*piece = (struct sample_piece){
		.start = (uint32_t)sample->size,
		.size = (uint32_t)got,
		.first_anchor = (uint32_t)sample->anchor_count,
	};
	piece->anchor_count = (uint32_t)dw_anchors_find(
		sample->bytes + sample->size, (size_t)got, ANCHOR_SHIFT,
		sample->anchors + sample->anchor_count);
	/* Data that is made for it has many more than others. */
	most = (sample->size + (size_t)got) / BYTES_PER_ANCHOR;
	if (piece->anchor_count > most - sample->anchor_count)
		piece->anchor_count = (uint32_t)(most - sample->anchor_count);
	sample->anchor_count += piece->anchor_count;
	sample->size += (size_t)got;
	sample->piece_of[number] = (uint32_t)sample->piece_count++;
	return 0;
}

int dw_sample_take(const struct order_input *input, const struct candidate *candidates,
		   size_t candidate_count, size_t count, uint64_t max_bytes,
		   struct sample *sample, dwarfs_error **err)
{
	size_t fragments = input->contents->fragment_count;
	auto_free uint8_t *marks = dw_calloc(fragments, 1);
	uint64_t marked, total;

	*sample = (struct sample){ 0 };
	sample->piece_of = dw_calloc(fragments, sizeof(*sample->piece_of));
	if (!marks || !sample->piece_of)
		return dw_fail_nomem(err);
	memset(sample->piece_of, 0xff, fragments * sizeof(*sample->piece_of));
	marked =
		mark(input, candidates, candidate_count, count, max_bytes, &total, marks);
	if (!(sample->bytes = dw_calloc((size_t)marked, 1)))
		return dw_fail_nomem(err);
	for (size_t i = 0; i < count; i++) {
		uint32_t number = candidates[0].numbers[i];
		int ret;

		if (marks[number] &&
		    (ret = add_piece(input, number, sample, (size_t)marked, err)) < 0)
			return ret;
	}
	sample->block_bytes = (size_t)((double)input->block_bytes * (double)marked /
				       (double)(total ? total : 1));
	if (sample->block_bytes < MIN_BLOCK_BYTES)
		sample->block_bytes = MIN_BLOCK_BYTES;
	if (sample->block_bytes > input->block_bytes)
		sample->block_bytes = (size_t)input->block_bytes;
	return 0;
}

/* -- how small it gets -------------------------------------------------------------- */

/* As the segmenter has them, about. */
#define MIN_FAR_MATCH  256
#define MIN_NEAR_MATCH 2048
#define MATCH_COST     10 /* packed bytes of two more chunks */
#define PROBES	       4

/* Where an anchor was seen, + 1, and the block that it went into. */
struct seen {
	uint32_t at, block;
};

struct measuring {
	const struct sample *sample;
	struct codec *codec;
	struct seen *seen;
	size_t mask;
	uint8_t *block;
	size_t filled;
	uint32_t block_number;
	struct buffer packed;
	struct sample_result *result;
};

static void free_measuring(struct measuring *measuring)
{
	free(measuring->seen);
	free(measuring->block);
	dw_buffer_free(&measuring->packed);
}

static int flush(struct measuring *measuring, dwarfs_error **err)
{
	struct span block = { measuring->block, measuring->filled };
	uint32_t id;
	int ret;

	if (block.size == 0)
		return 0;
	measuring->packed.size = 0;
	if ((ret = dw_codec_pack(measuring->codec, block, &measuring->packed, &id, err)) <
	    0)
		return ret;
	measuring->result->packed +=
		id == CODEC_NONE ? block.size : measuring->packed.size;
	measuring->block_number++;
	measuring->filled = 0;
	return 0;
}

static int keep(struct measuring *measuring, const uint8_t *data, size_t size,
		dwarfs_error **err)
{
	measuring->result->kept += size;
	while (size > 0) {
		size_t room = measuring->sample->block_bytes - measuring->filled;
		size_t taken = size < room ? size : room;
		int ret;

		memcpy(measuring->block + measuring->filled, data, taken);
		measuring->filled += taken;
		data += taken;
		size -= taken;
		if (taken == room && (ret = flush(measuring, err)) < 0)
			return ret;
	}
	return 0;
}

/* Bytes that are the same, from two places on. */
static size_t common_after(const uint8_t *a, const uint8_t *b, size_t most)
{
	size_t size = 0;

	while (size + 8 <= most && dw_load64(a + size) == dw_load64(b + size))
		size += 8;
	while (size < most && a[size] == b[size])
		size++;
	return size;
}

static size_t common_before(const uint8_t *a, const uint8_t *b, size_t most)
{
	size_t size = 0;

	while (size + 8 <= most && dw_load64(a - size - 8) == dw_load64(b - size - 8))
		size += 8;
	while (size < most && *(a - size - 1) == *(b - size - 1))
		size++;
	return size;
}

/* The slot of an anchor: the one where its bytes were seen, else the one to note it in.
 */
static struct seen *find_seen(struct measuring *measuring, uint64_t hash,
			      const uint8_t *window)
{
	const uint8_t *bytes = measuring->sample->bytes;
	size_t slot = (size_t)(hash >> 16);

	for (size_t i = 0; i < PROBES; i++) {
		struct seen *seen = &measuring->seen[(slot + i) & measuring->mask];

		if (seen->at == 0 ||
		    memcmp(bytes + seen->at - 1, window, ANCHOR_WINDOW) == 0)
			return seen;
	}
	return &measuring->seen[slot & measuring->mask];
}

static int take_piece(struct measuring *measuring, const struct sample_piece *piece,
		      dwarfs_error **err)
{
	const struct sample *sample = measuring->sample;
	const uint8_t *bytes = sample->bytes;
	const struct anchor *anchors = sample->anchors + piece->first_anchor;
	size_t done = piece->start, end = piece->start + piece->size;
	int ret;

	for (size_t i = 0; i < piece->anchor_count; i++) {
		size_t at = piece->start + anchors[i].at;
		size_t from, most, before, after, least;
		struct seen *seen;

		if (at < done)
			continue;
		seen = find_seen(measuring, anchors[i].hash, bytes + at);
		if (seen->at != 0 &&
		    memcmp(bytes + seen->at - 1, bytes + at, ANCHOR_WINDOW) == 0) {
			from = seen->at - 1;
			most = sample->size - from < end - at ? sample->size - from
							      : end - at;
			after = common_after(bytes + from, bytes + at, most);
			most = from < at - done ? from : at - done;
			before = common_before(bytes + from, bytes + at, most);
			least = seen->block == measuring->block_number ? MIN_NEAR_MATCH
								       : MIN_FAR_MATCH;
			if (before + after >= least) {
				ret = keep(measuring, bytes + done, at - before - done,
					   err);
				if (ret < 0)
					return ret;
				done = at + after;
				measuring->result->packed += MATCH_COST;
				continue;
			}
		}
		*seen = (struct seen){ (uint32_t)at + 1, measuring->block_number };
	}
	return keep(measuring, bytes + done, end - done, err);
}

int dw_sample_measure(const struct sample *sample, const uint32_t *numbers, size_t count,
		      struct codec *codec, struct sample_result *result,
		      dwarfs_error **err)
{
	__attribute__((cleanup(free_measuring))) struct measuring measuring = {
		.sample = sample,
		.codec = codec,
		.mask = 1023,
		.result = result,
	};

	*result = (struct sample_result){ 0 };
	while (measuring.mask < 2 * sample->anchor_count)
		measuring.mask = 2 * measuring.mask + 1;
	measuring.seen = dw_calloc(measuring.mask + 1, sizeof(*measuring.seen));
	measuring.block = dw_calloc(sample->block_bytes, 1);
	if (!measuring.seen || !measuring.block)
		return dw_fail_nomem(err);
	for (size_t i = 0; i < count; i++) {
		uint32_t piece = sample->piece_of[numbers[i]];
		int ret;

		if (piece != DW_NONE &&
		    (ret = take_piece(&measuring, &sample->pieces[piece], err)) < 0)
			return ret;
	}
	return flush(&measuring, err);
}
