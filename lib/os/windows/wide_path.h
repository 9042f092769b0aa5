/* SPDX-License-Identifier: MIT */
/*
 * os/windows/wide_path: convert paths in UTF-8, relative to an open directory, to paths
 * of Windows, and errors of Windows to errno values.
 *
 * Descriptors are those of the C library, also for directories.
 */
#ifndef DW_OS_WINDOWS_WIDE_PATH_H
#define DW_OS_WINDOWS_WIDE_PATH_H

#include <stdbool.h>
#include <wchar.h>

#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#include <windows.h>

/* GetLastError() as a negative errno value. */
int dw_windows_errno(void);

/* A path of the system, or below a directory if that is not AT_FDCWD: 0 or a negative errno
 * value. Below a directory, a path with a drive, a backslash, "..", or a name that Windows
 * would change gives -EINVAL: it could lead elsewhere. The caller frees it. */
int dw_wide_at(int dir, const char *path, wchar_t **wide_out);

/* In UTF-8 with slashes; NULL if memory runs out. */
char *dw_narrow(const wchar_t *wide);

/* Open for the system calls that take a handle; links are not followed below a directory.
 * A descriptor, or a negative errno value. */
int dw_open_handle(int dir, const char *path, DWORD access, DWORD creation, DWORD flags);

HANDLE dw_handle_of(int fd);

#endif
