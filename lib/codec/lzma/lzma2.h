/* SPDX-License-Identifier: MIT */
/*
 * codec/lzma/lzma2: decode LZMA2 data directly into the output.
 *
 * The output is also the dictionary, so the only other memory is that of the
 * probabilities, and nothing is copied twice. Headers, checks, indexes, and filters
 * after LZMA2 are left to the caller.
 */
#ifndef DW_CODEC_LZMA_LZMA2_H
#define DW_CODEC_LZMA_LZMA2_H

#include "base/memory.h"

struct lzma2;

/* NULL: out of memory. */
struct lzma2 *dw_lzma2_new(void);
void dw_lzma2_free(struct lzma2 *lzma2);
DW_DEFINE_AUTO(lzma2, struct lzma2 *, dw_lzma2_free)
#define auto_lzma2 DW_AUTO(lzma2)

/* Start decoding to size bytes at out, which outlive it. Matches begin at out or
 * later, and at most dictionary bytes back. */
void dw_lzma2_begin(struct lzma2 *lzma2, uint8_t *out, size_t size, uint32_t dictionary);

enum lzma2_result {
	LZMA2_MORE, /* upto bytes or a few more are decoded */
	LZMA2_END,  /* and the data ends here */
	LZMA2_BAD,  /* damaged or truncated; decoding ends */
	LZMA2_FULL, /* more data than size; decoding ends */
};

/* Decode input, all of which is present, from *at. *done is the number of decoded
 * bytes; if upto is size the end must follow, so the result is not MORE. */
enum lzma2_result dw_lzma2_run(struct lzma2 *lzma2, struct span in, size_t *at,
			       size_t upto, size_t *done);

#endif
