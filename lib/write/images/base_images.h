/* SPDX-License-Identifier: MIT */
/*
 * write/images/base_images: images whose data the new image uses, but not their entries.
 */
#ifndef DW_WRITE_IMAGES_BASE_IMAGES_H
#define DW_WRITE_IMAGES_BASE_IMAGES_H

#include "write/build_run.h"
#include "write/inspect/unique_contents.h"

/*
 * Before inspection: files of the tree that a base has, by path, size and time, get their
 * contents from it. The files of bases that have the size of others are added to the tree as
 * inodes without entries, for comparison; *inodes_out is the number of inodes without them.
 */
int dw_bases_apply(struct build_run *run, struct tree *tree, uint32_t *inodes_out,
		   dwarfs_error **err);

/* After inspection: remove these inodes, and contents that no entry has. */
void dw_bases_remove(struct tree *tree, struct contents *contents, uint32_t inodes);

#endif
