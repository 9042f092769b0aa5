/* SPDX-License-Identifier: MIT */
/*
 * os/scratch for POSIX, with Linux calls for unnamed files and for punching holes.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "os/scratch.h"

#define TEMPLATE "/.dwarfs-XXXXXX"

#ifdef O_TMPFILE
static int open_nameless(const char *directory)
{
	int fd;

	do
		fd = open(directory, O_TMPFILE | O_RDWR | O_EXCL | O_CLOEXEC, 0600);
	while (fd < 0 && errno == EINTR);
	return fd;
}
#else
static int open_nameless(const char *directory)
{
	(void)directory;
	errno = EOPNOTSUPP;
	return -1;
}
#endif

static int open_and_unlink(const char *directory, int *fd_out)
{
	size_t length = strlen(directory);
	auto_free char *path = dw_malloc(length + sizeof(TEMPLATE));
	int fd;

	if (!path)
		return -ENOMEM;
	memcpy(path, directory, length);
	memcpy(path + length, TEMPLATE, sizeof(TEMPLATE));
	if ((fd = mkostemp(path, O_CLOEXEC)) < 0)
		return -errno;
	unlink(path);
	*fd_out = fd;
	return 0;
}

int dw_scratch_open(const char *directory, int *fd_out)
{
	int fd = open_nameless(directory);

	if (fd >= 0) {
		*fd_out = fd;
		return 0;
	}
	/* Systems without the flag fail in one of three ways. */
	if (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)
		return -errno;
	return open_and_unlink(directory, fd_out);
}

/* A write beyond the limit on the size of files would end the process by a signal. */
uint64_t dw_scratch_space(const char *directory)
{
	struct statvfs space;
	struct rlimit limit;
	uint64_t bytes;

	if (statvfs(directory, &space) != 0)
		return 0;
	bytes = (uint64_t)space.f_bavail * space.f_frsize;
	if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && (uint64_t)limit.rlim_cur < bytes)
		bytes = (uint64_t)limit.rlim_cur;
	return bytes;
}

void dw_scratch_cut(int fd, uint64_t bytes)
{
	while (ftruncate(fd, (off_t)bytes) < 0 && errno == EINTR)
		continue;
}

void dw_scratch_drop(int fd, uint64_t offset, uint64_t bytes)
{
#ifdef FALLOC_FL_PUNCH_HOLE
	(void)fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset,
			(off_t)bytes);
#else
	(void)fd;
	(void)offset;
	(void)bytes;
#endif
}
