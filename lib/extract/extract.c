/* SPDX-License-Identifier: MIT */
/*
 * extract: extract an image to a directory.
 *
 * The steps of a run, and the files that have them:
 *
 *	select_entries     list the entries to extract
 *	make_directories   create the directories, from the root down
 *	special_entries    make symbolic links, devices and specials
 *	write_files        write the contents, in the order of their data, on all threads
 *	special_entries    make hard links
 *	make_directories   set the attributes of directories, deepest first
 *
 * Never overwrites what exists. See <dwarfs/extract.h>.
 */
#include <string.h>

#include "extract/special_entries.h"
#include "extract/make_directories.h"
#include "extract/select_entries.h"
#include "os/file_io.h"

/* Descriptors that are left for the rest of the program, and those of a thread that are
 * no directories on the way to somewhere. */
#define OTHER_FDS 48
#define OWN_FDS	  2

#define MOST_LEVELS  48
#define LEAST_LEVELS 2

/* -- the job ------------------------------------------------------------------------- */

/* Update the progress counters of the caller. */
static void refresh(struct dwarfs_progress *progress, void *user)
{
	struct job *job = user;
	const uint32_t shown = atomic_load(&job->counts.shown);

	progress->bytes_done = atomic_load(&job->counts.bytes_done);
	progress->bytes_out = atomic_load(&job->counts.bytes_out);
	progress->items_done = atomic_load(&job->counts.items_done);
	dw_free(job->path);
	job->path =
		shown == 0 ? NULL : dw_plan_path(&job->plan, "", dwarfs_entry_at(shown));
	/* Without the slash after the empty target. */
	progress->path = job->path && job->path[0] ? job->path + 1 : job->path;
}

static size_t levels_for_each(uint32_t threads)
{
	uint32_t most = dw_create_most_open();
	size_t levels = most > OTHER_FDS ? (most - OTHER_FDS) / (threads + 1) : 0;

	levels = levels > OWN_FDS ? levels - OWN_FDS : 0;
	if (levels > MOST_LEVELS)
		return MOST_LEVELS;
	return levels > LEAST_LEVELS ? levels : LEAST_LEVELS;
}

static int make_workers(struct job *job, dwarfs_error **err)
{
	uint32_t count = dwarfs_read_parallel_threads(job->image, job->extract->writers);
	int ret = 0;

	job->workers = dw_calloc(count, sizeof(*job->workers));
	if (!job->workers)
		return dw_fail_nomem(err);
	job->worker_count = count;
	for (uint32_t i = 0; i < count && ret == 0; i++)
		ret = dwarfs_stat_new(&job->workers[i].stat, err);
	return ret;
}

static int open_target(struct job *job, bool *existed_out, dwarfs_error **err)
{
	size_t levels = levels_for_each(job->worker_count);
	bool made;
	int ret = dw_create_open_root(job->target, &made);

	if (ret < 0) {
		ret = dw_fail_errno(err, -ret, "%s: cannot open the target directory",
				    job->target);
		return dw_error_at_path(err, ret, job->target);
	}
	job->root_fd = ret;
	*existed_out = !made;
	for (uint32_t i = 0; i < job->worker_count; i++) {
		ret = dw_cursor_init(&job->workers[i].cursor, &job->plan, job->root_fd,
				     levels, err);
		if (ret < 0)
			return ret;
	}
	return dw_cursor_init(&job->link_cursor, &job->plan, job->root_fd, levels, err);
}

static int open_job(struct job *job, dwarfs_error **err)
{
	int ret;

	if ((ret = make_workers(job, err)) < 0 ||
	    (ret = dw_plan_init(&job->plan, job->image, err)) < 0)
		return ret;
	return dw_links_init(&job->links, job->image, err);
}

static void close_job(struct job *job)
{
	dw_cursor_release(&job->link_cursor);
	for (uint32_t i = 0; i < job->worker_count; i++) {
		dw_cursor_release(&job->workers[i].cursor);
		dwarfs_stat_free(job->workers[i].stat);
	}
	dw_free(job->workers);
	dw_free(job->others.list);
	dw_files_release(&job->files);
	dw_links_release(&job->links);
	dw_plan_release(&job->plan);
	dw_fd_close(job->root_fd);
	dw_free(job->path);
	dwarfs_error_free(job->first);
	dwarfs_error_free(job->damage);
	pthread_mutex_destroy(&job->lock);
}

/* -- the run ------------------------------------------------------------------------- */

static int make_all(struct job *job, dwarfs_error **err)
{
	int ret;

	if ((ret = dw_directories_make(job, err)) < 0 || !dw_job_continues(job) ||
	    (ret = dw_special_entries_make(job, err)) < 0 || !dw_job_continues(job) ||
	    (ret = dw_files_write(job, err)) < 0)
		return ret;
	dw_hard_links_make(job);
	return 0;
}

/* The first failure, if there was one, or the first damage. */
static int outcome(struct job *job, dwarfs_error **err)
{
	bool has_failed = job->first_code != 0;
	int code = has_failed ? job->first_code : job->damage_code;

	if (code == 0)
		return 0;
	if (err)
		*err = has_failed ? dw_steal(job->first) : dw_steal(job->damage);
	return code;
}

static int run(struct job *job, dwarfs_error **err)
{
	bool existed = false;
	int ret;

	if ((ret = open_job(job, err)) < 0 || (ret = dw_select_entries(job, err)) < 0)
		return ret;
	if (atomic_load(&job->stopped))
		return outcome(job, err);
	if ((ret = open_target(job, &existed, err)) < 0 ||
	    (ret = dw_progress_enter(&job->progress, DWARFS_PHASE_EXTRACT, err)) < 0)
		return ret;
	job->plan.dirs[0].existed = existed;
	if ((ret = dw_directories_begin(job, err)) < 0)
		return ret;
	ret = make_all(job, err);
	job->finishing = true;
	if (ret == 0 && !atomic_load(&job->abandoned))
		ret = dw_directories_finish(job, err);
	dw_xattr_losses_tell(&job->losses, job->image);
	if (ret == 0 && job->first_code == 0) {
		atomic_store(&job->counts.shown, 0);
		dw_progress_done(&job->progress);
	}
	return ret < 0 ? ret : outcome(job, err);
}

int dwarfs_extract_to_directory(dwarfs_extract *extract, const char *path,
				dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(extract);

	if (!extract || !path)
		return dw_fail_null(err, "extract and path");

	struct job job = {
		.extract = extract,
		.image = extract->image,
		.target = path,
		.root_fd = -1,
		.caller = pthread_self(),
		.token = dw_create_token(),
	};
	int ret;

	job.set_owner =
		extract->owners_given
			? extract->owners
			: dw_may_set_owners() || extract->uid_given || extract->gid_given;
	extract->failures = extract->damaged = 0;
	if (pthread_mutex_init(&job.lock, NULL) != 0)
		return dw_fail_nomem(err);
	dw_files_init(&job.files);
	dw_progress_start(&job.progress, extract->task);
	job.progress.refresh = refresh;
	job.progress.refresh_user = &job;
	ret = run(&job, err);
	extract->failures = atomic_load(&job.counts.failures);
	extract->damaged = atomic_load(&job.counts.damaged);
	close_job(&job);
	return ret;
}
