/* SPDX-License-Identifier: MIT */
/*
 * write/input/list_path: a path of an input list -> the path below the input directory.
 */
#ifndef DW_WRITE_INPUT_LIST_PATH_H
#define DW_WRITE_INPUT_LIST_PATH_H

#include "base/memory.h"

/* The input directory. */
struct list_root {
	int fd;
	const char *path;    /* as it was given */
	struct buffer found; /* an absolute path of the same directory, with a NUL */
};

/* Frees what was found; the rest is the caller's. */
void dw_list_root_free(struct list_root *root);

/* The next name of a path, skipping "."; empty at the end. */
struct span dw_list_next_name(const char **path);

/*
 * Make *path relative to the root. A relative path is relative already. In an absolute
 * path the root is found by name, or by being the same directory. 1, 0 for a path outside
 * of the root or with "..", or DWARFS_ERR_NOMEM.
 */
int dw_list_path_below(struct list_root *root, const char **path, dwarfs_error **err);

#endif
