/* SPDX-License-Identifier: MIT */
/*
 * build/scan: directories -> tree.
 */
#ifndef DW_BUILD_SCAN_H
#define DW_BUILD_SCAN_H

#include "build/builder.h"
#include "build/tree.h"

/* Fill an empty tree with everything below the root. */
int dw_scan(struct build_run *run, struct tree *tree, dwarfs_error **err);

#endif
