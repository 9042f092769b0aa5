/* SPDX-License-Identifier: MIT */
/*
 * write/order/auto/trial: which of several orders packs best, found by packing.
 */
#ifndef DW_WRITE_ORDER_AUTO_TRIAL_H
#define DW_WRITE_ORDER_AUTO_TRIAL_H

#include "write/order/auto/auction.h"

/* Streams that are larger are not tried. */
#define TRIAL_MAX_BYTES ((uint64_t)16 << 20)

/* Bytes of memory to try a stream of this size. */
uint64_t dw_trial_memory(uint64_t bytes);

/*
 * Pack all fragments in the order of each candidate with a fast codec. The first candidates
 * are preferred when there is little difference. The winner is the first one if the codec is
 * not built in, or if the stream is larger than TRIAL_MAX_BYTES.
 */
int dw_trial(const struct order_input *input, const struct candidate *candidates,
	     size_t candidate_count, size_t count, size_t *winner_out,
	     dwarfs_error **err);

#endif
