/* SPDX-License-Identifier: MIT */
/**
 * @file
 * Sources of the bytes of an image: a path, a descriptor, memory, or callbacks.
 */
#ifndef DWARFS_IO_H
#define DWARFS_IO_H

#include <dwarfs/error.h>

DWARFS_BEGIN_DECLS

/** A source of bytes, readable at any offset. Reference-counted: images keep it alive. */
typedef struct dwarfs_io dwarfs_io;

/**
 * Reads bytes at an offset.
 *
 * @param buffer  destination of the bytes
 * @param bytes   how many to read, at least 1
 * @param offset  in bytes from the start; offset + bytes is within the size
 * @param user    as given to dwarfs_io_new()
 * @return how many bytes were read, 1 to bytes; 0 at an unexpected end; a negative errno value
 *         on failure
 *
 * Threads: called from any thread, several at once.
 */
typedef int64_t (*dwarfs_io_read_fn)(void *buffer, size_t bytes, uint64_t offset,
				     void *user);

/** Called once, when the last reference to the source is released. */
typedef void (*dwarfs_io_close_fn)(void *user);

/**
 * Read from a file or block device. A file that cannot be read at an offset (a named
 * pipe, a socket, a character device) is refused without being opened.
 *
 * @param path    the file; opened now, read with pread() later
 * @param io_out  receives the source; free it with dwarfs_io_free()
 * @param err     receives the details on failure; may be NULL
 * @return 0, or DWARFS_ERR_NOT_FOUND, _ACCESS, _IS_DIR, _INVALID, _IO or _NOMEM
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API int dwarfs_io_open(const char *path, dwarfs_io **io_out, dwarfs_error **err);

/**
 * Read from an open, seekable descriptor. Its file position is neither used nor changed.
 *
 * @param fd      stays the caller's; it is duplicated
 * @param io_out  receives the source; free it with dwarfs_io_free()
 * @param err     receives the details on failure; may be NULL
 * @return 0, or DWARFS_ERR_INVALID, _IS_DIR, _IO or _NOMEM
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API int dwarfs_io_from_fd(int fd, dwarfs_io **io_out, dwarfs_error **err);

/**
 * Read from memory.
 *
 * @param data    must stay readable and unchanged until close is called
 * @param bytes   how many
 * @param close   called with user when the memory is no longer needed; may be NULL
 * @param user    passed to close
 * @param io_out  receives the source; free it with dwarfs_io_free()
 * @param err     receives the details on failure (close is not called then); may be NULL
 * @return 0, or DWARFS_ERR_NOMEM
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API int dwarfs_io_from_memory(const void *data, size_t bytes,
				     dwarfs_io_close_fn close, void *user,
				     dwarfs_io **io_out, dwarfs_error **err);

/**
 * Read through callbacks.
 *
 * @param read    reads bytes at an offset
 * @param bytes   the size of the source, which never changes
 * @param close   called with user when the source is no longer needed; may be NULL
 * @param user    passed to the callbacks
 * @param io_out  receives the source; free it with dwarfs_io_free()
 * @param err     receives the details on failure (close is not called then); may be NULL
 * @return 0, DWARFS_ERR_INVALID without read, or DWARFS_ERR_NOMEM
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API int dwarfs_io_new(dwarfs_io_read_fn read, uint64_t bytes,
			     dwarfs_io_close_fn close, void *user, dwarfs_io **io_out,
			     dwarfs_error **err);

/** @return the size of the source in bytes. Threads: any. Since 0.1. */
DWARFS_API uint64_t dwarfs_io_bytes(const dwarfs_io *io);

/**
 * Read a whole range.
 *
 * @param io      a source
 * @param buffer  destination of the bytes
 * @param bytes   how many
 * @param offset  of the range, in bytes from the start
 * @param err     receives the details on failure; may be NULL
 * @return 0; DWARFS_ERR_RANGE when the range is not within the source; DWARFS_ERR_IO when it
 *         cannot be read
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API int dwarfs_io_read(dwarfs_io *io, void *buffer, size_t bytes, uint64_t offset,
			      dwarfs_error **err);

/**
 * Release a source. It is closed once the images that use it are freed, too.
 *
 * @param io  a source, or NULL
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API void dwarfs_io_free(dwarfs_io *io);

DWARFS_END_DECLS

#endif
