/* SPDX-License-Identifier: MIT */
/*
 * build/paths: a list of paths -> tree.
 */
#ifndef DW_BUILD_PATHS_H
#define DW_BUILD_PATHS_H

#include "build/builder.h"
#include "build/tree.h"

/* Fill an empty tree with the paths of the options, and the directories that lead to
 * them. Inodes are made in the order of the list. */
int dw_paths(struct build_run *run, struct tree *tree, dwarfs_error **err);

#endif
