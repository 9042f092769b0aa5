/* SPDX-License-Identifier: MIT */
/*
 * codec/lzma/lzma2: LZMA2 data unpacked right where it is wanted.
 *
 * The output is its own dictionary, so that no memory but the probabilities is needed,
 * and nothing is copied twice. What surrounds the data (headers, checks, indexes) is for
 * the caller, as are filters behind LZMA2.
 */
#ifndef DW_CODEC_LZMA_LZMA2_H
#define DW_CODEC_LZMA_LZMA2_H

#include "base/memory.h"

struct lzma2;

/* NULL without memory. */
struct lzma2 *dw_lzma2_new(void);
void dw_lzma2_free(struct lzma2 *lzma2);
DW_DEFINE_AUTO(lzma2, struct lzma2 *, dw_lzma2_free)
#define auto_lzma2 DW_AUTO(lzma2)

/* From here on: to size bytes at out, which outlive the decoding. Matches reach back to
 * out and no further than dictionary bytes. */
void dw_lzma2_begin(struct lzma2 *lzma2, uint8_t *out, size_t size, uint32_t dictionary);

enum lzma2_result {
	LZMA2_MORE, /* upto bytes or a few more are there */
	LZMA2_END,  /* so is the end of the data */
	LZMA2_BAD,  /* it is damaged or cut off; do not go on */
	LZMA2_FULL, /* there is more than size; likewise */
};

/*
 * Go on with the input, all of which is there, from *at. *done is how much is unpacked;
 * with upto at size the end must follow, so MORE is not given then.
 */
enum lzma2_result dw_lzma2_run(struct lzma2 *lzma2, struct span in, size_t *at,
			       size_t upto, size_t *done);

#endif
