/* SPDX-License-Identifier: MIT */
/*
 * os/file_xattr: extended attributes of files, seen from an open directory.
 *
 * A file is said by a directory and a name in it (a single component), or, when name is
 * "", by its own descriptor. No symbolic link is followed: those have attributes, too.
 * All of these give 0 or a negative errno value: -ENOTSUP where the file system has no
 * attributes, -ENODATA where a file has not this one.
 */
#ifndef DW_OS_FILE_XATTR_H
#define DW_OS_FILE_XATTR_H

#include "base/memory.h"

/* The names, with a NUL behind each; empty when there are none. names may hold earlier
 * ones. */
int dw_xattr_list_at(int dir, const char *name, struct buffer *names);

/* A value; it may hold an earlier one. */
int dw_xattr_get_at(int dir, const char *name, const char *attribute,
		    struct buffer *value);

/* Make an attribute, or replace it. */
int dw_xattr_set_at(int dir, const char *name, const char *attribute, struct span value);

/* Take an attribute away. */
int dw_xattr_remove_at(int dir, const char *name, const char *attribute);

/*
 * Let the owner write to a file or directory, without which he may not set its
 * attributes: *mode_out is what it has now. -EACCES when that is so already.
 */
int dw_xattr_make_writable_at(int dir, const char *name, uint32_t *mode_out);

#endif
