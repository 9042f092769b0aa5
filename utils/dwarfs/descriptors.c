/* SPDX-License-Identifier: MIT */
/*
 * dwarfs/descriptors: close what a process has inherited.
 *
 * A descriptor that stays open keeps what it refers to in use: a lock, a pipe whose reader
 * waits for its end, a file system that is to be unmounted.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "dwarfs/mount.h"

/* Linux 5.9 and later have it; older C libraries have no function for it. */
#ifdef SYS_close_range
static int close_range_of(unsigned first, unsigned last)
{
	return (int)syscall(SYS_close_range, first, last, 0);
}
#else
static int close_range_of(unsigned first, unsigned last)
{
	(void)first;
	(void)last;
	errno = ENOSYS;
	return -1;
}
#endif

static bool is_kept(const struct descriptors *keep, int fd)
{
	for (size_t i = 0; i < keep->count; i++)
		if (keep->fds[i] == fd)
			return true;
	return false;
}

/* The least descriptor from first on that is to be kept; INT_MAX: none. */
static int next_kept(const struct descriptors *keep, int first)
{
	int next = INT_MAX;

	for (size_t i = 0; i < keep->count; i++)
		if (keep->fds[i] >= first && keep->fds[i] < next)
			next = keep->fds[i];
	return next;
}

static bool close_ranges(const struct descriptors *keep)
{
	int first = STDERR_FILENO + 1;

	while (first < INT_MAX) {
		const int next = next_kept(keep, first);

		if (next > first &&
		    close_range_of((unsigned)first, (unsigned)next - 1) != 0)
			return false;
		first = next == INT_MAX ? next : next + 1;
	}
	return true;
}

/* Those that /proc lists; without it, all that the limit allows. */
static void close_each(const struct descriptors *keep)
{
	DIR *dir = opendir("/proc/self/fd");
	struct rlimit limit = { .rlim_cur = 1024 };
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		const int fd = atoi(entry->d_name); /* "." and ".." give 0 */

		if (fd > STDERR_FILENO && fd != dirfd(dir) && !is_kept(keep, fd))
			close(fd);
	}
	if (dir) {
		closedir(dir);
		return;
	}
	getrlimit(RLIMIT_NOFILE, &limit);
	for (int fd = STDERR_FILENO + 1; (rlim_t)fd < limit.rlim_cur && fd < INT_MAX;
	     fd++)
		if (!is_kept(keep, fd))
			close(fd);
}

void descriptors_keep(struct descriptors *keep, int fd)
{
	if (keep->count < MOST_KEPT)
		keep->fds[keep->count++] = fd;
}

void descriptors_keep_path(struct descriptors *keep, const char *path)
{
	static const char *const folders[] = { "/dev/fd/", "/proc/self/fd/" };

	for (size_t i = 0; path && i < sizeof(folders) / sizeof(*folders); i++) {
		const size_t bytes = strlen(folders[i]);

		if (strncmp(path, folders[i], bytes) == 0)
			descriptors_keep(keep, atoi(path + bytes));
	}
}

void descriptors_close(const struct descriptors *keep)
{
	if (!close_ranges(keep))
		close_each(keep);
}
