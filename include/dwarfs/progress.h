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
	DWARFS_PHASE_IMPORT, /**< reading an archive: bytes are those of the stored archive,
				  items are its entries */
	DWARFS_PHASE_OPEN,   /**< finding and reading the metadata of an image */
	DWARFS_PHASE_READ,   /**< reading many files */
	DWARFS_PHASE_DONE, /**< the last call, of an operation that succeeded: what the callback
				  returns is ignored */
};

/**
 * Called regularly while an operation runs.
 *
 * @param progress  the state of the operation
 * @param err       receives why the callback stops; may be NULL
 * @param user      as given to dwarfs_task_set_progress()
 * @return 0 to go on, or a negative DWARFS_ERR_* code to stop; ignored in the phase
 *         DWARFS_PHASE_DONE, where there is nothing left to stop
 *
 * Threads: called by the thread that runs the operation, at most ten times a second, and also
 * at each change of phase.
 */
typedef int (*dwarfs_progress_fn)(const dwarfs_progress *progress, dwarfs_error **err,
				  void *user);

/** @return the dwarfs_phase. Threads: one. Since 0.1. */
DWARFS_API enum dwarfs_phase dwarfs_progress_phase(const dwarfs_progress *progress);

/** @return a static word for a dwarfs_phase, such as "scanning". Threads: any. Since 0.1. */
DWARFS_API const char *dwarfs_phase_name(enum dwarfs_phase phase);

/** Numbers of a running operation, for dwarfs_progress_number(). */
enum dwarfs_progress_value {
	DWARFS_PROGRESS_DONE_BYTES, /**< of file contents, processed so far; also of blocks of
					  images that are compressed again */
	DWARFS_PROGRESS_TOTAL_BYTES,   /**< of both, as far as known */
	DWARFS_PROGRESS_READ_BYTES,    /**< of file contents, read so far in the phase
					  DWARFS_PHASE_WRITE, including those that wait to be
					  compressed; 0 in other phases */
	DWARFS_PROGRESS_WRITTEN_BYTES, /**< to the output */
	DWARFS_PROGRESS_SAVED_BYTES, /**< by deduplication of files and of parts of files */
	DWARFS_PROGRESS_DONE_ITEMS, /**< files, or sections in a check, processed so far */
	DWARFS_PROGRESS_TOTAL_ITEMS, /**< files, or sections in a check, as far as known */
	DWARFS_PROGRESS_ELAPSED_NS,  /**< nanoseconds since the operation began */
	DWARFS_PROGRESS_REMAINING_NS, /**< estimated nanoseconds until its end; UINT64_MAX
					   while there is no estimate */
};

/**
 * Get a number of a running operation.
 *
 * @param progress  as given to the callback
 * @param what      which number
 * @return the current value; 0 for a number that does not exist
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API uint64_t dwarfs_progress_number(const dwarfs_progress *progress,
					   enum dwarfs_progress_value what);

/**
 * @return the path that is being processed, or NULL; valid during the callback.
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API const char *dwarfs_progress_path(const dwarfs_progress *progress);

/**
 * Reports the progress of operations and cancels them. The functions `dwarfs_*_set_task()`
 * and parameters named task connect it to operations; one task may serve several, one after
 * the other or at once. NULL is no task. A task belongs to the caller and must outlive the
 * operations that use it.
 */
typedef struct dwarfs_task dwarfs_task;

/**
 * Make a task without a progress callback, not cancelled.
 *
 * @param task_out  receives the task; free it with dwarfs_task_free()
 * @param err       receives the details on failure; may be NULL
 * @return 0, or DWARFS_ERR_NOMEM
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API int dwarfs_task_new(dwarfs_task **task_out, dwarfs_error **err);

/** Free a task, which no operation uses any more; NULL is accepted. Threads: one. Since 0.1. */
DWARFS_API void dwarfs_task_free(dwarfs_task *task);

/**
 * Set the progress callback.
 *
 * @param task      a task that no operation is using now
 * @param progress  called regularly; NULL for none
 * @param user      passed to progress
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API void dwarfs_task_set_progress(dwarfs_task *task, dwarfs_progress_fn progress,
					 void *user);

/**
 * Cancel: operations that use the task, now or later, fail with DWARFS_ERR_CANCELLED,
 * within 100 ms or at the end of the current codec call.
 *
 * @param task  a task, or NULL
 *
 * Threads: any; may be called in a signal handler. Since 0.1.
 */
DWARFS_API void dwarfs_task_cancel(dwarfs_task *task);

/** @return whether dwarfs_task_cancel() was called; false for NULL. Threads: any. Since 0.1. */
DWARFS_API bool dwarfs_task_is_cancelled(const dwarfs_task *task);

DWARFS_END_DECLS

#endif
