/* SPDX-License-Identifier: MIT */
/*
 * write/order/order_options: setters for the order of files. See <dwarfs/builder.h>.
 */
#include "write/order/order.h"
#include "write/builder.h"

void dwarfs_builder_set_max_similarity_bytes(dwarfs_builder *builder, uint64_t bytes)
{
	if (!builder)
		return;
	builder->options.max_similarity_bytes = bytes;
}

void dwarfs_builder_set_order_callback(dwarfs_builder *builder, dwarfs_order_fn order,
				       void *user)
{
	if (!builder)
		return;
	builder->options.order_callback = order;
	builder->options.order_callback_user = user;
}
