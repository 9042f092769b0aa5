/* SPDX-License-Identifier: MIT */
/*
 * os/bsd/missing: see the header; dw_qsort_r() and dw_memrchr() are in os/missing.c.
 */
#include <fcntl.h>
#include <stdint.h>
#include <unistd.h>

#ifdef __APPLE__
int dw_mkostemp(char *path, int flags)
{
	int fd = mkstemp(path);

	if (fd >= 0 && (flags & O_CLOEXEC))
		(void)fcntl(fd, F_SETFD, FD_CLOEXEC);
	return fd;
}
#endif
