/* SPDX-License-Identifier: MIT */
/*
 * write/order/auto/similar_pieces: which pieces of large files resemble pieces of other files.
 */
#ifndef DW_WRITE_ORDER_AUTO_SIMILAR_PIECES_H
#define DW_WRITE_ORDER_AUTO_SIMILAR_PIECES_H

#include "write/order/auto/sketch.h"

/*
 * For each of the pieces, which are fragments in storing order: the index of the earlier piece of
 * other contents with which it has the most shingles in common, or DW_NONE. Shingles that are all
 * over a file do not count.
 */
int dw_find_similar_pieces(const struct order_input *input, const struct sketch *sketch,
			   const uint32_t *pieces, size_t count, uint32_t *similar_out,
			   dwarfs_error **err);

/*
 * Put pieces into an order in which each piece is followed by those that resemble it, and by
 * those that resemble these, as far as they take no more than max_bytes together.
 */
int dw_group_similar_pieces(const struct order_input *input, const uint32_t *pieces,
			    const uint32_t *similar, size_t count, uint64_t max_bytes,
			    uint32_t *ordered_out, dwarfs_error **err);

#endif
