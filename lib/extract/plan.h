/* SPDX-License-Identifier: MIT */
/*
 * extract/plan: which directory every entry belongs to, and how to get there on disk.
 *
 * The plan grows while the walk visits directories; a cursor is a place in the tree that
 * was made from it. Numbers of directories are places in plan->dirs, the root is 0.
 */
#ifndef DW_EXTRACT_PLAN_H
#define DW_EXTRACT_PLAN_H

#include <dwarfs/walk.h>

#include "os/create.h"

struct dir {
	dwarfs_entry entry;
	dwarfs_inode inode;
	uint32_t parent, depth;
	bool existed; /* it was there before */
	bool lost;    /* it could not be made, so nothing in it can be */
};

struct plan {
	const dwarfs_image *image;
	struct dir *dirs;
	size_t dir_count, dir_capacity;
	uint32_t *dir_of; /* by entry: its directory plus 1, 0 when not seen */
};

int dw_plan_init(struct plan *plan, const dwarfs_image *image, dwarfs_error **err);
void dw_plan_release(struct plan *plan);

/* Take in a directory and claim its entries. Entries claimed twice mean that the tree is
 * no tree. */
int dw_plan_add_dir(struct plan *plan, dwarfs_entry entry, dwarfs_inode inode,
		    uint32_t *dir_out, dwarfs_error **err);

/* The directory of an entry other than the root. */
int dw_plan_dir_of(const struct plan *plan, dwarfs_entry entry, uint32_t *dir_out,
		   dwarfs_error **err);

/* A name that is one component of a path and nothing else. */
int dw_plan_name(const struct plan *plan, dwarfs_entry entry, char name[DWARFS_NAME_ROOM],
		 dwarfs_error **err);

/* "target/a/b" for an entry, to be freed; NULL when memory is short. */
char *dw_plan_path(const struct plan *plan, const char *target, dwarfs_entry entry);

struct level {
	uint32_t dir;
	int fd; /* -1 when closed for now */
	struct file_identity identity;
};

struct cursor {
	const struct plan *plan;
	struct level *levels; /* from the root down, by depth */
	size_t level_count, level_capacity;
	uint32_t *way; /* scratch of dw_cursor_go() */
	size_t way_capacity;
};

/* root_fd stays the caller's. */
int dw_cursor_init(struct cursor *cursor, const struct plan *plan, int root_fd,
		   dwarfs_error **err);
void dw_cursor_release(struct cursor *cursor);

/* Go to a directory that exists on disk: its descriptor, which stays the cursor's and is
 * good until the next call. */
int dw_cursor_go(struct cursor *cursor, uint32_t dir, int *fd_out, dwarfs_error **err);

#endif
