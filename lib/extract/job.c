/* SPDX-License-Identifier: MIT */
/*
 * extract/job: failures, progress and threads of one run.
 *
 * Distributes the work on many entries to threads. The thread of the caller supervises
 * them, or does all the work itself.
 */
#include <stdio.h>

#include "base/context.h"
#include "extract/job.h"
#include "pool/thread_group.h"

/* Entries that a thread takes at a time. */
#define RUN 32

/* Fewer than this are not worth a thread. */
#define FEW 256

/* For the names of all attributes. */
#define NAMES_ROOM 128

/* -- failures ------------------------------------------------------------------------ */

/* Takes why. */
static void record_failure(struct job *job, int code, dwarfs_error *why)
{
	atomic_fetch_add(&job->counts.failures, 1);
	if (dw_is_fatal(code))
		atomic_store(&job->abandoned, true);
	if (dw_is_fatal(code) || !job->extract->continue_on_error)
		atomic_store(&job->stopped, true);
	else
		dw_log(dwarfs_image_context(job->image), DWARFS_LOG_ERROR, "%s",
		       dwarfs_error_message(why));
	pthread_mutex_lock(&job->lock);
	if (job->first_code == 0) {
		job->first_code = code;
		job->first = dw_steal(why);
	}
	pthread_mutex_unlock(&job->lock);
	dwarfs_error_free(why);
}

void dw_job_fail(struct job *job, dwarfs_entry entry, int code, dwarfs_error *why)
{
	auto_free char *path = NULL;

	if (!dw_is_fatal(code))
		path = dw_plan_path(&job->plan, job->target, entry);
	if (path) {
		dw_explain(&why, code, "%s", path);
		dw_error_at_path(&why, code, path);
	}
	record_failure(job, code, why);
}

void dw_job_miss(struct job *job)
{
	atomic_fetch_add(&job->counts.failures, 1);
}

/* -- damage -------------------------------------------------------------------------- */

static void record_damage(struct job *job, int code, dwarfs_error *why)
{
	pthread_mutex_lock(&job->lock);
	if (job->damage_code == 0) {
		job->damage_code = code;
		job->damage = dw_steal(why);
	}
	pthread_mutex_unlock(&job->lock);
	dwarfs_error_free(why);
}

/* "mode, owner" */
static void list_names(uint32_t attributes, char *text, size_t room)
{
	size_t length = 0;

	text[0] = '\0';
	for (uint32_t bit = 1; attributes != 0; attributes &= ~bit, bit <<= 1)
		if ((attributes & bit) && length < room)
			length += (size_t)snprintf(text + length, room - length, "%s%s",
						   length ? ", " : "",
						   dwarfs_attribute_name(bit));
}

/* Log damage that costs no more than it says. Takes ownership of why. */
static void log_damage(struct job *job, const char *path, int code, dwarfs_error *why)
{
	if (path)
		dw_error_at_path(&why, code, path);
	dw_log(dwarfs_image_context(job->image), DWARFS_LOG_WARN, "%s",
	       dwarfs_error_message(why));
	atomic_fetch_add(&job->counts.damaged, 1);
	record_damage(job, code, why);
}

void dw_job_lose_device(struct job *job, dwarfs_entry entry, const dwarfs_stat *stat)
{
	auto_free char *path = dw_plan_path(&job->plan, job->target, entry);
	dwarfs_error *why = NULL;
	int ret = dw_fail(&why, DWARFS_ERR_CORRUPT,
			  "%s: no device can have the number %" PRIu32 ":%" PRIu32
			  "; it is left out",
			  path ? path : "", dwarfs_stat_rdev_major(stat),
			  dwarfs_stat_rdev_minor(stat));

	log_damage(job, path, ret, why);
}

void dw_job_note_damage(struct job *job, dwarfs_entry entry, const dwarfs_stat *stat)
{
	uint32_t invalid = dwarfs_stat_invalid(stat);
	auto_free char *path = NULL;
	dwarfs_error *why = NULL;
	char names[NAMES_ROOM];
	int ret;

	if (invalid == 0)
		return;
	/* Times that are not stored are invalid if the one they default to is. */
	if (dwarfs_image_is_mtime_only(job->image))
		invalid &= ~(uint32_t)(DWARFS_ATTRIBUTE_ATIME | DWARFS_ATTRIBUTE_CTIME);
	list_names(invalid, names, sizeof(names));
	path = dw_plan_path(&job->plan, job->target, entry);
	ret = dw_fail(&why, DWARFS_ERR_CORRUPT,
		      "%s: the image has no valid value for: %s; a default is used",
		      path ? path : "", names);
	log_damage(job, path, ret, why);
}

void dw_job_note_xattrs(struct job *job, const dwarfs_error *why)
{
	dwarfs_error *copy = NULL;
	int code = dwarfs_error_code(why);

	if (atomic_exchange(&job->lost_xattrs, true))
		return;
	dw_error_copy(&copy, code, why);
	dw_log(dwarfs_image_context(job->image), DWARFS_LOG_WARN,
	       "the extended attributes are lost: %s", dwarfs_error_message(why));
	atomic_fetch_add(&job->counts.damaged, 1);
	record_damage(job, code, copy);
}

/* -- progress and cancellation ------------------------------------------------------- */

void dw_job_tick(struct job *job)
{
	dwarfs_error *why = NULL;
	int ret = dw_progress_tick(&job->progress, &why);

	if (ret == 0)
		return;
	if (atomic_load(&job->abandoned))
		dwarfs_error_free(why);
	else
		record_failure(job, ret, why);
}

bool dw_job_continues(struct job *job)
{
	if (pthread_equal(job->caller, pthread_self()))
		dw_job_tick(job);
	return !atomic_load_explicit(job->finishing ? &job->abandoned : &job->stopped,
				     memory_order_relaxed);
}

/* -- loops over entries -------------------------------------------------------------- */

struct job_loop {
	struct job *job;
	job_fn fn;
	size_t count;
	atomic_size_t next;
};

static void run_loop(void *user, uint32_t thread)
{
	struct job_loop *loop = user;
	struct worker *worker = &loop->job->workers[thread];
	size_t from;

	while ((from = atomic_fetch_add(&loop->next, RUN)) < loop->count) {
		size_t end = loop->count - from < RUN ? loop->count : from + RUN;

		for (; from < end; from++) {
			if (!dw_job_continues(loop->job))
				return;
			loop->fn(loop->job, worker, from);
		}
	}
}

static void tick_loop(void *user)
{
	struct job_loop *loop = user;

	dw_job_tick(loop->job);
}

int dw_job_each(struct job *job, size_t count, job_fn fn, dwarfs_error **err)
{
	static const struct thread_group_ops ops = { .run = run_loop, .poll = tick_loop };
	struct job_loop loop = { .job = job, .fn = fn, .count = count };
	uint32_t threads = count < FEW || job->worker_count == 1 ? 0 : job->worker_count;

	return dw_thread_group_run(&ops, &loop, threads, err);
}
