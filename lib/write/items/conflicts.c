/* SPDX-License-Identifier: MIT */
/*
 * write/items/conflicts: put a record at a path, where an earlier input may have an entry.
 *
 * Within one input, and by default between inputs, a later entry replaces an earlier one, and
 * directories are merged. DWARFS_CONFLICT_FIRST leaves the later one out, DWARFS_CONFLICT_RENAME
 * adds it with a number after its name, DWARFS_CONFLICT_ERROR refuses it.
 */
#include <inttypes.h>
#include <stdio.h>

#include "format/metadata.h"
#include "write/items/assembly.h"

#define NAME_MAX_BYTES 255

/* Whether a node is of an earlier layer, and one of both is not a directory. */
static bool is_conflict(const struct assembly *assembly, uint32_t node, uint32_t record)
{
	return assembly->on_conflict != DWARFS_CONFLICT_LAST &&
	       assembly->nodes[node].layer != assembly->layer &&
	       !dw_assembly_keeps_children(assembly, node, record);
}

/* Whether a directory keeps the attributes that an earlier input gave it. */
static bool keeps_attributes(const struct assembly *assembly, uint32_t node,
			     uint32_t record)
{
	const struct record *first = &assembly->records[assembly->nodes[node].record];

	return assembly->on_conflict == DWARFS_CONFLICT_FIRST && !first->is_implicit &&
	       first->layer != assembly->layer &&
	       dw_assembly_keeps_children(assembly, node, record);
}

static void drop_if_unused(struct assembly *assembly, uint32_t record)
{
	if (assembly->records[record].names == 0)
		dw_assembly_drop_record(assembly, record);
}

/* The record stays until the layer ends, as later hard links may refer to it. */
static int leave_out(struct assembly *assembly, struct span path, uint32_t record,
		     uint32_t *node_out, dwarfs_error **err)
{
	int ret = dw_assembly_displace(assembly, path, record, err);

	if (ret < 0)
		return ret;
	drop_if_unused(assembly, record);
	*node_out = DW_NONE;
	return 0;
}

static int fail_conflict(struct span path, dwarfs_error **err)
{
	return dw_fail(err, DWARFS_ERR_EXISTS, "'%.*s' is in more than one input",
		       (int)path.size, (const char *)path.data);
}

/* Whether a node is an entry of this input that was renamed: the input had its path before. */
static bool is_renamed(const struct assembly *assembly, uint32_t node, uint32_t displaced)
{
	return displaced != DW_NONE &&
	       assembly->nodes[node].record == assembly->nodes[displaced].record;
}

/* Put a record beside the node that has its name, with a number. If the input had the path
 * before, the record replaces the earlier one. */
static int put_renamed(struct assembly *assembly, struct span path, uint32_t parent,
		       struct span name, uint32_t record, uint32_t *node_out,
		       dwarfs_error **err)
{
	const uint32_t displaced = dw_assembly_find_displaced(assembly, path);
	char text[NAME_MAX_BYTES + 16];
	uint32_t layer;
	int ret;

	if (name.size == 0 || (assembly->records[record].mode & DW_S_IFMT) == DW_S_IFDIR)
		return fail_conflict(path, err);
	layer = assembly->nodes[dw_assembly_child(assembly, parent, name)].layer;
	for (uint32_t number = 2; number < UINT32_MAX; number++) {
		int bytes = snprintf(text, sizeof(text), "%.*s.%" PRIu32, (int)name.size,
				     (const char *)name.data, number);
		struct span other = { (const uint8_t *)text, (size_t)bytes };
		uint32_t there;

		if (bytes > NAME_MAX_BYTES)
			return dw_fail(
				err, DWARFS_ERR_EXISTS,
				"'%.*s' is in more than one input, and its name is "
				"too long for a number after it",
				(int)path.size, (const char *)path.data);
		there = dw_assembly_child(assembly, parent, other);
		if (there != DW_NONE && !is_renamed(assembly, there, displaced))
			continue;
		*node_out = there;
		if (there != DW_NONE)
			dw_assembly_replace_record(assembly, there, record);
		if ((ret = dw_assembly_displace(assembly, path, record, err)) < 0 ||
		    (there == DW_NONE &&
		     (ret = dw_assembly_add_node(assembly, parent, other, record,
						 node_out, err)) < 0))
			return ret;
		/* An entry of this input that has that name must not replace it. */
		assembly->nodes[*node_out].layer = layer;
		return 0;
	}
	return fail_conflict(path, err);
}

static int settle_conflict(struct assembly *assembly, struct span path, uint32_t parent,
			   struct span name, uint32_t record, uint32_t *node_out,
			   dwarfs_error **err)
{
	if (assembly->on_conflict == DWARFS_CONFLICT_ERROR)
		return fail_conflict(path, err);
	if (assembly->on_conflict == DWARFS_CONFLICT_RENAME)
		return put_renamed(assembly, path, parent, name, record, node_out, err);
	return leave_out(assembly, path, record, node_out, err);
}

/* Whether a directory replaces another entry, or another entry a directory. */
static bool changes_type(const struct assembly *assembly, uint32_t node, uint32_t record)
{
	const bool is_directory =
		(assembly->records[record].mode & DW_S_IFMT) == DW_S_IFDIR;

	return is_directory != dw_assembly_is_directory(assembly, node);
}

int dw_assembly_put(struct assembly *assembly, struct span path, uint32_t record,
		    uint32_t *node_out, dwarfs_error **err)
{
	auto_error dwarfs_error *why = NULL;
	uint32_t parent, node = 0;
	struct span name;
	int ret = dw_assembly_make_parents(assembly, path, &parent, &name, &why);

	if (ret == DWARFS_ERR_NOT_DIR && assembly->layer > 0 &&
	    assembly->on_conflict == DWARFS_CONFLICT_FIRST)
		return leave_out(assembly, path, record, node_out, err);
	if (ret < 0)
		return dw_error_copy(err, ret, why);
	if (name.size > 0)
		node = dw_assembly_child(assembly, parent, name);
	if (node != DW_NONE && is_conflict(assembly, node, record))
		return settle_conflict(assembly, path, parent, name, record, node_out,
				       err);
	*node_out = node;
	if (node != DW_NONE && keeps_attributes(assembly, node, record)) {
		drop_if_unused(assembly, record);
		assembly->nodes[node].layer = assembly->layer;
		return 0;
	}
	assembly->records[record].names++; /* it may be a displaced one */
	dw_assembly_replace_displaced(assembly, path, record);
	assembly->records[record].names--;
	if (node == DW_NONE) {
		ret = dw_assembly_add_node(assembly, parent, name, record, node_out, err);
		if (ret < 0)
			return ret;
	} else {
		if (changes_type(assembly, node, record) &&
		    (ret = dw_assembly_keep_older(assembly, node, err)) < 0)
			return ret;
		dw_assembly_replace_record(assembly, node, record);
		assembly->nodes[node].layer = assembly->layer;
	}
	return 0;
}
