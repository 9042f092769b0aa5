/* SPDX-License-Identifier: MIT */
/*
 * write/order/auto/auction: which of several orders packs best, forecast from a sketch.
 */
#ifndef DW_WRITE_ORDER_AUTO_AUCTION_H
#define DW_WRITE_ORDER_AUTO_AUCTION_H

#include "write/order/auto/sketch.h"

/* By what an order brings files together. */
enum candidate_kind {
	CANDIDATE_BY_PATH,
	CANDIDATE_BY_SIBLINGS, /* directories with the same names and alike contents */
	CANDIDATE_BY_SIBLING_NAMES, /* directories with the same names */
	CANDIDATE_BY_REVPATH,
	CANDIDATE_BY_NILSIMSA,
	CANDIDATE_BY_SIMILARITY,
	CANDIDATE_KINDS
};

struct candidate {
	const char *name;
	enum candidate_kind kind;
	uint32_t *numbers; /* the same fragments in each candidate */

	/* Results. */
	uint64_t spread;      /* blocks of which directories have bytes, summed up */
	double amplification; /* the same, the first candidate being 1 */
	double fee;	      /* for directories that are spread, of the size */
	double score;	      /* the lower the better; 0 without a forecast */
	double kept;	      /* bytes in blocks, uncompressed */
};

/*
 * Choose among candidates, of which the first are preferred when there is little
 * difference. Files are read by way of the run's sources. Its winner does not depend on
 * the number of workers. Where there is no memory for a sketch it is the first.
 */
int dw_auction(const struct order_input *input, struct candidate *candidates,
	       size_t candidate_count, size_t count, size_t *winner_out,
	       dwarfs_error **err);

/* Fill in the results of candidates, by the forecast from this sketch. */
int dw_auction_judge(const struct order_input *input, const struct sketch *sketch,
		     struct candidate *candidates, size_t candidate_count, size_t count,
		     dwarfs_error **err);

#endif
