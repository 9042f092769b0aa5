/* SPDX-License-Identifier: MIT */
/*
 * os/stream for Windows: waits only for pipes, in short steps.
 */
#include <errno.h>
#include <io.h>
#include <stdio.h>

#include "os/stream.h"
#include "os/windows/wide_path.h"

#define STEP_MS 5

/* Whether a read of a pipe would not block; at its end, too. */
static bool is_ready(HANDLE pipe)
{
	DWORD available = 0;

	return !PeekNamedPipe(pipe, NULL, 0, NULL, &available, NULL) || available > 0;
}

int64_t dw_stream_read(int fd, void *buffer, size_t size, int wait_ms)
{
	HANDLE handle = dw_handle_of(fd);
	DWORD got = 0;

	if (GetFileType(handle) == FILE_TYPE_PIPE) {
		for (; !is_ready(handle); wait_ms -= STEP_MS) {
			if (wait_ms <= 0)
				return -EAGAIN;
			Sleep(STEP_MS);
		}
	}
	if (ReadFile(handle, buffer, size < INT32_MAX ? (DWORD)size : INT32_MAX, &got,
		     NULL))
		return got;
	return GetLastError() == ERROR_BROKEN_PIPE ? 0 : dw_windows_errno();
}

uint64_t dw_stream_place(int fd)
{
	const int64_t place = _lseeki64(fd, 0, SEEK_CUR);

	return place < 0 ? 0 : (uint64_t)place;
}
