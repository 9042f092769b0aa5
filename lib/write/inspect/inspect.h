/* SPDX-License-Identifier: MIT */
/*
 * write/inspect/inspect: find the unique contents of all files, their categories and
 * fingerprints.
 */
#ifndef DW_WRITE_INSPECT_INSPECT_H
#define DW_WRITE_INSPECT_INSPECT_H

#include "write/build_run.h"
#include "write/inspect/unique_contents.h"

/*
 * Fill contents with the unique contents of the tree, their fragments, and the
 * fingerprints that orders need. Unreadable files become empty. Makes run->sources.
 */
int dw_inspect(struct build_run *run, struct tree *tree, struct contents *contents,
	       dwarfs_error **err);

#endif
