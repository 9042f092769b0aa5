/* SPDX-License-Identifier: MIT */
/*
 * write/order/auto/candidates: choose the order whose packed size is forecast to be the smallest.
 */
#ifndef DW_WRITE_ORDER_AUTO_CANDIDATES_H
#define DW_WRITE_ORDER_AUTO_CANDIDATES_H

#include "write/order/auto/sketch.h"

/* Blocks of a codec that reaches so far are read slowly in any case: only the size counts. */
#define ORDER_FAR_REACH_BYTES ((uint64_t)32 << 20)

/* By what an order brings files together. */
enum candidate_kind {
	CANDIDATE_BY_PATH,
	CANDIDATE_BY_SIBLINGS, /* directories with the same names and similar contents */
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
	uint64_t spread;       /* blocks of which directories have bytes, summed up */
	double amplification;  /* the same, the first candidate being 1 */
	double spread_penalty; /* for directories that are spread, of the size */
	double score;	       /* the lower the better; 0 without a forecast */
	double kept; /* bytes in blocks, uncompressed, without repeats of long runs */
	double new_bytes, segments; /* of these, and references to earlier ones */
	uint32_t density;	    /* of the new bytes: that of dw_density() */
};

/*
 * Choose the candidate with the lowest score; of nearly equal ones, the first. Files are read
 * through the sources of the run. The result does not depend on the number of workers. Without
 * memory for a sketch it is the first candidate.
 */
int dw_candidates_choose(const struct order_input *input, struct candidate *candidates,
			 size_t candidate_count, size_t count, size_t *best_out,
			 dwarfs_error **err);

/*
 * The share of the size that each directory in one more block costs, if kept_bytes are stored in
 * blocks, uncompressed: none where they fit into a cache, and none if the codec reaches far.
 */
double dw_spread_penalty(uint64_t reach_bytes, double kept_bytes);

/* Fill in the results of candidates, by the forecast from this sketch. */
int dw_candidates_score(const struct order_input *input, const struct sketch *sketch,
			struct candidate *candidates, size_t candidate_count,
			size_t count, dwarfs_error **err);

#endif
