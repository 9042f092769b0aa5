/* SPDX-License-Identifier: MIT */
/*
 * os/file_io: descriptors: reading at an offset, and sizes; sharing ranges between files.
 */
#ifndef DW_OS_FILE_IO_H
#define DW_OS_FILE_IO_H

#include <errno.h>

#include "base/memory.h"

/* A local descriptor that closes itself; -1 is none. */
void dw_fd_close(int fd);
static inline void dw_cleanup_fd(int *fd)
{
	dw_fd_close(*fd);
}
#define auto_fd __attribute__((cleanup(dw_cleanup_fd)))

/* Whether the process or the system has no descriptor left, by an errno value. */
static inline bool dw_fd_is_exhausted(int errnum)
{
	return errnum == EMFILE || errnum == ENFILE;
}

/* Open for reading, close-on-exec. The error names the path. A pipe need not have a
 * writer yet: dw_stream_read() waits for one. */
int dw_fd_open_read(const char *path, int *fd_out, dwarfs_error **err);

/* The same for files that can be read at an offset: IS_DIR or INVALID for others,
 * which are not opened, so a pipe without a writer does not block. */
int dw_fd_open_places(const char *path, int *fd_out, dwarfs_error **err);

/* Size of a regular file or block device; IS_DIR or INVALID for files that cannot be
 * read at an offset. */
int dw_fd_bytes(int fd, uint64_t *bytes_out, dwarfs_error **err);

/* pread() until size bytes or the end: bytes read, or a negative errno value. */
int64_t dw_fd_read_at(int fd, void *buffer, size_t size, uint64_t offset);

/* pwrite() all of it: 0, or a negative errno value. */
int dw_fd_write_at(int fd, const void *data, size_t size, uint64_t offset);

/* write() all of it: 0, or a negative errno value. */
int dw_fd_write(int fd, const void *data, size_t size);

/* Duplicate a descriptor, close-on-exec; or a negative errno value. */
int dw_fd_duplicate(int fd);

/* -- sharing ranges ------------------------------------------------------------------ */

/* The unit of dw_fd_clone(): a power of two; 0 if this is not supported. */
uint64_t dw_fd_clone_unit(int fd);

/* Share a range of a file with another file, without copying it. Offsets and number are
 * multiples of the unit of both files. 0, or a negative errno value: nothing has changed. */
int dw_fd_clone(int from, uint64_t from_offset, int to, uint64_t to_offset,
		uint64_t bytes);

/* Set the position of a descriptor: 0, or a negative errno value. */
int dw_fd_seek(int fd, uint64_t offset);

#endif
