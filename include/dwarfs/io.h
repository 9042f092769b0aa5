/* SPDX-License-Identifier: MIT */
/**
 * @file
 * Sources of bytes: a path, a descriptor, memory, or callbacks. Images, archives and the
 * contents of items are read from them. See <dwarfs/sink.h> for where bytes are written to.
 */
#ifndef DWARFS_IO_H
#define DWARFS_IO_H

#include <dwarfs/error.h>

DWARFS_BEGIN_DECLS

/**
 * A source of bytes. Most sources can be read at any offset, by any number of threads. A
 * stream is read once, from its first byte to its last: archives and items accept streams,
 * images do not. Reference-counted: the objects that use a source keep it alive.
 */
typedef struct dwarfs_io dwarfs_io;

/**
 * Reads bytes at an offset.
 *
 * For an image inside another one it may read a file of the outer image, if both have
 * contexts of their own: with one context, it could wait for memory of the cache that the
 * read of the inner image holds.
 *
 * @param buffer     destination of the bytes
 * @param bytes      how many to read, at least 1
 * @param offset     in bytes from the start; offset + bytes is within the size
 * @param bytes_out  receives how many were read, 1 to bytes: the rest is requested by further
 *                   calls; 0 at an unexpected end, which is an error (DWARFS_ERR_IO)
 * @param err        receives the reason of a failure; may be NULL
 * @param user       as given to dwarfs_io_new()
 * @return 0, or a negative DWARFS_ERR_* code
 *
 * Threads: called from any thread, several at once.
 */
typedef int (*dwarfs_io_read_fn)(void *buffer, size_t bytes, uint64_t offset,
				 size_t *bytes_out, dwarfs_error **err, void *user);

/** Bytes that are needed, for dwarfs_io_read_many_fn. */
struct dwarfs_io_range {
	void *buffer;	 /**< destination of the bytes */
	size_t bytes;	 /**< how many, at least 1 */
	uint64_t offset; /**< in bytes from the start; the range is within the size */
};

/**
 * Reads several ranges, which are known to be needed together, in one round: a remote source
 * can request them at once, and join those that are close to each other.
 *
 * @param ranges  in ascending order of offsets, without overlaps; all have to be filled
 * @param count   how many, at least 1
 * @param err     receives the reason of a failure; may be NULL
 * @param user    as given to dwarfs_io_new()
 * @return 0, or a negative DWARFS_ERR_* code
 *
 * Threads: called from any thread, several at once.
 */
typedef int (*dwarfs_io_read_many_fn)(const struct dwarfs_io_range *ranges, size_t count,
				      dwarfs_error **err, void *user);

/**
 * Reads the next bytes of a stream.
 *
 * @param buffer     destination of the bytes
 * @param bytes      how many to read at most, at least 1
 * @param bytes_out  receives how many were read; 0 at the end of the stream
 * @param err        receives the reason of a failure; may be NULL
 * @param user       as given to dwarfs_io_new_stream()
 * @return 0, or a negative DWARFS_ERR_* code
 *
 * Threads: the thread that runs the operation.
 */
typedef int (*dwarfs_io_stream_fn)(void *buffer, size_t bytes, size_t *bytes_out,
				   dwarfs_error **err, void *user);

/**
 * Called once, when the last reference to the source or sink is released.
 *
 * @param user  as given with the callback
 *
 * Threads: the one that releases it, which may be any.
 */
typedef void (*dwarfs_io_close_fn)(void *user);

/**
 * Read from a file or block device. A file that cannot be read at an offset (a named
 * pipe, a socket, a character device) is refused without being opened.
 *
 * @param path    the file; opened now, read with pread() later; also its name in messages
 * @param io_out  receives the source; free it with dwarfs_io_free()
 * @param err     receives the details on failure; may be NULL
 * @return 0, or DWARFS_ERR_NOT_FOUND, _ACCESS, _IS_DIR, _INVALID, _IO or _NOMEM
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API int dwarfs_io_open(const char *path, dwarfs_io **io_out, dwarfs_error **err);

/**
 * Read from an open, seekable descriptor. Its file position is not used; on Windows, reading
 * changes it, on other systems it does not.
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
 * Read from a descriptor from its current position to its end. A file or block device is
 * read at offsets relative to that position, and on Windows reading changes the position;
 * anything else, such as a pipe, becomes a stream.
 *
 * @param fd      stays the caller's; it is duplicated
 * @param io_out  receives the source; free it with dwarfs_io_free()
 * @param err     receives the details on failure; may be NULL
 * @return 0, or DWARFS_ERR_INVALID, _IS_DIR, _IO or _NOMEM
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API int dwarfs_io_from_stream(int fd, dwarfs_io **io_out, dwarfs_error **err);

/**
 * Read from memory.
 *
 * @param data    must stay readable and unchanged until close is called; may be NULL for 0
 *                bytes
 * @param bytes   how many
 * @param close   called with user when the memory is no longer needed; may be NULL
 * @param user    passed to close
 * @param io_out  receives the source; free it with dwarfs_io_free()
 * @param err     receives the details on failure (close is not called then); may be NULL
 * @return 0, DWARFS_ERR_INVALID for NULL with a size, or DWARFS_ERR_NOMEM
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

/**
 * Read a stream through a callback.
 *
 * @param read    reads the next bytes
 * @param close   called with user when the stream is no longer needed; may be NULL
 * @param user    passed to the callbacks
 * @param io_out  receives the source; free it with dwarfs_io_free()
 * @param err     receives the details on failure (close is not called then); may be NULL
 * @return 0, DWARFS_ERR_INVALID without read, or DWARFS_ERR_NOMEM
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API int dwarfs_io_new_stream(dwarfs_io_stream_fn read, dwarfs_io_close_fn close,
				    void *user, dwarfs_io **io_out, dwarfs_error **err);

/**
 * Set the callback that reads several ranges in one round. Without it they are read one by
 * one.
 *
 * @param io         a source of dwarfs_io_new() that nothing uses yet
 * @param read_many  the callback; NULL for none
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API void dwarfs_io_set_read_many(dwarfs_io *io, dwarfs_io_read_many_fn read_many);

/**
 * Set the name of a source, such as a URL, for messages and dwarfs_error_path(). By default
 * a source of dwarfs_io_open() is named by its path, and other sources have no name.
 *
 * @param io    a source that nothing uses yet
 * @param name  is copied; NULL for none
 * @param err   receives the details on failure; may be NULL
 * @return 0, or DWARFS_ERR_NOMEM
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API int dwarfs_io_set_name(dwarfs_io *io, const char *name, dwarfs_error **err);

/** @return the name in messages, or NULL; borrowed from the source. Threads: any. Since 0.1. */
DWARFS_API const char *dwarfs_io_name(const dwarfs_io *io);

/** @return whether the source is read once, from its start to its end. Threads: any. Since 0.1. */
DWARFS_API bool dwarfs_io_is_stream(const dwarfs_io *io);

/** @return the size of the source in bytes; UINT64_MAX for a stream. Threads: any. Since 0.1. */
DWARFS_API uint64_t dwarfs_io_bytes(const dwarfs_io *io);

/**
 * Read a whole range.
 *
 * @param io      a source
 * @param buffer  destination of the bytes
 * @param bytes   how many
 * @param offset  of the range, in bytes from the start
 * @param err     receives the details on failure; may be NULL
 * @return 0; DWARFS_ERR_RANGE when the range is not within the source; DWARFS_ERR_INVALID for
 *         a stream; DWARFS_ERR_IO when it cannot be read; or the code of the callback
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API int dwarfs_io_read(dwarfs_io *io, void *buffer, size_t bytes, uint64_t offset,
			      dwarfs_error **err);

/**
 * Release a source. It is closed once the objects that use it are freed, too.
 *
 * @param io  a source, or NULL
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API void dwarfs_io_free(dwarfs_io *io);

/**
 * Free memory that a function of this library has returned to the caller.
 *
 * @param data  the memory, or NULL
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API void dwarfs_memory_free(void *data);

DWARFS_END_DECLS

#endif
