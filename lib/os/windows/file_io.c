/* SPDX-License-Identifier: MIT */
/*
 * os/file_io for Windows.
 */
#include <errno.h>
#include <io.h>

#include "os/file_io.h"
#include "os/windows/wide_path.h"

#define MOST_BYTES ((size_t)1 << 30) /* of one call */

void dw_fd_close(int fd)
{
	int saved = errno;

	if (fd >= 0)
		_close(fd);
	errno = saved;
}

static int fail_open(const char *path, int errnum, dwarfs_error **err)
{
	int ret = dw_fail_errno(err, errnum, "cannot open '%s'", path);

	return dw_error_at_path(err, ret, path);
}

int dw_fd_open_read(const char *path, int *fd_out, dwarfs_error **err)
{
	int fd = dw_open_handle(AT_FDCWD, path, GENERIC_READ, OPEN_EXISTING,
				FILE_ATTRIBUTE_NORMAL);

	if (fd < 0)
		return fail_open(path, -fd, err);
	*fd_out = fd;
	return 0;
}

static bool is_directory(const char *path)
{
	wchar_t *wide;
	DWORD found;

	if (dw_wide_at(AT_FDCWD, path, &wide) < 0)
		return false;
	found = GetFileAttributesW(wide);
	dw_free(wide);
	return found != INVALID_FILE_ATTRIBUTES && (found & FILE_ATTRIBUTE_DIRECTORY);
}

int dw_fd_open_places(const char *path, int *fd_out, dwarfs_error **err)
{
	auto_fd int fd = -1;
	uint64_t bytes;
	int ret;

	if (is_directory(path))
		return dw_fail(err, DWARFS_ERR_IS_DIR, "is a directory");
	if ((ret = dw_fd_open_read(path, &fd, err)) < 0 ||
	    (ret = dw_fd_bytes(fd, &bytes, err)) < 0)
		return ret;
	*fd_out = fd;
	fd = -1;
	return 0;
}

int dw_fd_bytes(int fd, uint64_t *bytes_out, dwarfs_error **err)
{
	BY_HANDLE_FILE_INFORMATION found;
	HANDLE handle = dw_handle_of(fd);

	if (GetFileType(handle) != FILE_TYPE_DISK)
		return dw_fail(err, DWARFS_ERR_INVALID,
			       "is a pipe or device, not a regular file");
	if (!GetFileInformationByHandle(handle, &found))
		return dw_fail_errno(err, -dw_windows_errno(),
				     "cannot get the size of the file");
	if (found.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY)
		return dw_fail(err, DWARFS_ERR_IS_DIR, "is a directory");
	*bytes_out = (uint64_t)found.nFileSizeHigh << 32 | found.nFileSizeLow;
	return 0;
}

static OVERLAPPED at_offset(uint64_t offset)
{
	OVERLAPPED place = { 0 };

	place.Offset = (DWORD)offset;
	place.OffsetHigh = (DWORD)(offset >> 32);
	return place;
}

int64_t dw_fd_read_at(int fd, void *buffer, size_t size, uint64_t offset)
{
	size_t done = 0;

	while (done < size) {
		size_t part = size - done < MOST_BYTES ? size - done : MOST_BYTES;
		OVERLAPPED place = at_offset(offset + done);
		DWORD got = 0;

		if (!ReadFile(dw_handle_of(fd), (char *)buffer + done, (DWORD)part, &got,
			      &place)) {
			if (GetLastError() == ERROR_HANDLE_EOF)
				break;
			return dw_windows_errno();
		}
		if (got == 0)
			break;
		done += got;
	}
	return (int64_t)done;
}

int dw_fd_write_at(int fd, const void *data, size_t size, uint64_t offset)
{
	size_t done = 0;

	while (done < size) {
		size_t part = size - done < MOST_BYTES ? size - done : MOST_BYTES;
		OVERLAPPED place = at_offset(offset + done);
		DWORD put = 0;

		if (!WriteFile(dw_handle_of(fd), (const char *)data + done, (DWORD)part,
			       &put, &place))
			return dw_windows_errno();
		if (put == 0)
			return -EIO;
		done += put;
	}
	return 0;
}

int dw_fd_write(int fd, const void *data, size_t size)
{
	size_t done = 0;

	while (done < size) {
		size_t part = size - done < MOST_BYTES ? size - done : MOST_BYTES;
		DWORD put = 0;

		if (!WriteFile(dw_handle_of(fd), (const char *)data + done, (DWORD)part,
			       &put, NULL))
			return dw_windows_errno();
		done += put;
	}
	return 0;
}

int dw_fd_duplicate(int fd)
{
	int copy = _dup(fd);

	return copy < 0 ? -errno : copy;
}
