/* SPDX-License-Identifier: MIT */
/*
 * write/input/path_list: a list of paths -> tree.
 *
 * First, each name of each path becomes a node with an inode; a node refers to its
 * parent. Then the nodes become entries of the tree, directory by directory, in the order
 * of a scan.
 */
#include <errno.h>
#include <string.h>

#include "format/metadata.h"
#include "hash/hash.h"
#include "os/file_io.h"
#include "write/input/entry_details.h"
#include "write/input/entry_import.h"
#include "write/input/list_path.h"
#include "write/input/path_list.h"

/* The root is node 0, its own parent. */
struct list_node {
	uint32_t parent;
	uint32_t name;	/* of builder.names */
	uint32_t inode; /* DW_NONE: left out */
	bool is_directory, is_listed;
};

struct list_import {
	struct build_run *run;
	struct tree *tree;
	struct list_root root;
	struct entry_import import;
	struct string_set names;
	struct list_node *nodes;
	size_t node_count, node_room;
	uint32_t *slots; /* hash table by parent and name: number + 1, 0 for empty */
	size_t slot_count;
	struct buffer path, target, xattrs;
	uint32_t open_node; /* whose directory is open */
	int open_fd;
};

static void free_list_import(struct list_import *list_import)
{
	dw_list_root_free(&list_import->root);
	dw_entry_import_free(&list_import->import);
	dw_string_set_free(&list_import->names);
	dw_free(list_import->nodes);
	dw_free(list_import->slots);
	dw_buffer_free(&list_import->path);
	dw_buffer_free(&list_import->target);
	dw_buffer_free(&list_import->xattrs);
	dw_fd_close(list_import->open_fd);
}

/* -- nodes -------------------------------------------------------------------------- */

static size_t find_node_slot(const struct list_import *list_import, uint32_t parent,
			     uint32_t name)
{
	size_t mask = list_import->slot_count - 1;
	uint64_t key = (uint64_t)parent << 32 | name;
	size_t slot = (size_t)(key * UINT64_C(0x9E3779B97F4A7C15) >> 20) & mask;

	for (;; slot = (slot + 1) & mask) {
		uint32_t number = list_import->slots[slot];

		if (number == 0 || (list_import->nodes[number - 1].parent == parent &&
				    list_import->nodes[number - 1].name == name))
			return slot;
	}
}

/* The root is not in the table: it is never looked up. */
static int grow_node_slots(struct list_import *list_import, dwarfs_error **err)
{
	size_t count = list_import->slot_count ? list_import->slot_count * 2 : 256;
	uint32_t *slots = dw_calloc(count, sizeof(*slots));

	if (!slots)
		return dw_fail_nomem(err);
	dw_free(list_import->slots);
	list_import->slots = slots;
	list_import->slot_count = count;
	for (size_t i = 1; i < list_import->node_count; i++)
		slots[find_node_slot(list_import, list_import->nodes[i].parent,
				     list_import->nodes[i].name)] = (uint32_t)i + 1;
	return 0;
}

static int add_list_node(struct list_import *list_import, struct list_node node,
			 dwarfs_error **err)
{
	int ret;

	if (list_import->node_count >= DW_NONE - 1)
		return dw_fail(err, DWARFS_ERR_RANGE, "too many files for one image");
	if (list_import->node_count * 2 >= list_import->slot_count &&
	    (ret = grow_node_slots(list_import, err)) < 0)
		return ret;
	if ((ret = dw_grow(&list_import->nodes, &list_import->node_room,
			   list_import->node_count + 1, err)) < 0)
		return ret;
	if (list_import->node_count > 0)
		list_import->slots[find_node_slot(list_import, node.parent, node.name)] =
			(uint32_t)list_import->node_count + 1;
	list_import->nodes[list_import->node_count++] = node;
	return 0;
}

/* Open the directory of a node by its path: 0 or a negative errno value. */
static int open_parent(struct list_import *list_import, uint32_t parent, const char *path)
{
	int ret;

	if (parent == 0 || parent == list_import->open_node)
		return 0;
	dw_fd_close(list_import->open_fd);
	list_import->open_fd = -1;
	list_import->open_node = DW_NONE;
	if ((ret = dw_dir_pass_at(list_import->run->root_fd, path,
				  &list_import->open_fd)) < 0)
		return ret;
	list_import->open_node = parent;
	return 0;
}

/* Read the attributes of the entry at ->path, whose last name begins at an offset. */
static int stat_path(struct list_import *list_import, uint32_t parent, size_t at,
		     struct found_entry *found)
{
	char *path = (char *)list_import->path.data;
	int fd, ret;

	if (!list_import->nodes[parent].is_directory)
		return -ENOTDIR;
	if (at > 0)
		path[at - 1] = '\0';
	ret = open_parent(list_import, parent, path);
	if (at > 0)
		path[at - 1] = '/';
	if (ret < 0)
		return ret;
	fd = parent == 0 ? list_import->run->root_fd : list_import->open_fd;
	if ((ret = dw_stat_at(fd, path + at, &found->stat)) < 0)
		return ret;
	if ((found->stat.mode & DW_S_IFMT) == DW_S_IFLNK &&
	    (ret = dw_readlink_at(fd, path + at, &list_import->target)) < 0)
		return ret;
	list_import->xattrs.size = 0;
	if ((ret = dw_entry_details(list_import->run->options, fd, path + at,
				    &found->stat, &list_import->xattrs,
				    &found->xattrs_errnum)) < 0)
		return ret;
	found->target = dw_buffer_span(&list_import->target);
	found->xattrs = dw_buffer_span(&list_import->xattrs);
	found->path = path;
	return 0;
}

/*
 * Find or add the node of a name below a parent. DW_NONE if the entry cannot be read,
 * which is reported.
 */
static int enter_name(struct list_import *list_import, uint32_t parent, struct span name,
		      uint32_t *node_out, dwarfs_error **err)
{
	struct list_node node = { .parent = parent };
	struct found_entry found = { 0 };
	size_t at, slot;
	int ret;

	if (list_import->path.size &&
	    (ret = dw_buffer_append(&list_import->path, "/", 1, err)) < 0)
		return ret;
	at = list_import->path.size;
	if ((ret = dw_buffer_append(&list_import->path, name.data, name.size, err)) < 0 ||
	    (ret = dw_buffer_append(&list_import->path, "", 1, err)) < 0 ||
	    (ret = dw_string_set_add(&list_import->names, name, &node.name, err)) < 0)
		return ret;
	list_import->path.size--;
	slot = find_node_slot(list_import, parent, node.name);
	if (list_import->slots[slot] != 0) {
		*node_out = list_import->slots[slot] - 1;
		return 0;
	}
	*node_out = DW_NONE;
	ret = stat_path(list_import, parent, at, &found);
	if (ret == -ENOMEM)
		return dw_fail_nomem(err);
	if (ret < 0)
		return dw_build_complain(list_import->run,
					 (const char *)list_import->path.data, -ret,
					 "cannot inspect", "leaving it out", err);
	node.is_directory = (found.stat.mode & DW_S_IFMT) == DW_S_IFDIR;
	*node_out = (uint32_t)list_import->node_count;
	if ((ret = dw_entry_import_one(&list_import->import, &found, &node.inode, err)) <
	    0)
		return ret;
	return add_list_node(list_import, node, err);
}

static int add_listed_path(struct list_import *list_import, const char *path,
			   dwarfs_error **err)
{
	const char *given = path;
	uint32_t node = 0;
	struct span name;
	int ret = dw_list_path_below(&list_import->root, &path, err);

	if (ret < 0)
		return ret;
	if (ret == 0) {
		list_import->run->counts[DWARFS_COUNT_ERRORS]++;
		dw_log(list_import->run->context, DWARFS_LOG_ERROR,
		       "ignoring path '%s' not below input path '%s'", given,
		       list_import->run->root_path);
		return 0;
	}
	list_import->path.size = 0;
	while ((name = dw_list_next_name(&path)).size > 0) {
		if ((ret = enter_name(list_import, node, name, &node, err)) < 0)
			return ret;
		if (node == DW_NONE || list_import->nodes[node].inode == DW_NONE)
			return 0;
	}
	if (list_import->nodes[node].is_listed)
		dw_log(list_import->run->context, DWARFS_LOG_WARN,
		       "skipping duplicate entry '%s' in input list", given);
	list_import->nodes[node].is_listed = true;
	return 0;
}

static int add_listed_paths(struct list_import *list_import, dwarfs_error **err)
{
	const struct input_options *options = &list_import->run->options->input;
	struct dwarfs_progress *progress = &list_import->run->progress;
	int ret;

	for (size_t i = 0; i < options->path_count; i++) {
		progress->items_done = list_import->node_count;
		progress->bytes_done = list_import->run->counts[DWARFS_COUNT_BYTES_IN];
		progress->path = options->paths[i];
		if ((ret = dw_progress_tick(progress, err)) < 0 ||
		    (ret = add_listed_path(list_import, options->paths[i], err)) < 0)
			return ret;
	}
	return 0;
}

/* -- entries ------------------------------------------------------------------------ */

/* Nodes sorted by directory and name, and the index of the first one of each
 * directory. */
struct sorted_nodes {
	uint32_t *list;
	uint32_t *first; /* by node, and one more */
};

static void free_sorted_nodes(struct sorted_nodes *sorted_nodes)
{
	dw_free(sorted_nodes->list);
	dw_free(sorted_nodes->first);
}

static int compare_listed_nodes(const void *left, const void *right, void *context)
{
	const struct list_import *list_import = context;
	const struct list_node *a = &list_import->nodes[*(const uint32_t *)left];
	const struct list_node *b = &list_import->nodes[*(const uint32_t *)right];

	if (a->parent != b->parent)
		return a->parent < b->parent ? -1 : 1;
	return dw_span_compare(dw_string_set_at(&list_import->names, a->name),
			       dw_string_set_at(&list_import->names, b->name));
}

static int sort_nodes(struct list_import *list_import, struct sorted_nodes *sorted_nodes,
		      dwarfs_error **err)
{
	size_t count = list_import->node_count - 1;

	sorted_nodes->list = dw_calloc(count, sizeof(*sorted_nodes->list));
	sorted_nodes->first =
		dw_calloc(list_import->node_count + 1, sizeof(*sorted_nodes->first));
	if (!sorted_nodes->list || !sorted_nodes->first)
		return dw_fail_nomem(err);
	for (size_t i = 0; i < count; i++) {
		sorted_nodes->list[i] = (uint32_t)i + 1;
		sorted_nodes->first[list_import->nodes[i + 1].parent + 1]++;
	}
	for (size_t i = 0; i < list_import->node_count; i++)
		sorted_nodes->first[i + 1] += sorted_nodes->first[i];
	if (count > 1)
		qsort_r(sorted_nodes->list, count, sizeof(sorted_nodes->list[0]),
			compare_listed_nodes, list_import);
	return 0;
}

/* A directory whose entries are not in the tree yet. */
struct queued_list_node {
	uint32_t node, entry;
};

struct directory_queue {
	struct queued_list_node *list;
	size_t count, room;
};

static void free_directory_queue(struct directory_queue *directory_queue)
{
	dw_free(directory_queue->list);
}

/* Add the entries of a directory and queue its subdirectories, the last one first. */
static int add_node_directory(struct list_import *list_import,
			      const struct sorted_nodes *sorted_nodes,
			      struct queued_list_node directory,
			      struct directory_queue *directory_queue, dwarfs_error **err)
{
	struct tree *tree = list_import->tree;
	uint32_t from = sorted_nodes->first[directory.node],
		 to = sorted_nodes->first[directory.node + 1];
	uint32_t first_entry = (uint32_t)tree->entry_count;
	int ret;

	if ((ret = dw_grow(&tree->directories, &tree->directory_room,
			   tree->directory_count + 1, err)) < 0)
		return ret;
	tree->directories[tree->directory_count++] =
		(struct tree_directory){ directory.entry, first_entry };
	for (uint32_t i = from; i < to; i++) {
		const struct list_node *node = &list_import->nodes[sorted_nodes->list[i]];

		if (node->inode == DW_NONE)
			continue;
		ret = dw_tree_add_entry(tree, directory.entry,
					dw_string_set_at(&list_import->names, node->name),
					node->inode, err);
		if (ret < 0)
			return ret;
	}
	for (uint32_t i = to, entry = (uint32_t)tree->entry_count; i-- > from;) {
		const struct list_node *node = &list_import->nodes[sorted_nodes->list[i]];

		if (node->inode == DW_NONE)
			continue;
		entry--;
		if (!node->is_directory)
			continue;
		if ((ret = dw_grow(&directory_queue->list, &directory_queue->room,
				   directory_queue->count + 1, err)) < 0)
			return ret;
		directory_queue->list[directory_queue->count++] =
			(struct queued_list_node){ sorted_nodes->list[i], entry };
	}
	return 0;
}

static int add_listed_entries(struct list_import *list_import, dwarfs_error **err)
{
	__attribute__((
		cleanup(free_sorted_nodes))) struct sorted_nodes sorted_nodes = { 0 };
	__attribute__((cleanup(
		free_directory_queue))) struct directory_queue directory_queue = { 0 };
	struct queued_list_node next = { 0, 0 };
	int ret;

	if ((ret = sort_nodes(list_import, &sorted_nodes, err)) < 0 ||
	    (ret = add_node_directory(list_import, &sorted_nodes, next, &directory_queue,
				      err)) < 0)
		return ret;
	while (directory_queue.count > 0) {
		next = directory_queue.list[--directory_queue.count];
		if ((ret = add_node_directory(list_import, &sorted_nodes, next,
					      &directory_queue, err)) < 0)
			return ret;
	}
	return 0;
}

int dw_path_list_to_tree(struct build_run *run, struct tree *tree, dwarfs_error **err)
{
	__attribute__((cleanup(free_list_import))) struct list_import list_import = {
		.run = run,
		.tree = tree,
		.root = { .fd = run->root_fd, .path = run->root_path },
		.import = { .run = run, .tree = tree, .devices = true, .specials = true },
		.open_node = DW_NONE,
		.open_fd = -1,
	};
	struct list_node root = { .is_directory = true };
	int ret;

	if (run->options->input.filter)
		return dw_fail(err, DWARFS_ERR_INVALID,
			       "filter rules cannot be combined with a list of paths");
	if ((ret = dw_entry_import_root(&list_import.import, err)) < 0 ||
	    (ret = add_list_node(&list_import, root, err)) < 0 ||
	    (ret = add_listed_paths(&list_import, err)) < 0)
		return ret;
	return add_listed_entries(&list_import, err);
}
