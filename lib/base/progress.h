/* SPDX-License-Identifier: MIT */
/*
 * base/progress: report the progress of a long operation, and cancel it.
 */
#ifndef DW_BASE_PROGRESS_H
#define DW_BASE_PROGRESS_H

#include <dwarfs/progress.h>

#include "base/error.h"

/*
 * Belongs to the thread that runs the operation. Fill the numbers, then call
 * dw_progress_tick(); it calls the callback at most ten times a second, and at each
 * change of phase.
 */
struct dwarfs_progress {
	const dwarfs_task *task; /* may be NULL */
	enum dwarfs_phase phase;
	uint64_t bytes_done, bytes_total, bytes_out;
	uint64_t bytes_read;  /* by the segmenter; usually not compressed yet */
	uint64_t bytes_saved; /* equal files and segments that are not stored again */
	uint64_t items_done, items_total;
	const char *path;

	/* For phases whose time depends on other work than bytes of files: work that
	 * is done, and work that is known so far, for how many bytes. Otherwise 0. */
	uint64_t work_done, work_known, work_known_bytes;

	/* Called before the callback, to update the numbers; may be NULL. */
	void (*refresh)(struct dwarfs_progress *progress, void *user);
	void *refresh_user;

	/* private to base/progress.c */
	uint64_t started_ns, last_ns;
	uint64_t phase_started_ns, phase_started_bytes;
	uint64_t work_started_ns, work_started; /* at the first work */
	int last_phase;
};

void dw_progress_start(struct dwarfs_progress *progress, const dwarfs_task *task);

/* 0, or DWARFS_ERR_CANCELLED if the task is cancelled; NULL is accepted. */
int dw_task_check(const dwarfs_task *task, dwarfs_error **err);

/* The same, and calls the progress callback if it is due. */
int dw_progress_tick(struct dwarfs_progress *progress, dwarfs_error **err);
int dw_progress_enter(struct dwarfs_progress *progress, enum dwarfs_phase phase,
		      dwarfs_error **err);

/* The last call, of an operation that succeeded: it can no longer be stopped. */
void dw_progress_done(struct dwarfs_progress *progress);

/* DWARFS_PROGRESS_REMAINING_NS at a given time, on the clock of started_ns. */
uint64_t dw_progress_remaining(const struct dwarfs_progress *progress, uint64_t now_ns);

/* Update the numbers, and note when work began. */
void dw_progress_refresh(struct dwarfs_progress *progress, uint64_t now_ns);

#endif
