/* SPDX-License-Identifier: MIT */
/*
 * read/bulk/file_list: files to be read, and where their data are.
 */
#ifndef DW_READ_BULK_FILE_LIST_H
#define DW_READ_BULK_FILE_LIST_H

#include <stdatomic.h>

#include "read/bulk/block_pieces.h"

/* One of the files. */
struct target {
	uint64_t bytes;
	uint32_t inode;
	uint32_t parts;
	atomic_uint left; /* parts not delivered yet */
	atomic_bool failed;
};

/* All zero is empty. */
struct targets {
	struct target *list;
	size_t count;
	struct pieces pieces; /* without holes; by block, file and offset in it */
};

/* Called for each file that cannot be read. */
typedef void (*target_fail_fn)(struct target *target, const dwarfs_error *why,
			       void *user);

/* List each file of inodes once, and find its data. Fails only with NOMEM. */
int dw_targets_collect(struct targets *targets, const dwarfs_image *image,
		       const dwarfs_inode *inodes, size_t count, target_fail_fn fail,
		       void *user, dwarfs_error **err);
void dw_targets_free(struct targets *targets);

#endif
