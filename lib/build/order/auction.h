/* SPDX-License-Identifier: MIT */
/*
 * order/auction: which of several orders packs best, measured on a sample.
 */
#ifndef DW_BUILD_ORDER_AUCTION_H
#define DW_BUILD_ORDER_AUCTION_H

#include "build/order/order.h"

struct candidate {
	const char *name;
	uint32_t *numbers; /* the same fragments in each candidate */

	/* Results. */
	uint64_t packed;      /* bytes of the sample */
	double amplification; /* blocks that a directory is spread over, the first
			       * candidate being 1 */
	double score;	      /* the lower the better */
};

/*
 * Choose among candidates, of which the first are preferred when there is little
 * difference. Files are read by way of the run's sources. Its winner does not depend on
 * the number of workers. Without a codec that is fast enough it is the first.
 */
/* Bytes of a sample for a stream with this codec. */
uint64_t dw_auction_sample_bytes(const struct codec_spec *codec);

int dw_auction(const struct order_input *input, struct candidate *candidates,
	       size_t candidate_count, size_t count, size_t *winner_out,
	       dwarfs_error **err);

#endif
