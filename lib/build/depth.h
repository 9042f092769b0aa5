/* SPDX-License-Identifier: MIT */
/*
 * build/depth: directories of a tree that is walked from its root, in depth first order.
 *
 * Some directories on the way to the present one stay open, so that the next one is near
 * one of them.
 */
#ifndef DW_BUILD_DEPTH_H
#define DW_BUILD_DEPTH_H

#include <stddef.h>

#define DEPTH_SLOTS 48

struct depth {
	int root_fd;
	size_t count;
	struct {
		size_t bytes; /* of its path */
		int fd;
	} open[DEPTH_SLOTS]; /* the deepest last; the one that was opened last among them
			      */
};

void dw_depth_free(struct depth *depth);

/*
 * Open the directory at a path below the root, "" for the root; what is in front of its
 * last name must be the way to the one that was opened last, or to one above that. 0 or a
 * negative errno value. The descriptor is lent until the next call; path is as it was.
 */
int dw_depth_open(struct depth *depth, char *path, size_t bytes, int *fd_out);

#endif
