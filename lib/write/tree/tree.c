/* SPDX-License-Identifier: MIT */
/*
 * write/tree/tree: the entries of the image in memory.
 *
 * Tables of entries, inodes and directories refer to each other by number. Filled by one
 * thread during the scan; afterwards only inodes change (contents, numbers).
 */
#include <string.h>

#include "write/tree/tree.h"

/* limit of the format */
#define MAX_ITEMS (UINT32_MAX - 1)

/* -- tree ---------------------------------------------------------------------------- */

void dw_tree_free(struct tree *tree)
{
	dw_string_set_free(&tree->names);
	dw_string_set_free(&tree->targets);
	dw_free(tree->entries);
	dw_free(tree->inodes);
	dw_free(tree->times);
	dw_free(tree->directories);
	dw_xattrs_free(&tree->xattrs);
	*tree = (struct tree){ 0 };
}

int dw_tree_add_inode(struct tree *tree, const struct os_stat *stat, bool keep_times,
		      uint32_t *inode_out, dwarfs_error **err)
{
	struct tree_inode *inode;
	int ret;

	if (tree->inode_count >= MAX_ITEMS)
		return dw_fail(err, DWARFS_ERR_RANGE, "too many files for one image");
	if ((ret = dw_grow(&tree->inodes, &tree->inode_room, tree->inode_count + 1,
			   err)) < 0)
		return ret;
	if (keep_times) {
		if ((ret = dw_grow(&tree->times, &tree->times_room, tree->inode_count + 1,
				   err)) < 0)
			return ret;
		tree->times[tree->inode_count] =
			(struct tree_times){ stat->atime, stat->ctime, stat->btime };
	}
	inode = &tree->inodes[tree->inode_count];
	*inode = (struct tree_inode){
		.size = stat->size,
		.mtime = stat->mtime.seconds,
		.mtime_ns = stat->mtime.nanoseconds,
		.mode = stat->mode,
		.uid = stat->uid,
		.gid = stat->gid,
		.entry = DW_NONE,
		.next = DW_NONE,
		.content = DW_NONE,
	};
	*inode_out = (uint32_t)tree->inode_count++;
	return 0;
}

int dw_tree_add_entry(struct tree *tree, uint32_t parent, struct span name,
		      uint32_t inode, dwarfs_error **err)
{
	struct tree_entry *entry;
	uint32_t number = 0;
	int ret;

	if (tree->entry_count >= MAX_ITEMS)
		return dw_fail(err, DWARFS_ERR_RANGE, "too many files for one image");
	if ((ret = dw_grow(&tree->entries, &tree->entry_room, tree->entry_count + 1,
			   err)) < 0)
		return ret;
	/* The root has no name. */
	if (tree->entry_count > 0 &&
	    (ret = dw_string_set_add(&tree->names, name, &number, err)) < 0)
		return ret;
	entry = &tree->entries[tree->entry_count];
	*entry = (struct tree_entry){ parent, number, inode };
	if (tree->inodes[inode].links++ == 0)
		tree->inodes[inode].entry = (uint32_t)tree->entry_count;
	tree->entry_count++;
	return 0;
}

uint32_t dw_tree_last_entry(const struct tree *tree, size_t directory)
{
	if (directory + 1 < tree->directory_count)
		return tree->directories[directory + 1].first_entry;
	return (uint32_t)tree->entry_count;
}

int dw_tree_path(const struct tree *tree, uint32_t entry, struct buffer *path,
		 dwarfs_error **err)
{
	size_t length = 0, at;
	int ret;

	for (uint32_t e = entry; e != 0; e = tree->entries[e].parent)
		length += dw_string_set_at(&tree->names, tree->entries[e].name).size + 1;
	path->size = 0;
	if ((ret = dw_buffer_reserve(path, length + 1, err)) < 0)
		return ret;
	at = length ? length - 1 : 0; /* no slash in front */
	path->data[at] = '\0';
	path->size = at;
	for (uint32_t e = entry; e != 0; e = tree->entries[e].parent) {
		struct span name = dw_string_set_at(&tree->names, tree->entries[e].name);

		at -= name.size;
		memcpy(path->data + at, name.data, name.size);
		if (at > 0)
			path->data[--at] = '/';
	}
	return 0;
}
