/* SPDX-License-Identifier: MIT */
/*
 * write/input/directory_stack: open directories along the path of a depth-first walk.
 *
 * Some ancestors of the current directory stay open, so that the next directory is opened
 * by a short path.
 */
#ifndef DW_WRITE_INPUT_DIRECTORY_STACK_H
#define DW_WRITE_INPUT_DIRECTORY_STACK_H

#include <stddef.h>

#define DIRECTORY_STACK_SLOTS 48

struct directory_stack {
	int root_fd;
	size_t count;
	struct {
		size_t bytes; /* length of its path */
		int fd;
	} open[DIRECTORY_STACK_SLOTS]; /* by depth; the last one was opened last */
};

void dw_directory_stack_free(struct directory_stack *stack);

/*
 * Open the directory at a path below the root ("" for the root). Its parent must be the
 * directory opened last or an ancestor of that. 0 or a negative errno value. The
 * descriptor is owned by the stack and valid until the next call. path is changed during
 * the call and restored.
 */
int dw_directory_stack_open(struct directory_stack *stack, char *path, size_t bytes,
			    int *fd_out);

/* Close all but the root and the directory opened last. */
void dw_directory_stack_close_others(struct directory_stack *stack);

#endif
