/* SPDX-License-Identifier: MIT */
/*
 * write/order/unrelated/unrelated: directories that have nothing in common, so that each may have
 * its own order.
 */
#ifndef DW_WRITE_ORDER_UNRELATED_UNRELATED_H
#define DW_WRITE_ORDER_UNRELATED_UNRELATED_H

#include "write/order/order.h"

/* Of a group, unless there is only one; and at least twice what the codec reaches back. */
#define UNRELATED_LEAST_BYTES ((uint64_t)16 << 20)

/* At most this many directories are compared with each other: the largest ones. The others are
 * together what one of these is. */
#define UNRELATED_MAX_PARTS 128

/*
 * Divide fragments, sorted by path, into groups of directories that resemble one another neither
 * in names of files nor in contents, by MINHASH fingerprints and samples. Groups follow one another in the
 * order of their first fragments, and fragments keep theirs within a group. Each fragment gets the
 * number of its group.
 *
 * The directories are those in the lowest directory that has all of the fragments; the files that
 * are in it directly are together what one directory is. Groups of less than
 * UNRELATED_LEAST_BYTES are one group together, or part of the largest one if that is still less.
 *
 * ends_out: for each group the place of its end; the caller frees it.
 */
int dw_order_unrelated(const struct order_input *input, uint32_t *numbers, size_t count,
		       size_t **ends_out, size_t *group_count_out, dwarfs_error **err);

#endif
