/* SPDX-License-Identifier: MIT */
/*
 * write/order/auto/finalists: which orders are tried by packing.
 */
#ifndef DW_WRITE_ORDER_AUTO_FINALISTS_H
#define DW_WRITE_ORDER_AUTO_FINALISTS_H

#include "write/order/auto/auction.h"

/*
 * The numbers of the winner of the auction and of candidates that may be as good, at most one
 * of each kind and at most `most` (from 1) in all, in the order of the kinds. Returns how many.
 */
size_t dw_find_finalists(const struct candidate *candidates, size_t count, size_t winner,
			 size_t most, size_t finalists[CANDIDATE_KINDS]);

#endif
