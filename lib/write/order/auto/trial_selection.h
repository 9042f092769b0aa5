/* SPDX-License-Identifier: MIT */
/*
 * write/order/auto/trial_selection: which orders are tried by packing.
 */
#ifndef DW_WRITE_ORDER_AUTO_TRIAL_SELECTION_H
#define DW_WRITE_ORDER_AUTO_TRIAL_SELECTION_H

#include "write/order/auto/candidates.h"

/*
 * The numbers of the candidate with the best forecast and, unless the data hardly compress, of
 * those that may be as good, at most one of each kind and at most `most` (from 1) in all, in the
 * order of the kinds. Returns how many. With by_cost_of_segments, those that have neither fewer new
 * bytes nor fewer segments than the first are left out: whatever a segment costs, they are not better.
 */
size_t dw_select_for_trial(const struct candidate *candidates, size_t count,
			   size_t chosen, size_t most, bool by_cost_of_segments,
			   size_t selected[CANDIDATE_KINDS]);

#endif
