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

struct dwarfs_cancel {
	atomic_bool thrown;
};

int dwarfs_cancel_new(dwarfs_cancel **cancel_out, dwarfs_error **err)
{
	dwarfs_cancel *cancel = dw_calloc(1, sizeof(*cancel));

	if (!cancel)
		return dw_fail_nomem(err);
	*cancel_out = cancel;
	return 0;
}

void dwarfs_cancel_set(dwarfs_cancel *cancel)
{
	if (cancel)
		atomic_store(&cancel->thrown, true);
}

bool dwarfs_cancel_is_set(const dwarfs_cancel *cancel)
{
	return cancel && atomic_load(&cancel->thrown);
}

void dwarfs_cancel_free(dwarfs_cancel *cancel)
{
	free(cancel);
}

static uint64_t progress_now_ns(void)
{
	struct timespec now = { 0 };

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

void dw_progress_start(struct dwarfs_progress *progress, dwarfs_progress_fn call,
		       void *user, const dwarfs_cancel *cancel)
{
	*progress = (struct dwarfs_progress){
		.call = call,
		.user = user,
		.cancel = cancel,
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
	uint64_t now;

	if (dwarfs_cancel_is_set(progress->cancel))
		return dw_fail(err, DWARFS_ERR_CANCELLED, "cancelled");
	if (!progress->call)
		return 0;
	now = progress_now_ns();
	if (progress->phase == progress->last_phase &&
	    now - progress->last_ns < INTERVAL_NS)
		return 0;
	progress->last_ns = now;
	progress->last_phase = progress->phase;
	dw_progress_refresh(progress, now);
	if (progress->call(progress, progress->user) != 0)
		return dw_fail(err, DWARFS_ERR_CANCELLED, "cancelled");
	return 0;
}

int dw_progress_enter(struct dwarfs_progress *progress, int phase, dwarfs_error **err)
{
	progress->phase = phase;
	progress->phase_started_ns = progress_now_ns();
	progress->phase_started_bytes = progress->bytes_done;
	progress->bytes_read = 0;
	progress->work_done = progress->work_known = progress->work_known_bytes = 0;
	progress->work_started_ns = 0;
	return dw_progress_tick(progress, err);
}

int dwarfs_progress_phase(const dwarfs_progress *progress)
{
	return progress->phase;
}

const char *dwarfs_phase_name(int phase)
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
		[DWARFS_PHASE_DONE] = "done",
	};

	if (phase < 0 || phase > DWARFS_PHASE_DONE)
		return "working";
	return names[phase];
}

uint64_t dwarfs_progress_bytes_done(const dwarfs_progress *progress)
{
	return progress->bytes_done;
}

uint64_t dwarfs_progress_bytes_total(const dwarfs_progress *progress)
{
	return progress->bytes_total;
}

uint64_t dwarfs_progress_bytes_out(const dwarfs_progress *progress)
{
	return progress->bytes_out;
}

uint64_t dwarfs_progress_bytes_read(const dwarfs_progress *progress)
{
	return progress->bytes_read;
}

uint64_t dwarfs_progress_bytes_saved(const dwarfs_progress *progress)
{
	return progress->bytes_saved;
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

uint64_t dwarfs_progress_remaining_ns(const dwarfs_progress *progress)
{
	return dw_progress_remaining(progress, progress_now_ns());
}

uint64_t dwarfs_progress_items_done(const dwarfs_progress *progress)
{
	return progress->items_done;
}

uint64_t dwarfs_progress_items_total(const dwarfs_progress *progress)
{
	return progress->items_total;
}

uint64_t dwarfs_progress_elapsed_ns(const dwarfs_progress *progress)
{
	return progress_now_ns() - progress->started_ns;
}

const char *dwarfs_progress_path(const dwarfs_progress *progress)
{
	return progress->path;
}
