/* SPDX-License-Identifier: MIT */
/*
 * build/inspect: what the bytes of each file are.
 */
#ifndef DW_BUILD_INSPECT_H
#define DW_BUILD_INSPECT_H

#include "build/builder.h"
#include "build/contents.h"

/*
 * Find the distinct contents of all files of the tree, the fragments they consist of, and
 * what the orders want to know of them. Unreadable files become empty. Makes
 * run->sources.
 */
int dw_inspect(struct build_run *run, struct tree *tree, struct contents *contents,
	       dwarfs_error **err);

#endif
