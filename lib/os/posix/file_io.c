/* SPDX-License-Identifier: MIT */
/*
 * os/file_io for POSIX.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/file_io.h"

void dw_fd_close(int fd)
{
	int saved = errno;

	if (fd >= 0)
		close(fd);
	errno = saved;
}

static int fail_open(const char *path, dwarfs_error **err)
{
	int ret = dw_fail_errno(err, errno, "cannot open '%s'", path);

	return dw_error_at_path(err, ret, path);
}

static int open_for_reading(const char *path, int flags, int *fd_out, dwarfs_error **err)
{
	int fd;

	do
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | flags);
	while (fd < 0 && errno == EINTR);
	if (fd < 0)
		return fail_open(path, err);
	*fd_out = fd;
	return 0;
}

/* Set blocking mode again, except for pipes, whose readers poll. */
static int let_wait(int fd, const char *path, dwarfs_error **err)
{
	struct stat st;
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || fstat(fd, &st) != 0)
		return fail_open(path, err);
	if (!S_ISFIFO(st.st_mode) && fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) < 0)
		return fail_open(path, err);
	return 0;
}

int dw_fd_open_read(const char *path, int *fd_out, dwarfs_error **err)
{
	auto_fd int fd = -1;
	int ret = open_for_reading(path, O_NONBLOCK, &fd, err);

	if (ret < 0 || (ret = let_wait(fd, path, err)) < 0)
		return ret;
	*fd_out = fd;
	fd = -1;
	return 0;
}

/* Whether this type of file can be read at an offset. */
static int check_kind(mode_t mode, dwarfs_error **err)
{
	const char *what = "neither a regular file nor a block device";

	if (S_ISREG(mode) || S_ISBLK(mode))
		return 0;
	if (S_ISDIR(mode))
		return dw_fail(err, DWARFS_ERR_IS_DIR, "is a directory");
	if (S_ISFIFO(mode))
		what = "a pipe, not a regular file or block device";
	else if (S_ISSOCK(mode))
		what = "a socket, not a regular file or block device";
	else if (S_ISCHR(mode))
		what = "a character device, not a regular file or block device";
	return dw_fail(err, DWARFS_ERR_INVALID, "is %s", what);
}

int dw_fd_open_places(const char *path, int *fd_out, dwarfs_error **err)
{
	auto_fd int fd = -1;
	struct stat st;
	int ret;

	/* Opening some devices has side effects. */
	if (stat(path, &st) != 0)
		return fail_open(path, err);
	if ((ret = check_kind(st.st_mode, err)) < 0 ||
	    (ret = open_for_reading(path, O_NONBLOCK, &fd, err)) < 0)
		return ret;
	/* The file may have been replaced meanwhile. */
	if (fstat(fd, &st) != 0)
		return fail_open(path, err);
	if ((ret = check_kind(st.st_mode, err)) < 0 ||
	    (ret = let_wait(fd, path, err)) < 0)
		return ret;
	*fd_out = fd;
	fd = -1;
	return 0;
}

int dw_fd_bytes(int fd, uint64_t *bytes_out, dwarfs_error **err)
{
	struct stat st;
	off_t end;
	int ret;

	if (fstat(fd, &st) != 0)
		return dw_fail_errno(err, errno, "cannot get the size of the file");
	if ((ret = check_kind(st.st_mode, err)) < 0)
		return ret;
	if (S_ISREG(st.st_mode)) {
		*bytes_out = (uint64_t)st.st_size;
		return 0;
	}
	end = lseek(fd, 0, SEEK_END);
	if (end < 0)
		return dw_fail_errno(err, errno, "cannot get the size of the device");
	*bytes_out = (uint64_t)end;
	return 0;
}

int64_t dw_fd_read_at(int fd, void *buffer, size_t size, uint64_t offset)
{
	size_t done = 0;

	while (done < size) {
		size_t part = size - done;
		ssize_t got;

		if (part > (size_t)1 << 30)
			part = (size_t)1 << 30;
		got = pread(fd, (char *)buffer + done, part, (off_t)(offset + done));
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			break;
		done += (size_t)got;
	}
	return (int64_t)done;
}

int dw_fd_write_at(int fd, const void *data, size_t size, uint64_t offset)
{
	size_t done = 0;

	while (done < size) {
		ssize_t put = pwrite(fd, (const char *)data + done, size - done,
				     (off_t)(offset + done));

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return -errno;
		if (put == 0)
			return -EIO;
		done += (size_t)put;
	}
	return 0;
}

int dw_fd_write(int fd, const void *data, size_t size)
{
	size_t done = 0;

	while (done < size) {
		size_t part = size - done;
		ssize_t put;

		if (part > (size_t)1 << 30)
			part = (size_t)1 << 30;
		put = write(fd, (const char *)data + done, part);
		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return -errno;
		done += (size_t)put;
	}
	return 0;
}

int dw_fd_duplicate(int fd)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	return copy < 0 ? -errno : copy;
}
