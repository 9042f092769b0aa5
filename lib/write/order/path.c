/* SPDX-License-Identifier: MIT */
/*
 * write/order/path: by path, component by component.
 *
 * The children of a directory are sorted already, so one walk through the tree ranks all
 * entries and no path is compared.
 */
#include <string.h>

#include "write/order/order.h"

int dw_order_directories(const struct tree *tree, uint32_t **numbers_out,
			 dwarfs_error **err)
{
	uint32_t *numbers = dw_calloc(tree->entry_count, sizeof(*numbers));

	if (!numbers)
		return dw_fail_nomem(err);
	memset(numbers, 0xff, tree->entry_count * sizeof(*numbers));
	for (size_t i = 0; i < tree->directory_count; i++)
		numbers[tree->directories[i].entry] = (uint32_t)i;
	*numbers_out = numbers;
	return 0;
}

/* Position of the walk in a directory. */
struct position {
	uint32_t next, last;
};

static int rank_entries(const struct tree *tree, const uint32_t *directory_of,
			uint32_t *ranks, dwarfs_error **err)
{
	auto_free struct position *stack = NULL;
	size_t depth = 0, room = 0;
	uint32_t rank = 0, entry = 0;
	int ret;

	for (;;) {
		ranks[entry] = rank++;
		if (directory_of[entry] != DW_NONE) {
			uint32_t directory = directory_of[entry];

			if ((ret = dw_grow(&stack, &room, depth + 1, err)) < 0)
				return ret;
			stack[depth++] = (struct position){
				tree->directories[directory].first_entry,
				dw_tree_last_entry(tree, directory),
			};
		}
		while (depth > 0 && stack[depth - 1].next == stack[depth - 1].last)
			depth--;
		if (depth == 0)
			return 0;
		entry = stack[depth - 1].next++;
	}
}

int dw_order_path_ranks(const struct tree *tree, uint32_t **ranks_out, dwarfs_error **err)
{
	auto_free uint32_t *directory_of = NULL;
	auto_free uint32_t *ranks = dw_calloc(tree->entry_count, sizeof(*ranks));
	int ret;

	if (!ranks)
		return dw_fail_nomem(err);
	if ((ret = dw_order_directories(tree, &directory_of, err)) < 0)
		return ret;
	if ((ret = rank_entries(tree, directory_of, ranks, err)) < 0)
		return ret;
	*ranks_out = dw_steal(ranks);
	return 0;
}

static int sort_path(const struct order_input *input, uint32_t *numbers, size_t count,
		     dwarfs_error **err)
{
	auto_free uint32_t *ranks = NULL;
	int ret = dw_order_path_ranks(input->tree, &ranks, err);

	if (ret < 0)
		return ret;
	return dw_order_by_rank(input, ranks, numbers, count, err);
}

const struct order_ops dw_order_path = { .name = "path", .sort = sort_path };
