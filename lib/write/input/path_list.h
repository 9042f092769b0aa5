/* SPDX-License-Identifier: MIT */
/*
 * write/input/path_list: a list of paths -> tree.
 */
#ifndef DW_WRITE_INPUT_PATH_LIST_H
#define DW_WRITE_INPUT_PATH_LIST_H

#include "write/build_run.h"
#include "write/tree/tree.h"

/* Fill an empty tree with the paths of the options and their parent directories. Inodes
 * are numbered in the order of the list. */
int dw_path_list_to_tree(struct build_run *run, struct tree *tree, dwarfs_error **err);

#endif
