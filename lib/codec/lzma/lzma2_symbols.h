/* SPDX-License-Identifier: MIT */
/*
 * codec/lzma/lzma2_symbols: the state of a decoder, shared by chunks and symbols.
 */
#ifndef DW_CODEC_LZMA_LZMA2_SYMBOLS_H
#define DW_CODEC_LZMA_LZMA2_SYMBOLS_H

#include "codec/lzma/lzma2.h"

#define STATES	       12
#define POS_STATES     16 /* pb <= 4 */
#define LITERAL_PROBS  0x300
#define LITERAL_TABLES 16 /* lc + lp <= 4 */
#define LENGTH_STATES  4  /* match lengths with own probabilities of pos_slot */
#define ALIGN_BITS     4
#define INPUT_MAX      24 /* bytes of one symbol: 22 bits of less than 7, and 26 of 1 */

struct length_coder {
	uint16_t choice, choice_2;
	uint16_t low[POS_STATES][8], mid[POS_STATES][8], high[256];
};

struct probabilities {
	uint16_t is_match[STATES][POS_STATES], is_rep[STATES];
	uint16_t is_rep_g0[STATES], is_rep_g1[STATES], is_rep_g2[STATES];
	uint16_t is_rep0_long[STATES][POS_STATES];
	uint16_t pos_slot_probs[LENGTH_STATES][64], pos_special[115];
	uint16_t pos_align[1 << ALIGN_BITS];
	struct length_coder match, rep;
	uint16_t literal[LITERAL_TABLES * LITERAL_PROBS];
};

struct range_coder {
	uint32_t range, code;
	const uint8_t *in;
};

/* The state between two symbols. */
struct lzma_state {
	uint32_t state;
	uint32_t rep0, rep1, rep2, rep3; /* distances, less one */
};

struct lzma2 {
	uint8_t *out;
	size_t size, done;
	size_t start; /* offset in out where the dictionary begins */
	uint32_t dictionary;

	bool needs_dictionary, needs_properties, needs_state;
	uint32_t literal_shift; /* 8 - lc */
	uint32_t literal_mask, pos_mask;

	size_t chunk_out;    /* end of the current chunk in out */
	const uint8_t *stop; /* and its end in the input */
	bool is_in_tail;     /* rc.in points into tail */
	size_t tail_size;
	uint8_t tail[3 * INPUT_MAX];

	struct range_coder rc;
	struct lzma_state symbols;
	struct probabilities probs;
};

/*
 * Decompress symbols until the output has limit bytes or the input position is after
 * input_stop, which INPUT_MAX readable bytes follow. False for an invalid symbol.
 */
bool dw_lzma2_symbols(struct lzma2 *lzma2, size_t limit, const uint8_t *input_stop);

/* After the last symbol of a chunk: whether the range coder ended with code 0. */
bool dw_lzma2_coder_ends(struct lzma2 *lzma2);

#endif
