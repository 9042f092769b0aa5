/* SPDX-License-Identifier: MIT */
/*
 * extract/plan: map entries to their directories, and open these on disk.
 *
 * The plan grows while the walk visits directories; a cursor is a position in the tree on
 * disk. Numbers of directories are indices into plan->dirs, the root is 0.
 */
#ifndef DW_EXTRACT_PLAN_H
#define DW_EXTRACT_PLAN_H

#include <dwarfs/walk.h>

#include "os/create.h"

struct dir {
	dwarfs_entry entry;
	dwarfs_inode inode;
	uint32_t parent, depth;
	bool wanted;	      /* everything in it was selected */
	bool needed;	      /* for itself, or for something in it */
	bool existed;	      /* it was there before */
	bool has_default_acl; /* entries made in it inherit an access control list */
	bool lost;	      /* it could not be made, so nothing in it can be */
};

/* Some entries, one after the other. */
struct entries {
	dwarfs_entry *list;
	size_t count, room;
};

struct plan {
	const dwarfs_image *image;
	struct dir *dirs;
	size_t dir_count, dir_capacity;
	uint32_t *dir_of; /* by entry: its directory plus 1, 0 when not seen */
	struct entries regular;

	/* Those directories that are needed, but for the root, by their depth from 1 on:
	   those of depth d end at level_ends[d]. */
	uint32_t *by_depth;
	size_t *level_ends;
	uint32_t depth; /* of the deepest */
};

int dw_plan_init(struct plan *plan, const dwarfs_image *image, dwarfs_error **err);
void dw_plan_release(struct plan *plan);

/* Take in a directory and claim its entries. Entries claimed twice mean that the tree has
 * a loop or shares entries. */
int dw_plan_add_dir(struct plan *plan, dwarfs_entry entry, dwarfs_inode inode,
		    uint32_t *dir_out, dwarfs_error **err);

/* An entry of a directory is to be created, and so are the directories above it. */
void dw_plan_need(struct plan *plan, uint32_t dir);

/* When all directories are known: sort them by depth. */
int dw_plan_sort(struct plan *plan, dwarfs_error **err);

int dw_entries_add(struct entries *entries, dwarfs_entry entry, dwarfs_error **err);

/* The directory of an entry other than the root. */
int dw_plan_dir_of(const struct plan *plan, dwarfs_entry entry, uint32_t *dir_out,
		   dwarfs_error **err);

/* Whether the directory of an entry could not be made. */
bool dw_plan_is_lost(const struct plan *plan, dwarfs_entry entry);

/* Whether entries made there inherit an access control list. */
bool dw_plan_has_default_acl(const struct plan *plan, dwarfs_entry entry);

/* A name that is one component of a path and nothing else. */
int dw_plan_name(const struct plan *plan, dwarfs_entry entry,
		 char name[DWARFS_NAME_BUFFER_BYTES], dwarfs_error **err);

/* "target/a/b" for an entry, to be freed; NULL when memory is short. */
char *dw_plan_path(const struct plan *plan, const char *target, dwarfs_entry entry);

struct cursor_level {
	uint32_t dir;
	int fd;			       /* -1 when closed for now */
	struct file_identity identity; /* once it was closed */
};

struct cursor {
	const struct plan *plan;
	struct cursor_level *levels; /* from the root down, by depth */
	size_t level_count, level_capacity;
	size_t most_open; /* levels that stay open, in addition to the root */
	uint32_t *way;	  /* scratch of dw_cursor_go() */
	size_t way_capacity;
};

/* root_fd stays the caller's. At least two levels stay open. */
int dw_cursor_init(struct cursor *cursor, const struct plan *plan, int root_fd,
		   size_t most_open, dwarfs_error **err);
void dw_cursor_release(struct cursor *cursor);

/* Go to a directory that exists on disk: its descriptor, which stays the cursor's and is
 * good until the next call. */
int dw_cursor_go(struct cursor *cursor, uint32_t dir, int *fd_out, dwarfs_error **err);

#endif
