/* SPDX-License-Identifier: MIT */
/*
 * base/progress: what a long operation tells its caller, and how it is stopped.
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
	dwarfs_progress_fn call; /* may be NULL */
	void *user;
	const dwarfs_cancel *cancel; /* may be NULL */
	int phase;
	uint64_t bytes_done, bytes_total, bytes_out;
	uint64_t bytes_saved; /* equal files and segments that are not stored again */
	uint64_t items_done, items_total;
	const char *path;

	/* private to base/progress.c */
	uint64_t started_ns, last_ns;
	uint64_t phase_started_ns, phase_started_bytes;
	int last_phase;
};

void dw_progress_start(struct dwarfs_progress *progress, dwarfs_progress_fn call,
		       void *user, const dwarfs_cancel *cancel);

/* 0, or DWARFS_ERR_CANCELLED when the caller wants to stop. */
int dw_progress_tick(struct dwarfs_progress *progress, dwarfs_error **err);
int dw_progress_enter(struct dwarfs_progress *progress, int phase, dwarfs_error **err);

#endif
