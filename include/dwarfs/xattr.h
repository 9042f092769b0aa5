/* SPDX-License-Identifier: MIT */
/**
 * @file
 * Extended attributes of the entries of an image.
 *
 * An extended attribute is a name with a value of any bytes: those of users ("user.*"),
 * of administrators ("trusted.*"), capabilities and labels ("security.*"), and access
 * control lists ("system.posix_acl_access", "system.posix_acl_default"). They are stored
 * in a section that only this library writes and reads, see dwarfs-format(5); other
 * readers skip it. The first call for an image that needs an attribute or a name reads and
 * checks the section, once for all threads. An image without that section has no attributes.
 *
 * Attributes belong to an inode: hard links share them.
 */
#ifndef DWARFS_XATTR_H
#define DWARFS_XATTR_H

#include <dwarfs/walk.h>

DWARFS_BEGIN_DECLS

/** Buffer size that holds any name, with its NUL. */
#define DWARFS_XATTR_NAME_BUFFER_BYTES 256

/**
 * Whether an image has a section of extended attributes. The section is not checked here,
 * but by the first call that reads an attribute.
 *
 * @param image  an image
 * @return whether it has one
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API bool dwarfs_image_has_xattrs(const dwarfs_image *image);

/**
 * The names of the attributes of an inode, sorted by their bytes, each followed by a NUL,
 * as listxattr(2) returns them.
 *
 * @param image      an image
 * @param inode      an inode
 * @param buffer     receives the names; NULL to get only their size
 * @param room       size of buffer in bytes; ignored when that is NULL
 * @param bytes_out  receives the bytes of all names with their NULs, also when room is too
 *                   small; may be NULL
 * @param err        receives the details on failure; may be NULL
 * @return 0 (also when there are none: then 0 bytes), DWARFS_ERR_RANGE (room is too small, or
 *         there is no such inode, and then bytes_out stays as it was), DWARFS_ERR_CORRUPT,
 *         DWARFS_ERR_CHECKSUM, DWARFS_ERR_IO or DWARFS_ERR_NOMEM
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API int dwarfs_xattr_list(const dwarfs_image *image, dwarfs_inode inode,
				 char *buffer, size_t room, size_t *bytes_out,
				 dwarfs_error **err);

/**
 * The value of an attribute.
 *
 * @param image      an image
 * @param inode      an inode
 * @param name       name of the attribute, with its namespace
 * @param buffer     receives the value, without a NUL; NULL to get only its length
 * @param room       size of buffer in bytes; ignored when that is NULL
 * @param bytes_out  receives the length of the value, also when the buffer is too small;
 *                   may be NULL
 * @param err        receives the details on failure; may be NULL, and then nothing is
 *                   allocated for a missing attribute
 * @return 0, DWARFS_ERR_NOT_FOUND, or as dwarfs_xattr_list()
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API int dwarfs_xattr_get(const dwarfs_image *image, dwarfs_inode inode,
				const char *name, void *buffer, size_t room,
				size_t *bytes_out, dwarfs_error **err);

/**
 * Get the attributes of an inode by index, without copying them.
 *
 * @param image      an image
 * @param inode      an inode
 * @param index      in the order of the names, from 0
 * @param name_out   receives the name, with a NUL
 * @param value_out  receives the value
 * @param bytes_out  receives its length
 * @param err        receives the details on failure; may be NULL
 * @return 1, 0 if index is past the last one, or as dwarfs_xattr_list()
 *
 * Name and value are valid as long as the image. Threads: any. Since 0.1.
 */
DWARFS_API int dwarfs_xattr_at(const dwarfs_image *image, dwarfs_inode inode,
			       size_t index, const char **name_out,
			       const void **value_out, size_t *bytes_out,
			       dwarfs_error **err);

/**
 * The names of all attributes that any inode of an image has, each once, sorted by bytes.
 *
 * @param image     an image
 * @param index     0 for the first
 * @param name_out  receives the name, with a NUL; valid as long as the image
 * @param err       receives the details on failure; may be NULL
 * @return 1, 0 if index is past the last one, or as dwarfs_xattr_list()
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API int dwarfs_image_xattr_name(const dwarfs_image *image, size_t index,
				       const char **name_out, dwarfs_error **err);

DWARFS_END_DECLS

#endif
