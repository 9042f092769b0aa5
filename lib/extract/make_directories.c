/* SPDX-License-Identifier: MIT */
/*
 * extract/make_directories: create directories, and set their attributes at the end.
 *
 * They are created from the root down, and get their attributes from the deepest up, in
 * any order within a depth: so each parent exists, and can be searched until everything
 * in it is done.
 */
#include <errno.h>

#include "base/context.h"
#include "extract/file_attributes.h"
#include "extract/make_directories.h"
#include "os/create.h"
#include "os/file_io.h"

struct dir_location {
	char name[DWARFS_NAME_BUFFER_BYTES];
	int parent; /* a descriptor of the cursor's */
};

static int locate_directory(struct job *job, struct worker *worker, const struct dir *dir,
			    struct dir_location *location, dwarfs_error **err)
{
	int ret = dw_plan_name(&job->plan, dir->entry, location->name, err);

	return ret < 0 ? ret
		       : dw_cursor_go(&worker->cursor, dir->parent, &location->parent,
				      err);
}

/* -- before -------------------------------------------------------------------------- */

/* An existing entry must be a directory, not a link to one. */
static int accept_dir(const struct job *job, const struct dir_location *location,
		      bool *default_acl_out, dwarfs_error **err)
{
	auto_fd int existing = dw_create_open_dir(location->parent, location->name);

	if (existing >= 0) {
		*default_acl_out =
			!job->extract->no_xattrs && dw_dir_has_default_acl(existing, "");
		return 0;
	}
	if (existing == -ELOOP || existing == -ENOTDIR)
		return dw_fail_errno(err, EEXIST, "cannot make the directory");
	return dw_fail_errno(err, -existing, "cannot open the directory");
}

static int make_dir(struct job *job, struct worker *worker, struct dir *dir,
		    dwarfs_error **err)
{
	struct attributes attributes;
	struct dir_location location;
	int ret;

	if ((ret = locate_directory(job, worker, dir, &location, err)) < 0 ||
	    (ret = dwarfs_entry_stat(job->image, dir->entry, worker->stat, err)) < 0)
		return ret;
	dw_job_note_damage(job, dir->entry, worker->stat);
	attributes = dw_job_attributes(job, worker->stat);
	ret = dw_create_dir(location.parent, location.name, dw_create_mode(&attributes));
	if (ret == -EEXIST) {
		dir->existed = true;
		return accept_dir(job, &location, &dir->has_default_acl, err);
	}
	if (ret < 0)
		return dw_fail_errno(err, -ret, "cannot make the directory");
	if (!job->plan.dirs[dir->parent].has_default_acl)
		return 0;
	return dw_xattrs_remove_inherited(location.parent, location.name, true, err);
}

/* A depth, as it is worked on. */
static void make_one_directory(struct job *job, struct worker *worker, size_t number)
{
	struct plan *plan = &job->plan;
	struct dir *dir = &plan->dirs[plan->by_depth[number + job->level_from]];
	dwarfs_error *why = NULL;
	int ret;

	if (plan->dirs[dir->parent].lost) {
		dir->lost = true;
		dw_job_miss(job);
		return;
	}
	ret = make_dir(job, worker, dir, &why);
	dir->lost = ret < 0;
	if (ret < 0)
		dw_job_fail(job, dir->entry, ret, why);
}

static int for_depth(struct job *job, uint32_t depth, job_fn fn, dwarfs_error **err)
{
	struct plan *plan = &job->plan;

	job->level_from = plan->level_ends[depth - 1];
	return dw_job_each(job, plan->level_ends[depth] - job->level_from, fn, err);
}

int dw_directories_begin(struct job *job, dwarfs_error **err)
{
	struct dir *root = &job->plan.dirs[0];

	if (job->extract->no_xattrs || !dw_dir_has_default_acl(job->root_fd, ""))
		return 0;
	if (!root->existed)
		return dw_xattrs_remove_inherited(job->root_fd, "", true, err);
	root->has_default_acl = true;
	return 0;
}

int dw_directories_make(struct job *job, dwarfs_error **err)
{
	int ret = 0;

	for (uint32_t depth = 1; depth <= job->plan.depth && ret == 0; depth++) {
		if (!dw_job_continues(job))
			return 0;
		ret = for_depth(job, depth, make_one_directory, err);
	}
	return ret;
}

/* -- after --------------------------------------------------------------------------- */

/* Directories of another user may keep their attributes. */
static int accept_failure(struct job *job, const struct dir *dir, dwarfs_error *why)
{
	auto_free char *path = dw_plan_path(&job->plan, job->target, dir->entry);

	dw_log(dwarfs_image_context(job->image), DWARFS_LOG_WARN,
	       "%s: attributes of the directory stay as they were: %s", path ? path : "",
	       dwarfs_error_message(why));
	dwarfs_error_free(why);
	return 0;
}

static bool may_stay(const struct dir *dir, const dwarfs_error *why)
{
	return dir->existed && why && dwarfs_error_errno(why) == EPERM;
}

static int restore_directory_fd(struct job *job, const struct dir *dir, int fd,
				const struct attributes *attributes, dwarfs_error **err)
{
	dwarfs_error *why = NULL;
	int ret = dw_attributes_restore(job, dir->inode, fd, "", attributes, &why);

	if (ret == 0)
		return 0;
	if (may_stay(dir, why))
		return accept_failure(job, dir, why);
	*err = why;
	return ret;
}

/* Most often nothing but the times is to be set, which needs no descriptor. */
static int finish_dir(struct job *job, struct worker *worker, const struct dir *dir,
		      dwarfs_error **err)
{
	struct attributes attributes;
	struct dir_location location;
	struct owned owned;
	auto_fd int fd = -1;
	int ret;

	if ((ret = locate_directory(job, worker, dir, &location, err)) < 0 ||
	    (ret = dwarfs_entry_stat(job->image, dir->entry, worker->stat, err)) < 0)
		return ret;
	attributes = dw_job_attributes(job, worker->stat);
	if (!dir->existed && !dw_attributes_are_more(job, dir->inode) &&
	    dw_owned_at(location.parent, location.name, &owned) == 0 &&
	    dw_restore_is_right(&attributes, &owned)) {
		ret = dw_restore_times_at(location.parent, location.name, &attributes);
		return ret < 0 ? dw_fail_errno(err, -ret, "cannot set the times") : 0;
	}
	fd = dw_create_open_dir(location.parent, location.name);
	if (fd < 0)
		return dw_fail_errno(err, -fd, "cannot open the directory");
	return restore_directory_fd(job, dir, fd, &attributes, err);
}

static void finish_one(struct job *job, struct worker *worker, size_t number)
{
	struct plan *plan = &job->plan;
	const struct dir *dir = &plan->dirs[plan->by_depth[number + job->level_from]];
	dwarfs_error *why = NULL;
	int ret;

	/* A run that failed does not change existing directories. */
	if (dir->lost || (dir->existed && atomic_load(&job->stopped)))
		return;
	ret = finish_dir(job, worker, dir, &why);
	if (ret < 0)
		dw_job_fail(job, dir->entry, ret, why);
}

static void finish_root(struct job *job)
{
	struct worker *worker = &job->workers[0];
	const struct dir *root = &job->plan.dirs[0];
	dwarfs_error *why = NULL;
	struct attributes attributes;
	int ret = dwarfs_entry_stat(job->image, root->entry, worker->stat, &why);

	if (ret == 0) {
		dw_job_note_damage(job, root->entry, worker->stat);
		attributes = dw_job_attributes(job, worker->stat);
		ret = restore_directory_fd(job, root, job->root_fd, &attributes, &why);
	}
	if (ret < 0)
		dw_job_fail(job, root->entry, ret, why);
}

int dw_directories_finish(struct job *job, dwarfs_error **err)
{
	int ret = 0;

	for (uint32_t depth = job->plan.depth; depth > 0 && ret == 0; depth--) {
		if (atomic_load(&job->abandoned))
			return 0;
		ret = for_depth(job, depth, finish_one, err);
	}
	if (ret == 0 && !atomic_load(&job->abandoned) &&
	    !(job->plan.dirs[0].existed && atomic_load(&job->stopped)))
		finish_root(job);
	return ret;
}
