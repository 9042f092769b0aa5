/* SPDX-License-Identifier: MIT */
/*
 * codec/lzma/lzma2_symbols: what LZMA2's chunks and the symbols in them share.
 */
#ifndef DW_CODEC_LZMA_LZMA2_SYMBOLS_H
#define DW_CODEC_LZMA_LZMA2_SYMBOLS_H

#include "codec/lzma/lzma2.h"

#define STATES	       12
#define POSITIONS      16 /* pb <= 4 */
#define LITERAL_PROBS  0x300
#define LITERAL_TABLES 16 /* lc + lp <= 4 */
#define LENGTH_SLOTS   4  /* lengths that have distance slots of their own */
#define ALIGN_BITS     4
#define MOST_INPUT     24 /* of a symbol: 22 bits of less than 7, and 26 of 1 */

struct lengths {
	uint16_t is_long, is_longest;
	uint16_t low[POSITIONS][8], middle[POSITIONS][8], high[256];
};

struct probabilities {
	uint16_t is_match[STATES][POSITIONS], is_rep[STATES];
	uint16_t is_older[STATES], is_third[STATES], is_fourth[STATES]; /* of the last */
	uint16_t is_long_rep[STATES][POSITIONS];
	uint16_t slot[LENGTH_SLOTS][64], special[115], align[1 << ALIGN_BITS];
	struct lengths match, rep;
	uint16_t literal[LITERAL_TABLES * LITERAL_PROBS];
};

struct coder {
	uint32_t range, code;
	const uint8_t *in;
};

/* What is known between two symbols. */
struct history {
	uint32_t state;
	uint32_t rep0, rep1, rep2, rep3; /* distances, less one */
};

struct lzma2 {
	uint8_t *out;
	size_t size, done;
	size_t start; /* of the dictionary */
	uint32_t dictionary;

	bool needs_dictionary, needs_properties, needs_state;
	uint32_t literal_shift; /* 8 - lc */
	uint32_t literal_mask, position_mask;

	size_t chunk_out;    /* where the present chunk ends, in out */
	const uint8_t *stop; /* and in the input */
	bool is_in_tail;     /* coder.in points into tail */
	size_t tail_size;
	uint8_t tail[3 * MOST_INPUT];

	struct coder coder;
	struct history history;
	struct probabilities probs;
};

/*
 * Symbols until limit bytes are there, or the input is past look, behind which there are
 * MOST_INPUT bytes. False for a symbol that cannot be.
 */
bool dw_lzma2_symbols(struct lzma2 *lzma2, size_t limit, const uint8_t *look);

/* Behind the last symbol of a chunk: whether the coder ends as it began. */
bool dw_lzma2_coder_ends(struct lzma2 *lzma2);

#endif
