/* SPDX-License-Identifier: MIT */
/**
 * @file
 * Progress and cancellation of long operations.
 */
#ifndef DWARFS_PROGRESS_H
#define DWARFS_PROGRESS_H

#include <dwarfs/error.h>

DWARFS_BEGIN_DECLS

/** A snapshot of a running operation; valid during the callback only. */
typedef struct dwarfs_progress dwarfs_progress;

/** The phase of an operation. */
enum dwarfs_phase {
	DWARFS_PHASE_SCAN, /**< reading directories; the totals are not known yet */
	DWARFS_PHASE_HASH, /**< comparing files of equal size */
	DWARFS_PHASE_ORDER, /**< deciding in which order files are stored; no bytes are counted */
	DWARFS_PHASE_WRITE,    /**< reading files, compressing and writing blocks */
	DWARFS_PHASE_METADATA, /**< writing the tables and the index */
	DWARFS_PHASE_CHECK,    /**< verifying sections */
	DWARFS_PHASE_EXTRACT,  /**< writing files to disk */
	DWARFS_PHASE_IMPORT, /**< reading an archive; bytes are as it is stored, items entries */
	DWARFS_PHASE_DONE, /**< the last call of an operation that succeeded */
};

/**
 * Called regularly while an operation runs.
 *
 * @param progress  the state of the operation
 * @param user      as given when the callback was set
 * @return 0 to continue; anything else cancels: the operation then fails with
 *         DWARFS_ERR_CANCELLED
 *
 * Threads: called by the thread that runs the operation, at most ten times a second and once
 * at each change of phase.
 */
typedef int (*dwarfs_progress_fn)(const dwarfs_progress *progress, void *user);

/** @return the dwarfs_phase. Threads: one. Since 0.1. */
DWARFS_API int dwarfs_progress_phase(const dwarfs_progress *progress);

/** @return a static word for a dwarfs_phase, such as "scanning". Since 0.1. */
DWARFS_API const char *dwarfs_phase_name(int phase);

/** @return bytes of file contents processed so far. Threads: one. Since 0.1. */
DWARFS_API uint64_t dwarfs_progress_bytes_done(const dwarfs_progress *progress);

/** @return bytes of file contents in all, as far as known. Threads: one. Since 0.1. */
DWARFS_API uint64_t dwarfs_progress_bytes_total(const dwarfs_progress *progress);

/**
 * @return bytes of file contents read so far in the phase DWARFS_PHASE_WRITE, including
 *         those still waiting to be compressed; 0 in other phases. Threads: one. Since
 *         0.1.
 */
DWARFS_API uint64_t dwarfs_progress_bytes_read(const dwarfs_progress *progress);

/** @return bytes written to the output so far. Threads: one. Since 0.1. */
DWARFS_API uint64_t dwarfs_progress_bytes_out(const dwarfs_progress *progress);

/** @return bytes saved by deduplication: equal files, and equal parts of files. Threads:
 * one. Since 0.1. */
DWARFS_API uint64_t dwarfs_progress_bytes_saved(const dwarfs_progress *progress);

/**
 * @return estimated nanoseconds until the end of the operation; UINT64_MAX while there is
 *         no estimate.
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API uint64_t dwarfs_progress_remaining_ns(const dwarfs_progress *progress);

/** @return files (or sections, in a check) processed so far. Threads: one. Since 0.1. */
DWARFS_API uint64_t dwarfs_progress_items_done(const dwarfs_progress *progress);

/** @return files (or sections) in all, as far as known. Threads: one. Since 0.1. */
DWARFS_API uint64_t dwarfs_progress_items_total(const dwarfs_progress *progress);

/** @return nanoseconds since the operation began. Threads: one. Since 0.1. */
DWARFS_API uint64_t dwarfs_progress_elapsed_ns(const dwarfs_progress *progress);

/**
 * @return the path that is being processed, or NULL; valid during the callback.
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API const char *dwarfs_progress_path(const dwarfs_progress *progress);

/** A flag that cancels the operations it was passed to. */
typedef struct dwarfs_cancel dwarfs_cancel;

/**
 * Make a cancellation flag, not set yet.
 *
 * @param cancel_out  receives the flag; free it with dwarfs_cancel_free() when no
 *                    operation uses it any more
 * @param err         receives the details on failure; may be NULL
 * @return 0, or DWARFS_ERR_NOMEM
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API int dwarfs_cancel_new(dwarfs_cancel **cancel_out, dwarfs_error **err);

/**
 * Set the flag: operations that use it fail with DWARFS_ERR_CANCELLED, within 100 ms or
 * at the end of the current codec call.
 *
 * @param cancel  a flag, or NULL
 *
 * Threads: any; may be called in a signal handler. Since 0.1.
 */
DWARFS_API void dwarfs_cancel_set(dwarfs_cancel *cancel);

/** @return whether the flag is set. Threads: any. Since 0.1. */
DWARFS_API bool dwarfs_cancel_is_set(const dwarfs_cancel *cancel);

/** Free a flag; NULL is accepted. Threads: one. Since 0.1. */
DWARFS_API void dwarfs_cancel_free(dwarfs_cancel *cancel);

DWARFS_END_DECLS

#endif
