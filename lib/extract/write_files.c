/* SPDX-License-Identifier: MIT */
/*
 * extract/write_files: write the contents of all files, in the order of their data.
 *
 * The threads that decompress blocks pass on parts of the files of the plan. Each file
 * has a temporary name in its directory until it is complete, and any thread may write a
 * part of a file in several blocks. For the 85,000 small files of 24 releases of a
 * program, the temporary names take 7 % more processor time on a memory file system
 * (median of 9 pairs of runs, 0.97 to 1.12). Holes are not written; zeros that are stored
 * as data are.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "extract/file_attributes.h"
#include "extract/write_files.h"
#include "os/create.h"
#include "os/file_io.h"

/* Bytes written at once. */
#define PIECE_BYTES ((size_t)1 << 20)

struct file {
	dwarfs_entry entry;
	dwarfs_inode inode;
	_Atomic enum { FILE_NEW, FILE_MADE, FILE_WRITTEN, FILE_LOST } state;
};

void dw_files_init(struct files *files)
{
	*files = (struct files){ 0 };
	for (size_t i = 0; i < FILES_LOCKS; i++)
		pthread_mutex_init(&files->locks[i], NULL);
}

void dw_files_release(struct files *files)
{
	dw_free(files->list);
	dw_free(files->file_of);
	dw_free(files->others.list);
	for (size_t i = 0; i < FILES_LOCKS; i++)
		pthread_mutex_destroy(&files->locks[i]);
}

void dw_files_temporary(const struct job *job, dwarfs_inode inode,
			char name[FILES_NAME_ROOM])
{
	snprintf(name, FILES_NAME_ROOM, ".dwarfs-%016" PRIx64 "-%" PRIx32, job->token,
		 inode.number);
}

/* -- directories of files ------------------------------------------------------------ */

struct file_location {
	int dir;
	char name[DWARFS_NAME_BUFFER_BYTES];
	char temporary[FILES_NAME_ROOM]; /* until it is complete */
	bool has_default_acl;
};

/* Find the directory of a file. Its descriptor is valid until the thread opens another
 * one. */
static int locate_file(struct job *job, struct worker *worker, const struct file *file,
		       struct file_location *location, dwarfs_error **err)
{
	uint32_t dir;
	int ret;

	if ((ret = dw_plan_dir_of(&job->plan, file->entry, &dir, err)) < 0 ||
	    (ret = dw_plan_name(&job->plan, file->entry, location->name, err)) < 0)
		return ret;
	location->has_default_acl = job->plan.dirs[dir].has_default_acl;
	dw_files_temporary(job, file->inode, location->temporary);
	return dw_cursor_go(&worker->cursor, dir, &location->dir, err);
}

static int make_file(const struct file_location *location, uint32_t mode, bool is_long,
		     int *fd_out, dwarfs_error **err)
{
	int ret = 0;

	/* Existing files are not overwritten; check early for large files. */
	if (is_long && (ret = dw_create_is_there(location->dir, location->name)))
		return dw_fail_errno(err, ret > 0 ? EEXIST : -ret,
				     "cannot make the file");
	ret = dw_create_file(location->dir, location->temporary, mode);
	if (ret < 0)
		return dw_fail_errno(err, -ret, "cannot make the file");
	*fd_out = ret;
	if (!location->has_default_acl ||
	    (ret = dw_xattrs_remove_inherited(*fd_out, "", false, err)) == 0)
		return 0;
	dw_create_close(*fd_out);
	dw_create_undo_file(location->dir, location->temporary);
	return ret;
}

/* -- writing ------------------------------------------------------------------------- */

static int write_file_piece(struct job *job, int fd, const char *data, size_t bytes,
			    uint64_t offset, dwarfs_error **err)
{
	while (bytes > 0) {
		size_t part = bytes < PIECE_BYTES ? bytes : PIECE_BYTES;
		int ret = dw_fd_write_at(fd, data, part, offset);

		if (ret < 0)
			return dw_fail_errno(err, -ret, "cannot write the file");
		atomic_fetch_add_explicit(&job->counts.bytes_done, part,
					  memory_order_relaxed);
		atomic_fetch_add_explicit(&job->counts.bytes_out, part,
					  memory_order_relaxed);
		data += part;
		bytes -= part;
		offset += part;
		if (bytes > 0 && !dw_job_continues(job))
			return dw_fail(err, DWARFS_ERR_CANCELLED, "cancelled");
	}
	return 0;
}

/* Returns the end of the last piece. */
static int write_pieces(struct job *job, int fd, const dwarfs_part *part,
			uint64_t *end_out, dwarfs_error **err)
{
	uint64_t offset, end = 0;
	const void *data;
	size_t bytes;
	int ret = 0;

	for (size_t i = 0;
	     ret == 0 && (data = dwarfs_part_piece(part, i, &bytes, &offset)); i++) {
		ret = write_file_piece(job, fd, data, bytes, offset, err);
		end = offset + bytes;
	}
	*end_out = end;
	return ret;
}

/* close(), which is where some file systems report that a write failed. */
static int close_written_file(int fd, int ret, dwarfs_error **err)
{
	int closed = dw_create_close(fd);

	if (ret < 0 || closed == 0)
		return ret;
	return dw_fail_errno(err, -closed, "cannot write the file");
}

/* The contents are complete: set the attributes, and rename. If attributes cannot be set,
 * the file is kept. Closes it. */
static int complete(struct job *job, struct worker *worker, struct file *file,
		    const struct file_location *location, int fd, dwarfs_error **err)
{
	struct attributes attributes = dw_job_attributes(job, worker->stat);
	int restored = dw_attributes_restore(job, file->inode, fd, "", &attributes, err);
	int ret = dw_create_close(fd);

	if (ret < 0)
		return dw_fail_errno(err, -ret, "cannot write the file");
	ret = dw_create_rename(location->dir, location->temporary, location->name);
	if (ret < 0)
		return dw_fail_errno(err, -ret, "cannot make the file");
	atomic_fetch_add(&job->counts.bytes_done,
			 dwarfs_stat_bytes(worker->stat) -
				 dwarfs_stat_allocated_bytes(worker->stat));
	atomic_store(&file->state, FILE_WRITTEN);
	dw_links_add(&job->links, worker->stat, file->entry);
	return restored;
}

/* A file that is in one part. */
static int write_whole(struct job *job, struct worker *worker, struct file *file,
		       const dwarfs_part *part, dwarfs_error **err)
{
	uint64_t size = dwarfs_part_file_bytes(part), end;
	struct attributes attributes;
	struct file_location location;
	int ret, fd;

	if ((ret = dwarfs_entry_stat(job->image, file->entry, worker->stat, err)) < 0 ||
	    (ret = locate_file(job, worker, file, &location, err)) < 0)
		return ret;
	attributes = dw_job_attributes(job, worker->stat);
	if ((ret = make_file(&location, dw_create_mode(&attributes), size > PIECE_BYTES,
			     &fd, err)) < 0)
		return ret;
	ret = write_pieces(job, fd, part, &end, err);
	if (ret == 0 && end < size && (ret = dw_create_resize(fd, size)) < 0)
		ret = dw_fail_errno(err, -ret, "cannot set the size of the file");
	if (ret == 0)
		ret = complete(job, worker, file, &location, fd, err);
	else
		close_written_file(fd, ret, err);
	if (ret < 0 && file->state != FILE_WRITTEN)
		dw_create_undo_file(location.dir, location.temporary);
	return ret;
}

/* -- files of several parts ---------------------------------------------------------- */

static pthread_mutex_t *lock_of(struct job *job, const struct file *file)
{
	return &job->files.locks[file->inode.number % FILES_LOCKS];
}

/* Under its lock. */
static int open_shared(const struct file_location *location, struct file *file,
		       int *fd_out, dwarfs_error **err)
{
	int ret;

	if (file->state == FILE_NEW) {
		if ((ret = make_file(location, 0600, true, fd_out, err)) == 0)
			file->state = FILE_MADE;
		return ret;
	}
	ret = dw_create_open_file(location->dir, location->temporary);
	if (ret < 0)
		return dw_fail_errno(err, -ret, "cannot write the file");
	*fd_out = ret;
	return 0;
}

/* 1: it is lost already. */
static int open_part(struct job *job, struct worker *worker, struct file *file,
		     struct file_location *location, int *fd_out, dwarfs_error **err)
{
	int ret = locate_file(job, worker, file, location, err);

	if (ret < 0)
		return ret;
	pthread_mutex_lock(lock_of(job, file));
	ret = file->state == FILE_LOST ? 1 : open_shared(location, file, fd_out, err);
	pthread_mutex_unlock(lock_of(job, file));
	return ret;
}

static int write_part(struct job *job, struct worker *worker, struct file *file,
		      const dwarfs_part *part, dwarfs_error **err)
{
	struct file_location location;
	uint64_t end;
	int fd, ret = open_part(job, worker, file, &location, &fd, err);

	if (ret != 0)
		return ret < 0 ? ret : 0;
	ret = write_pieces(job, fd, part, &end, err);
	return close_written_file(fd, ret, err);
}

/* All parts are written. */
static int write_end(struct job *job, struct worker *worker, struct file *file,
		     const dwarfs_part *part, dwarfs_error **err)
{
	struct file_location location;
	int fd, ret;

	if ((ret = dwarfs_entry_stat(job->image, file->entry, worker->stat, err)) < 0 ||
	    (ret = open_part(job, worker, file, &location, &fd, err)) != 0)
		return ret < 0 ? ret : 0;
	if ((ret = dw_create_resize(fd, dwarfs_part_file_bytes(part))) < 0) {
		ret = dw_fail_errno(err, -ret, "cannot set the size of the file");
		return close_written_file(fd, ret, err);
	}
	return complete(job, worker, file, &location, fd, err);
}

/*
 * Remove an incomplete file; by its path if its directory cannot be opened any more: the
 * temporary name is unique, so no other file can be removed.
 */
static void remove_incomplete(struct job *job, struct worker *worker,
			      const struct file *file)
{
	auto_free char *path = NULL, *at = NULL;
	struct file_location location;
	char *end;

	if (locate_file(job, worker, file, &location, NULL) == 0) {
		dw_create_undo_file(location.dir, location.temporary);
		return;
	}
	path = dw_plan_path(&job->plan, ".", file->entry);
	if (!path || !(end = strrchr(path, '/')))
		return;
	end[1] = '\0';
	at = dw_malloc(strlen(path) + FILES_NAME_ROOM);
	if (!at)
		return;
	strcpy(at, path);
	dw_files_temporary(job, file->inode, at + strlen(path));
	dw_create_undo_file(job->root_fd, at);
}

/* It is as if it had never been. Takes why. */
static void fail_file(struct job *job, struct worker *worker, struct file *file, int code,
		      dwarfs_error *why)
{
	int before;

	pthread_mutex_lock(lock_of(job, file));
	before = atomic_exchange(&file->state, FILE_LOST);
	if (before == FILE_MADE)
		remove_incomplete(job, worker, file);
	pthread_mutex_unlock(lock_of(job, file));
	if (before == FILE_LOST) {
		dwarfs_error_free(why);
		return;
	}
	atomic_fetch_add(&job->counts.items_done, 1);
	dw_job_fail(job, file->entry, code, why);
}

/* -- all of them --------------------------------------------------------------------- */

static struct file *file_of_inode(const struct job *job, dwarfs_inode inode)
{
	return &job->files.list[job->files.file_of[inode.number] - 1];
}

/* Ends the reading when the run was stopped. */
static int stop_code(const struct job *job)
{
	return atomic_load(&job->stopped) ? DWARFS_ERR_CANCELLED : 0;
}

static int write_received_part(const dwarfs_part *part, uint32_t thread,
			       dwarfs_error **err, void *user)
{
	struct job *job = user;
	struct file *file = file_of_inode(job, dwarfs_part_inode(part));
	struct worker *worker = &job->workers[thread];
	bool is_last = dwarfs_part_is_last(part);
	dwarfs_error *why = NULL;
	int ret;

	if (file->state == FILE_LOST)
		return stop_code(job);
	atomic_store_explicit(&job->counts.shown, file->entry.number,
			      memory_order_relaxed);
	if (!is_last)
		ret = write_part(job, worker, file, part, &why);
	else if (file->state == FILE_NEW)
		ret = write_whole(job, worker, file, part, &why);
	else
		ret = write_end(job, worker, file, part, &why);
	if (ret < 0 && file->state == FILE_WRITTEN)
		dw_job_fail(job, file->entry, ret, why);
	else if (ret < 0)
		fail_file(job, worker, file, ret, why);
	if (is_last && file->state == FILE_WRITTEN)
		atomic_fetch_add_explicit(&job->counts.items_done, 1,
					  memory_order_relaxed);
	return stop_code(job);
}

static int fail_unreadable(dwarfs_inode inode, const dwarfs_error *cause, uint32_t thread,
			   dwarfs_error **err, void *user)
{
	struct job *job = user;
	dwarfs_error *why = NULL;

	dw_error_copy(&why, dwarfs_error_code(cause), cause);
	dw_explain(&why, dwarfs_error_code(cause), "cannot read the contents");
	fail_file(job, &job->workers[thread], file_of_inode(job, inode),
		  dwarfs_error_code(cause), why);
	return stop_code(job);
}

/* In the thread of the caller. */
static int report_write_progress(const dwarfs_progress *progress, dwarfs_error **err,
				 void *user)
{
	struct job *job = user;

	dw_job_tick(job);
	return stop_code(job);
}

/* Incomplete files are removed when the run is stopped. */
static void remove_incomplete_files(struct job *job)
{
	for (size_t i = 0; i < job->files.count; i++) {
		struct file *file = &job->files.list[i];

		if (file->state == FILE_MADE)
			remove_incomplete(job, &job->workers[0], file);
	}
}

/* Let each inode have one file, and find its further names. */
static int add_regular_file(struct job *job, dwarfs_entry entry, dwarfs_error **err)
{
	struct files *files = &job->files;
	dwarfs_inode inode;
	int ret = dwarfs_entry_inode(job->image, entry, &inode, err);

	if (ret < 0)
		return ret;
	if (files->file_of[inode.number] != 0)
		return dw_entries_add(&files->others, entry, err);
	if ((ret = dw_grow(&files->list, &files->room, files->count + 1, err)) < 0)
		return ret;
	files->list[files->count++] = (struct file){ .entry = entry, .inode = inode };
	files->file_of[inode.number] = (uint32_t)files->count;
	return 0;
}

static int list_regular_files(struct job *job, dwarfs_error **err)
{
	const struct entries *regular = &job->plan.regular;
	int ret = 0;

	job->files.file_of = dw_calloc(dwarfs_image_inode_count(job->image),
				       sizeof(*job->files.file_of));
	if (!job->files.file_of)
		return dw_fail_nomem(err);
	for (size_t i = 0; i < regular->count && ret == 0; i++) {
		if (dw_plan_is_lost(&job->plan, regular->list[i]))
			dw_job_miss(job);
		else
			ret = add_regular_file(job, regular->list[i], err);
	}
	return ret;
}

DW_DEFINE_AUTO(extract_task, dwarfs_task *, dwarfs_task_free)

int dw_files_write(struct job *job, dwarfs_error **err)
{
	struct files *files = &job->files;
	auto_free dwarfs_inode *inodes = NULL;
	DW_AUTO(extract_task) dwarfs_task *task = NULL;
	auto_error dwarfs_error *why = NULL;
	int ret = list_regular_files(job, err);

	if (ret < 0 || files->count == 0)
		return ret;
	inodes = dw_calloc(files->count, sizeof(*inodes));
	if (!inodes)
		return dw_fail_nomem(err);
	for (size_t i = 0; i < files->count; i++)
		inodes[i] = files->list[i].inode;
	if ((ret = dwarfs_task_new(&task, err)) < 0)
		return ret;
	dwarfs_task_set_progress(task, report_write_progress, job);
	ret = dwarfs_read_parallel(job->image, inodes, files->count,
				   job->extract->writers, write_received_part,
				   fail_unreadable, job, task, &why);
	remove_incomplete_files(job);
	if (ret == 0 || (ret == DWARFS_ERR_CANCELLED && atomic_load(&job->stopped)))
		return 0;
	return dw_error_copy(err, ret, why);
}
