/* SPDX-License-Identifier: MIT */
/*
 * os/bsd/missing: see the header; dw_qsort_r() is in os/sort_items.c.
 */
#include <fcntl.h>
#include <stdint.h>
#include <unistd.h>

void *dw_memrchr(const void *data, int byte, size_t bytes)
{
	const unsigned char *from = data;

	while (bytes > 0)
		if (from[--bytes] == (unsigned char)byte)
			return (void *)(uintptr_t)(from + bytes);
	return NULL;
}

#ifdef __APPLE__
int dw_mkostemp(char *path, int flags)
{
	int fd = mkstemp(path);

	if (fd >= 0 && (flags & O_CLOEXEC))
		(void)fcntl(fd, F_SETFD, FD_CLOEXEC);
	return fd;
}
#endif
