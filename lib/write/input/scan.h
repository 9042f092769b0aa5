/* SPDX-License-Identifier: MIT */
/*
 * write/input/scan: directories -> tree.
 */
#ifndef DW_WRITE_INPUT_SCAN_H
#define DW_WRITE_INPUT_SCAN_H

#include "write/build_run.h"
#include "write/tree/tree.h"

/* Fill an empty tree with all entries below the root. */
int dw_scan(struct build_run *run, struct tree *tree, dwarfs_error **err);

#endif
