/* SPDX-License-Identifier: MIT */
/*
 * write/input/path_list: a list of paths -> tree.
 *
 * First the paths become nodes, each of which knows the one above it, and each node gets
 * its inode. Then the nodes become entries, directory by directory as in a scan.
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
struct node {
	uint32_t parent;
	uint32_t name;	/* of builder.names */
	uint32_t inode; /* DW_NONE: left out */
	bool is_directory, is_listed;
};

struct builder {
	struct build_run *run;
	struct tree *tree;
	struct list_root root;
	struct entry_import import;
	struct string_set names;
	struct node *nodes;
	size_t node_count, node_room;
	uint32_t *slots; /* by parent and name: number + 1, 0 for empty */
	size_t slot_count;
	struct buffer path, target, xattrs;
	uint32_t open_node; /* whose directory is open */
	int open_fd;
};

static void free_builder(struct builder *builder)
{
	dw_list_root_free(&builder->root);
	dw_entry_import_free(&builder->import);
	dw_string_set_free(&builder->names);
	free(builder->nodes);
	free(builder->slots);
	dw_buffer_free(&builder->path);
	dw_buffer_free(&builder->target);
	dw_buffer_free(&builder->xattrs);
	dw_fd_close(builder->open_fd);
}

/* -- nodes -------------------------------------------------------------------------- */

static size_t find_slot(const struct builder *builder, uint32_t parent, uint32_t name)
{
	size_t mask = builder->slot_count - 1;
	uint64_t key = (uint64_t)parent << 32 | name;
	size_t slot = (size_t)(key * UINT64_C(0x9E3779B97F4A7C15) >> 20) & mask;

	for (;; slot = (slot + 1) & mask) {
		uint32_t number = builder->slots[slot];

		if (number == 0 || (builder->nodes[number - 1].parent == parent &&
				    builder->nodes[number - 1].name == name))
			return slot;
	}
}

/* The root stands in no slot, as nothing leads to it. */
static int grow_slots(struct builder *builder, dwarfs_error **err)
{
	size_t count = builder->slot_count ? builder->slot_count * 2 : 256;
	uint32_t *slots = dw_calloc(count, sizeof(*slots));

	if (!slots)
		return dw_fail_nomem(err);
	free(builder->slots);
	builder->slots = slots;
	builder->slot_count = count;
	for (size_t i = 1; i < builder->node_count; i++)
		slots[find_slot(builder, builder->nodes[i].parent,
				builder->nodes[i].name)] = (uint32_t)i + 1;
	return 0;
}

static int add_node(struct builder *builder, struct node node, dwarfs_error **err)
{
	int ret;

	if (builder->node_count >= DW_NONE - 1)
		return dw_fail(err, DWARFS_ERR_RANGE, "too many files for one image");
	if (builder->node_count * 2 >= builder->slot_count &&
	    (ret = grow_slots(builder, err)) < 0)
		return ret;
	if ((ret = dw_grow(&builder->nodes, &builder->node_room, builder->node_count + 1,
			   err)) < 0)
		return ret;
	if (builder->node_count > 0)
		builder->slots[find_slot(builder, node.parent, node.name)] =
			(uint32_t)builder->node_count + 1;
	builder->nodes[builder->node_count++] = node;
	return 0;
}

/* Open the directory of a node, whose path is given: 0 or a negative errno value. */
static int open_parent(struct builder *builder, uint32_t parent, const char *path)
{
	int ret;

	if (parent == 0 || parent == builder->open_node)
		return 0;
	dw_fd_close(builder->open_fd);
	builder->open_fd = -1;
	builder->open_node = DW_NONE;
	if ((ret = dw_dir_pass_at(builder->run->root_fd, path, &builder->open_fd)) < 0)
		return ret;
	builder->open_node = parent;
	return 0;
}

/* What stands at builder->path, whose last name begins at an offset. */
static int inspect(struct builder *builder, uint32_t parent, size_t at,
		   struct found *found)
{
	char *path = (char *)builder->path.data;
	int fd, ret;

	if (!builder->nodes[parent].is_directory)
		return -ENOTDIR;
	if (at > 0)
		path[at - 1] = '\0';
	ret = open_parent(builder, parent, path);
	if (at > 0)
		path[at - 1] = '/';
	if (ret < 0)
		return ret;
	fd = parent == 0 ? builder->run->root_fd : builder->open_fd;
	if ((ret = dw_stat_at(fd, path + at, &found->stat)) < 0)
		return ret;
	if ((found->stat.mode & DW_S_IFMT) == DW_S_IFLNK &&
	    (ret = dw_readlink_at(fd, path + at, &builder->target)) < 0)
		return ret;
	builder->xattrs.size = 0;
	if ((ret = dw_entry_details(builder->run->options, fd, path + at, &found->stat,
				     &builder->xattrs, &found->xattrs_errnum)) < 0)
		return ret;
	found->target = dw_buffer_span(&builder->target);
	found->xattrs = dw_buffer_span(&builder->xattrs);
	found->path = path;
	return 0;
}

/*
 * The node of a name below another one, made when there is none. DW_NONE when it cannot
 * be had, which has been said then.
 */
static int step_down(struct builder *builder, uint32_t parent, struct span name,
		     uint32_t *node_out, dwarfs_error **err)
{
	struct node node = { .parent = parent };
	struct found found = { 0 };
	size_t at, slot;
	int ret;

	if (builder->path.size &&
	    (ret = dw_buffer_append(&builder->path, "/", 1, err)) < 0)
		return ret;
	at = builder->path.size;
	if ((ret = dw_buffer_append(&builder->path, name.data, name.size, err)) < 0 ||
	    (ret = dw_buffer_append(&builder->path, "", 1, err)) < 0 ||
	    (ret = dw_string_set_add(&builder->names, name, &node.name, err)) < 0)
		return ret;
	builder->path.size--;
	slot = find_slot(builder, parent, node.name);
	if (builder->slots[slot] != 0) {
		*node_out = builder->slots[slot] - 1;
		return 0;
	}
	*node_out = DW_NONE;
	ret = inspect(builder, parent, at, &found);
	if (ret == -ENOMEM)
		return dw_fail_nomem(err);
	if (ret < 0) {
		dw_build_complain(builder->run, (const char *)builder->path.data, -ret,
				  "cannot inspect", "leaving it out");
		return 0;
	}
	node.is_directory = (found.stat.mode & DW_S_IFMT) == DW_S_IFDIR;
	*node_out = (uint32_t)builder->node_count;
	if ((ret = dw_entry_import_one(&builder->import, &found, &node.inode, err)) < 0)
		return ret;
	return add_node(builder, node, err);
}

static int add_path(struct builder *builder, const char *path, dwarfs_error **err)
{
	const char *given = path;
	uint32_t node = 0;
	struct span name;
	int ret = dw_list_path_below(&builder->root, &path, err);

	if (ret < 0)
		return ret;
	if (ret == 0) {
		builder->run->counts[DWARFS_COUNT_ERRORS]++;
		dw_log(builder->run->context, DWARFS_LOG_ERROR,
		       "ignoring path '%s' not below input path '%s'", given,
		       builder->run->root_path);
		return 0;
	}
	builder->path.size = 0;
	while ((name = dw_list_next_name(&path)).size > 0) {
		if ((ret = step_down(builder, node, name, &node, err)) < 0)
			return ret;
		if (node == DW_NONE || builder->nodes[node].inode == DW_NONE)
			return 0;
	}
	if (builder->nodes[node].is_listed)
		dw_log(builder->run->context, DWARFS_LOG_WARN,
		       "skipping duplicate entry '%s' in input list", given);
	builder->nodes[node].is_listed = true;
	return 0;
}

static int add_paths(struct builder *builder, dwarfs_error **err)
{
	const struct input_options *options = &builder->run->options->input;
	struct dwarfs_progress *progress = &builder->run->progress;
	int ret;

	for (size_t i = 0; i < options->path_count; i++) {
		progress->items_done = builder->node_count;
		progress->bytes_done = builder->run->counts[DWARFS_COUNT_BYTES_IN];
		progress->path = options->paths[i];
		if ((ret = dw_progress_tick(progress, err)) < 0 ||
		    (ret = add_path(builder, options->paths[i], err)) < 0)
			return ret;
	}
	return 0;
}

/* -- entries ------------------------------------------------------------------------ */

/* Nodes by directory and name, and where those of each directory begin. */
struct sorted {
	uint32_t *list;
	uint32_t *first; /* of each node, and one more */
};

static void free_sorted(struct sorted *sorted)
{
	free(sorted->list);
	free(sorted->first);
}

static int compare_spans(struct span a, struct span b)
{
	int order = memcmp(a.data, b.data, a.size < b.size ? a.size : b.size);

	if (order != 0)
		return order;
	return a.size < b.size ? -1 : a.size > b.size;
}

static int compare_nodes(const void *left, const void *right, void *context)
{
	const struct builder *builder = context;
	const struct node *a = &builder->nodes[*(const uint32_t *)left];
	const struct node *b = &builder->nodes[*(const uint32_t *)right];

	if (a->parent != b->parent)
		return a->parent < b->parent ? -1 : 1;
	return compare_spans(dw_string_set_at(&builder->names, a->name),
			     dw_string_set_at(&builder->names, b->name));
}

static int sort_nodes(struct builder *builder, struct sorted *sorted, dwarfs_error **err)
{
	size_t count = builder->node_count - 1;

	sorted->list = dw_calloc(count, sizeof(*sorted->list));
	sorted->first = dw_calloc(builder->node_count + 1, sizeof(*sorted->first));
	if (!sorted->list || !sorted->first)
		return dw_fail_nomem(err);
	for (size_t i = 0; i < count; i++) {
		sorted->list[i] = (uint32_t)i + 1;
		sorted->first[builder->nodes[i + 1].parent + 1]++;
	}
	for (size_t i = 0; i < builder->node_count; i++)
		sorted->first[i + 1] += sorted->first[i];
	if (count > 1)
		qsort_r(sorted->list, count, sizeof(sorted->list[0]), compare_nodes,
			builder);
	return 0;
}

/* A directory whose entries are yet to be added. */
struct pending {
	uint32_t node, entry;
};

struct stack {
	struct pending *list;
	size_t count, room;
};

static void free_stack(struct stack *stack)
{
	free(stack->list);
}

/* The first of the directories below is to be the next. */
static int add_directory(struct builder *builder, const struct sorted *sorted,
			 struct pending directory, struct stack *stack,
			 dwarfs_error **err)
{
	struct tree *tree = builder->tree;
	uint32_t from = sorted->first[directory.node],
		 to = sorted->first[directory.node + 1];
	uint32_t first_entry = (uint32_t)tree->entry_count;
	int ret;

	if ((ret = dw_grow(&tree->directories, &tree->directory_room,
			   tree->directory_count + 1, err)) < 0)
		return ret;
	tree->directories[tree->directory_count++] =
		(struct tree_directory){ directory.entry, first_entry };
	for (uint32_t i = from; i < to; i++) {
		const struct node *node = &builder->nodes[sorted->list[i]];

		if (node->inode == DW_NONE)
			continue;
		ret = dw_tree_add_entry(tree, directory.entry,
					dw_string_set_at(&builder->names, node->name),
					node->inode, err);
		if (ret < 0)
			return ret;
	}
	for (uint32_t i = to, entry = (uint32_t)tree->entry_count; i-- > from;) {
		const struct node *node = &builder->nodes[sorted->list[i]];

		if (node->inode == DW_NONE)
			continue;
		entry--;
		if (!node->is_directory)
			continue;
		if ((ret = dw_grow(&stack->list, &stack->room, stack->count + 1, err)) <
		    0)
			return ret;
		stack->list[stack->count++] = (struct pending){ sorted->list[i], entry };
	}
	return 0;
}

static int add_entries(struct builder *builder, dwarfs_error **err)
{
	__attribute__((cleanup(free_sorted))) struct sorted sorted = { 0 };
	__attribute__((cleanup(free_stack))) struct stack stack = { 0 };
	struct pending next = { 0, 0 };
	int ret;

	if ((ret = sort_nodes(builder, &sorted, err)) < 0 ||
	    (ret = add_directory(builder, &sorted, next, &stack, err)) < 0)
		return ret;
	while (stack.count > 0) {
		next = stack.list[--stack.count];
		if ((ret = add_directory(builder, &sorted, next, &stack, err)) < 0)
			return ret;
	}
	return 0;
}

int dw_paths(struct build_run *run, struct tree *tree, dwarfs_error **err)
{
	__attribute__((cleanup(free_builder))) struct builder builder = {
		.run = run,
		.tree = tree,
		.root = { .fd = run->root_fd, .path = run->root_path },
		.import = { .run = run, .tree = tree, .devices = true, .specials = true },
		.open_node = DW_NONE,
		.open_fd = -1,
	};
	struct node root = { .is_directory = true };
	int ret;

	if (run->options->input.filter)
		return dw_fail(err, DWARFS_ERR_INVALID,
			       "filter rules cannot be combined with a list of paths");
	if ((ret = dw_entry_import_root(&builder.import, err)) < 0 ||
	    (ret = add_node(&builder, root, err)) < 0 ||
	    (ret = add_paths(&builder, err)) < 0)
		return ret;
	return add_entries(&builder, err);
}
