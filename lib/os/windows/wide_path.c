/* SPDX-License-Identifier: MIT */
/*
 * os/windows/wide_path: see the header.
 */
#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "os/windows/wide_path.h"

static const struct {
	DWORD error;
	int errnum;
} errors[] = {
	{ ERROR_FILE_NOT_FOUND, ENOENT },
	{ ERROR_PATH_NOT_FOUND, ENOENT },
	{ ERROR_INVALID_NAME, EINVAL },
	{ ERROR_BAD_PATHNAME, EINVAL },
	{ ERROR_DIRECTORY, ENOTDIR },
	{ ERROR_ACCESS_DENIED, EACCES },
	{ ERROR_SHARING_VIOLATION, EBUSY },
	{ ERROR_LOCK_VIOLATION, EBUSY },
	{ ERROR_FILE_EXISTS, EEXIST },
	{ ERROR_ALREADY_EXISTS, EEXIST },
	{ ERROR_DIR_NOT_EMPTY, ENOTEMPTY },
	{ ERROR_NOT_ENOUGH_MEMORY, ENOMEM },
	{ ERROR_OUTOFMEMORY, ENOMEM },
	{ ERROR_COMMITMENT_LIMIT, ENOMEM },
	{ ERROR_DISK_FULL, ENOSPC },
	{ ERROR_HANDLE_DISK_FULL, ENOSPC },
	{ ERROR_TOO_MANY_OPEN_FILES, EMFILE },
	{ ERROR_NOT_SUPPORTED, ENOTSUP },
	{ ERROR_INVALID_FUNCTION, ENOTSUP },
	{ ERROR_PRIVILEGE_NOT_HELD, EPERM },
	{ ERROR_BROKEN_PIPE, EPIPE },
	{ ERROR_NO_DATA, EPIPE },
	{ ERROR_INVALID_HANDLE, EBADF },
	{ ERROR_INVALID_PARAMETER, EINVAL },
	{ ERROR_FILENAME_EXCED_RANGE, ENAMETOOLONG },
	{ ERROR_NOT_SAME_DEVICE, EXDEV },
};

int dw_windows_errno(void)
{
	const DWORD error = GetLastError();

	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		if (errors[i].error == error)
			return -errors[i].errnum;
	return -EIO;
}

/* Windows drops trailing dots and spaces, and takes other characters for itself. */
static bool is_safe_name(const char *name, size_t bytes)
{
	if (bytes == 0 || (bytes == 1 && *name == '.'))
		return true;
	for (size_t i = 0; i < bytes; i++)
		if ((unsigned char)name[i] < 32 || strchr("\\:*?\"<>|", name[i]))
			return false;
	return name[bytes - 1] != '.' && name[bytes - 1] != ' ';
}

static bool is_safe_path(const char *path)
{
	if (*path == '/')
		return false;
	for (;;) {
		size_t bytes = strcspn(path, "/");

		if (!is_safe_name(path, bytes))
			return false;
		if (path[bytes] == '\0')
			return true;
		path += bytes + 1;
	}
}

static wchar_t *widen(const char *path, size_t before)
{
	int units = MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, path, -1, NULL, 0);
	wchar_t *wide =
		units > 0 ? dw_malloc(((size_t)units + before) * sizeof(*wide)) : NULL;

	if (!wide)
		return NULL;
	MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, path, -1, wide + before,
			    units);
	for (wchar_t *at = wide + before; *at; at++)
		if (*at == L'/')
			*at = L'\\';
	return wide;
}

/* The system's own path of a directory, with room for a backslash. */
static int wide_path_of(int dir, wchar_t **path_out, size_t *length_out)
{
	DWORD length = GetFinalPathNameByHandleW(dw_handle_of(dir), NULL, 0, 0);
	wchar_t *path;

	if (length == 0)
		return dw_windows_errno();
	path = dw_malloc(((size_t)length + 2) * sizeof(*path));
	if (!path)
		return -ENOMEM;
	length = GetFinalPathNameByHandleW(dw_handle_of(dir), path, length + 1, 0);
	*path_out = path;
	*length_out = length;
	return 0;
}

int dw_wide_at(int dir, const char *path, wchar_t **wide_out)
{
	wchar_t *parent = NULL, *wide;
	size_t length = 0;
	int ret;

	if (dir == AT_FDCWD) {
		*wide_out = widen(path, 0);
		return *wide_out ? 0 : -EINVAL;
	}
	if (!is_safe_path(path))
		return -EINVAL;
	if ((ret = wide_path_of(dir, &parent, &length)) < 0)
		return ret;
	if (*path == '\0' || strcmp(path, ".") == 0) {
		*wide_out = parent;
		return 0;
	}
	if (parent[length - 1] != L'\\')
		parent[length++] = L'\\';
	wide = widen(path, length);
	if (wide)
		memcpy(wide, parent, length * sizeof(*wide));
	dw_free(parent);
	*wide_out = wide;
	return wide ? 0 : -EINVAL;
}

char *dw_narrow(const wchar_t *wide)
{
	int bytes = WideCharToMultiByte(CP_UTF8, 0, wide, -1, NULL, 0, NULL, NULL);
	char *path = bytes > 0 ? dw_malloc((size_t)bytes) : NULL;

	if (!path)
		return NULL;
	WideCharToMultiByte(CP_UTF8, 0, wide, -1, path, bytes, NULL, NULL);
	for (char *at = path; *at; at++)
		if (*at == '\\')
			*at = '/';
	return path;
}

HANDLE dw_handle_of(int fd)
{
	return (HANDLE)_get_osfhandle(fd);
}

int dw_open_handle(int dir, const char *path, DWORD access, DWORD creation, DWORD flags)
{
	const DWORD share = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;
	wchar_t *wide;
	HANDLE handle;
	int fd, ret = dw_wide_at(dir, path, &wide);

	if (ret < 0)
		return ret;
	handle = CreateFileW(wide, access, share, NULL, creation, flags, NULL);
	ret = handle == INVALID_HANDLE_VALUE ? dw_windows_errno() : 0;
	dw_free(wide);
	if (ret < 0)
		return ret;
	fd = _open_osfhandle((intptr_t)handle, _O_BINARY | _O_NOINHERIT);
	if (fd < 0) {
		CloseHandle(handle);
		return -EMFILE;
	}
	return fd;
}
