/* SPDX-License-Identifier: MIT */
/*
 * codec/lzma/lzma2_symbols: decompress literals and matches, the inner loop of LZMA.
 *
 * The state of the loop is kept in local variables, the end of the input is tested once
 * for each symbol, and bits of literals are decoded without a branch.
 *
 * Algorithm and names are those of Igor Pavlov's public domain LZMA specification.
 */
#include "config.h"

#if HAVE_LZMA

#include <string.h>

#include "codec/lzma/lzma2_symbols.h"

#define MATCH_MIN   2
#define MATCH_MAX   273
#define MODEL_START 4  /* slots from here have more bits, */
#define MODEL_END   14 /* from here most of them without a probability */
#define WIDE	    32 /* bytes that are copied at once */
#define PROB_BITS   11
#define MOVE_BITS   5
#define TOP_VALUE   (1U << 24)

#define INLINE static inline __attribute__((always_inline))

/* -- bits ---------------------------------------------------------------------------- */

INLINE void rc_normalize(struct range_coder *rc)
{
	if (rc->range < TOP_VALUE) {
		rc->range <<= 8;
		rc->code = rc->code << 8 | *rc->in++;
	}
}

/* Decode a bit, by a branch: for bits that are predictable. */
INLINE bool rc_bit(struct range_coder *rc, uint16_t *prob)
{
	uint32_t bound, p = *prob;

	rc_normalize(rc);
	bound = (rc->range >> PROB_BITS) * p;
	if (rc->code < bound) {
		rc->range = bound;
		*prob = (uint16_t)(p + (((1U << PROB_BITS) - p) >> MOVE_BITS));
		return false;
	}
	rc->range -= bound;
	rc->code -= bound;
	*prob = (uint16_t)(p - (p >> MOVE_BITS));
	return true;
}

/* Decode a bit without a branch: all ones for 0, 0 for 1. */
INLINE uint32_t rc_bit_branchless(struct range_coder *rc, uint16_t *prob)
{
	uint32_t bound, rest, zero, p = *prob;

	rc_normalize(rc);
	bound = (rc->range >> PROB_BITS) * p;
	zero = -(uint32_t)(rc->code < bound);
	rest = rc->range - bound;
	rc->range = zero ? bound : rest;
	rc->code -= bound & ~zero;
	*prob = (uint16_t)(p - (uint32_t)((int32_t)(p + (zero & (31u - 2048u))) >>
					  MOVE_BITS));
	return zero;
}

/* count bits, the highest first, below a leading 1. */
INLINE uint32_t rc_bittree(struct range_coder *rc, uint16_t *probs, unsigned count)
{
	uint32_t symbol = 1;

#pragma GCC unroll 8
	for (unsigned i = 0; i < count; i++)
		symbol += symbol + rc_bit(rc, &probs[symbol]);
	return symbol;
}

/* count bits, the lowest first. */
INLINE uint32_t rc_bittree_reverse(struct range_coder *rc, uint16_t *probs,
				   unsigned count)
{
	uint32_t symbol = 1, value = 0;

	for (unsigned i = 0; i < count; i++) {
		uint32_t bit = 1 + rc_bit_branchless(rc, &probs[symbol]);

		symbol += symbol + bit;
		value |= bit << i;
	}
	return value;
}

/* count bits of equal probability, the highest first. */
INLINE uint32_t rc_direct(struct range_coder *rc, unsigned count)
{
	uint32_t value = 0;

	do {
		uint32_t zero;

		rc_normalize(rc);
		rc->range >>= 1;
		rc->code -= rc->range;
		zero = -(rc->code >> 31);
		rc->code += rc->range & zero;
		value += value + 1 + zero;
	} while (--count > 0);
	return value;
}

/* -- symbols ------------------------------------------------------------------------- */

INLINE uint32_t match_length(struct range_coder *rc, struct length_coder *coder,
			     uint32_t position)
{
	if (!rc_bit(rc, &coder->choice))
		return rc_bittree(rc, coder->low[position], 3) + MATCH_MIN - 8;
	if (!rc_bit(rc, &coder->choice_2))
		return MATCH_MIN + rc_bittree(rc, coder->mid[position], 3);
	return rc_bittree(rc, coder->high, 8) + MATCH_MIN + 16 - 256;
}

/* The distance less one, as the format stores it. */
INLINE uint32_t match_distance(struct range_coder *rc, struct probabilities *probs,
			       uint32_t length)
{
	uint32_t length_state = length - MATCH_MIN < LENGTH_STATES ? length - MATCH_MIN
								   : LENGTH_STATES - 1;
	uint32_t pos_slot = rc_bittree(rc, probs->pos_slot_probs[length_state], 6) - 64,
		 bits, distance;

	if (pos_slot < MODEL_START)
		return pos_slot;
	bits = (pos_slot >> 1) - 1;
	distance = (2 | (pos_slot & 1)) << bits;
	if (pos_slot < MODEL_END)
		return distance +
		       rc_bittree_reverse(rc, probs->pos_special + distance - pos_slot,
					  bits);
	distance += rc_direct(rc, bits - ALIGN_BITS) << ALIGN_BITS;
	return distance + rc_bittree_reverse(rc, probs->pos_align, ALIGN_BITS);
}

INLINE uint8_t literal(struct range_coder *rc, uint16_t *probs)
{
	uint32_t symbol = 1;

#pragma GCC unroll 8
	for (unsigned i = 0; i < 8; i++)
		symbol += symbol + 1 + rc_bit_branchless(rc, &probs[symbol]);
	return (uint8_t)symbol;
}

/*
 * A literal after a match. match_byte is the byte that would have continued the match; as
 * long as the bits decoded so far equal its bits, they choose the probabilities.
 */
INLINE uint8_t matched_literal(struct range_coder *rc, uint16_t *probs,
			       uint32_t match_byte)
{
	uint32_t symbol = 1, offset = 0x100;

#pragma GCC unroll 8
	for (unsigned i = 0; i < 8; i++) {
		uint32_t match_bit;
		bool bit;

		match_byte += match_byte;
		match_bit = match_byte & offset;
		bit = rc_bit(rc, &probs[offset + match_bit + symbol]);
		symbol += symbol + bit;
		offset &= bit ? match_bit : ~match_bit;
	}
	return (uint8_t)symbol;
}

/* capacity: bytes that may be overwritten from to on, at least length. Overlapping copies
 * are correct because no step is longer than the distance. */
INLINE void copy_distant(uint8_t *to, size_t distance, size_t length, size_t capacity)
{
	const uint8_t *from = to - distance, *end = to + length;

	if (distance >= WIDE && capacity >= MATCH_MAX + WIDE) {
		do {
			memcpy(to, from, WIDE);
			to += WIDE;
			from += WIDE;
		} while (to < end);
	} else if (distance == 1) {
		memset(to, *from, length);
	} else {
		do
			*to++ = *from++;
		while (to < end);
	}
}

/* A match with one of the last four distances. Returns its length, 0 for a short rep. */
INLINE uint32_t rep_match(struct range_coder *rc, struct probabilities *probs,
			  struct lzma_state *h, uint32_t position)
{
	uint32_t state = h->state, distance;

	if (!rc_bit(rc, &probs->is_rep_g0[state])) {
		if (!rc_bit(rc, &probs->is_rep0_long[state][position]))
			return 0;
		return match_length(rc, &probs->rep, position);
	}
	if (!rc_bit(rc, &probs->is_rep_g1[state])) {
		distance = h->rep1;
	} else {
		if (!rc_bit(rc, &probs->is_rep_g2[state])) {
			distance = h->rep2;
		} else {
			distance = h->rep3;
			h->rep3 = h->rep2;
		}
		h->rep2 = h->rep1;
	}
	h->rep1 = h->rep0;
	h->rep0 = distance;
	return match_length(rc, &probs->rep, position);
}

/* -- the loop ------------------------------------------------------------------------ */

INLINE uint8_t decode_literal(const struct lzma2 *lzma2, struct range_coder *rc,
			      struct probabilities *probs, struct lzma_state *h,
			      const uint8_t *to, size_t position)
{
	uint32_t before = position > 0 ? to[-1] : 0, state = h->state;
	uint32_t table = ((uint32_t)position & lzma2->literal_mask) * 256 + before;
	uint16_t *mine = probs->literal + (table >> lzma2->literal_shift) * LITERAL_PROBS;

	h->state = state < 4 ? 0 : state < 10 ? state - 3 : state - 6;
	if (state < 7)
		return literal(rc, mine);
	return matched_literal(rc, mine, to[-(ptrdiff_t)h->rep0 - 1]);
}

/* Returns the length of the match, 0 for a short rep. */
INLINE uint32_t decode_match(struct range_coder *rc, struct probabilities *probs,
			     struct lzma_state *h, uint32_t position)
{
	uint32_t state = h->state, length;

	if (rc_bit(rc, &probs->is_rep[state])) {
		length = rep_match(rc, probs, h, position);
		h->state = state < 7 ? (length ? 8 : 9) : 11;
		return length;
	}
	h->rep3 = h->rep2;
	h->rep2 = h->rep1;
	h->rep1 = h->rep0;
	length = match_length(rc, &probs->match, position);
	h->rep0 = match_distance(rc, probs, length);
	h->state = state < 7 ? 7 : 10;
	return length;
}

bool dw_lzma2_symbols(struct lzma2 *lzma2, size_t limit, const uint8_t *input_stop)
{
	struct probabilities *probs = &lzma2->probs;
	struct range_coder rc = lzma2->rc;
	struct lzma_state h = lzma2->symbols;
	uint8_t *base = lzma2->out + lzma2->start;
	size_t at = lzma2->done - lzma2->start, most = lzma2->chunk_out - lzma2->start;
	size_t capacity = lzma2->size - lzma2->start;
	uint32_t dictionary = lzma2->dictionary;
	bool good = true;

	limit -= lzma2->start;
	while (at < limit && rc.in <= input_stop) {
		uint32_t position = (uint32_t)at & lzma2->pos_mask, length;

		if (!rc_bit(&rc, &probs->is_match[h.state][position])) {
			base[at] = decode_literal(lzma2, &rc, probs, &h, base + at, at);
			at++;
			continue;
		}
		length = decode_match(&rc, probs, &h, position);
		length += length == 0;
		good = h.rep0 < at && h.rep0 < dictionary && length <= most - at;
		if (!good)
			break;
		copy_distant(base + at, (size_t)h.rep0 + 1, length, capacity - at);
		at += length;
	}
	lzma2->rc = rc;
	lzma2->symbols = h;
	lzma2->done = lzma2->start + at;
	return good;
}

bool dw_lzma2_coder_ends(struct lzma2 *lzma2)
{
	rc_normalize(&lzma2->rc);
	return lzma2->rc.code == 0;
}

#endif
