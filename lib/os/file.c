/* SPDX-License-Identifier: MIT */
/*
 * os/file for POSIX.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/file.h"

void dw_fd_close(int fd)
{
	int saved = errno;

	if (fd >= 0)
		close(fd);
	errno = saved;
}

int dw_fd_open_read(const char *path, int *fd_out, dwarfs_error **err)
{
	int fd;

	do
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	while (fd < 0 && errno == EINTR);
	if (fd < 0) {
		int ret = dw_fail_errno(err, errno, "cannot open '%s'", path);

		return dw_error_at_path(err, ret, path);
	}
	*fd_out = fd;
	return 0;
}

int dw_fd_bytes(int fd, uint64_t *bytes_out, dwarfs_error **err)
{
	struct stat st;
	off_t end;

	if (fstat(fd, &st) != 0)
		return dw_fail_errno(err, errno, "cannot get the size of the file");
	if (S_ISDIR(st.st_mode))
		return dw_fail(err, DWARFS_ERR_IS_DIR, "is a directory");
	if (S_ISREG(st.st_mode)) {
		*bytes_out = (uint64_t)st.st_size;
		return 0;
	}
	if (!S_ISBLK(st.st_mode))
		return dw_fail(err, DWARFS_ERR_INVALID,
			       "neither a regular file nor a block device");
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
