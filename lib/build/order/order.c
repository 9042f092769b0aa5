/* SPDX-License-Identifier: MIT */
/*
 * order: the list of orders, and what they share.
 */
#include <string.h>

#include "build/order/order.h"

static const struct order_ops *const orders[] = {
	&dw_order_none,
	&dw_order_path,
	&dw_order_revpath,
};

const struct order_ops *dw_order_find(const char *name)
{
	for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++)
		if (strcmp(orders[i]->name, name) == 0)
			return orders[i];
	return NULL;
}

struct ranked {
	uint32_t rank, number;
};

static int compare_ranks(const void *left, const void *right)
{
	const struct ranked *a = left, *b = right;

	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	return a->number < b->number ? -1 : a->number > b->number;
}

int dw_order_by_rank(const struct tree *tree, const struct contents *contents,
		     const uint32_t *rank_of_entry, uint32_t *numbers, size_t count,
		     dwarfs_error **err)
{
	auto_free struct ranked *ranked = dw_calloc(count, sizeof(*ranked));

	if (!ranked)
		return dw_fail_nomem(err);
	for (size_t i = 0; i < count; i++) {
		uint32_t inode = contents->list[numbers[i]].inode;

		ranked[i] = (struct ranked){
			.rank = rank_of_entry[tree->inodes[inode].entry],
			.number = numbers[i],
		};
	}
	qsort(ranked, count, sizeof(ranked[0]), compare_ranks);
	for (size_t i = 0; i < count; i++)
		numbers[i] = ranked[i].number;
	return 0;
}
