/* SPDX-License-Identifier: MIT */
/*
 * write/order/revpath: by file name, then by the names of the directories above it from the
 * lowest to the highest, so that files with the same name are stored side by side.
 */
#include <string.h>

#include "write/order/order.h"

static int compare_last_names(const struct tree *tree, const struct tree_entry *left,
			      const struct tree_entry *right)
{
	if (left->name == right->name)
		return 0;
	return dw_span_compare(dw_string_set_at(&tree->names, left->name),
			       dw_string_set_at(&tree->names, right->name));
}

static int compare_revpath(const void *left, const void *right, void *user)
{
	const struct order_input *input = user;
	const struct tree *tree = input->tree;
	const uint32_t *numbers[] = { left, right };
	uint32_t a = dw_order_entry(input, *numbers[0]);
	uint32_t b = dw_order_entry(input, *numbers[1]);

	/* Entry 0 is the root, which has no name. */
	while (a != b && a != 0 && b != 0) {
		int order =
			compare_last_names(tree, &tree->entries[a], &tree->entries[b]);

		if (order != 0)
			return order;
		a = tree->entries[a].parent;
		b = tree->entries[b].parent;
	}
	if (a != b)
		return a == 0 ? -1 : 1;
	return *numbers[0] < *numbers[1] ? -1 : *numbers[0] > *numbers[1];
}

static int sort_revpath(const struct order_input *input, uint32_t *numbers, size_t count,
			dwarfs_error **err)
{
	if (count > 1)
		qsort_r(numbers, count, sizeof(numbers[0]), compare_revpath,
			(void *)input);
	return 0;
}

const struct order_ops dw_order_revpath = { .name = "revpath", .sort = sort_revpath };
