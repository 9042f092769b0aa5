/* SPDX-License-Identifier: MIT */
/*
 * base/progress: report the progress of a long operation, and cancel it.
 *
 * Takes counters of the operation; calls the caller's function at most ten times a
 * second and checks for cancellation.
 */
#include <stdatomic.h>
#include <time.h>

#include "base/memory.h"
#include "base/progress.h"

#define INTERVAL_NS UINT64_C(100000000)

/* Before that the remaining time cannot be estimated. */
#define MIN_ELAPSED_NS UINT64_C(500000000)

struct dwarfs_task {
	atomic_bool cancelled;
	dwarfs_progress_fn call; /* may be NULL */
	void *user;
};

int dwarfs_task_new(dwarfs_task **task_out, dwarfs_error **err)
{
	dwarfs_task *task;

	if (!task_out)
		return dw_fail_null(err, "task_out");
	if (!(task = dw_calloc(1, sizeof(*task))))
		return dw_fail_nomem(err);
	*task_out = task;
	return 0;
}

void dwarfs_task_free(dwarfs_task *task)
{
	dw_free(task);
}

void dwarfs_task_set_progress(dwarfs_task *task, dwarfs_progress_fn progress, void *user)
{
	if (!task)
		return;
	task->call = progress;
	task->user = user;
}

void dwarfs_task_cancel(dwarfs_task *task)
{
	if (task)
		atomic_store(&task->cancelled, true);
}

bool dwarfs_task_is_cancelled(const dwarfs_task *task)
{
	return task && atomic_load(&task->cancelled);
}

int dw_task_check(const dwarfs_task *task, dwarfs_error **err)
{
	return dwarfs_task_is_cancelled(task)
		       ? dw_fail(err, DWARFS_ERR_CANCELLED, "cancelled")
		       : 0;
}

static uint64_t progress_now_ns(void)
{
	struct timespec now = { 0 };

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

void dw_progress_start(struct dwarfs_progress *progress, const dwarfs_task *task)
{
	*progress = (struct dwarfs_progress){
		.task = task,
		.started_ns = progress_now_ns(),
		.last_phase = -1,
	};
}

void dw_progress_refresh(struct dwarfs_progress *progress, uint64_t now)
{
	if (progress->refresh)
		progress->refresh(progress, progress->refresh_user);
	if (progress->work_known == 0 || progress->work_started_ns != 0)
		return;
	progress->work_started_ns = now;
	progress->work_started = progress->work_done;
}

int dw_progress_tick(struct dwarfs_progress *progress, dwarfs_error **err)
{
	const dwarfs_task *task = progress->task;
	auto_error dwarfs_error *why = NULL;
	uint64_t now;
	int ret = dw_task_check(task, err);

	if (ret < 0 || !task || !task->call)
		return ret;
	now = progress_now_ns();
	if ((int)progress->phase == progress->last_phase &&
	    now - progress->last_ns < INTERVAL_NS)
		return 0;
	progress->last_ns = now;
	progress->last_phase = (int)progress->phase;
	dw_progress_refresh(progress, now);
	ret = task->call(progress, &why, task->user);
	return ret == 0 ? 0 : dw_callback_fail(ret, &why, err);
}

int dw_progress_enter(struct dwarfs_progress *progress, enum dwarfs_phase phase,
		      dwarfs_error **err)
{
	progress->phase = phase;
	progress->phase_started_ns = progress_now_ns();
	progress->phase_started_bytes = progress->bytes_done;
	progress->bytes_read = 0;
	progress->work_done = progress->work_known = progress->work_known_bytes = 0;
	progress->work_started_ns = 0;
	return dw_progress_tick(progress, err);
}

void dw_progress_done(struct dwarfs_progress *progress)
{
	(void)dw_progress_enter(progress, DWARFS_PHASE_DONE, NULL);
}

enum dwarfs_phase dwarfs_progress_phase(const dwarfs_progress *progress)
{
	if (!progress)
		return 0;
	return progress->phase;
}

const char *dwarfs_phase_name(enum dwarfs_phase phase)
{
	static const char *const names[] = {
		[DWARFS_PHASE_SCAN] = "scanning",
		[DWARFS_PHASE_HASH] = "hashing",
		[DWARFS_PHASE_ORDER] = "ordering",
		[DWARFS_PHASE_WRITE] = "writing",
		[DWARFS_PHASE_METADATA] = "writing metadata",
		[DWARFS_PHASE_CHECK] = "checking",
		[DWARFS_PHASE_EXTRACT] = "extracting",
		[DWARFS_PHASE_IMPORT] = "reading",
		[DWARFS_PHASE_OPEN] = "opening",
		[DWARFS_PHASE_READ] = "reading files",
		[DWARFS_PHASE_DONE] = "done",
	};

	if ((unsigned)phase > DWARFS_PHASE_DONE)
		return "working";
	return names[phase];
}

/* Assumes that the rest takes as long per unit as what was done so far. */
static uint64_t remaining_ms(uint64_t elapsed_ns, double done, double left)
{
	if (elapsed_ns < MIN_ELAPSED_NS || done <= 0)
		return UINT64_MAX;
	return left > 0 ? (uint64_t)((double)elapsed_ns * left / done) : 0;
}

/* Assumes that unread bytes cause as much work as those read. */
static double work_left(const struct dwarfs_progress *progress)
{
	uint64_t total = progress->bytes_total, known = progress->work_known_bytes;
	double all = (double)progress->work_known;

	if (known > 0 && total > known)
		all *= (double)total / (double)known;
	return all - (double)progress->work_done;
}

/* No estimate before the totals are known, nor for phases without bytes. */
uint64_t dw_progress_remaining(const struct dwarfs_progress *progress, uint64_t now)
{
	if (progress->phase == DWARFS_PHASE_DONE)
		return 0;
	if (progress->phase < DWARFS_PHASE_WRITE)
		return UINT64_MAX;
	if (progress->work_known > 0)
		return remaining_ms(now - progress->work_started_ns,
				    (double)progress->work_done -
					    (double)progress->work_started,
				    work_left(progress));
	return remaining_ms(now - progress->phase_started_ns,
			    (double)progress->bytes_done -
				    (double)progress->phase_started_bytes,
			    (double)progress->bytes_total - (double)progress->bytes_done);
}

uint64_t dwarfs_progress_number(const dwarfs_progress *progress,
				enum dwarfs_progress_value what)
{
	if (!progress)
		return 0;
	switch (what) {
	case DWARFS_PROGRESS_DONE_BYTES:
		return progress->bytes_done;
	case DWARFS_PROGRESS_TOTAL_BYTES:
		return progress->bytes_total;
	case DWARFS_PROGRESS_READ_BYTES:
		return progress->bytes_read;
	case DWARFS_PROGRESS_WRITTEN_BYTES:
		return progress->bytes_out;
	case DWARFS_PROGRESS_SAVED_BYTES:
		return progress->bytes_saved;
	case DWARFS_PROGRESS_DONE_ITEMS:
		return progress->items_done;
	case DWARFS_PROGRESS_TOTAL_ITEMS:
		return progress->items_total;
	case DWARFS_PROGRESS_ELAPSED_NS:
		return progress_now_ns() - progress->started_ns;
	case DWARFS_PROGRESS_REMAINING_NS:
		return dw_progress_remaining(progress, progress_now_ns());
	}
	return 0;
}

const char *dwarfs_progress_path(const dwarfs_progress *progress)
{
	if (!progress)
		return NULL;
	return progress->path;
}
