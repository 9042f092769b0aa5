/* SPDX-License-Identifier: MIT */
/*
 * compare/sum: a hash of contents that skips holes and zeros.
 *
 * Each grain that is not all zeros is hashed with its offset, and the size at the end: so
 * the result does not depend on whether zeros are stored.
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

/* Bytes added so far. */
uint64_t dw_sum_bytes(const struct sum *sum);

void dw_sum_data(struct sum *sum, const void *data, size_t bytes);
void dw_sum_hole(struct sum *sum, uint64_t bytes);

/* And be ready for the next contents. */
void dw_sum_finish(struct sum *sum, uint64_t out[2]);

#endif
