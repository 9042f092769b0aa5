/* SPDX-License-Identifier: MIT */
/*
 * write/input/entry_import: one entry of the input -> one entry of the tree.
 *
 * Private to those who find entries: scan.c, path_list.c and assembled_tree.c. Of one
 * thread.
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

/* An entry as it was found. */
struct found_entry {
	struct os_stat stat;
	const char *path; /* below the root */
	struct span target;
	struct span xattrs; /* as by dw_xattr_list_append() */
	int xattrs_errnum;  /* why some of them are missing, or 0 */
	bool is_item;	    /* it was given by itself: files are the same when this is */
	uint32_t record;    /* of the assembly */
};

/*
 * Make an inode for an entry, or find that of an earlier name. DW_NONE when the options
 * leave it out, which is logged and counted.
 */
int dw_entry_import_one(struct entry_import *import, const struct found_entry *found,
			uint32_t *inode_out, dwarfs_error **err);

/* The root of the tree, from the directory that is open; or as it was found. */
int dw_entry_import_root(struct entry_import *import, dwarfs_error **err);
int dw_entry_import_found_root(struct entry_import *import,
			       const struct found_entry *found, dwarfs_error **err);

#endif
