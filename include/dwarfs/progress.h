/* SPDX-License-Identifier: MIT */
/**
 * @file
 * Watch a long operation, and stop it.
 */
#ifndef DWARFS_PROGRESS_H
#define DWARFS_PROGRESS_H

#include <dwarfs/error.h>

DWARFS_BEGIN_DECLS

/** A snapshot of a running operation; valid during the callback only. */
typedef struct dwarfs_progress dwarfs_progress;

/** What an operation is doing. */
enum dwarfs_phase {
	DWARFS_PHASE_SCAN,     /**< reading directories; the totals are not known yet */
	DWARFS_PHASE_HASH,     /**< comparing files of equal size */
	DWARFS_PHASE_ORDER,    /**< deciding in which order files are stored; no bytes are counted */
	DWARFS_PHASE_WRITE,    /**< reading files, compressing and writing blocks */
	DWARFS_PHASE_METADATA, /**< writing the tables and the index */
	DWARFS_PHASE_CHECK,    /**< verifying sections */
	DWARFS_PHASE_EXTRACT,  /**< writing files to disk */
	DWARFS_PHASE_IMPORT,   /**< reading an archive; bytes are as it is stored, items entries */
	DWARFS_PHASE_DONE,     /**< the last call of an operation that succeeded */
};

/**
 * Called now and then while an operation runs.
 *
 * @param progress  the state of the operation
 * @param user      as given when the callback was set
 * @return 0 to go on, anything else to stop: the operation then fails with
 *         DWARFS_ERR_CANCELLED
 *
 * Threads: called by the thread that runs the operation, at most ten times a second and once
 * at each change of phase.
 */
typedef int (*dwarfs_progress_fn)(const dwarfs_progress *progress, void *user);

/** @return the dwarfs_phase. Threads: one. Since 0.1. */
DWARFS_API int dwarfs_progress_phase(const dwarfs_progress *progress);

/** @return a word for a dwarfs_phase, such as "scanning"; lives for ever. Since 0.1. */
DWARFS_API const char *dwarfs_phase_name(int phase);

/** @return bytes of file contents dealt with so far. Threads: one. Since 0.1. */
DWARFS_API uint64_t dwarfs_progress_bytes_done(const dwarfs_progress *progress);

/** @return bytes of file contents in all, as far as known. Threads: one. Since 0.1. */
DWARFS_API uint64_t dwarfs_progress_bytes_total(const dwarfs_progress *progress);

/**
 * @return bytes of file contents read in the phase DWARFS_PHASE_WRITE so far: those that are
 *         done, and those that wait to be compressed; 0 in other phases. Threads: one.
 *         Since 0.1.
 */
DWARFS_API uint64_t dwarfs_progress_bytes_read(const dwarfs_progress *progress);

/** @return bytes written to the output so far. Threads: one. Since 0.1. */
DWARFS_API uint64_t dwarfs_progress_bytes_out(const dwarfs_progress *progress);

/** @return bytes that were found to be stored already, in equal files and in parts of others.
 * Threads: one. Since 0.1. */
DWARFS_API uint64_t dwarfs_progress_bytes_saved(const dwarfs_progress *progress);

/**
 * @return nanoseconds the operation is thought to take from now on; UINT64_MAX as long as
 *         nothing can be said.
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API uint64_t dwarfs_progress_remaining_ns(const dwarfs_progress *progress);

/** @return files (or sections, in a check) dealt with so far. Threads: one. Since 0.1. */
DWARFS_API uint64_t dwarfs_progress_items_done(const dwarfs_progress *progress);

/** @return files (or sections) in all, as far as known. Threads: one. Since 0.1. */
DWARFS_API uint64_t dwarfs_progress_items_total(const dwarfs_progress *progress);

/** @return nanoseconds since the operation began. Threads: one. Since 0.1. */
DWARFS_API uint64_t dwarfs_progress_elapsed_ns(const dwarfs_progress *progress);

/**
 * @return the path the operation is at, or NULL; valid during the callback.
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API const char *dwarfs_progress_path(const dwarfs_progress *progress);

/** A switch that stops the operations it is given to. */
typedef struct dwarfs_cancel dwarfs_cancel;

/**
 * Make a switch, not thrown yet.
 *
 * @param cancel_out  receives the switch; free it with dwarfs_cancel_free() when no operation
 *                    uses it any more
 * @param err         receives the details on failure; may be NULL
 * @return 0, or DWARFS_ERR_NOMEM
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API int dwarfs_cancel_new(dwarfs_cancel **cancel_out, dwarfs_error **err);

/**
 * Throw the switch: operations that have it fail with DWARFS_ERR_CANCELLED, within 100 ms or
 * at the end of the codec call in hand.
 *
 * @param cancel  a switch, or NULL
 *
 * Threads: any; may be called in a signal handler. Since 0.1.
 */
DWARFS_API void dwarfs_cancel_set(dwarfs_cancel *cancel);

/** @return whether the switch was thrown. Threads: any. Since 0.1. */
DWARFS_API bool dwarfs_cancel_is_set(const dwarfs_cancel *cancel);

/** Free a switch; NULL is accepted. Threads: one. Since 0.1. */
DWARFS_API void dwarfs_cancel_free(dwarfs_cancel *cancel);

DWARFS_END_DECLS

#endif
