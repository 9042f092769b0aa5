/* SPDX-License-Identifier: MIT */
/*
 * os/output: a file that appears whole or not at all.
 *
 * Takes bytes from first to last. If the system supports it, the file has no name until
 * it is complete, so that even a killed process leaves nothing. Otherwise, and for the moment
 * in which it replaces another file, it has a temporary name in the same directory
 * (posix/temporary_name.h), for which processes exclude each other. Those with unnamed files do
 * not: when the first one completes its file, the others fail, since the path has another file
 * than at the beginning.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/dir.h"
#include "os/file_io.h"
#include "os/output.h"
#include "os/posix/temporary_name.h"

#define PIECE_BYTES ((size_t)1 << 20)
#define WAIT_MS	    50

struct output {
	int fd;
	int lock_fd; /* the same file, locked; -1 for none */
	bool owns_fd;
	bool waits; /* a pipe or socket: poll before each piece */
	bool overwrite;
	char *path;	 /* of the file; NULL if it is written in place */
	char *fifo;	 /* path of a named pipe, which fd has once a process reads it */
	char *temporary; /* its current name; NULL for none */
	dev_t device;
	ino_t inode;
	bool regular;
	bool sync; /* sync the file before it is named, and its directory afterwards */
	bool replaces; /* the file it replaces is this: */
	dev_t old_device;
	ino_t old_inode;
};

static struct output *new_output(int fd)
{
	struct output *output = dw_calloc(1, sizeof(*output));

	if (output) {
		output->fd = fd;
		output->lock_fd = -1;
	}
	return output;
}

/* A process that waits for the first byte of a named pipe must see its end, if there is none. */
static void end_fifo(struct output *output)
{
	if (!output->fifo || output->fd >= 0)
		return;
	output->fd = dw_open_file(output->fifo, O_WRONLY | O_NOCTTY | O_NONBLOCK);
	output->owns_fd = output->fd >= 0;
}

void dw_output_free(struct output *output)
{
	if (!output)
		return;
	end_fifo(output);
	if (output->temporary)
		unlink(output->temporary); /* while it is locked */
	if (output->owns_fd)
		dw_fd_close(output->fd);
	if (output->lock_fd >= 0)
		dw_fd_close(output->lock_fd);
	dw_free(output->temporary);
	dw_free(output->fifo);
	dw_free(output->path);
	dw_free(output);
}

static int remember_target(struct output *output, dwarfs_error **err)
{
	struct stat st;

	if (fstat(output->fd, &st) != 0)
		return dw_fail_errno(err, errno, "cannot inspect the output");
	output->device = st.st_dev;
	output->inode = st.st_ino;
	output->regular = S_ISREG(st.st_mode);
	output->waits = S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode);
	return 0;
}

/* Open and lock the new file at a path. The lock has a descriptor of its own, as the other one is
 * closed before the file gets its final name: only that may report a failed write. */
static int lock_output(struct output *output, const char *path)
{
	output->lock_fd = dw_open_file(path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	return output->lock_fd < 0 ? -errno : dw_lock_file(output->lock_fd);
}

/* Another process may remove the new file before it is locked. */
static int create_named(void *file, const char *name)
{
	struct output *output = file;

	output->fd = dw_open_file(name, O_WRONLY | O_CREAT | O_EXCL);
	if (output->fd < 0)
		return -errno;
	if (lock_output(output, name) != -EBUSY && dw_has_name(output->fd, name))
		return 0;
	if (output->lock_fd >= 0)
		dw_fd_close(output->lock_fd);
	dw_fd_close(output->fd);
	output->lock_fd = output->fd = -1;
	return -EEXIST;
}

/* A path of an unnamed file that can be linked without privileges. */
static void link_source(int fd, char *name, size_t room)
{
	snprintf(name, room, "/proc/self/fd/%d", fd);
}

static int open_unnamed(struct output *output)
{
#ifdef O_TMPFILE
	auto_free char *folder = dw_folder_of(output->path);
	char source[64];

	if (!folder)
		return -ENOMEM;
	output->fd = dw_open_file(folder, O_WRONLY | O_TMPFILE);
	if (output->fd < 0)
		return -errno;
	link_source(output->fd, source, sizeof(source));
	if (access(source, F_OK) == 0) {
		/* No other process can have locked this new file. */
		(void)lock_output(output, source);
		return 0;
	}
	dw_fd_close(output->fd);
	output->fd = -1;
#endif
	return -EOPNOTSUPP;
}

/* A replaced file keeps its owner and mode, as far as permitted. */
static void keep_owner_and_mode(int fd, const struct stat *old)
{
	if (fchown(fd, old->st_uid, old->st_gid) != 0 &&
	    fchown(fd, (uid_t)-1, old->st_gid) != 0) {
		/* The mode is kept all the same. */
	}
	(void)fchmod(fd, old->st_mode & 0777);
}

static int fail_busy(const struct output *output, dwarfs_error **err)
{
	return dw_error_at_path(err,
				dw_fail(err, DWARFS_ERR_EXISTS,
					"another process is writing the output file '%s'",
					output->path),
				output->path);
}

static int open_beside(struct output *output, const struct stat *old, dwarfs_error **err)
{
	int ret = dw_temporary_name_clean_up(output->path);

	if (ret == 0)
		ret = open_unnamed(output);
	if (ret < 0 && ret != -ENOENT && ret != -ENOTDIR && ret != -EACCES &&
	    ret != -EBUSY && ret != -ENOMEM)
		ret = dw_temporary_name_find(output->path, create_named, output,
					     &output->temporary);
	if (ret == -EBUSY)
		return fail_busy(output, err);
	if (ret < 0)
		return dw_output_fail(err, -ret, "cannot open output file", output->path);
	output->owns_fd = true;
	if (old) {
		keep_owner_and_mode(output->fd, old);
		output->replaces = true;
		output->old_device = old->st_dev;
		output->old_inode = old->st_ino;
	}
	return remember_target(output, err);
}

static int open_in_place(struct output *output, const char *path, int flags,
			 dwarfs_error **err)
{
	output->fd = dw_open_file(path, O_WRONLY | O_NOCTTY | flags);
	if (output->fd < 0)
		return dw_output_fail(err, errno, "cannot open output file", path);
	output->owns_fd = true;
	return remember_target(output, err);
}

/* A blocking open() of a named pipe waits for a process that reads it, and cannot be
 * cancelled. Without such a process the pipe stays closed until it is written. */
static int open_fifo(struct output *output, dwarfs_error **err)
{
	auto_error dwarfs_error *why = NULL;
	int flags, ret = open_in_place(output, output->fifo, O_NONBLOCK, &why);

	if (ret < 0 && dwarfs_error_errno(why) == ENXIO)
		return 0;
	if (ret < 0)
		return dw_error_copy(err, ret, why);
	flags = fcntl(output->fd, F_GETFL);
	if (flags < 0 || fcntl(output->fd, F_SETFL, flags & ~O_NONBLOCK) < 0)
		return dw_output_fail(err, errno, "cannot open output file",
				      output->fifo);
	return 0;
}

static int wait_for_fifo(struct output *output, struct dwarfs_progress *progress,
			 dwarfs_error **err)
{
	while (output->fifo && output->fd < 0) {
		int ret = dw_progress_tick(progress, err);

		if (ret == 0)
			ret = open_fifo(output, err);
		if (ret < 0)
			return ret;
		if (output->fd < 0)
			poll(NULL, 0, WAIT_MS);
	}
	return 0;
}

/* A link whose file is missing would be replaced by the output, while others are followed. */
static int check_no_link(const char *path, dwarfs_error **err)
{
	struct stat st;

	if (lstat(path, &st) != 0)
		return 0;
	return dw_error_at_path(err,
				dw_fail(err, DWARFS_ERR_NOT_FOUND,
					"output file '%s' is a symbolic link to a file "
					"that does not exist",
					path),
				path);
}

int dw_output_check(const char *path, dwarfs_error **err)
{
	auto_free char *folder = dw_folder_of(path);
	struct stat st;
	bool exists;

	if (!folder)
		return dw_fail_nomem(err);
	exists = stat(path, &st) == 0;
	if ((!exists && errno != ENOENT) || access(folder, W_OK | X_OK) != 0)
		return dw_output_fail(err, errno, "cannot open output file", path);
	return exists ? 0 : check_no_link(path, err);
}

int dw_output_create(const char *path, bool overwrite, struct output **output_out,
		     dwarfs_error **err)
{
	auto_output struct output *output = new_output(-1);
	auto_free char *real = NULL;
	struct stat st;
	bool exists;
	int ret;

	if (!output)
		return dw_fail_nomem(err);
	exists = stat(path, &st) == 0;
	if (!exists && errno != ENOENT)
		return dw_output_fail(err, errno, "cannot open output file", path);
	if (exists && S_ISDIR(st.st_mode))
		return dw_output_fail(err, EISDIR, "cannot open output file", path);
	if (exists && !S_ISREG(st.st_mode)) {
		if (S_ISFIFO(st.st_mode) && !(output->fifo = dw_strdup(path)))
			return dw_fail_nomem(err);
		ret = output->fifo ? open_fifo(output, err)
				   : open_in_place(output, path, 0, err);
		if (ret < 0)
			return ret;
		*output_out = dw_steal(output);
		return 0;
	}
	if (exists && !overwrite)
		return dw_output_fail_exists(err, path);
	if (!exists && (ret = check_no_link(path, err)) < 0)
		return ret;
	/* Replace the target of a link. */
	if (exists && !(real = dw_real_path(path)) && errno == ENOMEM)
		return dw_fail_nomem(err);
	output->path = real ? dw_steal(real) : dw_strdup(path);
	output->overwrite = overwrite;
	if (!output->path)
		return dw_fail_nomem(err);
	if ((ret = open_beside(output, exists ? &st : NULL, err)) < 0)
		return ret;
	*output_out = dw_steal(output);
	return 0;
}

int dw_output_to_fd(int fd, struct output **output_out, dwarfs_error **err)
{
	auto_output struct output *output = new_output(fd);
	int ret;

	if (!output)
		return dw_fail_nomem(err);
	if ((ret = remember_target(output, err)) < 0)
		return ret;
	*output_out = dw_steal(output);
	return 0;
}

void dw_output_fds(const struct output *output, int *writer_out, int *reader_out)
{
	bool is_own = output->path && output->fd >= 0 && output->lock_fd >= 0;

	*writer_out = is_own ? output->fd : -1;
	*reader_out = is_own ? output->lock_fd : -1;
}

bool dw_output_is(const struct output *output, const struct os_stat *found)
{
	if ((found->mode & S_IFMT) != S_IFREG)
		return false;
	return (output->regular && (dev_t)found->device == output->device &&
		found->inode == output->inode) ||
	       (output->replaces && (dev_t)found->device == output->old_device &&
		found->inode == output->old_inode);
}

char *dw_output_directory(const struct output *output)
{
	return output->path ? dw_folder_of(output->path) : NULL;
}

/* Wait until a pipe accepts bytes. A small piece is then written without blocking. */
static int wait_for_reader(struct output *output, struct dwarfs_progress *progress,
			   dwarfs_error **err)
{
	for (;;) {
		struct pollfd poller = { .fd = output->fd, .events = POLLOUT };
		int ready = poll(&poller, 1, WAIT_MS), ret;

		if (ready < 0 && errno != EINTR)
			return dw_fail_errno(err, errno, "cannot write the output");
		if ((ret = dw_progress_tick(progress, err)) < 0)
			return ret;
		if (ready > 0)
			return 0;
	}
}

/*
 * Write to a pipe or socket. If nothing reads it, the result is -EPIPE, and the SIGPIPE that this
 * thread gets then is taken away, unless one was pending before: the library changes no signal of
 * the process, and a program may have none of its own for it.
 */
static int write_to_reader(int fd, const void *data, size_t bytes)
{
	sigset_t broken, before, pending;
	bool was_pending;
	int ret, taken;

	sigemptyset(&broken);
	sigaddset(&broken, SIGPIPE);
	sigpending(&pending);
	was_pending = sigismember(&pending, SIGPIPE) == 1;
	pthread_sigmask(SIG_BLOCK, &broken, &before);
	ret = dw_fd_write(fd, data, bytes);
	if (ret == -EPIPE && !was_pending && sigpending(&pending) == 0 &&
	    sigismember(&pending, SIGPIPE) == 1)
		sigwait(&broken, &taken);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return ret;
}

int dw_output_write(struct output *output, const void *data, size_t bytes,
		    struct dwarfs_progress *progress, dwarfs_error **err)
{
	int opened = wait_for_fifo(output, progress, err);
	size_t limit = output->waits ? PIPE_BUF : PIECE_BYTES;

	if (opened < 0)
		return opened;
	for (size_t done = 0; done < bytes;) {
		size_t piece = bytes - done < limit ? bytes - done : limit;
		int ret;

		if (output->waits)
			ret = wait_for_reader(output, progress, err);
		else
			ret = dw_progress_tick(progress, err);
		if (ret < 0)
			return ret;
		ret = (output->waits ? write_to_reader : dw_fd_write)(
			output->fd, (const uint8_t *)data + done, piece);
		if (ret < 0)
			return dw_output_fail_write(err, -ret, output->path);
		done += piece;
		progress->bytes_out += piece;
	}
	return 0;
}

/* Give an unnamed file a temporary name. */
static int link_named(void *file, const char *name)
{
	const struct output *output = file;
	char source[64];

	link_source(output->fd, source, sizeof(source));
	return linkat(AT_FDCWD, source, AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0 ? 0
										: -errno;
}

/* -- before the file is named -------------------------------------------------------- */

/* Some file systems, and all pipes, cannot sync. */
static bool cannot_sync(int errnum)
{
	return errnum == EINVAL || errnum == EROFS || errnum == ENOTSUP;
}

static int sync_file(const struct output *output, dwarfs_error **err)
{
	int ret;

	do
		ret = fsync(output->fd);
	while (ret != 0 && errno == EINTR);
	if (ret == 0 || cannot_sync(errno))
		return 0;
	return dw_output_fail_write(err, errno, output->path);
}

/* Some file systems report failed writes only here. */
static int close_output(struct output *output, dwarfs_error **err)
{
	int closed = close(output->fd);

	output->owns_fd = false;
	output->fd = -1;
	if (closed == 0 || errno == EINTR)
		return 0;
	return dw_fail_errno(err, errno, "failed to close output file");
}

/* The same for an unnamed file, which must stay open until it is named. */
static int close_copy(const struct output *output, dwarfs_error **err)
{
	int copy = fcntl(output->fd, F_DUPFD_CLOEXEC, 0);

	if (copy < 0 || (close(copy) < 0 && errno != EINTR))
		return dw_fail_errno(err, errno, "failed to close output file");
	return 0;
}

/* -- the name ------------------------------------------------------------------------ */

static int fail_settling(const struct output *output, int errnum, dwarfs_error **err)
{
	return errnum == EEXIST && !output->overwrite
		       ? dw_output_fail_exists(err, output->path)
		       : dw_output_fail(err, errnum, "cannot create output file",
					output->path);
}

/* Move a closed file to a path that must not exist, atomically for other processes.
 * Without hard links, an empty file reserves the path first. */
static int settle_new(const struct output *output)
{
	int fd;

	if (link(output->temporary, output->path) == 0) {
		unlink(output->temporary);
		return 0;
	}
	if (errno == EEXIST)
		return -EEXIST;
	fd = dw_open_file(output->path, O_WRONLY | O_CREAT | O_EXCL);
	if (fd < 0)
		return -errno;
	dw_fd_close(fd);
	if (rename(output->temporary, output->path) == 0)
		return 0;
	fd = -errno;
	unlink(output->path);
	return fd;
}

/* The file that is replaced is the one of the beginning. As long as this process has the
 * temporary name, no other one that follows these rules replaces it. */
static int check_target(const struct output *output, dwarfs_error **err)
{
	struct stat now;

	if (!output->overwrite || stat(output->path, &now) != 0 ||
	    (output->replaces && now.st_dev == output->old_device &&
	     now.st_ino == output->old_inode))
		return 0;
	return dw_output_fail_changed(err, output->path, output->replaces);
}

/* Close the file, which has a temporary name, and rename it; it is locked until then. */
static int settle_named(struct output *output, dwarfs_error **err)
{
	int ret;

	if ((ret = close_output(output, err)) < 0 ||
	    (ret = check_target(output, err)) < 0)
		return ret;
	if (!output->overwrite)
		ret = settle_new(output);
	else if (rename(output->temporary, output->path) != 0)
		ret = -errno;
	if (ret < 0)
		return fail_settling(output, -ret, err);
	dw_free(output->temporary);
	output->temporary = NULL;
	return 0;
}

/* Link an unnamed file to its path, without a temporary name; then close it. */
static int settle_unnamed(struct output *output, dwarfs_error **err)
{
	char source[64];
	struct stat st;
	int ret = close_copy(output, err);

	if (ret < 0)
		return ret;
	link_source(output->fd, source, sizeof(source));
	if (linkat(AT_FDCWD, source, AT_FDCWD, output->path, AT_SYMLINK_FOLLOW) != 0)
		return fail_settling(output, errno, err);
	ret = close_output(output, err);
	if (ret < 0 && lstat(output->path, &st) == 0 && st.st_dev == output->device &&
	    st.st_ino == output->inode)
		unlink(output->path);
	return ret;
}

/* Sync the directory. The file is complete in any case. */
static void sync_folder(const struct output *output)
{
	auto_free char *folder = dw_folder_of(output->path);
	int fd = folder ? dw_open_file(folder, O_RDONLY | O_DIRECTORY) : -1;

	if (fd < 0)
		return;
	(void)fsync(fd);
	dw_fd_close(fd);
}

int dw_output_commit(struct output *output, dwarfs_error **err)
{
	int ret;

	if (output->sync && output->regular && (ret = sync_file(output, err)) < 0)
		return ret;
	if (!output->owns_fd)
		return 0;
	if (!output->path)
		return close_output(output, err);
	ret = output->overwrite && !output->temporary
		      ? dw_temporary_name_find(output->path, link_named, output,
					       &output->temporary)
		      : 0;
	if (ret == -EBUSY)
		return fail_busy(output, err);
	if (ret < 0)
		return fail_settling(output, -ret, err);
	ret = output->temporary ? settle_named(output, err) : settle_unnamed(output, err);
	if (ret == 0 && output->sync)
		sync_folder(output);
	return ret;
}

void dw_output_set_sync(struct output *output, bool sync)
{
	output->sync = sync;
}
