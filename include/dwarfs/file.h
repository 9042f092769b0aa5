/* SPDX-License-Identifier: MIT */
/**
 * @file
 * Read the contents of files.
 *
 * dwarfs_read() needs nothing but an inode; a dwarfs_file remembers where the pieces of a
 * large file are, and answers for holes.
 */
#ifndef DWARFS_FILE_H
#define DWARFS_FILE_H

#include <dwarfs/walk.h>

DWARFS_BEGIN_DECLS

typedef struct dwarfs_file dwarfs_file;

/**
 * Read from a file, like pread().
 *
 * @param image      an image
 * @param inode      inode of a regular file
 * @param buffer     room for bytes
 * @param bytes      how many are wanted
 * @param offset     from the start of the file
 * @param bytes_out  receives how many were read: fewer than wanted only at the end of the
 *                   file, 0 past it
 * @param err        receives the details on failure; may be NULL
 * @return 0; DWARFS_ERR_IS_DIR for a directory; DWARFS_ERR_INVALID for anything else that is
 *         no file; DWARFS_ERR_RANGE for a bad inode; DWARFS_ERR_CORRUPT, _CHECKSUM, _IO,
 *         _UNSUPPORTED or _NOMEM when the contents cannot be had
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API int dwarfs_read(const dwarfs_image *image, dwarfs_inode inode, void *buffer,
			   size_t bytes, uint64_t offset, size_t *bytes_out,
			   dwarfs_error **err);

/**
 * Open a file.
 *
 * @param image     an image; kept alive by the file
 * @param inode     inode of a regular file
 * @param file_out  receives the file; free it with dwarfs_file_free()
 * @param err       receives the details on failure; may be NULL
 * @return 0; DWARFS_ERR_IS_DIR, DWARFS_ERR_INVALID, DWARFS_ERR_RANGE, DWARFS_ERR_CORRUPT or
 *         DWARFS_ERR_NOMEM
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API int dwarfs_file_open(const dwarfs_image *image, dwarfs_inode inode,
				dwarfs_file **file_out, dwarfs_error **err);

/** @return the size of the file in bytes. Threads: any. Since 0.1. */
DWARFS_API uint64_t dwarfs_file_bytes(const dwarfs_file *file);

/** Read from an open file; as dwarfs_read(). Threads: any. Since 0.1. */
DWARFS_API int dwarfs_file_read(const dwarfs_file *file, void *buffer, size_t bytes,
				uint64_t offset, size_t *bytes_out, dwarfs_error **err);

/**
 * Find data, like lseek() with SEEK_DATA.
 *
 * @param file        a file
 * @param offset      where to start
 * @param offset_out  receives the first offset at or after the start that is not in a hole
 * @param err         receives the details on failure; may be NULL
 * @return 0; DWARFS_ERR_NOT_FOUND when there is no data from there on (as ENXIO)
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API int dwarfs_file_seek_data(const dwarfs_file *file, uint64_t offset,
				     uint64_t *offset_out, dwarfs_error **err);

/**
 * Find a hole, like lseek() with SEEK_HOLE. The end of the file counts as one.
 *
 * @param file        a file
 * @param offset      where to start
 * @param offset_out  receives the first offset at or after the start that is in a hole
 * @param err         receives the details on failure; may be NULL
 * @return 0; DWARFS_ERR_NOT_FOUND when offset is at or past the end (as ENXIO)
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API int dwarfs_file_seek_hole(const dwarfs_file *file, uint64_t offset,
				     uint64_t *offset_out, dwarfs_error **err);

/** Close a file; NULL is accepted. Threads: one. Since 0.1. */
DWARFS_API void dwarfs_file_free(dwarfs_file *file);

DWARFS_END_DECLS

#endif
