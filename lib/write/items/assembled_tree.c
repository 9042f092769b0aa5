/* SPDX-License-Identifier: MIT */
/*
 * write/items/assembled_tree: entries that were given one by one -> tree.
 *
 * First each hard link gets the record of what it leads to. Then the nodes become
 * entries, directory by directory, as in a scan, by the same rules.
 */
#include <stdio.h>
#include <string.h>

#include "format/metadata.h"
#include "os/memory_size.h"
#include "write/input/entry_import.h"
#include "write/items/assembly.h"
#include "write/options/filter.h"
#include "write/tree/path_cursor.h"

/* A directory whose entries are yet to be added. */
struct pending {
	uint32_t node, entry;
};

struct assembler {
	struct build_run *run;
	struct tree *tree;
	struct entry_import *import;
	struct assembly *assembly;
	uint32_t *children; /* of the directory being added, by name */
	size_t child_count, child_room;
	struct pending *stack; /* the next one last */
	size_t stack_count, stack_room;
	struct path_cursor cursor;
	size_t path_bytes; /* of the directory being added */
};

static void free_assembler(struct assembler *assembler)
{
	free(assembler->children);
	free(assembler->stack);
	dw_path_cursor_free(&assembler->cursor);
}

/* -- hard links ---------------------------------------------------------------------- */

static void complain_about_link(const char *path, const char *why, void *user)
{
	char what[80];

	snprintf(what, sizeof(what), "hard link: %s", why);
	dw_build_complain(user, path, 0, what, "leaving it out");
}

/* -- entries ------------------------------------------------------------------------- */

static const struct record *record_of(const struct assembly *assembly, uint32_t node)
{
	return &assembly->records[assembly->nodes[node].record];
}

static struct span name_of(const struct assembly *assembly, uint32_t node)
{
	return dw_string_set_at(&assembly->texts, assembly->nodes[node].name);
}

static int compare_nodes(const void *left, const void *right, void *context)
{
	const struct assembly *assembly = context;
	struct span a = name_of(assembly, *(const uint32_t *)left);
	struct span b = name_of(assembly, *(const uint32_t *)right);
	int order = memcmp(a.data, b.data, a.size < b.size ? a.size : b.size);

	if (order != 0)
		return order;
	return a.size < b.size ? -1 : a.size > b.size;
}

static int list_children(struct assembler *assembler, uint32_t directory,
			 dwarfs_error **err)
{
	const struct assembly *assembly = assembler->assembly;
	uint32_t node = assembly->nodes[directory].child;
	int ret;

	assembler->child_count = 0;
	for (; node != DW_NONE; node = assembly->nodes[node].next) {
		if ((ret = dw_grow(&assembler->children, &assembler->child_room,
				   assembler->child_count + 1, err)) < 0)
			return ret;
		assembler->children[assembler->child_count++] = node;
	}
	if (assembler->child_count > 1)
		qsort_r(assembler->children, assembler->child_count, sizeof(uint32_t),
			compare_nodes, assembler->assembly);
	return 0;
}

/* As if it had been found on disk. */
static void describe(const struct assembly *assembly, uint32_t node, struct found *found)
{
	const struct record *record = record_of(assembly, node);
	struct os_stat *stat = &found->stat;

	*found = (struct found){
		.is_item = true,
		.record = assembly->nodes[node].record,
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
		found->target = dw_string_set_at(&assembly->texts, record->source);
	if (record->kind == RECORD_FILE) {
		stat->device = assembly->files[record->source].device;
		stat->inode = assembly->files[record->source].inode;
	}
	if (record->xattrs != NO_XATTRS)
		found->xattrs = dw_string_set_at(&assembly->xattrs, record->xattrs);
}

/* Whether the filter takes it, which the callback is told. */
static int pass_filter(struct assembler *assembler, const struct found *found,
		       bool *is_taken_out, dwarfs_error **err)
{
	const struct input_options *options = &assembler->run->options->input;
	bool is_directory = (found->stat.mode & DW_S_IFMT) == DW_S_IFDIR;

	*is_taken_out = !options->filter ||
			dw_filter_takes(options->filter, found->path,
					assembler->cursor.path.size - 1, is_directory);
	if (!options->report)
		return 0;
	if (options->report(found->path, is_directory, *is_taken_out,
			    options->report_user) != 0)
		return dw_fail(err, DWARFS_ERR_CANCELLED, "cancelled");
	return 0;
}

static int append_name(struct assembler *assembler, struct span name, dwarfs_error **err)
{
	struct buffer *path = &assembler->cursor.path;
	int ret;

	path->size = assembler->path_bytes;
	if (path->size > 0 && (ret = dw_buffer_append(path, "/", 1, err)) < 0)
		return ret;
	if ((ret = dw_buffer_append(path, name.data, name.size, err)) < 0)
		return ret;
	return dw_buffer_append(path, "", 1, err);
}

static int push(struct assembler *assembler, uint32_t node, uint32_t entry,
		dwarfs_error **err)
{
	int ret = dw_grow(&assembler->stack, &assembler->stack_room,
			  assembler->stack_count + 1, err);

	if (ret < 0)
		return ret;
	assembler->stack[assembler->stack_count++] = (struct pending){ node, entry };
	return 0;
}

static int add_child(struct assembler *assembler, uint32_t directory, uint32_t node,
		     dwarfs_error **err)
{
	struct tree *tree = assembler->tree;
	struct span name = name_of(assembler->assembly, node);
	uint32_t inode, entry = (uint32_t)tree->entry_count;
	struct found found;
	bool is_taken;
	int ret;

	if ((ret = append_name(assembler, name, err)) < 0)
		return ret;
	describe(assembler->assembly, node, &found);
	found.path = (const char *)assembler->cursor.path.data;
	if ((ret = pass_filter(assembler, &found, &is_taken, err)) < 0 || !is_taken)
		return ret;
	if ((ret = dw_entry_import_one(assembler->import, &found, &inode, err)) < 0 ||
	    inode == DW_NONE)
		return ret;
	if ((ret = dw_tree_add_entry(tree, directory, name, inode, err)) < 0)
		return ret;
	if ((found.stat.mode & DW_S_IFMT) == DW_S_IFDIR)
		return push(assembler, node, entry, err);
	return 0;
}

/* The stack gives directories from its end, so the first of them must stand there. */
static void reverse(struct pending *list, size_t count)
{
	for (size_t i = 0; i < count / 2; i++) {
		struct pending kept = list[i];

		list[i] = list[count - 1 - i];
		list[count - 1 - i] = kept;
	}
}

static int add_children(struct assembler *assembler, uint32_t directory,
			dwarfs_error **err)
{
	struct dwarfs_progress *progress = &assembler->run->progress;
	size_t before = assembler->stack_count;
	int ret;

	for (size_t i = 0; i < assembler->child_count; i++) {
		ret = add_child(assembler, directory, assembler->children[i], err);
		if (ret < 0)
			return ret;
		progress->items_done = assembler->tree->entry_count;
		progress->bytes_done = assembler->run->counts[DWARFS_COUNT_BYTES_IN];
		progress->path = (const char *)assembler->cursor.path.data;
		if ((ret = dw_progress_tick(progress, err)) < 0)
			return ret;
	}
	if (assembler->stack_count > before)
		reverse(assembler->stack + before, assembler->stack_count - before);
	return 0;
}

static int add_directory(struct assembler *assembler, struct pending next,
			 dwarfs_error **err)
{
	struct tree *tree = assembler->tree;
	int ret;

	if ((ret = dw_grow(&tree->directories, &tree->directory_room,
			   tree->directory_count + 1, err)) < 0 ||
	    (ret = list_children(assembler, next.node, err)) < 0 ||
	    (ret = dw_path_cursor_go(&assembler->cursor, tree, next.entry, err)) < 0)
		return ret;
	tree->directories[tree->directory_count++] =
		(struct tree_directory){ next.entry, (uint32_t)tree->entry_count };
	assembler->path_bytes = assembler->cursor.path.size;
	return add_children(assembler, next.entry, err);
}

static int add_all(struct assembler *assembler, dwarfs_error **err)
{
	struct found root;
	int ret;

	describe(assembler->assembly, 0, &root);
	root.path = "";
	if ((ret = dw_entry_import_found_root(assembler->import, &root, err)) < 0 ||
	    (ret = push(assembler, 0, 0, err)) < 0)
		return ret;
	while (assembler->stack_count > 0) {
		struct pending next = assembler->stack[--assembler->stack_count];

		if ((ret = add_directory(assembler, next, err)) < 0)
			return ret;
	}
	return 0;
}

int dw_assembly_to_tree(struct build_run *run, struct tree *tree, struct entry_import *import,
		dwarfs_error **err)
{
	__attribute__((cleanup(free_assembler))) struct assembler assembler = {
		.run = run,
		.tree = tree,
		.import = import,
		.assembly = run->assembly,
	};
	int ret;

	if ((run->assembly->spool &&
	     (ret = dw_spool_finish(run->assembly->spool, err)) < 0) ||
	    (ret = dw_assembly_resolve(run->assembly, complain_about_link, run, err)) <
		    0 ||
	    (ret = add_all(&assembler, err)) < 0)
		return ret;
	dw_assembly_drop_nodes(run->assembly);
	dw_os_trim();
	return 0;
}
