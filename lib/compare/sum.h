/* SPDX-License-Identifier: MIT */
/*
 * compare/sum: a sum of contents to which holes, and zeros, cost nothing.
 *
 * Each grain that is not all zeros counts with its place, and the size at the end: so it
 * does not matter whether zeros are stored.
 */
#ifndef DW_COMPARE_SUM_H
#define DW_COMPARE_SUM_H

#include <dwarfs/digest.h>

#include "base/memory.h"

struct sum;

int dw_sum_new(struct sum **sum_out, dwarfs_error **err);
void dw_sum_free(struct sum *sum);
DW_DEFINE_AUTO(sum, struct sum *, dw_sum_free)
#define auto_sum DW_AUTO(sum)

/* How many bytes have come. */
uint64_t dw_sum_bytes(const struct sum *sum);

void dw_sum_data(struct sum *sum, const void *data, size_t bytes);
void dw_sum_hole(struct sum *sum, uint64_t bytes);

/* And be ready for the next contents. */
void dw_sum_finish(struct sum *sum, uint64_t out[2]);

#endif
