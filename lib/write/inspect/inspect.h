/* SPDX-License-Identifier: MIT */
/*
 * write/inspect/inspect: what the bytes of each file are.
 */
#ifndef DW_WRITE_INSPECT_INSPECT_H
#define DW_WRITE_INSPECT_INSPECT_H

#include "write/builder.h"
#include "write/inspect/unique_contents.h"

/*
 * Find the distinct contents of all files of the tree, the fragments they consist of, and
 * what the orders want to know of them. Unreadable files become empty. Makes
 * run->sources.
 */
int dw_inspect(struct build_run *run, struct tree *tree, struct contents *contents,
	       dwarfs_error **err);

#endif
