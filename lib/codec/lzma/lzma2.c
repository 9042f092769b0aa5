/* SPDX-License-Identifier: MIT */
/*
 * codec/lzma/lzma2: decompress LZMA2 into the caller's memory, without a window.
 *
 * An LZMA2 stream is a sequence of chunks, each stored or LZMA with a range coder of its
 * own; its header has both sizes. Decompression can be suspended between any two symbols.
 * The last bytes of a chunk are decoded from a zero-padded copy, so that the input is
 * bounds-checked once for each symbol.
 *
 * Why not liblzma: here the output is the dictionary. liblzma allocates a window for each
 * block being decompressed (the dictionary of the stream: 2 MiB at level 7, 16 MiB at
 * level 8, 64 MiB at level 9), and copies from it. Time relative to liblzma, by
 * bench/lzma.c on the first 64 MiB of a tar: 0.89 (logs), 0.80 (releases) and 0.72
 * (rootfs) of version 5.4.1; 0.93, 1.20 and 1.29 of version 5.8.4, which has assembler
 * for x86-64.
 */
#include "config.h"

#if HAVE_LZMA

#include <stdlib.h>
#include <string.h>

#include "codec/lzma/lzma2_symbols.h"

#define PROB_INIT   1024 /* initial probability: one half of 2048 */
#define CODER_BYTES 5	 /* initial bytes of the range coder; the first is 0 */

/* -- chunks -------------------------------------------------------------------------- */

static void reset_state(struct lzma2 *lzma2)
{
	uint16_t *prob = (uint16_t *)&lzma2->probs;
	size_t count = sizeof(lzma2->probs) / sizeof(*prob);

	for (size_t i = 0; i < count; i++)
		prob[i] = PROB_INIT;
	lzma2->symbols = (struct lzma_state){ 0 };
}

static bool set_properties(struct lzma2 *lzma2, uint8_t byte)
{
	uint32_t pb = byte / 45, lp = byte % 45 / 9, lc = byte % 9;

	if (byte >= 225 || lc + lp > 4)
		return false;
	lzma2->literal_shift = 8 - lc;
	lzma2->literal_mask = (1U << lp) - 1;
	lzma2->pos_mask = (1U << pb) - 1;
	return true;
}

/* Read the first bytes of a chunk into the range coder. */
static bool begin_coder(struct lzma2 *lzma2, const uint8_t *in)
{
	lzma2->rc = (struct range_coder){
		.range = UINT32_MAX,
		.code = (uint32_t)in[1] << 24 | (uint32_t)in[2] << 16 |
			(uint32_t)in[3] << 8 | in[4],
		.in = in + CODER_BYTES,
	};
	lzma2->is_in_tail = false;
	return in[0] == 0;
}

/* Whether a chunk with this control byte is valid after the previous ones. */
static bool may_follow(const struct lzma2 *lzma2, uint8_t control)
{
	if (lzma2->needs_dictionary)
		return false;
	if (control < 0x80)
		return control <= 2;
	return control >= 0xC0 ||
	       (!lzma2->needs_properties && (control >= 0xA0 || !lzma2->needs_state));
}

static enum lzma2_result open_lzma_chunk(struct lzma2 *lzma2, struct span in, size_t *at)
{
	const uint8_t *head = in.data + *at;
	uint8_t control = head[0];
	size_t header = control >= 0xC0 ? 6 : 5, from = *at + header, out, packed;

	if (in.size - *at < header)
		return LZMA2_BAD;
	out = ((size_t)(control & 0x1F) << 16 | (size_t)head[1] << 8 | head[2]) + 1;
	packed = ((size_t)head[3] << 8 | head[4]) + 1;
	if (packed < CODER_BYTES || packed > in.size - from ||
	    (control >= 0xC0 && !set_properties(lzma2, head[5])))
		return LZMA2_BAD;
	if (out > lzma2->size - lzma2->done)
		return LZMA2_FULL;
	if (control >= 0xA0)
		reset_state(lzma2);
	lzma2->needs_properties = lzma2->needs_state = false;
	lzma2->chunk_out = lzma2->done + out;
	lzma2->stop = in.data + from + packed;
	*at = from + packed;
	return begin_coder(lzma2, in.data + from) ? LZMA2_MORE : LZMA2_BAD;
}

/* At most 64 KiB, so they are copied in one step. */
static enum lzma2_result copy_stored_chunk(struct lzma2 *lzma2, struct span in,
					   size_t *at)
{
	const uint8_t *head = in.data + *at;
	size_t bytes;

	if (in.size - *at < 3)
		return LZMA2_BAD;
	bytes = ((size_t)head[1] << 8 | head[2]) + 1;
	*at += 3;
	if (bytes > in.size - *at)
		return LZMA2_BAD;
	if (bytes > lzma2->size - lzma2->done)
		return LZMA2_FULL;
	memcpy(lzma2->out + lzma2->done, in.data + *at, bytes);
	*at += bytes;
	lzma2->done += bytes;
	lzma2->chunk_out = lzma2->done;
	return LZMA2_MORE;
}

/* Read the header of the next chunk, or the end marker. */
static enum lzma2_result open_chunk(struct lzma2 *lzma2, struct span in, size_t *at)
{
	uint8_t control;

	if (*at >= in.size)
		return LZMA2_BAD;
	control = in.data[*at];
	if (control == 0) {
		++*at;
		return LZMA2_END;
	}
	if (control == 1 || control >= 0xE0) {
		lzma2->start = lzma2->done;
		lzma2->needs_dictionary = false;
		lzma2->needs_properties = true;
	}
	if (!may_follow(lzma2, control))
		return LZMA2_BAD;
	return control < 0x80 ? copy_stored_chunk(lzma2, in, at)
			      : open_lzma_chunk(lzma2, in, at);
}

static bool is_near_end(const struct lzma2 *lzma2)
{
	return lzma2->stop - lzma2->rc.in <= INPUT_MAX;
}

/* Continue in a zero-padded copy of the last bytes of the chunk. */
static bool enter_tail(struct lzma2 *lzma2)
{
	if (lzma2->rc.in > lzma2->stop)
		return false;
	lzma2->tail_size = (size_t)(lzma2->stop - lzma2->rc.in);
	memset(lzma2->tail, 0, sizeof(lzma2->tail));
	memcpy(lzma2->tail, lzma2->rc.in, lzma2->tail_size);
	lzma2->rc.in = lzma2->tail;
	lzma2->is_in_tail = true;
	return true;
}

/* Whether the chunk used exactly its input. */
static bool end_chunk(struct lzma2 *lzma2)
{
	return dw_lzma2_coder_ends(lzma2) && lzma2->is_in_tail &&
	       lzma2->rc.in == lzma2->tail + lzma2->tail_size;
}

static bool unpack_chunk(struct lzma2 *lzma2, size_t upto)
{
	size_t limit = upto < lzma2->chunk_out ? upto : lzma2->chunk_out;

	if (!lzma2->is_in_tail && !is_near_end(lzma2) &&
	    !dw_lzma2_symbols(lzma2, limit, lzma2->stop - INPUT_MAX))
		return false;
	if (!lzma2->is_in_tail && is_near_end(lzma2) && !enter_tail(lzma2))
		return false;
	if (lzma2->is_in_tail &&
	    !dw_lzma2_symbols(lzma2, limit, lzma2->tail + lzma2->tail_size))
		return false;
	if (lzma2->done < limit)
		return false;
	return lzma2->done < lzma2->chunk_out || end_chunk(lzma2);
}

/* -- the stream ---------------------------------------------------------------------- */

enum lzma2_result dw_lzma2_run(struct lzma2 *lzma2, struct span in, size_t *at,
			       size_t upto, size_t *done)
{
	enum lzma2_result result = LZMA2_MORE;

	while (result == LZMA2_MORE &&
	       (lzma2->done < upto || lzma2->done == lzma2->size)) {
		if (lzma2->done == lzma2->chunk_out)
			result = open_chunk(lzma2, in, at);
		else if (!unpack_chunk(lzma2, upto))
			result = LZMA2_BAD;
	}
	*done = lzma2->done;
	return result;
}

void dw_lzma2_begin(struct lzma2 *lzma2, uint8_t *out, size_t size, uint32_t dictionary)
{
	lzma2->out = out;
	lzma2->size = size;
	lzma2->done = lzma2->start = lzma2->chunk_out = 0;
	lzma2->dictionary = dictionary;
	lzma2->needs_dictionary = lzma2->needs_properties = true;
	lzma2->needs_state = true;
}

struct lzma2 *dw_lzma2_new(void)
{
	return dw_calloc(1, sizeof(struct lzma2));
}

void dw_lzma2_free(struct lzma2 *lzma2)
{
	dw_free(lzma2);
}

#endif
