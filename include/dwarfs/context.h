/* SPDX-License-Identifier: MIT */
/**
 * @file
 * What the images and builders of a program share: a log, worker threads, and one block
 * cache with one budget in bytes.
 *
 * Wherever a context is asked for, NULL means a private one with defaults. Settings are made
 * before the first image or builder uses the context; later changes are refused.
 */
#ifndef DWARFS_CONTEXT_H
#define DWARFS_CONTEXT_H

#include <dwarfs/error.h>

DWARFS_BEGIN_DECLS

typedef struct dwarfs_context dwarfs_context;

/** How much a log message matters; a context passes on its level and everything above it. */
enum dwarfs_log_level {
	DWARFS_LOG_FATAL,
	DWARFS_LOG_ERROR,
	DWARFS_LOG_WARN,
	DWARFS_LOG_INFO,
	DWARFS_LOG_VERBOSE,
	DWARFS_LOG_DEBUG,
	DWARFS_LOG_TRACE,
};

/**
 * Receives log messages.
 *
 * @param level    a dwarfs_log_level
 * @param message  text without a newline, valid during the call
 * @param user     as given to dwarfs_context_set_log()
 *
 * Threads: called from any thread, one call at a time for each context.
 */
typedef void (*dwarfs_log_fn)(int level, const char *message, void *user);

/**
 * Make a context: no log, workers as many as processors, 512 MiB of block cache.
 *
 * @param context_out  receives the context; free it with dwarfs_context_free()
 * @param err          receives the details on failure; may be NULL
 * @return 0, or DWARFS_ERR_NOMEM
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API int dwarfs_context_new(dwarfs_context **context_out, dwarfs_error **err);

/**
 * Give up a context. It ends when the images and builders that use it are gone, too; they
 * may be freed before or after it.
 *
 * @param context  a context, or NULL
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API void dwarfs_context_free(dwarfs_context *context);

/**
 * Set how many bytes of decoded blocks are kept for reading again, over all images of the
 * context. When one block alone is larger, it may exceed the budget while it is in use.
 *
 * @param context  not in use yet
 * @param bytes    0 or more; default 512 MiB
 * @param err      receives the details on failure; may be NULL
 * @return 0, or DWARFS_ERR_INVALID when an image or builder uses the context already
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API int dwarfs_context_set_cache_bytes(dwarfs_context *context, uint64_t bytes,
					      dwarfs_error **err);

/**
 * Set how many worker threads a long operation starts.
 *
 * @param context  not in use yet
 * @param workers  0 to run everything in the thread of the caller, up to 1024; default: one
 *                 for each processor
 * @param err      receives the details on failure; may be NULL
 * @return 0, DWARFS_ERR_RANGE, or DWARFS_ERR_INVALID when the context is in use already
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API int dwarfs_context_set_workers(dwarfs_context *context, uint32_t workers,
					  dwarfs_error **err);

/**
 * Set who receives log messages.
 *
 * @param context  not in use yet
 * @param level    a dwarfs_log_level: the least important one to pass on
 * @param log      called for each message; NULL for no log
 * @param user     handed to log
 * @param err      receives the details on failure; may be NULL
 * @return 0, DWARFS_ERR_RANGE, or DWARFS_ERR_INVALID when the context is in use already
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API int dwarfs_context_set_log(dwarfs_context *context, int level, dwarfs_log_fn log,
				      void *user, dwarfs_error **err);

DWARFS_END_DECLS

#endif
