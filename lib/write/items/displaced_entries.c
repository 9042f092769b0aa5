/* SPDX-License-Identifier: MIT */
/*
 * write/items/displaced_entries: entries of the current layer that a conflict has renamed or
 * left out, and entries of earlier ones that it has removed, by the paths that their inputs have.
 *
 * A hard link is given by the path of its target, and refers to the entry of the same
 * input, not to one of an earlier input with the same path; to that one if there is no other,
 * also if it is removed after the link was added. So these entries are nodes of a second tree,
 * which hold their records until the layer ends.
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

/* A displaced directory may only be on the path of other displaced entries, while this layer has
 * another entry at its path. */
static bool is_hidden(const struct assembly *assembly, uint32_t displaced, uint32_t node)
{
	if (node == DW_NONE || assembly->nodes[displaced].record == DW_NONE)
		return false;
	return assembly->nodes[node].layer == assembly->layer &&
	       dw_assembly_is_directory(assembly, displaced);
}

uint32_t dw_assembly_find_target(const struct assembly *assembly, struct span path,
				 uint32_t layer)
{
	const uint32_t node = dw_assembly_find(assembly, path);
	uint32_t displaced = DW_NONE;

	if (layer == assembly->layer)
		displaced = dw_assembly_find_displaced(assembly, path);
	return displaced == DW_NONE || is_hidden(assembly, displaced, node) ? node
									    : displaced;
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

static int keep_older_entry(struct assembly *assembly, uint32_t node, struct buffer *path,
			    dwarfs_error **err)
{
	int ret;

	if (assembly->nodes[node].layer == assembly->layer ||
	    dw_assembly_is_directory(assembly, node))
		return 0;
	if ((ret = dw_assembly_path(assembly, node, path, err)) < 0 ||
	    dw_assembly_find_displaced(assembly, dw_buffer_span(path)) != DW_NONE)
		return ret;
	return dw_assembly_displace(assembly, dw_buffer_span(path),
				    assembly->nodes[node].record, err);
}

int dw_assembly_keep_older(struct assembly *assembly, uint32_t top, dwarfs_error **err)
{
	auto_buffer struct buffer path = { 0 };
	uint32_t at = top;
	int ret = 0;

	while (assembly->resolves_layer && ret == 0) {
		ret = keep_older_entry(assembly, at, &path, err);
		if (assembly->nodes[at].child != DW_NONE) {
			at = assembly->nodes[at].child;
			continue;
		}
		while (at != top && assembly->nodes[at].next == DW_NONE)
			at = assembly->nodes[at].parent;
		if (at == top)
			break;
		at = assembly->nodes[at].next;
	}
	return ret;
}

void dw_assembly_replace_displaced(struct assembly *assembly, struct span path,
				   uint32_t record)
{
	uint32_t node = dw_assembly_find_displaced(assembly, path);

	if (node != DW_NONE && !dw_assembly_keeps_children(assembly, node, record))
		dw_assembly_remove(assembly, node);
}
