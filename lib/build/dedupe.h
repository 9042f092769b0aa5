/* SPDX-License-Identifier: MIT */
/*
 * build/dedupe: equal contents -> one.
 */
#ifndef DW_BUILD_DEDUPE_H
#define DW_BUILD_DEDUPE_H

#include "build/builder.h"
#include "build/contents.h"

/* Find the distinct contents of all files of the tree. Unreadable files become empty. */
int dw_dedupe(struct build_run *run, struct tree *tree, struct contents *contents,
	      dwarfs_error **err);

#endif
