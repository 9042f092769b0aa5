/* SPDX-License-Identifier: MIT */
/*
 * write/tree/path_cursor: paths of successive entries of a tree.
 *
 * The directories of the last path are kept, and the next path is built from their common
 * part, so that walking a tree takes linear time however deep it is.
 */
#ifndef DW_WRITE_TREE_PATH_CURSOR_H
#define DW_WRITE_TREE_PATH_CURSOR_H

#include "write/tree/tree.h"

/* -- paths of entries ---------------------------------------------------------------- */

struct path_cursor_step {
	uint32_t entry;
	size_t end; /* of its path */
};

/* For one tree, whose entries keep their numbers; {0} is a new one. */
struct path_cursor {
	struct path_cursor_step *steps;
	size_t count, room;
	struct buffer path;
};

void dw_path_cursor_free(struct path_cursor *cursor);

/* Set cursor->path to the path of an entry, with a NUL that does not count. The caller
 * may append to the buffer. */
int dw_path_cursor_go(struct path_cursor *cursor, const struct tree *tree, uint32_t entry,
		      dwarfs_error **err);

/* -- nodes of paths ------------------------------------------------------------------ */

/* A directory of a path: its first bytes lead to a node. */
struct path_stack_step {
	size_t end;
	uint32_t node;
};

/* {0} is a new one. */
struct path_stack {
	struct path_stack_step *steps;
	size_t count, room;
	struct buffer path;
};

void dw_path_stack_free(struct path_stack *stack);

/* Forget the directories, because they have changed. */
static inline void dw_path_stack_forget(struct path_stack *stack)
{
	stack->count = 0;
}

/* How many steps are directories of the given path, too. */
size_t dw_path_stack_common(const struct path_stack *stack, struct span path);

/* Add a step after the first ones: the first bytes of a path, which has these steps in
 * common, lead to a directory. */
int dw_path_stack_add(struct path_stack *stack, size_t after, struct span path,
		      size_t end, uint32_t node, dwarfs_error **err);

#endif
