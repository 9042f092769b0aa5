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
	uint64_t bytes_read;  /* by the segmenter; mostly not compressed yet */
	uint64_t bytes_saved; /* equal files and segments that are not stored again */
	uint64_t items_done, items_total;
	const char *path;

	/*
	 * Where most of the time goes to something else than the bytes of files: how much
	 * of it is done, and how much there is for so many of these bytes. All 0 where it
	 * does not.
	 */
	uint64_t work_done, work_known, work_known_bytes;

	/* Called before the callback is, to bring the numbers up to date; may be NULL. */
	void (*refresh)(struct dwarfs_progress *progress, void *user);
	void *refresh_user;

	/* private to base/progress.c */
	uint64_t started_ns, last_ns;
	uint64_t phase_started_ns, phase_started_bytes;
	uint64_t work_started_ns, work_started; /* when there was some first */
	int last_phase;
};

void dw_progress_start(struct dwarfs_progress *progress, dwarfs_progress_fn call,
		       void *user, const dwarfs_cancel *cancel);

/* 0, or DWARFS_ERR_CANCELLED when the caller wants to stop. */
int dw_progress_tick(struct dwarfs_progress *progress, dwarfs_error **err);
int dw_progress_enter(struct dwarfs_progress *progress, int phase, dwarfs_error **err);

/* dwarfs_progress_remaining_ns() at some time, on the clock of started_ns. */
uint64_t dw_progress_remaining(const struct dwarfs_progress *progress, uint64_t now_ns);

/* Bring the numbers up to date, and note since when there is work. */
void dw_progress_refresh(struct dwarfs_progress *progress, uint64_t now_ns);

#endif
