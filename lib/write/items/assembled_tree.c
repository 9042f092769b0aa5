/* SPDX-License-Identifier: MIT */
/*
 * write/items/assembled_tree: assembly -> tree.
 *
 * First each hard link gets the record of its target. Then the nodes become entries,
 * directory by directory, in the order and by the rules of a scan.
 */
#include <stdio.h>
#include <string.h>

#include "format/metadata.h"
#include "os/memory_size.h"
#include "write/input/entry_import.h"
#include "write/items/assembly.h"
#include "write/options/filter.h"
#include "write/tree/path_cursor.h"

/* A directory whose entries are not in the tree yet. */
struct queued_node {
	uint32_t node, entry;
};

struct tree_builder {
	struct build_run *run;
	struct tree *tree;
	struct entry_import *import;
	struct assembly *assembly;
	uint32_t *children; /* of the directory being added, by name */
	size_t child_count, child_room;
	struct queued_node *stack; /* the next one last */
	size_t stack_count, stack_room;
	struct path_cursor cursor;
	size_t path_bytes; /* of the directory being added */
};

static void free_tree_builder(struct tree_builder *tree_builder)
{
	dw_free(tree_builder->children);
	dw_free(tree_builder->stack);
	dw_path_cursor_free(&tree_builder->cursor);
}

/* -- hard links ---------------------------------------------------------------------- */

static void complain_about_link(const char *path, const char *why, void *user)
{
	char what[80];

	snprintf(what, sizeof(what), "hard link: %s", why);
	(void)dw_build_complain(user, path, 0, what, "leaving it out", NULL);
}

/* -- entries ------------------------------------------------------------------------- */

static int compare_node_names(const void *left, const void *right, void *context)
{
	const struct assembly *assembly = context;

	return dw_span_compare(dw_assembly_name(assembly, *(const uint32_t *)left),
			       dw_assembly_name(assembly, *(const uint32_t *)right));
}

static int list_children(struct tree_builder *tree_builder, uint32_t directory,
			 dwarfs_error **err)
{
	const struct assembly *assembly = tree_builder->assembly;
	uint32_t node = assembly->nodes[directory].child;
	int ret;

	tree_builder->child_count = 0;
	for (; node != DW_NONE; node = assembly->nodes[node].next) {
		if ((ret = dw_grow(&tree_builder->children, &tree_builder->child_room,
				   tree_builder->child_count + 1, err)) < 0)
			return ret;
		tree_builder->children[tree_builder->child_count++] = node;
	}
	if (tree_builder->child_count > 1)
		qsort_r(tree_builder->children, tree_builder->child_count,
			sizeof(uint32_t), compare_node_names, tree_builder->assembly);
	return 0;
}

/* Fill in the attributes as a scan would. */
static void fill_found_entry(const struct assembly *assembly, uint32_t node,
			     struct found_entry *found)
{
	const struct record *record = dw_assembly_record(assembly, node);
	struct os_stat *stat = &found->stat;

	*found = (struct found_entry){
		.is_item = true,
		.record = assembly->nodes[node].record,
		.is_of_image = record->is_of_image,
		.stat = {
			.mode = record->mode,
			.uid = record->uid,
			.gid = record->gid,
			.links = record->names,
			.size = record->size,
			.rdev = record->size,
			.mtime = { record->mtime, record->mtime_ns },
		},
	};
	stat->atime = stat->ctime = stat->mtime;
	if (record->times != NO_TIMES) {
		stat->atime = assembly->times[record->times].atime;
		stat->ctime = assembly->times[record->times].ctime;
		stat->btime = assembly->times[record->times].btime;
	}
	if (record->kind == RECORD_TARGET)
		found->target = dw_string_set_at(&assembly->strings, record->source);
	if (record->kind == RECORD_FILE) {
		stat->device = assembly->files[record->source].device;
		stat->inode = assembly->files[record->source].inode;
	}
	if (record->xattrs != NO_XATTRS)
		found->xattrs = dw_string_set_at(&assembly->xattrs, record->xattrs);
}

/* Apply the filter, and report its decision to the callback. */
static int pass_filter(struct tree_builder *tree_builder, const struct found_entry *found,
		       bool *is_taken_out, dwarfs_error **err)
{
	const struct input_options *options = &tree_builder->run->options->input;
	bool is_directory = (found->stat.mode & DW_S_IFMT) == DW_S_IFDIR;
	auto_error dwarfs_error *why = NULL;
	int ret;

	*is_taken_out =
		!options->filter ||
		dw_filter_includes(options->filter, found->path,
				   tree_builder->cursor.path.size - 1, is_directory);
	if (!options->report)
		return 0;
	ret = options->report(found->path, is_directory, *is_taken_out, &why,
			      options->report_user);
	return ret == 0 ? 0 : dw_callback_fail(ret, &why, err);
}

static int append_child_name(struct tree_builder *tree_builder, struct span name,
			     dwarfs_error **err)
{
	struct buffer *path = &tree_builder->cursor.path;
	int ret;

	path->size = tree_builder->path_bytes;
	if (path->size > 0 && (ret = dw_buffer_append(path, "/", 1, err)) < 0)
		return ret;
	if ((ret = dw_buffer_append(path, name.data, name.size, err)) < 0)
		return ret;
	return dw_buffer_append(path, "", 1, err);
}

static int push_tree_directory(struct tree_builder *tree_builder, uint32_t node,
			       uint32_t entry, dwarfs_error **err)
{
	int ret = dw_grow(&tree_builder->stack, &tree_builder->stack_room,
			  tree_builder->stack_count + 1, err);

	if (ret < 0)
		return ret;
	tree_builder->stack[tree_builder->stack_count++] =
		(struct queued_node){ node, entry };
	return 0;
}

static int add_tree_entry(struct tree_builder *tree_builder, uint32_t directory,
			  uint32_t node, dwarfs_error **err)
{
	struct tree *tree = tree_builder->tree;
	struct span name = dw_assembly_name(tree_builder->assembly, node);
	uint32_t inode, entry = (uint32_t)tree->entry_count;
	struct found_entry found;
	bool is_included;
	int ret;

	if ((ret = append_child_name(tree_builder, name, err)) < 0)
		return ret;
	fill_found_entry(tree_builder->assembly, node, &found);
	found.path = (const char *)tree_builder->cursor.path.data;
	if ((ret = pass_filter(tree_builder, &found, &is_included, err)) < 0 ||
	    !is_included)
		return ret;
	if ((ret = dw_entry_import_one(tree_builder->import, &found, &inode, err)) < 0 ||
	    inode == DW_NONE)
		return ret;
	if ((ret = dw_tree_add_entry(tree, directory, name, inode, err)) < 0)
		return ret;
	if ((found.stat.mode & DW_S_IFMT) == DW_S_IFDIR)
		return push_tree_directory(tree_builder, node, entry, err);
	return 0;
}

static int add_tree_entries(struct tree_builder *tree_builder, uint32_t directory,
			    dwarfs_error **err)
{
	struct dwarfs_progress *progress = &tree_builder->run->progress;
	size_t before = tree_builder->stack_count;
	int ret;

	for (size_t i = 0; i < tree_builder->child_count; i++) {
		ret = add_tree_entry(tree_builder, directory, tree_builder->children[i],
				     err);
		if (ret < 0)
			return ret;
		progress->items_done = tree_builder->tree->entry_count;
		progress->bytes_done = tree_builder->run->counts[DWARFS_COUNT_BYTES_IN];
		progress->path = (const char *)tree_builder->cursor.path.data;
		if ((ret = dw_progress_tick(progress, err)) < 0)
			return ret;
	}
	/* The stack is popped from its end: the first directory must be the last one. */
	if (tree_builder->stack_count > before)
		dw_reverse(tree_builder->stack + before,
			   tree_builder->stack_count - before,
			   sizeof(*tree_builder->stack));
	return 0;
}

static int add_tree_directory(struct tree_builder *tree_builder, struct queued_node next,
			      dwarfs_error **err)
{
	struct tree *tree = tree_builder->tree;
	int ret;

	if ((ret = dw_grow(&tree->directories, &tree->directory_room,
			   tree->directory_count + 1, err)) < 0 ||
	    (ret = list_children(tree_builder, next.node, err)) < 0 ||
	    (ret = dw_path_cursor_go(&tree_builder->cursor, tree, next.entry, err)) < 0)
		return ret;
	tree->directories[tree->directory_count++] =
		(struct tree_directory){ next.entry, (uint32_t)tree->entry_count };
	tree_builder->path_bytes = tree_builder->cursor.path.size;
	return add_tree_entries(tree_builder, next.entry, err);
}

static int add_all_directories(struct tree_builder *tree_builder, dwarfs_error **err)
{
	struct found_entry root;
	int ret;

	fill_found_entry(tree_builder->assembly, 0, &root);
	root.path = "";
	if ((ret = dw_entry_import_found_root(tree_builder->import, &root, err)) < 0 ||
	    (ret = push_tree_directory(tree_builder, 0, 0, err)) < 0)
		return ret;
	while (tree_builder->stack_count > 0) {
		struct queued_node next =
			tree_builder->stack[--tree_builder->stack_count];

		if ((ret = add_tree_directory(tree_builder, next, err)) < 0)
			return ret;
	}
	return 0;
}

int dw_assembly_to_tree(struct build_run *run, struct tree *tree,
			struct entry_import *import, dwarfs_error **err)
{
	__attribute__((cleanup(free_tree_builder))) struct tree_builder tree_builder = {
		.run = run,
		.tree = tree,
		.import = import,
		.assembly = run->assembly,
	};
	int ret;

	if ((run->assembly->spool &&
	     (ret = dw_spool_finish(run->assembly->spool, err)) < 0) ||
	    (ret = dw_assembly_resolve(run->assembly, complain_about_link, run, err)) < 0)
		return ret;
	dw_assembly_clear(run->assembly, DISPLACED_ROOT);
	if ((ret = add_all_directories(&tree_builder, err)) < 0)
		return ret;
	dw_assembly_drop_nodes(run->assembly);
	dw_os_trim();
	return 0;
}
