/* SPDX-License-Identifier: MIT */
/*
 * os/create: create entries inside an open directory and set their attributes.
 *
 * Every name is a single component, relative to an open directory. Nothing existing is
 * replaced, and no symbolic link is followed. Functions that can fail return a negative
 * errno value.
 */
#ifndef DW_OS_CREATE_H
#define DW_OS_CREATE_H

#include "base/memory.h"
#include "os/dir.h"

/* Identifies a directory. */
struct file_identity {
	uint64_t device, inode;
};

/* Open a directory by any path, following links; it is created if it is missing, and
 * made_out says so. A descriptor, or a negative errno value. */
int dw_create_open_root(const char *path, bool *made_out);

/* Open a directory inside another one. */
int dw_create_open_dir(int dir, const char *name);

/* The identity of an open directory. */
int dw_create_identify(int dir, struct file_identity *identity_out);

/* Open the parent of dir: -ESTALE if it is not the expected one. */
int dw_create_open_parent(int dir, const struct file_identity *expected);

/* How many of these descriptors the process may have open at the same time. */
uint32_t dw_create_most_open(void);

/* Create a directory with these permissions minus the umask; its owner can always use
 * it. */
int dw_create_dir(int dir, const char *name, uint32_t mode);

/* Create a file with these permissions minus the umask: a descriptor for writing,
 * whatever they are. */
int dw_create_file(int dir, const char *name, uint32_t mode);

/* Reopen a file made by dw_create_file(). */
int dw_create_open_file(int dir, const char *name);

/* Whether an entry of this name exists: 1 or 0. */
int dw_create_is_there(int dir, const char *name);

/* Rename, unless the new name exists: -EEXIST. File systems without such a call: the
 * name is checked first. */
int dw_create_rename(int dir, const char *from, const char *to);

/* Eight unpredictable bytes, for names. */
uint64_t dw_create_token(void);

/* Set the size of a file; ranges not written are holes. */
int dw_create_resize(int fd, uint64_t size);

/* close(); some file systems report failed writes here. */
int dw_create_close(int fd);

int dw_create_symlink(int dir, const char *name, const char *target);
int dw_create_hard_link(int from_dir, const char *from, int dir, const char *name);

/* Create a device, fifo or socket, by mode. */
int dw_create_node(int dir, const char *name, uint32_t mode, uint32_t major,
		   uint32_t minor);

/* Remove a file that was just created. */
void dw_create_undo_file(int dir, const char *name);

struct attributes {
	uint32_t mode; /* with the type */
	uint32_t uid, gid;
	bool set_owner;
	bool drop_setuid, drop_setgid; /* these bits belong to another owner or group */
	struct os_time atime, mtime;
};

/* The permissions to create an entry with: not more than its final ones, and only if
 * its owner does not change. */
uint32_t dw_create_mode(const struct attributes *attributes);

/* The current attributes. */
struct owned {
	uint32_t mode, uid, gid;
};

/*
 * Set owner, mode and times, in this order; extended attributes are set after the owner.
 * Attributes that are right already are not set. Without set_owner, the setuid and
 * setgid bits of a file are kept only if it belongs to the owner or group they are meant
 * for.
 */
int dw_restore_owner(int fd, const struct attributes *attributes,
		     struct owned *owned_out);
int dw_restore_mode(int fd, const struct attributes *attributes,
		    const struct owned *owned);
int dw_restore_times(int fd, const struct attributes *attributes);

/* The same for a name in a directory; a link has no mode. -ESTALE: it is not of the
 * expected type. */
int dw_restore_owner_at(int dir, const char *name, const struct attributes *attributes,
			struct owned *owned_out);
int dw_restore_mode_at(int dir, const char *name, const struct attributes *attributes,
		       const struct owned *owned);
int dw_restore_times_at(int dir, const char *name, const struct attributes *attributes);

/* Its mode may have changed. */
void dw_owned_forget_mode(struct owned *owned);

/* Whether only the times have to be set. */
bool dw_restore_is_right(const struct attributes *attributes, const struct owned *owned);

/* The current attributes; no link is followed. */
int dw_owned_at(int dir, const char *name, struct owned *owned_out);

/* Whether this process may change owners. */
bool dw_may_set_owners(void);

#endif
