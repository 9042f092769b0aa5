/* SPDX-License-Identifier: MIT */
/*
 * extract/write_xattrs: give what was made its extended attributes.
 *
 * After the owner, since a new owner costs a file its capabilities, and before the mode,
 * since who may not write to a file may not set attributes of users.
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

/* What the target does not take, or the process may not set: counted by namespace. All
 * zero to begin with; of any number of threads. */
struct xattr_losses {
	atomic_uint_fast64_t count[XATTR_SPACE_COUNT];
};

/*
 * Set the attributes of an inode on what stands under a name in a directory, or on the
 * directory (or any file) itself when the name is "". What cannot be set is counted, and
 * the first of each namespace logged as a warning; other failures, as a full disk, are
 * errors. Where the mode had to be changed for that, *owned, unless NULL, says so.
 */
int dw_xattrs_restore(const dwarfs_image *image, dwarfs_inode inode, int dir,
		      const char *name, struct owned *owned, struct xattr_losses *losses,
		      dwarfs_error **err);

/*
 * A directory may have a list of access that all which is made in it inherits. Whether
 * it has one; name is as above. Where that cannot be told, it has none.
 */
bool dw_xattrs_are_inherited(int dir, const char *name);

/* Take away what something new has inherited. */
int dw_xattrs_disinherit(int dir, const char *name, bool is_dir, dwarfs_error **err);

/* How many were lost; each namespace is logged once. After the last of the above. */
uint64_t dw_xattr_losses_tell(const struct xattr_losses *losses,
			      const dwarfs_image *image);

#endif
