/* SPDX-License-Identifier: MIT */
/*
 * write/input/directory_stack: directories of a tree that is walked from its root, in
 * depth first order.
 *
 * Some directories on the way to the present one stay open, so that the next one is near
 * one of them.
 */
#ifndef DW_WRITE_INPUT_DIRECTORY_STACK_H
#define DW_WRITE_INPUT_DIRECTORY_STACK_H

#include <stddef.h>

#define DIRECTORY_STACK_SLOTS 48

struct directory_stack {
	int root_fd;
	size_t count;
	struct {
		size_t bytes; /* of its path */
		int fd;
	} open[DIRECTORY_STACK_SLOTS]; /* the deepest last; the one that was opened last
					* among them
					*/
};

void dw_directory_stack_free(struct directory_stack *stack);

/*
 * Open the directory at a path below the root, "" for the root; what is in front of its
 * last name must be the way to the one that was opened last, or to one above that. 0 or a
 * negative errno value. The descriptor is lent until the next call; path is as it was.
 */
int dw_directory_stack_open(struct directory_stack *stack, char *path, size_t bytes,
			    int *fd_out);

#endif
