/* SPDX-License-Identifier: MIT */
/*
 * write/order/sort: sort numbers by keys, in time that depends on their count alone.
 */
#ifndef DW_WRITE_ORDER_SORT_H
#define DW_WRITE_ORDER_SORT_H

#include "base/memory.h"

struct dw_keyed {
	uint32_t key, number;
};

/* Sort by key; of equal keys the first stays the first. spare has room for as many. */
void dw_sort_keyed(struct dw_keyed *list, struct dw_keyed *spare, size_t count);

#endif
