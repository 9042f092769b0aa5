/* SPDX-License-Identifier: MIT */
/*
 * write/items/displaced_entries: entries of the current layer that a conflict has renamed or
 * left out, by the paths that their input has.
 *
 * A hard link is given by the path of its target, and refers to the entry of the same
 * input, not to one of an earlier input with the same path. So these entries are nodes of
 * a second tree, which hold their records until the layer ends.
 */
#include "write/items/assembly.h"
#include "write/items/item.h"

bool dw_assembly_has_displaced(const struct assembly *assembly)
{
	return assembly->node_count > 0 &&
	       assembly->nodes[DISPLACED_ROOT].child != DW_NONE;
}

bool dw_assembly_is_displaced(const struct assembly *assembly, uint32_t node)
{
	while (node > DISPLACED_ROOT)
		node = assembly->nodes[node].parent;
	return node == DISPLACED_ROOT;
}

uint32_t dw_assembly_find_displaced(const struct assembly *assembly, struct span path)
{
	uint32_t node = DISPLACED_ROOT;

	if (path.size == 0 || !dw_assembly_has_displaced(assembly))
		return DW_NONE;
	while (path.size > 0 && node != DW_NONE)
		node = dw_assembly_child(assembly, node, dw_item_next_name(&path));
	return node;
}

uint32_t dw_assembly_find_target(const struct assembly *assembly, struct span path,
				 uint32_t layer)
{
	uint32_t node = DW_NONE;

	if (layer == assembly->layer)
		node = dw_assembly_find_displaced(assembly, path);
	return node == DW_NONE ? dw_assembly_find(assembly, path) : node;
}

static int put(struct assembly *assembly, uint32_t parent, struct span name,
	       uint32_t record, dwarfs_error **err)
{
	uint32_t node = dw_assembly_child(assembly, parent, name);

	if (node == DW_NONE)
		return dw_assembly_add_node(assembly, parent, name, record, &node, err);
	dw_assembly_replace_record(assembly, node, record);
	return 0;
}

/* Below an entry of this input that is not a directory nothing can be found. */
int dw_assembly_displace(struct assembly *assembly, struct span path, uint32_t record,
			 dwarfs_error **err)
{
	uint32_t node = DISPLACED_ROOT;
	int ret;

	while (path.size > 0) {
		struct span name = dw_item_next_name(&path);
		uint32_t child = dw_assembly_child(assembly, node, name);

		if (path.size == 0)
			return put(assembly, node, name, record, err);
		if (child != DW_NONE && !dw_assembly_is_directory(assembly, child))
			return 0;
		if ((ret = dw_assembly_enter(assembly, node, name, &node, err)) < 0)
			return ret;
	}
	return 0;
}

void dw_assembly_replace_displaced(struct assembly *assembly, struct span path,
				   uint32_t record)
{
	uint32_t node = dw_assembly_find_displaced(assembly, path);

	if (node != DW_NONE && !dw_assembly_keeps_children(assembly, node, record))
		dw_assembly_remove(assembly, node);
}
