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

/* Open a directory that stands in another one. */
int dw_create_open_dir(int dir, const char *name);

/* What tells an open directory from others. */
int dw_create_identify(int dir, struct file_identity *identity_out);

/* Open the directory that dir stands in: -ESTALE when it is not the one expected. */
int dw_create_open_parent(int dir, const struct file_identity *expected);

/* How many of these the process may have open at the same time. */
uint32_t dw_create_most_open(void);

/* Make a directory with these permissions, less what the umask takes; its owner can use
 * it in any case. */
int dw_create_dir(int dir, const char *name, uint32_t mode);

/* Make a file with these permissions, less what the umask takes: a descriptor for
 * writing, whatever they are. */
int dw_create_file(int dir, const char *name, uint32_t mode);

/* Open a file again that dw_create_file() made. */
int dw_create_open_file(int dir, const char *name);

/* Whether there is something of this name: 1 or 0. */
int dw_create_is_there(int dir, const char *name);

/* Give a file its name, unless that is taken: -EEXIST. Where the file system knows no
 * such step, the name is looked at first. */
int dw_create_rename(int dir, const char *from, const char *to);

/* Eight bytes that nobody can guess, for names. */
uint64_t dw_create_token(void);

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
	bool drop_setuid, drop_setgid; /* these bits are about somebody else */
	struct timespec atime, mtime;
};

/* The permissions to make something with: no more than it has in the end, and those only
 * for an owner that stays. */
uint32_t dw_create_mode(const struct attributes *attributes);

/* What something has now. */
struct owned {
	uint32_t mode, uid, gid;
};

/*
 * Set owner, then mode, then times, in this order; extended attributes have their place
 * behind the owner. What is right already is not set again. Without set_owner, the setuid
 * and setgid bits of a file are kept only when it belongs to the owner or group that they
 * are about.
 */
int dw_restore_owner(int fd, const struct attributes *attributes,
		     struct owned *owned_out);
int dw_restore_mode(int fd, const struct attributes *attributes,
		    const struct owned *owned);
int dw_restore_times(int fd, const struct attributes *attributes);

/* The same for what has a name in a directory; a link has no mode. -ESTALE: it is not of
 * the type that it should have. */
int dw_restore_owner_at(int dir, const char *name, const struct attributes *attributes,
			struct owned *owned_out);
int dw_restore_mode_at(int dir, const char *name, const struct attributes *attributes,
		       const struct owned *owned);
int dw_restore_times_at(int dir, const char *name, const struct attributes *attributes);

/* It may have any mode by now. */
void dw_owned_forget_mode(struct owned *owned);

/* Whether nothing but the times needs to be set. */
bool dw_restore_is_right(const struct attributes *attributes, const struct owned *owned);

/* What something has now; no link is followed. */
int dw_owned_at(int dir, const char *name, struct owned *owned_out);

/* Whether this process may give files away. */
bool dw_may_set_owners(void);

#endif
