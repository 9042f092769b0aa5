/* SPDX-License-Identifier: MIT */
/*
 * codec/lzma/lzma2_symbols: literals and matches, the loop that takes the time.
 *
 * All that it changes lives in registers, the input is looked at once for each symbol,
 * and a bit that goes either way about as often is decoded without a branch.
 *
 * The algorithm is that of Igor Pavlov's public domain LZMA specification.
 */
#include "config.h"

#if HAVE_LZMA

#include <string.h>

#include "codec/lzma/lzma2_symbols.h"

#define MIN_MATCH     2
#define MOST_MATCH    273
#define FIRST_SPECIAL 4	 /* slots from here have more bits, */
#define FIRST_DIRECT  14 /* from here most of them without a probability */
#define WIDE	      32 /* bytes that are copied at once */
#define PROB_BITS     11
#define SPEED	      5
#define TOP	      (1U << 24)

#define INLINE static inline __attribute__((always_inline))

/* -- bits ---------------------------------------------------------------------------- */

INLINE void refill(struct coder *coder)
{
	if (coder->range < TOP) {
		coder->range <<= 8;
		coder->code = coder->code << 8 | *coder->in++;
	}
}

/* One that is mostly as it was before. */
INLINE bool steady_bit(struct coder *coder, uint16_t *prob)
{
	uint32_t bound, p = *prob;

	refill(coder);
	bound = (coder->range >> PROB_BITS) * p;
	if (coder->code < bound) {
		coder->range = bound;
		*prob = (uint16_t)(p + (((1U << PROB_BITS) - p) >> SPEED));
		return false;
	}
	coder->range -= bound;
	coder->code -= bound;
	*prob = (uint16_t)(p - (p >> SPEED));
	return true;
}

/* One that may be anything: all ones for 0, 0 for 1. */
INLINE uint32_t any_bit(struct coder *coder, uint16_t *prob)
{
	uint32_t bound, rest, zero, p = *prob;

	refill(coder);
	bound = (coder->range >> PROB_BITS) * p;
	zero = -(uint32_t)(coder->code < bound);
	rest = coder->range - bound;
	coder->range = zero ? bound : rest;
	coder->code -= bound & ~zero;
	*prob = (uint16_t)(p - ((int32_t)(p + (zero & (31 - 2048))) >> SPEED));
	return zero;
}

/* count bits, the high ones first, with a 1 in front. */
INLINE uint32_t steady_tree(struct coder *coder, uint16_t *probs, unsigned count)
{
	uint32_t symbol = 1;

#pragma GCC unroll 8
	for (unsigned i = 0; i < count; i++)
		symbol += symbol + steady_bit(coder, &probs[symbol]);
	return symbol;
}

/* The low ones first. */
INLINE uint32_t reverse_tree(struct coder *coder, uint16_t *probs, unsigned count)
{
	uint32_t symbol = 1, value = 0;

	for (unsigned i = 0; i < count; i++) {
		uint32_t bit = 1 + any_bit(coder, &probs[symbol]);

		symbol += symbol + bit;
		value |= bit << i;
	}
	return value;
}

/* Each of them as likely as not. */
INLINE uint32_t direct_bits(struct coder *coder, unsigned count)
{
	uint32_t value = 0;

	do {
		uint32_t zero;

		refill(coder);
		coder->range >>= 1;
		coder->code -= coder->range;
		zero = -(coder->code >> 31);
		coder->code += coder->range & zero;
		value += value + 1 + zero;
	} while (--count > 0);
	return value;
}

/* -- symbols ------------------------------------------------------------------------- */

INLINE uint32_t match_length(struct coder *coder, struct lengths *lengths,
			     uint32_t position)
{
	if (!steady_bit(coder, &lengths->is_long))
		return MIN_MATCH - 8 + steady_tree(coder, lengths->low[position], 3);
	if (!steady_bit(coder, &lengths->is_longest))
		return MIN_MATCH + steady_tree(coder, lengths->middle[position], 3);
	return MIN_MATCH + 16 - 256 + steady_tree(coder, lengths->high, 8);
}

/* Less one. */
INLINE uint32_t match_distance(struct coder *coder, struct probabilities *probs,
			       uint32_t length)
{
	uint32_t kind =
		length - MIN_MATCH < LENGTH_SLOTS ? length - MIN_MATCH : LENGTH_SLOTS - 1;
	uint32_t slot = steady_tree(coder, probs->slot[kind], 6) - 64, bits, distance;

	if (slot < FIRST_SPECIAL)
		return slot;
	bits = (slot >> 1) - 1;
	distance = (2 | (slot & 1)) << bits;
	if (slot < FIRST_DIRECT)
		return distance +
		       reverse_tree(coder, probs->special + distance - slot, bits);
	distance += direct_bits(coder, bits - ALIGN_BITS) << ALIGN_BITS;
	return distance + reverse_tree(coder, probs->align, ALIGN_BITS);
}

INLINE uint8_t literal(struct coder *coder, uint16_t *probs)
{
	uint32_t symbol = 1;

#pragma GCC unroll 8
	for (unsigned i = 0; i < 8; i++)
		symbol += symbol + 1 + any_bit(coder, &probs[symbol]);
	return (uint8_t)symbol;
}

/*
 * After a match: the byte that would have gone on with it is expected, and where the
 * first bits are as expected, the next ones have tables of their own.
 */
INLINE uint8_t matched_literal(struct coder *coder, uint16_t *probs, uint32_t expected)
{
	uint32_t symbol = 1, still = 0x100;

#pragma GCC unroll 8
	for (unsigned i = 0; i < 8; i++) {
		uint32_t hint;
		bool bit;

		expected += expected;
		hint = expected & still;
		bit = steady_bit(coder, &probs[still + hint + symbol]);
		symbol += symbol + bit;
		still &= bit ? hint : ~hint;
	}
	return (uint8_t)symbol;
}

/* room: how much may be written over, at least length. Steps that overlap come out right
 * because each is no longer than the distance. */
INLINE void copy_match(uint8_t *to, size_t distance, size_t length, size_t room)
{
	const uint8_t *from = to - distance, *end = to + length;

	if (distance >= WIDE && room >= MOST_MATCH + WIDE) {
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

/* One of those that were used last: which, and its length; 0 for a lone byte. */
INLINE uint32_t repeated_match(struct coder *coder, struct probabilities *probs,
			       struct history *h, uint32_t position)
{
	uint32_t state = h->state, distance;

	if (!steady_bit(coder, &probs->is_older[state])) {
		if (!steady_bit(coder, &probs->is_long_rep[state][position]))
			return 0;
		return match_length(coder, &probs->rep, position);
	}
	if (!steady_bit(coder, &probs->is_third[state])) {
		distance = h->rep1;
	} else {
		if (!steady_bit(coder, &probs->is_fourth[state])) {
			distance = h->rep2;
		} else {
			distance = h->rep3;
			h->rep3 = h->rep2;
		}
		h->rep2 = h->rep1;
	}
	h->rep1 = h->rep0;
	h->rep0 = distance;
	return match_length(coder, &probs->rep, position);
}

/* -- the loop ------------------------------------------------------------------------ */

INLINE uint8_t one_literal(const struct lzma2 *lzma2, struct coder *coder,
			   struct probabilities *probs, struct history *h,
			   const uint8_t *to, size_t position)
{
	uint32_t before = position > 0 ? to[-1] : 0, state = h->state;
	uint32_t table = ((uint32_t)position & lzma2->literal_mask) * 256 + before;
	uint16_t *mine = probs->literal + (table >> lzma2->literal_shift) * LITERAL_PROBS;

	h->state = state < 4 ? 0 : state < 10 ? state - 3 : state - 6;
	if (state < 7)
		return literal(coder, mine);
	return matched_literal(coder, mine, to[-(ptrdiff_t)h->rep0 - 1]);
}

/* Its length: 0 for a lone byte. */
INLINE uint32_t one_match(struct coder *coder, struct probabilities *probs,
			  struct history *h, uint32_t position)
{
	uint32_t state = h->state, length;

	if (steady_bit(coder, &probs->is_rep[state])) {
		length = repeated_match(coder, probs, h, position);
		h->state = state < 7 ? (length ? 8 : 9) : 11;
		return length;
	}
	h->rep3 = h->rep2;
	h->rep2 = h->rep1;
	h->rep1 = h->rep0;
	length = match_length(coder, &probs->match, position);
	h->rep0 = match_distance(coder, probs, length);
	h->state = state < 7 ? 7 : 10;
	return length;
}

bool dw_lzma2_symbols(struct lzma2 *lzma2, size_t limit, const uint8_t *look)
{
	struct probabilities *probs = &lzma2->probs;
	struct coder coder = lzma2->coder;
	struct history h = lzma2->history;
	uint8_t *base = lzma2->out + lzma2->start;
	size_t at = lzma2->done - lzma2->start, most = lzma2->chunk_out - lzma2->start;
	size_t room = lzma2->size - lzma2->start;
	uint32_t dictionary = lzma2->dictionary;
	bool good = true;

	limit -= lzma2->start;
	while (at < limit && coder.in <= look) {
		uint32_t position = (uint32_t)at & lzma2->position_mask, length;

		if (!steady_bit(&coder, &probs->is_match[h.state][position])) {
			base[at] = one_literal(lzma2, &coder, probs, &h, base + at, at);
			at++;
			continue;
		}
		length = one_match(&coder, probs, &h, position);
		length += length == 0;
		good = h.rep0 < at && h.rep0 < dictionary && length <= most - at;
		if (!good)
			break;
		copy_match(base + at, (size_t)h.rep0 + 1, length, room - at);
		at += length;
	}
	lzma2->coder = coder;
	lzma2->history = h;
	lzma2->done = lzma2->start + at;
	return good;
}

bool dw_lzma2_coder_ends(struct lzma2 *lzma2)
{
	refill(&lzma2->coder);
	return lzma2->coder.code == 0;
}

#endif
