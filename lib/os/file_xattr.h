/* SPDX-License-Identifier: MIT */
/*
 * os/file_xattr: extended attributes of files, relative to an open directory.
 *
 * A file is given by a directory and a name in it (a single component), or, if name is
 * "", by its own descriptor. No symbolic link is followed: links have attributes, too.
 * All of these give 0 or a negative errno value: -ENOTSUP if the file system has no
 * attributes, -ENODATA if the file does not have this one.
 */
#ifndef DW_OS_FILE_XATTR_H
#define DW_OS_FILE_XATTR_H

#include "base/memory.h"

/* Whether file systems make this attribute up, and it is not copied: properties of a mounted
 * image (user.dwarfs.*), and the form in which XFS stores access control lists, which it lists
 * besides them. */
bool dw_xattr_is_generated(const char *attribute);

/* The names, each with a NUL; empty if there are none. names may contain earlier ones. */
int dw_xattr_list_at(int dir, const char *name, struct buffer *names);

/* A value; `value` may contain an earlier one. */
int dw_xattr_get_at(int dir, const char *name, const char *attribute,
		    struct buffer *value);

/* Create or replace an attribute. */
int dw_xattr_set_at(int dir, const char *name, const char *attribute, struct span value);

/* Remove an attribute. */
int dw_xattr_remove_at(int dir, const char *name, const char *attribute);

/* Let the owner write to a file or directory, which setting attributes requires:
 * *mode_out is its current mode. -EACCES if the owner may write already. */
int dw_xattr_make_writable_at(int dir, const char *name, uint32_t *mode_out);

#endif
