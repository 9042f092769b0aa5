/* SPDX-License-Identifier: MIT */
/*
 * write/input/entry_import: one entry of the input -> one entry of the tree.
 *
 * Used by scan.c, path_list.c and assembled_tree.c, on one thread.
 */
#ifndef DW_WRITE_INPUT_ENTRY_IMPORT_H
#define DW_WRITE_INPUT_ENTRY_IMPORT_H

#include "write/options/input_options.h"

struct entry_import {
	struct build_run *run;
	struct tree *tree;
	bool devices, specials; /* whether to store them */

	/* Files with several names, by device and inode number: open addressing. */
	struct linked_inode *linked;
	size_t linked_count, linked_room;
};

void dw_entry_import_free(struct entry_import *import);

/* An entry of the input with its attributes. */
struct found_entry {
	struct os_stat stat;
	const char *path; /* below the root */
	struct span target;
	struct span xattrs; /* as by dw_xattr_list_append() */
	int xattrs_errnum;  /* why some of them are missing, or 0 */
	/* added by dwarfs_builder_add_item(); items with the same record are hard links
	 * */
	bool is_item;
	uint32_t record;  /* of the assembly */
	bool is_of_image; /* devices and specials are stored in any case */
};

/*
 * Add an inode for an entry, or find that of an earlier hard link. DW_NONE if the options
 * skip the entry, which is logged and counted.
 */
int dw_entry_import_one(struct entry_import *import, const struct found_entry *found,
			uint32_t *inode_out, dwarfs_error **err);

/* Add the root of the tree, from the open input directory or from a found entry. */
int dw_entry_import_root(struct entry_import *import, dwarfs_error **err);
int dw_entry_import_found_root(struct entry_import *import,
			       const struct found_entry *found, dwarfs_error **err);

#endif
