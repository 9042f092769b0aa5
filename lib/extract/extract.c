/* SPDX-License-Identifier: MIT */
/*
 * extract: write what an image holds to disk.
 *
 * The story: directories, links, devices and specials in tree order; the files, piece by
 * piece in the order of their data (extract/files); further names of these; then the
 * attributes of the directories, deepest first. Takes
 * an image and a path, leaves alone whatever is there already. See <dwarfs/extract.h>.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include <dwarfs/extract.h>
#include <dwarfs/file.h>

#include "base/context.h"
#include "extract/contents.h"
#include "extract/job.h"
#include "os/file.h"

DW_DEFINE_AUTO(extract_handle, dwarfs_extract *, dwarfs_extract_free)
DW_DEFINE_AUTO(extract_walk, dwarfs_walk *, dwarfs_walk_free)

int dwarfs_extract_new(const dwarfs_image *image, dwarfs_extract **extract_out,
		       dwarfs_error **err)
{
	DW_AUTO(extract_handle)
	dwarfs_extract *extract = dw_calloc(1, sizeof(*extract));

	if (!extract)
		return dw_fail_nomem(err);
	extract->image = dwarfs_image_ref(image);
	*extract_out = dw_steal(extract);
	return 0;
}

void dwarfs_extract_free(dwarfs_extract *extract)
{
	if (!extract)
		return;
	dwarfs_image_free(extract->image);
	free(extract);
}

void dwarfs_extract_set_skip_devices(dwarfs_extract *extract, bool skip)
{
	extract->skip_devices = skip;
}

void dwarfs_extract_set_skip_specials(dwarfs_extract *extract, bool skip)
{
	extract->skip_specials = skip;
}

void dwarfs_extract_set_owners(dwarfs_extract *extract, bool set)
{
	extract->owners_given = true;
	extract->owners = set;
}

void dwarfs_extract_set_continue_on_error(dwarfs_extract *extract, bool go_on)
{
	extract->continue_on_error = go_on;
}

void dwarfs_extract_set_progress(dwarfs_extract *extract, dwarfs_progress_fn progress,
				 void *user)
{
	extract->progress = progress;
	extract->progress_user = user;
}

void dwarfs_extract_set_cancel(dwarfs_extract *extract, dwarfs_cancel *cancel)
{
	extract->cancel = cancel;
}

uint64_t dwarfs_extract_failures(const dwarfs_extract *extract)
{
	return extract->failures;
}

/* -- failures ------------------------------------------------------------------------ */

/* Whether a run can go on after an entry that failed with this code. */
static bool is_fatal(int code)
{
	return code == DWARFS_ERR_CANCELLED || code == DWARFS_ERR_NOMEM;
}

void dw_job_fail(struct job *job, dwarfs_entry entry, int code, dwarfs_error *why)
{
	auto_free char *path = dw_plan_path(&job->plan, job->target, entry);

	if (path && !is_fatal(code)) {
		dw_explain(&why, code, "%s", path);
		dw_error_at_path(&why, code, path);
	}
	job->extract->failures++;
	if (!job->extract->continue_on_error || is_fatal(code))
		job->stopped = true;
	else
		dw_log(dwarfs_image_context(job->image), DWARFS_LOG_ERROR, "%s",
		       dwarfs_error_message(why));
	if (job->first_code != 0) {
		dwarfs_error_free(why);
		return;
	}
	job->first_code = code;
	job->first = why;
}

/* -- entries ------------------------------------------------------------------------- */

static struct timespec time_of(const dwarfs_stat *stat, int time)
{
	return (struct timespec){
		.tv_sec = (time_t)dwarfs_stat_seconds(stat, time),
		.tv_nsec = (long)dwarfs_stat_nanoseconds(stat, time),
	};
}

struct attributes dw_job_attributes(const struct job *job)
{
	return (struct attributes){
		.mode = dwarfs_stat_mode(job->stat),
		.uid = dwarfs_stat_uid(job->stat),
		.gid = dwarfs_stat_gid(job->stat),
		.set_owner = job->set_owner,
		.atime = time_of(job->stat, DWARFS_ATIME),
		.mtime = time_of(job->stat, DWARFS_MTIME),
	};
}

static int restore_at(struct job *job, int dir_fd, const char *name, dwarfs_error **err)
{
	struct attributes attributes = dw_job_attributes(job);
	const char *what;
	int ret = dw_restore_at(dir_fd, name, &attributes, &what);

	if (ret < 0)
		return dw_fail_errno(err, -ret, "cannot set the %s", what);
	return 0;
}

/* Make a directory, or accept one that is there. */
static int make_dir(struct job *job, dwarfs_entry entry, dwarfs_error **err)
{
	char name[DWARFS_NAME_ROOM];
	uint32_t dir, parent;
	int ret, dir_fd;

	ret = dw_plan_add_dir(&job->plan, entry, dwarfs_stat_inode(job->stat), &dir, err);
	if (ret < 0 || dir == 0)
		return ret;
	parent = job->plan.dirs[dir].parent;
	job->plan.dirs[dir].lost = true;
	if (job->plan.dirs[parent].lost) {
		job->extract->failures++;
		return 0;
	}
	if ((ret = dw_plan_name(&job->plan, entry, name, err)) < 0 ||
	    (ret = dw_cursor_go(&job->here, parent, &dir_fd, err)) < 0)
		return ret;
	ret = dw_create_dir(dir_fd, name);
	if (ret == -EEXIST) {
		auto_fd int existing = dw_create_open_dir(dir_fd, name, NULL);

		if (existing < 0 && (existing == -ELOOP || existing == -ENOTDIR))
			return dw_fail_errno(err, EEXIST, "cannot make the directory");
		if (existing < 0)
			return dw_fail_errno(err, -existing, "cannot open the directory");
		job->plan.dirs[dir].existed = true;
	} else if (ret < 0) {
		return dw_fail_errno(err, -ret, "cannot make the directory");
	}
	job->plan.dirs[dir].lost = false;
	return 0;
}

static int make_symlink(struct job *job, int dir_fd, const char *name, dwarfs_error **err)
{
	char target[DWARFS_LINK_ROOM];
	int ret = dwarfs_link_read(job->image, dwarfs_stat_inode(job->stat), target,
				   sizeof(target), NULL, err);

	if (ret < 0)
		return ret;
	if ((ret = dw_create_symlink(dir_fd, name, target)) < 0)
		return dw_fail_errno(err, -ret, "cannot make the symbolic link");
	return restore_at(job, dir_fd, name, err);
}

static int make_node(struct job *job, int dir_fd, const char *name, dwarfs_error **err)
{
	uint32_t mode = dwarfs_stat_mode(job->stat);
	bool device = S_ISBLK(mode) || S_ISCHR(mode);
	int ret;

	if (device ? job->extract->skip_devices : job->extract->skip_specials)
		return 0;
	ret = dw_create_node(dir_fd, name, mode, dwarfs_stat_rdev_major(job->stat),
			     dwarfs_stat_rdev_minor(job->stat));
	if (ret < 0)
		return dw_fail_errno(err, -ret, "cannot make the %s",
				     device	      ? "device"
				     : S_ISFIFO(mode) ? "fifo"
						      : "socket");
	return restore_at(job, dir_fd, name, err);
}

/* Write a file of its own, whole or not at all, while no other one is. */
static int make_copy(struct job *job, int dir_fd, const char *name, dwarfs_error **err)
{
	struct attributes attributes = dw_job_attributes(job);
	int fd = dw_create_file(dir_fd, name), ret, restored, closed;
	const char *what;

	if (fd < 0)
		return dw_fail_errno(err, -fd, "cannot make the file");
	ret = dw_contents_write(job->image, dwarfs_stat_inode(job->stat), fd, job->buffer,
				&job->progress, err);
	restored = ret < 0 ? 0 : dw_restore_fd(fd, &attributes, &what);
	closed = dw_create_close(fd);
	if (ret == 0 && closed < 0)
		ret = dw_fail_errno(err, -closed, "cannot write the file");
	if (ret < 0) {
		dw_create_undo_file(dir_fd, name);
		return ret;
	}
	if (restored < 0)
		return dw_fail_errno(err, -restored, "cannot set the %s", what);
	return 0;
}

/* Whether a failed link() may be made up for by a copy. */
static bool links_are_refused(int errnum)
{
	return errnum == EMLINK || errnum == EPERM || errnum == EOPNOTSUPP ||
	       errnum == ENOSYS || errnum == EXDEV;
}

/* 1 when the name was linked to what was written already, 0 when it needs a copy. */
static int make_link(struct job *job, int dir_fd, const char *name, dwarfs_error **err)
{
	char first_name[DWARFS_NAME_ROOM];
	dwarfs_entry first;
	int ret, first_fd;
	uint32_t dir;

	ret = dw_links_find(&job->links, job->stat, &first, err);
	if (ret < 0 || first == DWARFS_ROOT)
		return ret;
	if ((ret = dw_plan_dir_of(&job->plan, first, &dir, err)) < 0 ||
	    (ret = dw_plan_name(&job->plan, first, first_name, err)) < 0 ||
	    (ret = dw_cursor_go(&job->there, dir, &first_fd, err)) < 0)
		return ret;
	ret = dw_create_hard_link(first_fd, first_name, dir_fd, name);
	if (ret < 0 && links_are_refused(-ret))
		return 0;
	if (ret < 0)
		return dw_fail_errno(err, -ret, "cannot make the hard link");
	job->progress.bytes_done += dwarfs_stat_bytes(job->stat);
	return 1;
}

/* Another name of an inode that has been written, or failed to be. */
static int make_other_name(struct job *job, dwarfs_entry entry, dwarfs_error **err)
{
	char name[DWARFS_NAME_ROOM];
	uint32_t dir;
	int ret, dir_fd;

	if ((ret = dwarfs_entry_stat(job->image, entry, job->stat, err)) < 0 ||
	    (ret = dw_plan_dir_of(&job->plan, entry, &dir, err)) < 0 ||
	    (ret = dw_plan_name(&job->plan, entry, name, err)) < 0 ||
	    (ret = dw_cursor_go(&job->here, dir, &dir_fd, err)) < 0 ||
	    (ret = make_link(job, dir_fd, name, err)) < 0)
		return ret;
	if (ret == 0 && (ret = make_copy(job, dir_fd, name, err)) == 0)
		dw_links_add(&job->links, job->stat, entry);
	return ret < 0 ? ret : 0;
}

static void make_other_names(struct job *job)
{
	for (size_t i = 0; i < job->files.other_count && !job->stopped; i++) {
		dwarfs_entry entry = job->files.others[i];
		uint64_t bytes_done = job->progress.bytes_done;
		dwarfs_error *why = NULL;
		int ret;

		dw_job_show(job, entry);
		ret = dw_progress_tick(&job->progress, &why);
		if (ret == 0)
			ret = make_other_name(job, entry, &why);
		if (ret < 0)
			dw_job_fail(job, entry, ret, why);
		job->progress.items_done++;
		job->progress.bytes_done = bytes_done + dwarfs_stat_bytes(job->stat);
	}
}

/* Anything but a directory. */
static int make_other(struct job *job, dwarfs_entry entry, dwarfs_error **err)
{
	uint32_t mode = dwarfs_stat_mode(job->stat);
	char name[DWARFS_NAME_ROOM];
	uint32_t dir;
	int ret, dir_fd;

	if ((ret = dw_plan_dir_of(&job->plan, entry, &dir, err)) < 0 ||
	    (ret = dw_plan_name(&job->plan, entry, name, err)) < 0)
		return ret;
	if (job->plan.dirs[dir].lost) {
		job->extract->failures++;
		return 0;
	}
	if (S_ISREG(mode))
		return dw_files_add(&job->files, job->image, entry,
				    dwarfs_stat_inode(job->stat), err);
	if ((ret = dw_cursor_go(&job->here, dir, &dir_fd, err)) < 0)
		return ret;
	if (S_ISLNK(mode))
		return make_symlink(job, dir_fd, name, err);
	if (S_ISBLK(mode) || S_ISCHR(mode) || S_ISFIFO(mode) || S_ISSOCK(mode))
		return make_node(job, dir_fd, name, err);
	return dw_fail(err, DWARFS_ERR_CORRUPT, "mode %" PRIo32 " has no known type",
		       mode);
}

void dw_job_show(struct job *job, dwarfs_entry entry)
{
	if (!job->progress.call)
		return;
	free(job->path);
	job->path = dw_plan_path(&job->plan, "", entry);
	/* Without the slash behind the empty target. */
	job->progress.path = job->path && job->path[0] ? job->path + 1 : job->path;
}

static void visit(struct job *job, dwarfs_entry entry)
{
	dwarfs_error *why = NULL;
	int ret = dwarfs_entry_stat(job->image, entry, job->stat, &why);
	uint32_t mode = ret < 0 ? 0 : dwarfs_stat_mode(job->stat);

	if (ret == 0)
		ret = dw_progress_tick(&job->progress, &why);
	if (ret == 0 && entry == DWARFS_ROOT && !S_ISDIR(mode))
		ret = dw_fail(&why, DWARFS_ERR_CORRUPT, "the root is not a directory");
	else if (ret == 0)
		ret = S_ISDIR(mode) ? make_dir(job, entry, &why)
				    : make_other(job, entry, &why);
	if (ret < 0)
		dw_job_fail(job, entry, ret, why);
	if (job->plan.dir_count == 0)
		job->stopped = true; /* nothing can be made without a root */
}

/* -- the run ------------------------------------------------------------------------- */

static int walk(struct job *job, dwarfs_error **err)
{
	DW_AUTO(extract_walk) dwarfs_walk *walk = NULL;
	dwarfs_entry entry;
	int ret = dwarfs_walk_new(job->image, DWARFS_ROOT, DWARFS_WALK_DATA, &walk, err);

	if (ret < 0)
		return ret;
	while (!job->stopped && (ret = dwarfs_walk_next(walk, &entry, err)) > 0)
		visit(job, entry);
	return ret < 0 ? ret : 0;
}

static int restore_dir(struct job *job, const struct dir *dir, int fd, dwarfs_error **err)
{
	struct attributes attributes;
	const char *what;
	int ret = dwarfs_entry_stat(job->image, dir->entry, job->stat, err);

	if (ret < 0)
		return ret;
	attributes = dw_job_attributes(job);
	ret = dw_restore_fd(fd, &attributes, &what);
	if (ret == -EPERM && dir->existed) {
		auto_free char *path = dw_plan_path(&job->plan, job->target, dir->entry);

		dw_log(dwarfs_image_context(job->image), DWARFS_LOG_WARN,
		       "%s: the %s of the directory stay as they were", path ? path : "",
		       what);
		return 0;
	}
	if (ret < 0)
		return dw_fail_errno(err, -ret, "cannot set the %s", what);
	return 0;
}

/* Give the directories their attributes, deepest first: what is in them is done then. */
static void restore_dirs(struct job *job)
{
	for (size_t i = job->plan.dir_count; i-- > 0;) {
		const struct dir *dir = &job->plan.dirs[i];
		dwarfs_error *why = NULL;
		int ret, fd;

		if (dir->lost)
			continue;
		ret = dw_progress_tick(&job->progress, &why);
		if (ret == 0)
			ret = dw_cursor_go(&job->here, (uint32_t)i, &fd, &why);
		if (ret == 0)
			ret = restore_dir(job, dir, fd, &why);
		if (ret < 0)
			dw_job_fail(job, dir->entry, ret, why);
		if (is_fatal(ret))
			return;
	}
}

/* What there is to do, for those who watch. */
static int count_work(struct job *job, dwarfs_error **err)
{
	uint32_t entries = dwarfs_image_entry_count(job->image);
	int ret = dw_progress_enter(&job->progress, DWARFS_PHASE_SCAN, err);

	if (ret < 0 || !job->progress.call)
		return ret;
	for (dwarfs_entry entry = 0; entry < entries; entry++) {
		if (dwarfs_entry_stat(job->image, entry, job->stat, NULL) < 0)
			continue; /* reported when it is its turn */
		if (!S_ISREG(dwarfs_stat_mode(job->stat)))
			continue;
		job->progress.items_total++;
		job->progress.bytes_total += dwarfs_stat_bytes(job->stat);
		if (entry % 4096 == 0 &&
		    (ret = dw_progress_tick(&job->progress, err)) < 0)
			return ret;
	}
	return 0;
}

static int open_job(struct job *job, bool *existed_out, dwarfs_error **err)
{
	bool made;
	int ret;

	job->buffer = malloc(CONTENTS_BUFFER_BYTES);
	if (!job->buffer)
		return dw_fail_nomem(err);
	if ((ret = dwarfs_stat_new(&job->stat, err)) < 0 ||
	    (ret = dw_plan_init(&job->plan, job->image, err)) < 0 ||
	    (ret = dw_links_init(&job->links, job->image, err)) < 0 ||
	    (ret = count_work(job, err)) < 0)
		return ret;
	ret = dw_create_open_root(job->target, &made);
	if (ret < 0) {
		ret = dw_fail_errno(err, -ret, "%s: cannot open the target directory",
				    job->target);
		return dw_error_at_path(err, ret, job->target);
	}
	job->root_fd = ret;
	*existed_out = !made;
	if ((ret = dw_cursor_init(&job->here, &job->plan, job->root_fd, err)) < 0)
		return ret;
	return dw_cursor_init(&job->there, &job->plan, job->root_fd, err);
}

static void close_job(struct job *job)
{
	dw_cursor_release(&job->there);
	dw_cursor_release(&job->here);
	dw_files_release(&job->files);
	dw_links_release(&job->links);
	dw_plan_release(&job->plan);
	dwarfs_stat_free(job->stat);
	dw_fd_close(job->root_fd);
	free(job->buffer);
	free(job->path);
	dwarfs_error_free(job->first);
}

static int run(struct job *job, dwarfs_error **err)
{
	bool existed = false;
	int ret;

	if ((ret = open_job(job, &existed, err)) < 0 ||
	    (ret = dw_progress_enter(&job->progress, DWARFS_PHASE_EXTRACT, err)) < 0)
		return ret;
	ret = walk(job, err);
	if (ret == 0 && !job->stopped)
		ret = dw_files_write(job, err);
	if (ret == 0)
		make_other_names(job);
	if (job->plan.dir_count > 0)
		job->plan.dirs[0].existed = existed;
	if (!is_fatal(job->first_code) && !is_fatal(ret))
		restore_dirs(job);
	if (ret < 0)
		return ret;
	if (job->first_code < 0) {
		if (err)
			*err = dw_steal(job->first);
		return job->first_code;
	}
	job->progress.path = NULL;
	return dw_progress_enter(&job->progress, DWARFS_PHASE_DONE, err);
}

int dwarfs_extract_to_directory(dwarfs_extract *extract, const char *path,
				dwarfs_error **err)
{
	struct job job = {
		.extract = extract,
		.image = extract->image,
		.target = path,
		.root_fd = -1,
		.set_owner =
			extract->owners_given ? extract->owners : dw_may_set_owners(),
	};
	int ret;

	extract->failures = 0;
	dw_progress_start(&job.progress, extract->progress, extract->progress_user,
			  extract->cancel);
	ret = run(&job, err);
	close_job(&job);
	return ret;
}
