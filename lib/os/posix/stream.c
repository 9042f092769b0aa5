/* SPDX-License-Identifier: MIT */
/*
 * os/stream for POSIX: poll() and read().
 */
#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "os/stream.h"

int64_t dw_stream_read(int fd, void *buffer, size_t size, int wait_ms)
{
	struct pollfd wanted = { .fd = fd, .events = POLLIN };
	const int ready = poll(&wanted, 1, wait_ms);
	ssize_t got;

	if (ready < 0)
		return errno == EINTR ? -EAGAIN : -errno;
	if (ready == 0)
		return -EAGAIN;
	got = read(fd, buffer, size);
	if (got < 0)
		return errno == EINTR || errno == EWOULDBLOCK ? -EAGAIN : -errno;
	return got;
}

uint64_t dw_stream_place(int fd)
{
	const off_t place = lseek(fd, 0, SEEK_CUR);

	return place < 0 ? 0 : (uint64_t)place;
}
