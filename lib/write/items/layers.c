/* SPDX-License-Identifier: MIT */
/*
 * write/items/layers: items in layers, as in container images.
 *
 * A layer may remove entries of the layers before it, but not its own, whatever the order
 * of its entries. So each node stores the last layer that changed it. See
 * <dwarfs/item.h>.
 */
#include <string.h>

#include "write/items/assembly.h"
#include "write/items/item.h"

int dwarfs_builder_begin_layer(dwarfs_builder *builder, dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(builder);

	if (!builder)
		return dw_fail_null(err, "builder");

	struct assembly *assembly;
	int ret = dw_assembly_of(builder, &assembly, err);

	if (ret < 0 || (ret = dw_assembly_end_layer(assembly, err)) < 0)
		return ret;
	assembly->layer++;
	dw_path_stack_forget(&assembly->last_path);
	return 0;
}

int dwarfs_builder_set_on_conflict(dwarfs_builder *builder, enum dwarfs_conflict conflict,
				   dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(builder);

	if (!builder)
		return dw_fail_null(err, "builder");
	if (builder->ran)
		return dw_fail_ran(err);
	if ((int)conflict < DWARFS_CONFLICT_LAST || conflict > DWARFS_CONFLICT_ERROR)
		return dw_fail(err, DWARFS_ERR_RANGE,
			       "no such way to settle a conflict: %d", (int)conflict);
	builder->on_conflict = conflict;
	return 0;
}

bool dwarfs_builder_has_item(const dwarfs_builder *builder, const char *path,
			     size_t bytes)
{
	DW_USE_ALLOCATOR_OF(builder);

	if (!builder || !path)
		return false;

	const struct span span = { (const uint8_t *)path, bytes };

	return builder->assembly && dw_item_check_path(span, NULL) == 0 &&
	       dw_assembly_find(builder->assembly, span) != DW_NONE;
}

uint64_t dwarfs_builder_count_below(const dwarfs_builder *builder, const char *path,
				    size_t bytes, bool of_layer)
{
	DW_USE_ALLOCATOR_OF(builder);

	if (!builder || !path)
		return 0;

	const struct span span = { (const uint8_t *)path, bytes };
	uint32_t node;

	if (!builder->assembly || dw_item_check_path(span, NULL) < 0 ||
	    (node = dw_assembly_find(builder->assembly, span)) == DW_NONE)
		return 0;
	return dw_assembly_count_below(builder->assembly, node, of_layer);
}

/* -- removing -------------------------------------------------------------------- */

/* Remove the entries below a node that the current layer has not changed. A changed entry
 * marks its directories as changed, too. */
static void clear_older(struct assembly *assembly, uint32_t top)
{
	uint32_t at = assembly->nodes[top].child;
	uint32_t parent = top;

	while (at != DW_NONE) {
		const uint32_t next = assembly->nodes[at].next;

		if (assembly->nodes[at].layer != assembly->layer) {
			dw_assembly_remove(assembly, at);
			at = next;
		} else if (assembly->nodes[at].child != DW_NONE) {
			parent = at;
			at = assembly->nodes[at].child;
		} else {
			at = next;
		}
		for (; at == DW_NONE && parent != top;
		     parent = assembly->nodes[parent].parent)
			at = assembly->nodes[parent].next;
	}
}

int dwarfs_builder_remove_older(dwarfs_builder *builder, const char *path, size_t bytes,
				bool contents_only, dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(builder);

	if (!builder || !path)
		return dw_fail_null(err, "builder and path");

	const struct span span = { (const uint8_t *)path, bytes };
	struct assembly *assembly;
	uint32_t node;
	int ret;

	if ((ret = dw_assembly_of(builder, &assembly, err)) < 0 ||
	    (ret = dw_item_check_path(span, err)) < 0)
		return ret;
	node = dw_assembly_find(assembly, span);
	if (node == DW_NONE)
		return dw_fail(err, DWARFS_ERR_NOT_FOUND, "'%.*s' does not exist",
			       (int)bytes, path);
	if (contents_only && !dw_assembly_is_directory(assembly, node))
		return dw_fail(err, DWARFS_ERR_NOT_DIR, "'%.*s' is not a directory",
			       (int)bytes, path);
	if ((ret = dw_assembly_keep_older(assembly, node, err)) < 0)
		return ret;
	if (!contents_only && node != 0 && assembly->nodes[node].layer != assembly->layer)
		dw_assembly_remove(assembly, node);
	else
		clear_older(assembly, node);
	return 0;
}
