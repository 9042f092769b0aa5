/* SPDX-License-Identifier: MIT */
/*
 * write/items/assembly: the entries that were added one by one.
 *
 * Nodes (names in directories) and records (attributes and contents) are numbered tables;
 * hard links are nodes with the same record. A node is found by hash buckets over parent
 * and name; path_stack remembers the directories of the last path. Freed nodes and
 * records are chained for reuse. Opens and reads no file. Used by one thread.
 */
#include <string.h>

#include "format/metadata.h"
#include "hash/hash.h"
#include "os/file_io.h"
#include "write/items/assembly.h"
#include "write/items/item.h"

#define IMPLICIT_MODE (DW_S_IFDIR | 0755)
#define MAX_RECORDS   (UINT32_MAX - 1)
#define FIRST_ROOM    256 /* buckets; a power of two */

/* -- create and free ----------------------------------------------------------------- */

static const struct record implicit_directory = {
	.mode = IMPLICIT_MODE,
	.kind = RECORD_PLAIN,
	.is_implicit = true,
	.xattrs = NO_XATTRS,
	.times = NO_TIMES,
};

/* A root is its own parent. There is room for it. */
static void add_root(struct assembly *assembly, uint32_t record)
{
	const uint32_t number = (uint32_t)assembly->node_count++;

	assembly->nodes[number] = (struct assembly_node){
		.parent = number,
		.record = record,
		.child = DW_NONE,
		.next = DW_NONE,
		.previous = DW_NONE,
		.chain = DW_NONE,
	};
}

int dw_assembly_new(struct assembly **assembly_out, dwarfs_error **err)
{
	DW_AUTO(assembly) struct assembly *assembly = dw_calloc(1, sizeof(*assembly));
	uint32_t record;
	int ret;

	if (!assembly)
		return dw_fail_nomem(err);
	assembly->free_node = assembly->free_record = DW_NONE;
	assembly->disk_fd = -1;
	if ((ret = dw_assembly_add_record(assembly, &implicit_directory, &record, err)) <
		    0 ||
	    (ret = dw_grow(&assembly->nodes, &assembly->node_room, 2, err)) < 0)
		return ret;
	add_root(assembly, record);
	add_root(assembly, DW_NONE); /* DISPLACED_ROOT */
	assembly->records[record].names = 1;
	*assembly_out = dw_steal(assembly);
	return 0;
}

void dw_assembly_drop_nodes(struct assembly *assembly)
{
	dw_string_set_free(&assembly->xattrs);
	dw_free(dw_steal(assembly->nodes));
	dw_free(dw_steal(assembly->buckets));
	dw_free(dw_steal(assembly->times));
	dw_path_stack_free(&assembly->last_path);
	assembly->node_count = assembly->node_room = 0;
	assembly->bucket_count = 0;
	assembly->time_count = assembly->time_room = 0;
}

void dw_assembly_free(struct assembly *assembly)
{
	if (!assembly)
		return;
	dw_assembly_drop_nodes(assembly);
	dw_string_set_free(&assembly->strings);
	dw_free(assembly->records);
	dw_free(assembly->files);
	dw_tree_free(&assembly->disk);
	dw_fd_close(assembly->disk_fd);
	dw_spool_free(assembly->spool);
	dw_assembly_free_images(assembly);
	dw_free(assembly);
}

/* -- records ------------------------------------------------------------------------- */

int dw_assembly_add_record(struct assembly *assembly, const struct record *record,
			   uint32_t *number_out, dwarfs_error **err)
{
	uint32_t number = assembly->free_record;
	int ret;

	if (number != DW_NONE) {
		assembly->free_record = assembly->records[number].source;
	} else {
		if (assembly->record_count >= MAX_RECORDS)
			return dw_fail(err, DWARFS_ERR_RANGE,
				       "too many files for one image");
		if ((ret = dw_grow(&assembly->records, &assembly->record_room,
				   assembly->record_count + 1, err)) < 0)
			return ret;
		number = (uint32_t)assembly->record_count++;
	}
	assembly->records[number] = *record;
	assembly->records[number].names = 0;
	assembly->records[number].layer = assembly->layer;
	assembly->link_count += record->kind == RECORD_LINK;
	*number_out = number;
	return 0;
}

void dw_assembly_drop_record(struct assembly *assembly, uint32_t number)
{
	struct record *record = &assembly->records[number];

	if (record->kind == RECORD_SPOOLED)
		dw_spool_drop(assembly->spool, record->source);
	assembly->link_count -= record->kind == RECORD_LINK;
	*record = (struct record){ .kind = RECORD_FREE, .source = assembly->free_record };
	assembly->free_record = number;
}

static void release_record(struct assembly *assembly, uint32_t number)
{
	if (number != DW_NONE && --assembly->records[number].names == 0)
		dw_assembly_drop_record(assembly, number);
}

/* -- finding ------------------------------------------------------------------------- */

static size_t name_bucket(const struct assembly *assembly, uint32_t parent,
			  struct span name)
{
	uint64_t hash = dw_xxh3_64(name.data, name.size);

	hash = (hash ^ parent) * UINT64_C(0x9E3779B97F4A7C15);
	return (size_t)(hash >> 24) & (assembly->bucket_count - 1);
}

uint32_t dw_assembly_child(const struct assembly *assembly, uint32_t parent,
			   struct span name)
{
	uint32_t node = DW_NONE;

	if (assembly->bucket_count > 0)
		node = assembly->buckets[name_bucket(assembly, parent, name)];
	for (; node != DW_NONE; node = assembly->nodes[node].chain) {
		struct span other = dw_assembly_name(assembly, node);

		if (assembly->nodes[node].parent == parent && other.size == name.size &&
		    memcmp(other.data, name.data, name.size) == 0)
			return node;
	}
	return DW_NONE;
}

uint32_t dw_assembly_start(const struct assembly *assembly, struct span path,
			   size_t *from_out)
{
	const struct path_stack *last_path = &assembly->last_path;
	size_t steps = dw_path_stack_common(last_path, path);

	*from_out = steps ? last_path->steps[steps - 1].end + 1 : 0;
	return steps ? last_path->steps[steps - 1].node : 0;
}

uint32_t dw_assembly_find(const struct assembly *assembly, struct span path)
{
	size_t from;
	uint32_t node;

	if (assembly->node_count == 0) /* the run has dropped them */
		return DW_NONE;
	if (path.size == 0)
		return 0;
	node = dw_assembly_start(assembly, path, &from);
	path.data += from;
	path.size -= from;
	while (path.size > 0 && node != DW_NONE)
		node = dw_assembly_child(assembly, node, dw_item_next_name(&path));
	return node;
}

bool dw_assembly_is_directory(const struct assembly *assembly, uint32_t node)
{
	const struct record *record = &assembly->records[assembly->nodes[node].record];

	return record->kind == RECORD_PLAIN && (record->mode & DW_S_IFMT) == DW_S_IFDIR;
}

int dw_assembly_path(const struct assembly *assembly, uint32_t node, struct buffer *path,
		     dwarfs_error **err)
{
	size_t length = 0, at;
	int ret;

	for (uint32_t n = node; n > DISPLACED_ROOT; n = assembly->nodes[n].parent)
		length += dw_assembly_name(assembly, n).size + 1;
	path->size = 0;
	if ((ret = dw_buffer_reserve(path, length + 1, err)) < 0)
		return ret;
	at = length ? length - 1 : 0; /* no slash in front */
	path->data[at] = '\0';
	path->size = at;
	for (uint32_t n = node; n > DISPLACED_ROOT; n = assembly->nodes[n].parent) {
		struct span name = dw_assembly_name(assembly, n);

		at -= name.size;
		memcpy(path->data + at, name.data, name.size);
		if (at > 0)
			path->data[--at] = '/';
	}
	return 0;
}

/* -- nodes --------------------------------------------------------------------------- */

static void enter_bucket(struct assembly *assembly, uint32_t node)
{
	struct assembly_node *entering = &assembly->nodes[node];
	uint32_t *bucket = &assembly->buckets[name_bucket(
		assembly, entering->parent, dw_assembly_name(assembly, node))];

	entering->chain = *bucket;
	*bucket = node;
}

static void leave_bucket(struct assembly *assembly, uint32_t node)
{
	const struct assembly_node *leaving = &assembly->nodes[node];
	uint32_t *link = &assembly->buckets[name_bucket(
		assembly, leaving->parent, dw_assembly_name(assembly, node))];

	while (*link != node)
		link = &assembly->nodes[*link].chain;
	*link = leaving->chain;
}

/* The roots and free nodes are in no bucket. */
static int grow_buckets(struct assembly *assembly, dwarfs_error **err)
{
	size_t count = assembly->bucket_count ? assembly->bucket_count * 2 : FIRST_ROOM;
	uint32_t *buckets;

	if (assembly->node_count < assembly->bucket_count)
		return 0;
	if (!(buckets = dw_calloc(count, sizeof(*buckets))))
		return dw_fail_nomem(err);
	memset(buckets, 0xff, count * sizeof(*buckets)); /* DW_NONE */
	dw_free(assembly->buckets);
	assembly->buckets = buckets;
	assembly->bucket_count = count;
	for (uint32_t i = 1; i < assembly->node_count; i++)
		if (assembly->nodes[i].record != DW_NONE)
			enter_bucket(assembly, i);
	return 0;
}

/* The number of a new node: a free one or the next. */
static int new_node(struct assembly *assembly, uint32_t *node_out, dwarfs_error **err)
{
	int ret;

	if (assembly->free_node != DW_NONE) {
		*node_out = assembly->free_node;
		assembly->free_node = assembly->nodes[*node_out].next;
		return 0;
	}
	if (assembly->node_count >= MAX_RECORDS)
		return dw_fail(err, DWARFS_ERR_RANGE, "too many files for one image");
	if ((ret = dw_grow(&assembly->nodes, &assembly->node_room,
			   assembly->node_count + 1, err)) < 0)
		return ret;
	*node_out = (uint32_t)assembly->node_count++;
	return 0;
}

int dw_assembly_add_node(struct assembly *assembly, uint32_t parent, struct span name,
			 uint32_t record, uint32_t *node_out, dwarfs_error **err)
{
	uint32_t number, node, first;
	int ret;

	if ((ret = grow_buckets(assembly, err)) < 0 ||
	    (ret = dw_string_set_add(&assembly->strings, name, &number, err)) < 0 ||
	    (ret = new_node(assembly, &node, err)) < 0)
		return ret;
	first = assembly->nodes[parent].child;
	assembly->nodes[node] = (struct assembly_node){
		.parent = parent,
		.name = number,
		.record = record,
		.child = DW_NONE,
		.next = first,
		.previous = DW_NONE,
		.layer = assembly->layer,
	};
	if (first != DW_NONE)
		assembly->nodes[first].previous = node;
	assembly->nodes[parent].child = node;
	assembly->records[record].names++;
	enter_bucket(assembly, node);
	*node_out = node;
	return 0;
}

/* Remove a node without children. */
static void remove_leaf(struct assembly *assembly, uint32_t node)
{
	struct assembly_node *leaf = &assembly->nodes[node];

	leave_bucket(assembly, node);
	dw_path_stack_forget(&assembly->last_path);
	if (leaf->next != DW_NONE)
		assembly->nodes[leaf->next].previous = leaf->previous;
	if (leaf->previous != DW_NONE)
		assembly->nodes[leaf->previous].next = leaf->next;
	else
		assembly->nodes[leaf->parent].child = leaf->next;
	release_record(assembly, leaf->record);
	leaf->record = DW_NONE;
	leaf->next = assembly->free_node;
	assembly->free_node = node;
}

void dw_assembly_clear(struct assembly *assembly, uint32_t node)
{
	uint32_t at = node;

	while (assembly->nodes[node].child != DW_NONE) {
		uint32_t parent;

		while (assembly->nodes[at].child != DW_NONE)
			at = assembly->nodes[at].child;
		parent = assembly->nodes[at].parent;
		remove_leaf(assembly, at);
		at = parent;
	}
}

uint64_t dw_assembly_count_below(const struct assembly *assembly, uint32_t node,
				 bool of_layer)
{
	const struct assembly_node *nodes = assembly->nodes;
	uint32_t at = nodes[node].child, parent = node;
	uint64_t count = 0;

	while (at != DW_NONE) {
		count += !of_layer || nodes[at].layer == assembly->layer;
		if (nodes[at].child != DW_NONE) {
			parent = at;
			at = nodes[at].child;
			continue;
		}
		at = nodes[at].next;
		for (; at == DW_NONE && parent != node; parent = nodes[parent].parent)
			at = nodes[parent].next;
	}
	return count;
}

void dw_assembly_remove(struct assembly *assembly, uint32_t node)
{
	dw_assembly_clear(assembly, node);
	if (node != 0)
		remove_leaf(assembly, node);
}

void dw_assembly_set_record(struct assembly *assembly, uint32_t node, uint32_t record)
{
	uint32_t old = assembly->nodes[node].record;

	if (record != DW_NONE)
		assembly->records[record].names++;
	assembly->nodes[node].record = record;
	release_record(assembly, old);
}

/* -- paths --------------------------------------------------------------------------- */

static int fail_not_directory(const struct assembly *assembly, uint32_t node,
			      dwarfs_error **err)
{
	auto_buffer struct buffer path = { 0 };
	int ret = dw_assembly_path(assembly, node, &path, err);

	if (ret < 0)
		return ret;
	ret = dw_fail(err, DWARFS_ERR_NOT_DIR, "'%s' is not a directory",
		      (const char *)path.data);
	return dw_error_at_path(err, ret, (const char *)path.data);
}

int dw_assembly_enter(struct assembly *assembly, uint32_t parent, struct span name,
		      uint32_t *node_out, dwarfs_error **err)
{
	uint32_t record;
	int ret;

	*node_out = dw_assembly_child(assembly, parent, name);
	if (*node_out != DW_NONE && !dw_assembly_is_directory(assembly, *node_out))
		return fail_not_directory(assembly, *node_out, err);
	if (*node_out != DW_NONE) {
		assembly->nodes[*node_out].layer = assembly->layer;
		return 0;
	}
	if ((ret = dw_assembly_add_record(assembly, &implicit_directory, &record, err)) <
	    0)
		return ret;
	if ((ret = dw_assembly_add_node(assembly, parent, name, record, node_out, err)) <
	    0)
		dw_assembly_drop_record(assembly, record);
	return ret;
}

int dw_assembly_make_parents(struct assembly *assembly, struct span path,
			     uint32_t *parent_out, struct span *name_out,
			     dwarfs_error **err)
{
	size_t steps = dw_path_stack_common(&assembly->last_path, path), from;
	uint32_t parent = dw_assembly_start(assembly, path, &from);
	struct span rest = { path.data + from, path.size - from }, name;
	int ret;

	name = dw_item_next_name(&rest);
	while (rest.size > 0) {
		size_t end = (size_t)(name.data - path.data) + name.size;

		if ((ret = dw_assembly_enter(assembly, parent, name, &parent, err)) < 0 ||
		    (ret = dw_path_stack_add(&assembly->last_path, steps++, path, end,
					     parent, err)) < 0)
			return ret;
		name = dw_item_next_name(&rest);
	}
	*parent_out = parent;
	*name_out = name;
	return 0;
}

bool dw_assembly_keeps_children(const struct assembly *assembly, uint32_t node,
				uint32_t record)
{
	const struct record *new = &assembly->records[record];

	return dw_assembly_is_directory(assembly, node) && new->kind == RECORD_PLAIN &&
	       (new->mode &DW_S_IFMT) == DW_S_IFDIR;
}

void dw_assembly_replace_record(struct assembly *assembly, uint32_t node, uint32_t record)
{
	/* The record may belong to a node that is removed here. */
	assembly->records[record].names++;
	if (!dw_assembly_keeps_children(assembly, node, record)) {
		dw_assembly_clear(assembly, node);
		dw_path_stack_forget(&assembly->last_path);
	}
	dw_assembly_set_record(assembly, node, record);
	assembly->records[record].names--;
}

uint64_t dw_assembly_bytes(const struct assembly *assembly)
{
	if (!assembly)
		return 0;
	return assembly->strings.text.size + assembly->xattrs.text.size +
	       assembly->disk.names.text.size +
	       assembly->disk.entry_count * sizeof(*assembly->disk.entries) +
	       assembly->node_count * sizeof(*assembly->nodes) +
	       assembly->record_count * sizeof(*assembly->records);
}
