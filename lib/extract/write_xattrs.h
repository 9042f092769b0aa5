/* SPDX-License-Identifier: MIT */
/*
 * extract/write_xattrs: set extended attributes.
 *
 * After the owner, since changing it removes capabilities, and before the mode, since
 * user attributes need write permission.
 */
#ifndef DW_EXTRACT_WRITE_XATTRS_H
#define DW_EXTRACT_WRITE_XATTRS_H

#include <stdatomic.h>

#include <dwarfs/xattr.h>

#include "os/create.h"

enum xattr_space {
	XATTR_SPACE_USER,
	XATTR_SPACE_TRUSTED,
	XATTR_SPACE_SECURITY,
	XATTR_SPACE_ACL,
	XATTR_SPACE_OTHER,
	XATTR_SPACE_COUNT
};

/* Attributes that the target does not support or the process may not set: counted by
 * namespace. Initially zero; shared by any number of threads. */
struct xattr_losses {
	atomic_uint_fast64_t count[XATTR_SPACE_COUNT];
};

/*
 * Set the attributes of an inode on a name in a directory, or on the descriptor itself if
 * the name is "". Unsupported attributes are counted, and the first of each namespace is
 * logged as a warning; other failures, such as a full disk, are errors. *owned, unless
 * NULL, is set if the mode had to be changed.
 */
int dw_xattrs_restore(const dwarfs_image *image, dwarfs_inode inode, int dir,
		      const char *name, struct owned *owned, struct xattr_losses *losses,
		      dwarfs_error **err);

/*
 * Whether a directory has a default access control list, which new entries in it inherit;
 * name is as above. False on errors.
 */
bool dw_dir_has_default_acl(int dir, const char *name);

/* Remove the inherited access control lists of a new entry. */
int dw_xattrs_remove_inherited(int dir, const char *name, bool is_dir,
			       dwarfs_error **err);

/* How many were lost; each namespace is logged once. After the last of the above. */
uint64_t dw_xattr_losses_tell(const struct xattr_losses *losses,
			      const dwarfs_image *image);

#endif
