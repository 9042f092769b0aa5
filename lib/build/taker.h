/* SPDX-License-Identifier: MIT */
/*
 * build/taker: one entry of the input -> one entry of the tree.
 *
 * Private to those who find entries: scan.c, paths.c and assemble.c. Of one thread.
 */
#ifndef DW_BUILD_TAKER_H
#define DW_BUILD_TAKER_H

#include "build/inputs.h"

struct taker {
	struct build_run *run;
	struct tree *tree;
	bool devices, specials; /* whether to store them */

	/* Files with several names, by device and inode number: open addressing. */
	struct seen_file *seen;
	size_t seen_count, seen_room;
};

void dw_taker_free(struct taker *taker);

/* An entry as it was found. */
struct found {
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
int dw_take(struct taker *taker, const struct found *found, uint32_t *inode_out,
	    dwarfs_error **err);

/* The root of the tree, from the directory that is open; or as it was found. */
int dw_take_root(struct taker *taker, dwarfs_error **err);
int dw_take_found_root(struct taker *taker, const struct found *found,
		       dwarfs_error **err);

#endif
