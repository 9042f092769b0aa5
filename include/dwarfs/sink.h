/* SPDX-License-Identifier: MIT */
/**
 * @file
 * Where images and archives are written to: a path, a descriptor, memory, or a callback.
 */
#ifndef DWARFS_SINK_H
#define DWARFS_SINK_H

#include <dwarfs/io.h>

DWARFS_BEGIN_DECLS

/** Takes bytes from first to last, once: for one image or one archive. */
typedef struct dwarfs_sink dwarfs_sink;

/**
 * Receives the next bytes.
 *
 * @param data   valid during the call
 * @param bytes  how many, at least 1
 * @param err    receives the reason of a failure; may be NULL
 * @param user   as given to dwarfs_sink_new()
 * @return 0, or a negative DWARFS_ERR_* code
 *
 * Threads: the thread that runs the operation.
 */
typedef int (*dwarfs_sink_write_fn)(const void *data, size_t bytes, dwarfs_error **err,
				    void *user);

/**
 * Write to a file, which appears complete or not at all: it is written under a temporary
 * name in the same directory (or without a name) and renamed at the end. An existing file
 * that is not a regular one, such as /dev/null or a pipe, is written in place. A named
 * pipe that no process reads yet is opened by the first write, which waits until one
 * does; the task of the operation can cancel this wait. If nothing is written, freeing
 * the sink lets processes that wait to read the pipe read its end. Where the path is a symbolic
 * link, the file that it names is replaced, and the link stays; a link to a file that does not
 * exist is refused with DWARFS_ERR_NOT_FOUND.
 *
 * A temporary file that a killed process left for the same path is removed. If another process
 * replaces or creates the file between this call and the end, the operation fails with
 * DWARFS_ERR_EXISTS at its end, even if overwrite is true, and the file of the other process is
 * kept: of two processes that write the same file, the first to complete it succeeds. Where a
 * file needs a temporary name from the beginning (the file system has no unnamed ones), this
 * call already fails with DWARFS_ERR_EXISTS while another process is writing the file.
 *
 * @param path       the file
 * @param overwrite  replace an existing regular file
 * @param sink_out   receives the sink; free it with dwarfs_sink_free()
 * @param err        receives the details on failure; may be NULL
 * @return 0; DWARFS_ERR_EXISTS; DWARFS_ERR_INVALID for an empty path; DWARFS_ERR_NO_SPACE,
 *         _ACCESS, _NOT_FOUND, _NOT_DIR, _IS_DIR, _IO or _NOMEM
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API int dwarfs_sink_open(const char *path, bool overwrite, dwarfs_sink **sink_out,
				dwarfs_error **err);

/**
 * Write to a descriptor, such as a pipe, from its current position.
 *
 * If the other end of a pipe or socket is closed, the operation fails with DWARFS_ERR_IO,
 * and dwarfs_error_errno() is EPIPE. No SIGPIPE is delivered: the writing thread blocks
 * it for the moment of each write. A program that should end by SIGPIPE has to raise it.
 *
 * @param fd        stays the caller's and must stay open; if an operation fails, it has received
 *                  the bytes written so far
 * @param sink_out  receives the sink; free it with dwarfs_sink_free()
 * @param err       receives the details on failure; may be NULL
 * @return 0, DWARFS_ERR_INVALID, _IO or _NOMEM
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API int dwarfs_sink_from_fd(int fd, dwarfs_sink **sink_out, dwarfs_error **err);

/**
 * Write to memory that grows; see dwarfs_sink_take().
 *
 * @param max_bytes  the maximum size: an operation that writes more fails with
 *                   DWARFS_ERR_LIMIT; SIZE_MAX for no limit
 * @param sink_out   receives the sink; free it with dwarfs_sink_free()
 * @param err        receives the details on failure; may be NULL
 * @return 0, or DWARFS_ERR_NOMEM
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API int dwarfs_sink_to_memory(size_t max_bytes, dwarfs_sink **sink_out,
				     dwarfs_error **err);

/**
 * Write through a callback.
 *
 * @param write     receives the bytes
 * @param close     called with user when the sink is freed; may be NULL
 * @param user      passed to the callbacks
 * @param sink_out  receives the sink; free it with dwarfs_sink_free()
 * @param err       receives the details on failure (close is not called then); may be NULL
 * @return 0, DWARFS_ERR_INVALID without write, or DWARFS_ERR_NOMEM
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API int dwarfs_sink_new(dwarfs_sink_write_fn write, dwarfs_io_close_fn close,
			       void *user, dwarfs_sink **sink_out, dwarfs_error **err);

/**
 * Write nothing: for a dry run, which only counts (dwarfs_builder_count()).
 *
 * @param path       the file that would be written, or NULL. It is neither created nor changed.
 *                   If it is in a directory that is packed, it is left out of the image, as
 *                   the output of a real run is
 * @param overwrite  whether an existing regular file would be replaced
 * @param sink_out   receives the sink; free it with dwarfs_sink_free()
 * @param err        receives the details on failure; may be NULL
 * @return 0; DWARFS_ERR_EXISTS; DWARFS_ERR_INVALID, _ACCESS, _NOT_FOUND, _NOT_DIR, _IS_DIR or _IO
 *         as dwarfs_sink_open(), also where the directory of the path does not exist or must not
 *         be written; DWARFS_ERR_NOMEM
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API int dwarfs_sink_to_nothing(const char *path, bool overwrite,
				      dwarfs_sink **sink_out, dwarfs_error **err);

/**
 * Synchronize a regular file to disk (default), or not, which is faster. The file is
 * synchronized before it is renamed to its final name, its directory afterwards. If neither
 * is synchronized, a power failure soon after the operation may leave an incomplete file, or
 * no file even if there was an older one that was replaced.
 *
 * @param sink  a sink
 * @param sync  whether to synchronize; no effect on memory and callbacks
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API void dwarfs_sink_set_sync(dwarfs_sink *sink, bool sync);

/**
 * Take the bytes of a sink in memory, after an operation has written to it.
 *
 * @param sink      a sink of dwarfs_sink_to_memory(), which has no bytes afterwards
 * @param data_out  receives the bytes; free them with dwarfs_memory_free()
 * @param bytes_out receives how many
 * @param err       receives the details on failure; may be NULL
 * @return 0, or DWARFS_ERR_INVALID for another sink or one that was not written completely
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API int dwarfs_sink_take(dwarfs_sink *sink, void **data_out, size_t *bytes_out,
				dwarfs_error **err);

/**
 * Free a sink. A file that was not written completely is removed.
 *
 * @param sink  a sink, or NULL
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API void dwarfs_sink_free(dwarfs_sink *sink);

DWARFS_END_DECLS

#endif
