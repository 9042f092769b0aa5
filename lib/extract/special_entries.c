/* SPDX-License-Identifier: MIT */
/*
 * extract/special_entries: symbolic links, devices and specials, and hard links.
 *
 * If the file system allows no (more) hard links, the file is copied.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/machine/limits.h"
#include "extract/file_attributes.h"
#include "extract/special_entries.h"
#include "extract/write_contents.h"
#include "os/create.h"

/* Find the directory of an entry. */
static int locate_special(struct job *job, struct worker *worker, dwarfs_entry entry,
			  int *dir_fd_out, char name[DWARFS_NAME_BUFFER_BYTES],
			  dwarfs_error **err)
{
	uint32_t dir;
	int ret;

	if ((ret = dw_plan_dir_of(&job->plan, entry, &dir, err)) < 0 ||
	    (ret = dw_plan_name(&job->plan, entry, name, err)) < 0 ||
	    (ret = dw_cursor_go(&worker->cursor, dir, dir_fd_out, err)) < 0)
		return ret;
	return 0;
}

/* -- neither files nor directories --------------------------------------------------- */

static int make_symlink(struct job *job, const struct worker *worker, int dir_fd,
			const char *name, dwarfs_error **err)
{
	char target[DWARFS_LINK_BUFFER_BYTES];
	size_t bytes;
	int ret = dwarfs_link_read(job->image, dwarfs_stat_inode(worker->stat), target,
				   sizeof(target), &bytes, err);

	if (ret < 0)
		return ret;
	if (strlen(target) != bytes)
		return dw_fail(err, DWARFS_ERR_CORRUPT,
			       "the target of the symbolic link has a NUL");
	if (!dw_is_target(bytes))
		return dw_fail(err, DWARFS_ERR_CORRUPT, DW_BAD_TARGET, bytes);
	if ((ret = dw_create_symlink(dir_fd, name, target)) < 0)
		return dw_fail_errno(err, -ret, "cannot make the symbolic link");
	return 0;
}

static const char *special_type_name(uint32_t mode)
{
	if (S_ISBLK(mode) || S_ISCHR(mode))
		return "device";
	return S_ISFIFO(mode) ? "fifo" : "socket";
}

static int make_node(struct job *job, const struct worker *worker, dwarfs_entry entry,
		     int dir_fd, const char *name, dwarfs_error **err)
{
	uint32_t mode = dwarfs_stat_mode(worker->stat);
	int ret = dw_create_node(dir_fd, name, mode, dwarfs_stat_rdev_major(worker->stat),
				 dwarfs_stat_rdev_minor(worker->stat));

	if (ret < 0)
		return dw_fail_errno(err, -ret, "cannot make the %s",
				     special_type_name(mode));
	return dw_plan_has_default_acl(&job->plan, entry)
		       ? dw_xattrs_remove_inherited(dir_fd, name, false, err)
		       : 0;
}

static int make_special(struct job *job, struct worker *worker, dwarfs_entry entry,
			dwarfs_error **err)
{
	struct attributes attributes;
	char name[DWARFS_NAME_BUFFER_BYTES];
	int ret, dir_fd;

	if ((ret = dwarfs_entry_stat(job->image, entry, worker->stat, err)) < 0 ||
	    (ret = locate_special(job, worker, entry, &dir_fd, name, err)) < 0)
		return ret;
	attributes = dw_job_attributes(job, worker->stat);
	ret = S_ISLNK(attributes.mode) ? make_symlink(job, worker, dir_fd, name, err)
				       : make_node(job, worker, entry, dir_fd, name, err);
	if (ret < 0)
		return ret;
	return dw_attributes_restore(job, dwarfs_stat_inode(worker->stat), dir_fd, name,
				     &attributes, err);
}

static void make_one_special(struct job *job, struct worker *worker, size_t number)
{
	dwarfs_entry entry = job->others.list[number];
	dwarfs_error *why = NULL;
	int ret;

	if (dw_plan_is_lost(&job->plan, entry)) {
		dw_job_miss(job);
		return;
	}
	ret = make_special(job, worker, entry, &why);
	if (ret < 0)
		dw_job_fail(job, entry, ret, why);
}

int dw_special_entries_make(struct job *job, dwarfs_error **err)
{
	return dw_job_each(job, job->others.count, make_one_special, err);
}

/* -- further names ------------------------------------------------------------------- */

static int give_name(int dir_fd, int fd, const char *temporary, const char *name,
		     dwarfs_error **err)
{
	int ret = dw_create_close(fd);

	if (ret < 0)
		return dw_fail_errno(err, -ret, "cannot write the file");
	if ((ret = dw_create_rename(dir_fd, temporary, name)) < 0)
		return dw_fail_errno(err, -ret, "cannot make the file");
	return 0;
}

/* Write a file of its own, whole or not at all. */
static int make_copy(struct job *job, struct worker *worker, dwarfs_entry entry,
		     int dir_fd, const char *name, dwarfs_error **err)
{
	struct attributes attributes = dw_job_attributes(job, worker->stat);
	dwarfs_inode inode = dwarfs_stat_inode(worker->stat);
	char temporary[FILES_NAME_ROOM];
	int fd, ret, restored = 0;

	if ((ret = dw_create_is_there(dir_fd, name)) != 0)
		return dw_fail_errno(err, ret > 0 ? EEXIST : -ret,
				     "cannot make the file");
	dw_files_temporary(job, inode, temporary);
	fd = dw_create_file(dir_fd, temporary, 0600);
	if (fd < 0)
		return dw_fail_errno(err, -fd, "cannot make the file");
	if (dw_plan_has_default_acl(&job->plan, entry))
		ret = dw_xattrs_remove_inherited(fd, "", false, err);
	if (ret == 0)
		ret = dw_contents_write(job, inode, fd, err);
	if (ret == 0)
		restored = dw_attributes_restore(job, inode, fd, "", &attributes, err);
	if (ret == 0)
		ret = give_name(dir_fd, fd, temporary, name, err);
	else
		dw_create_close(fd);
	if (ret < 0)
		dw_create_undo_file(dir_fd, temporary);
	return ret < 0 ? ret : restored;
}

/* Whether to copy the file when link() has failed with this error. */
static bool links_are_refused(int errnum)
{
	return errnum == EMLINK || errnum == EPERM || errnum == EOPNOTSUPP ||
	       errnum == ENOSYS || errnum == EXDEV;
}

/* 1 if the name was linked to the existing file, 0 if it needs a copy. */
static int make_link(struct job *job, struct worker *worker, int dir_fd, const char *name,
		     dwarfs_error **err)
{
	char first_name[DWARFS_NAME_BUFFER_BYTES];
	dwarfs_entry first;
	int ret, first_fd;
	uint32_t dir;

	ret = dw_links_find(&job->links, worker->stat, &first, err);
	if (ret < 0 || first.number == 0)
		return ret;
	if ((ret = dw_plan_dir_of(&job->plan, first, &dir, err)) < 0 ||
	    (ret = dw_plan_name(&job->plan, first, first_name, err)) < 0 ||
	    (ret = dw_cursor_go(&job->link_cursor, dir, &first_fd, err)) < 0)
		return ret;
	ret = dw_create_hard_link(first_fd, first_name, dir_fd, name);
	if (ret < 0 && links_are_refused(-ret))
		return 0;
	if (ret < 0)
		return dw_fail_errno(err, -ret, "cannot make the hard link");
	return 1;
}

/* Another name of an inode that has been written, or failed to be. */
static int make_other_name(struct job *job, struct worker *worker, dwarfs_entry entry,
			   dwarfs_error **err)
{
	char name[DWARFS_NAME_BUFFER_BYTES];
	int ret, dir_fd;

	if ((ret = dwarfs_entry_stat(job->image, entry, worker->stat, err)) < 0 ||
	    (ret = locate_special(job, worker, entry, &dir_fd, name, err)) < 0 ||
	    (ret = make_link(job, worker, dir_fd, name, err)) < 0)
		return ret;
	if (ret == 0 && (ret = make_copy(job, worker, entry, dir_fd, name, err)) == 0)
		dw_links_add(&job->links, worker->stat, entry);
	return ret < 0 ? ret : 0;
}

void dw_hard_links_make(struct job *job)
{
	const struct entries *others = &job->files.others;
	struct worker *worker = &job->workers[0];

	for (size_t i = 0; i < others->count && dw_job_continues(job); i++) {
		dwarfs_entry entry = others->list[i];
		dwarfs_error *why = NULL;
		uint64_t before = atomic_load(&job->counts.bytes_done);
		int ret;

		atomic_store(&job->counts.shown, entry.number);
		ret = make_other_name(job, worker, entry, &why);
		if (ret < 0)
			dw_job_fail(job, entry, ret, why);
		atomic_store(&job->counts.bytes_done,
			     before + dwarfs_stat_bytes(worker->stat));
		atomic_fetch_add(&job->counts.items_done, 1);
	}
}
