/* SPDX-License-Identifier: MIT */
/*
 * os/create: make things inside an open directory, and give them their attributes.
 *
 * Every name is a single component, taken relative to an open directory. Nothing that
 * exists is replaced, and no symbolic link is followed. What can fail returns a negative
 * errno value.
 */
#ifndef DW_OS_CREATE_H
#define DW_OS_CREATE_H

#include <time.h>

#include "base/memory.h"

/* What tells two directories apart. */
struct file_identity {
	uint64_t device, inode;
};

/* Open a directory by any path, following links, making it when it is missing; made_out
 * says whether it was. A descriptor, or a negative errno value. */
int dw_create_open_root(const char *path, bool *made_out);

/* Open a directory that stands in another one. identity_out may be NULL. */
int dw_create_open_dir(int dir, const char *name, struct file_identity *identity_out);

/* Open the directory that dir stands in: -ESTALE when it is not the one expected. */
int dw_create_open_parent(int dir, const struct file_identity *expected);

/* Make a directory that only its owner can use for now. */
int dw_create_dir(int dir, const char *name);

/* Make a file that only its owner can use for now: a descriptor for writing. */
int dw_create_file(int dir, const char *name);

/* Open a file again that dw_create_file() made. */
int dw_create_open_file(int dir, const char *name);

/* pwrite() all of it. */
int dw_create_write(int fd, const void *data, size_t size, uint64_t offset);

/* Set the size of a file; what was not written is a hole. */
int dw_create_resize(int fd, uint64_t size);

/* close(), which is where some file systems report that a write failed. */
int dw_create_close(int fd);

int dw_create_symlink(int dir, const char *name, const char *target);
int dw_create_hard_link(int from_dir, const char *from, int dir, const char *name);

/* Make a device, fifo or socket; mode says which. */
int dw_create_node(int dir, const char *name, uint32_t mode, uint32_t major,
		   uint32_t minor);

/* Take back a file that was just made. */
void dw_create_undo_file(int dir, const char *name);

struct attributes {
	uint32_t mode; /* with the type */
	uint32_t uid, gid;
	bool set_owner;
	struct timespec atime, mtime;
};

/*
 * Set owner, mode and times, in this order. Without set_owner, the setuid and setgid bits
 * of a file are kept only when it belongs to the owner or group that they are about. On
 * failure *what_out says which of the three could not be set.
 */
int dw_restore_fd(int fd, const struct attributes *attributes, const char **what_out);
int dw_restore_at(int dir, const char *name, const struct attributes *attributes,
		  const char **what_out);

/* Whether this process may give files away. */
bool dw_may_set_owners(void);

#endif
