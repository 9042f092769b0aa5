/* SPDX-License-Identifier: MIT */
/*
 * write/order/hot_files: in the order of the list of hot paths.
 */
#include "write/categorize/categorize.h"
#include "write/order/order.h"

static int sort_hotness(const struct order_input *input, uint32_t *numbers, size_t count,
			dwarfs_error **err)
{
	auto_free uint32_t *ranks = dw_calloc(input->tree->entry_count, sizeof(*ranks));
	auto_buffer struct buffer path = { 0 };

	if (!ranks)
		return dw_fail_nomem(err);
	for (size_t i = 0; i < count; i++) {
		uint32_t entry = dw_order_entry(input, numbers[i]);
		int ret = dw_tree_path(input->tree, entry, &path, err);

		if (ret < 0)
			return ret;
		ranks[entry] = dw_hotness_rank(&input->run->options->categorize,
					       (const char *)path.data);
	}
	return dw_order_by_rank(input, ranks, numbers, count, err);
}

/* Not selectable by name: the list of hot paths is an option of its own. */
const struct order_ops dw_order_hotness = { .name = "hotness", .sort = sort_hotness };
