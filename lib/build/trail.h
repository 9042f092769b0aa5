/* SPDX-License-Identifier: MIT */
/*
 * build/trail: paths that are asked for one after the other, and are near each other.
 *
 * The way of the last path is kept, and the next one begins where it leaves that way, so
 * that going through a tree takes time by its size, however deep it is.
 */
#ifndef DW_BUILD_TRAIL_H
#define DW_BUILD_TRAIL_H

#include "build/tree.h"

/* -- paths of entries ---------------------------------------------------------------- */

struct trail_step {
	uint32_t entry;
	size_t end; /* of its path */
};

/* Belongs to one tree, whose entries keep their numbers; {0} is a new one. */
struct trail {
	struct trail_step *steps;
	size_t count, room;
	struct buffer path;
};

void dw_trail_free(struct trail *trail);

/* Set trail->path to that of an entry, with a NUL that does not count. What is behind it
 * in the buffer may be overwritten. */
int dw_trail_go(struct trail *trail, const struct tree *tree, uint32_t entry,
		dwarfs_error **err);

/* -- nodes of paths ------------------------------------------------------------------ */

/* A directory on a way: the first bytes of it lead to a node. */
struct way_step {
	size_t end;
	uint32_t node;
};

/* {0} is a new one. */
struct way {
	struct way_step *steps;
	size_t count, room;
	struct buffer path;
};

void dw_way_free(struct way *way);

/* The directories are no longer what they were. */
static inline void dw_way_forget(struct way *way)
{
	way->count = 0;
}

/* How many steps of the way lead to something that a path leads through. */
size_t dw_way_common(const struct way *way, struct span path);

/* Go on behind the first steps: the first bytes of a path, which has these steps in
 * common with the way, lead to a directory. */
int dw_way_add(struct way *way, size_t after, struct span path, size_t end, uint32_t node,
	       dwarfs_error **err);

#endif
