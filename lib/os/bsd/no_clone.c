/* SPDX-License-Identifier: MIT */
/*
 * os/file_io: sharing ranges, where this library does not support it; also for Windows.
 */
#include <errno.h>

#include "os/file_io.h"

uint64_t dw_fd_clone_unit(int fd)
{
	return 0;
}

int dw_fd_clone(int from, uint64_t from_offset, int to, uint64_t to_offset,
		uint64_t bytes)
{
	return -ENOTSUP;
}

int dw_fd_seek(int fd, uint64_t offset)
{
	return -ENOTSUP;
}
