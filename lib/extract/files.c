/* SPDX-License-Identifier: MIT */
/*
 * extract/files: the contents of all files, piece by piece in the order of their data.
 *
 * Takes the files that the walk has found, and blocks as they come from the workers of
 * the context. A file that is spread over blocks is closed when another one comes, and
 * opened again. Holes are never written; zeros that are stored as data are.
 */
#include "base/context.h"
#include "extract/job.h"
#include "os/create.h"
#include "os/file.h"

struct file {
	dwarfs_entry entry;
	dwarfs_inode inode;
	enum { FILE_NEW, FILE_MADE, FILE_WRITTEN, FILE_LOST } state;
	bool has_holes;
};

int dw_files_add(struct files *files, const dwarfs_image *image, dwarfs_entry entry,
		 dwarfs_inode inode, dwarfs_error **err)
{
	uint32_t inodes = dwarfs_image_inode_count(image);
	int ret;

	if (!files->file_of &&
	    !(files->file_of = dw_calloc(inodes, sizeof(*files->file_of))))
		return dw_fail_nomem(err);
	if (inode >= inodes)
		return dw_fail(err, DWARFS_ERR_CORRUPT, "inode %" PRIu32 " of %" PRIu32,
			       inode, inodes);
	if (files->file_of[inode] != 0) {
		ret = dw_grow(&files->others, &files->other_room, files->other_count + 1,
			      err);
		if (ret == 0)
			files->others[files->other_count++] = entry;
		return ret;
	}
	if ((ret = dw_grow(&files->list, &files->room, files->count + 1, err)) < 0)
		return ret;
	files->list[files->count++] = (struct file){ .entry = entry, .inode = inode };
	files->file_of[inode] = (uint32_t)files->count;
	return 0;
}

void dw_files_release(struct files *files)
{
	free(files->list);
	free(files->file_of);
	free(files->others);
	*files = (struct files){ 0 };
}

/* -- one file ------------------------------------------------------------------------ */

/* Where it stands; the descriptor is good until the next call. */
static int place_of(struct job *job, const struct file *file, int *dir_fd_out,
		    char name[DWARFS_NAME_ROOM], dwarfs_error **err)
{
	uint32_t dir;
	int ret;

	if ((ret = dw_plan_dir_of(&job->plan, file->entry, &dir, err)) < 0 ||
	    (ret = dw_plan_name(&job->plan, file->entry, name, err)) < 0)
		return ret;
	return dw_cursor_go(&job->here, dir, dir_fd_out, err);
}

static int close_current(struct files *files, dwarfs_error **err)
{
	int ret = files->current ? dw_create_close(files->fd) : 0;

	files->current = NULL;
	files->fd = -1;
	return ret < 0 ? dw_fail_errno(err, -ret, "cannot write the file") : 0;
}

/* It is as if it had never been. */
static void lose(struct job *job, struct file *file, int code, dwarfs_error *why)
{
	char name[DWARFS_NAME_ROOM];
	int dir_fd;

	if (job->files.current == file)
		close_current(&job->files, NULL);
	if (file->state == FILE_MADE && place_of(job, file, &dir_fd, name, NULL) == 0)
		dw_create_undo_file(dir_fd, name);
	file->state = FILE_LOST;
	job->progress.items_done++;
	dw_job_fail(job, file->entry, code, why);
}

/* The one that was open may fail now, too. */
static void leave_current(struct job *job)
{
	struct file *file = job->files.current;
	dwarfs_error *why = NULL;
	int ret = close_current(&job->files, &why);

	if (ret < 0)
		lose(job, file, ret, why);
}

static int open_file(struct job *job, struct file *file, dwarfs_error **err)
{
	struct files *files = &job->files;
	char name[DWARFS_NAME_ROOM];
	int dir_fd, fd, ret;

	if (files->current == file)
		return 0;
	leave_current(job);
	dw_job_show(job, file->entry);
	if ((ret = place_of(job, file, &dir_fd, name, err)) < 0)
		return ret;
	if (file->state == FILE_NEW) {
		if ((fd = dw_create_file(dir_fd, name)) < 0)
			return dw_fail_errno(err, -fd, "cannot make the file");
		file->state = FILE_MADE;
	} else if ((fd = dw_create_open_file(dir_fd, name)) < 0) {
		return dw_fail_errno(err, -fd, "cannot write the file");
	}
	files->current = file;
	files->fd = fd;
	return 0;
}

static int write_piece(struct job *job, struct file *file, const void *data, size_t bytes,
		       uint64_t offset, dwarfs_error **err)
{
	int ret;

	job->progress.bytes_done += bytes;
	if (!data) {
		file->has_holes = true;
		return 0;
	}
	ret = dw_create_write(job->files.fd, data, bytes, offset);
	if (ret < 0)
		return dw_fail_errno(err, -ret, "cannot write the file");
	job->progress.bytes_out += bytes;
	return 0;
}

/* All pieces are there. Without its attributes a file stays all the same. */
static int complete(struct job *job, struct file *file, uint64_t size, dwarfs_error **err)
{
	struct attributes attributes;
	const char *what;
	int ret, restored;

	if ((ret = dwarfs_entry_stat(job->image, file->entry, job->stat, err)) < 0)
		return ret;
	if (file->has_holes && (ret = dw_create_resize(job->files.fd, size)) < 0)
		return dw_fail_errno(err, -ret, "cannot set the size of the file");
	attributes = dw_job_attributes(job);
	restored = dw_restore_fd(job->files.fd, &attributes, &what);
	if ((ret = close_current(&job->files, err)) < 0)
		return ret;
	file->state = FILE_WRITTEN;
	job->progress.items_done++;
	if (restored < 0)
		return dw_fail_errno(err, -restored, "cannot set the %s", what);
	dw_links_add(&job->links, job->stat, file->entry);
	return 0;
}

/* -- all of them --------------------------------------------------------------------- */

static struct file *file_of(const struct job *job, dwarfs_inode inode)
{
	return &job->files.list[job->files.file_of[inode] - 1];
}

static int take_piece(dwarfs_inode inode, const void *data, size_t bytes, uint64_t offset,
		      void *user)
{
	struct job *job = user;
	struct file *file = file_of(job, inode);
	dwarfs_error *why = NULL;
	int ret;

	if (file->state == FILE_LOST)
		return job->stopped;
	if ((ret = open_file(job, file, &why)) == 0 &&
	    (ret = bytes > 0 ? write_piece(job, file, data, bytes, offset, &why)
			     : complete(job, file, offset, &why)) == 0)
		ret = dw_progress_tick(&job->progress, &why);
	if (ret < 0 && file->state == FILE_WRITTEN)
		dw_job_fail(job, file->entry, ret, why);
	else if (ret < 0)
		lose(job, file, ret, why);
	return job->stopped;
}

static int take_failure(dwarfs_inode inode, const dwarfs_error *cause, void *user)
{
	struct job *job = user;
	struct file *file = file_of(job, inode);
	dwarfs_error *why = NULL;

	if (file->state != FILE_LOST) {
		dw_fail(&why, dwarfs_error_code(cause), "cannot read the contents: %s",
			dwarfs_error_message(cause));
		lose(job, file, dwarfs_error_code(cause), why);
	}
	return job->stopped;
}

/* What was not completed when the run was stopped does not stay. */
static void clean_up(struct job *job)
{
	struct files *files = &job->files;

	close_current(files, NULL);
	for (size_t i = 0; i < files->count; i++) {
		char name[DWARFS_NAME_ROOM];
		int dir_fd;

		if (files->list[i].state == FILE_MADE &&
		    place_of(job, &files->list[i], &dir_fd, name, NULL) == 0)
			dw_create_undo_file(dir_fd, name);
	}
}

int dw_files_write(struct job *job, dwarfs_error **err)
{
	struct files *files = &job->files;
	auto_free dwarfs_inode *inodes = dw_calloc(files->count, sizeof(*inodes));
	int ret;

	if (files->count == 0)
		return 0;
	if (!inodes)
		return dw_fail_nomem(err);
	for (size_t i = 0; i < files->count; i++)
		inodes[i] = files->list[i].inode;
	files->fd = -1;
	ret = dwarfs_read_in_order(job->image, inodes, files->count, take_piece,
				   take_failure, job, err);
	clean_up(job);
	return ret < 0 ? ret : 0;
}
