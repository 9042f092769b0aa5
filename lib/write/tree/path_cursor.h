/* SPDX-License-Identifier: MIT */
/*
 * write/tree/path_cursor: paths that are asked for one after the other, and are near each
 * other.
 *
 * The way of the last path is kept, and the next one begins where it leaves that way, so
 * that going through a tree takes time by its size, however deep it is.
 */
#ifndef DW_WRITE_TREE_PATH_CURSOR_H
#define DW_WRITE_TREE_PATH_CURSOR_H

#include "write/tree/tree.h"

/* -- paths of entries ---------------------------------------------------------------- */

struct path_cursor_step {
	uint32_t entry;
	size_t end; /* of its path */
};

/* Belongs to one tree, whose entries keep their numbers; {0} is a new one. */
struct path_cursor {
	struct path_cursor_step *steps;
	size_t count, room;
	struct buffer path;
};

void dw_path_cursor_free(struct path_cursor *cursor);

/* Set trail->path to that of an entry, with a NUL that does not count. What is behind it
 * in the buffer may be overwritten. */
int dw_path_cursor_go(struct path_cursor *cursor, const struct tree *tree, uint32_t entry,
		      dwarfs_error **err);

/* -- nodes of paths ------------------------------------------------------------------ */

/* A directory on a way: the first bytes of it lead to a node. */
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

/* The directories are no longer what they were. */
static inline void dw_path_stack_forget(struct path_stack *stack)
{
	stack->count = 0;
}

/* How many steps of the way lead to something that a path leads through. */
size_t dw_path_stack_common(const struct path_stack *stack, struct span path);

/* Go on behind the first steps: the first bytes of a path, which has these steps in
 * common with the way, lead to a directory. */
int dw_path_stack_add(struct path_stack *stack, size_t after, struct span path,
		      size_t end, uint32_t node, dwarfs_error **err);

#endif
