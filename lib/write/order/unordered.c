/* SPDX-License-Identifier: MIT */
/*
 * write/order/unordered: in scan order: the files of a directory, then those below it.
 */
#include "write/order/order.h"

static int keep_order(const struct order_input *input, uint32_t *numbers, size_t count,
		      dwarfs_error **err)
{
	return 0;
}

const struct order_ops dw_order_none = { .name = "none", .sort = keep_order };
