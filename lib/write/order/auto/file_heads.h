/* SPDX-License-Identifier: MIT */
/*
 * write/order/auto/file_heads: sort by fingerprints of the first bytes of each fragment.
 */
#ifndef DW_WRITE_ORDER_AUTO_FILE_HEADS_H
#define DW_WRITE_ORDER_AUTO_FILE_HEADS_H

#include "write/order/order.h"

/* Bytes of memory for each fragment, while fragments are sorted by their fingerprints. */
#define HEADS_PER_FRAGMENT 192

/*
 * Sort fragments by an order that needs another kind of fingerprint than the contents
 * have. Reads 1 GiB at most; *sorted_out is false, and numbers are unchanged, if that is
 * too little for this number of fragments.
 */
int dw_order_by_heads(const struct order_input *input, const struct order_spec *spec,
		      uint32_t *numbers, size_t count, bool *sorted_out,
		      dwarfs_error **err);

#endif
