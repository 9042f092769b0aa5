/* SPDX-License-Identifier: MIT */
/*
 * os/dir for Windows. Permissions are made up: 0755 for directories, 0644 for files, 0444 for those
 * that are read-only. Symbolic links and other reparse points are links whose target is not read.
 */
#include <errno.h>
#include <io.h>

#include "os/dir.h"
#include "os/file_io.h"
#include "os/windows/wide_path.h"

#define EPOCH_SECONDS INT64_C(11644473600) /* from 1601 to 1970 */
#define TICKS	      10000000		   /* a second */

#define OPEN_AS_IT_IS (FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT)

/* -- directories --------------------------------------------------------------------- */

static int open_directory(int dir, const char *path, DWORD flags, int *fd_out)
{
	BY_HANDLE_FILE_INFORMATION found;
	auto_fd int fd =
		dw_open_handle(dir, path, FILE_LIST_DIRECTORY | FILE_READ_ATTRIBUTES,
			       OPEN_EXISTING, flags);

	if (fd < 0)
		return fd;
	if (!GetFileInformationByHandle(dw_handle_of(fd), &found))
		return dw_windows_errno();
	if (!(found.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY) ||
	    (found.dwFileAttributes & FILE_ATTRIBUTE_REPARSE_POINT))
		return -ENOTDIR;
	*fd_out = fd;
	fd = -1;
	return 0;
}

int dw_dir_open(const char *path, int *fd_out)
{
	return open_directory(AT_FDCWD, path, FILE_FLAG_BACKUP_SEMANTICS, fd_out);
}

int dw_dir_open_at(int fd, const char *path, int *fd_out)
{
	return open_directory(fd, path, OPEN_AS_IT_IS, fd_out);
}

int dw_dir_pass_at(int fd, const char *path, int *fd_out)
{
	return open_directory(fd, path, OPEN_AS_IT_IS, fd_out);
}

static int append_listed_name(struct os_names *names, const WIN32_FIND_DATAW *found)
{
	const bool is_dir = (found->dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY) &&
			    !(found->dwFileAttributes & FILE_ATTRIBUTE_REPARSE_POINT);
	auto_free char *name = dw_narrow(found->cFileName);

	if (!name)
		return -ENOMEM;
	return dw_os_names_append(names, is_dir ? OS_KIND_DIRECTORY : OS_KIND_OTHER,
				  name);
}

static int list_all(const wchar_t *pattern, struct os_names *names)
{
	WIN32_FIND_DATAW found;
	HANDLE search = FindFirstFileW(pattern, &found);
	int ret = 0;

	if (search == INVALID_HANDLE_VALUE)
		return GetLastError() == ERROR_FILE_NOT_FOUND ? 0 : dw_windows_errno();
	do {
		if (wcscmp(found.cFileName, L".") != 0 &&
		    wcscmp(found.cFileName, L"..") != 0)
			ret = append_listed_name(names, &found);
	} while (ret == 0 && FindNextFileW(search, &found));
	if (ret == 0 && GetLastError() != ERROR_NO_MORE_FILES)
		ret = dw_windows_errno();
	FindClose(search);
	return ret;
}

int dw_dir_list(int fd, struct os_names *names)
{
	auto_free wchar_t *path = NULL;
	auto_free wchar_t *pattern = NULL;
	size_t length;
	int ret = dw_wide_at(fd, "", &path);

	names->text.size = 0;
	names->count = 0;
	if (ret < 0)
		return ret;
	length = wcslen(path);
	pattern = dw_malloc((length + 3) * sizeof(*pattern));
	if (!pattern)
		return -ENOMEM;
	memcpy(pattern, path, length * sizeof(*pattern));
	memcpy(pattern + length, L"\\*", 3 * sizeof(*pattern));
	if ((ret = list_all(pattern, names)) < 0)
		return ret;
	dw_os_names_sort(names);
	return 0;
}

/* -- attributes ---------------------------------------------------------------------- */

static struct os_time time_of_filetime(FILETIME from)
{
	const uint64_t ticks = (uint64_t)from.dwHighDateTime << 32 | from.dwLowDateTime;

	return (struct os_time){ (int64_t)(ticks / TICKS) - EPOCH_SECONDS,
				 (uint32_t)(ticks % TICKS) * 100 };
}

static uint32_t mode_of(DWORD attributes)
{
	if (attributes & FILE_ATTRIBUTE_REPARSE_POINT)
		return S_IFLNK | 0777;
	if (attributes & FILE_ATTRIBUTE_DIRECTORY)
		return S_IFDIR | 0755;
	return S_IFREG | (attributes & FILE_ATTRIBUTE_READONLY ? 0444 : 0644);
}

int dw_stat_fd(int fd, struct os_stat *stat_out)
{
	BY_HANDLE_FILE_INFORMATION found;
	uint64_t size;

	if (GetFileType(dw_handle_of(fd)) != FILE_TYPE_DISK) {
		*stat_out = (struct os_stat){ .mode = S_IFIFO | 0600, .links = 1 };
		return 0;
	}
	if (!GetFileInformationByHandle(dw_handle_of(fd), &found))
		return dw_windows_errno();
	size = (uint64_t)found.nFileSizeHigh << 32 | found.nFileSizeLow;
	*stat_out = (struct os_stat){
		.mode = mode_of(found.dwFileAttributes),
		.size = size,
		.allocated = size,
		.device = found.dwVolumeSerialNumber,
		.inode = (uint64_t)found.nFileIndexHigh << 32 | found.nFileIndexLow,
		.links = found.nNumberOfLinks,
		.atime = time_of_filetime(found.ftLastAccessTime),
		.mtime = time_of_filetime(found.ftLastWriteTime),
		.ctime = time_of_filetime(found.ftLastWriteTime),
		.btime = time_of_filetime(found.ftCreationTime),
	};
	return 0;
}

int dw_stat_at(int fd, const char *name, struct os_stat *stat_out)
{
	auto_fd int file = dw_open_handle(fd, name, FILE_READ_ATTRIBUTES, OPEN_EXISTING,
					  OPEN_AS_IT_IS);

	return file < 0 ? file : dw_stat_fd(file, stat_out);
}

bool dw_dir_is(int fd, const char *path)
{
	struct os_stat one, other;
	auto_fd int file = dw_open_handle(AT_FDCWD, path, FILE_READ_ATTRIBUTES,
					  OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS);

	return file >= 0 && dw_stat_fd(fd, &one) == 0 && dw_stat_fd(file, &other) == 0 &&
	       one.device == other.device && one.inode == other.inode;
}

int dw_birth_at(int fd, const char *name, struct os_time *btime_out)
{
	struct os_stat stat;
	int ret = dw_stat_at(fd, name, &stat);

	if (ret == 0)
		*btime_out = stat.btime;
	return ret;
}

int dw_readlink_at(int fd, const char *name, struct buffer *target)
{
	return -ENOTSUP;
}

int dw_open_at(int fd, const char *path, int *fd_out)
{
	int opened = dw_open_handle(fd, path, GENERIC_READ, OPEN_EXISTING,
				    FILE_FLAG_OPEN_REPARSE_POINT);

	if (opened < 0)
		return opened;
	*fd_out = opened;
	return 0;
}

/* Holes are read as zeros. */
int dw_next_data(int fd, uint64_t from, uint64_t end, uint64_t *start_out,
		 uint64_t *end_out)
{
	*start_out = from < end ? from : end;
	*end_out = end;
	return 0;
}

char *dw_real_path(const char *path)
{
	wchar_t *wide = NULL, whole[32768];
	int ret = dw_wide_at(AT_FDCWD, path, &wide);
	DWORD length;

	if (ret < 0) {
		errno = -ret;
		return NULL;
	}
	length = GetFullPathNameW(wide, 32768, whole, NULL);
	dw_free(wide);
	if (length == 0 || length >= 32768 ||
	    GetFileAttributesW(whole) == INVALID_FILE_ATTRIBUTES) {
		errno = -dw_windows_errno();
		return NULL;
	}
	return dw_narrow(whole);
}
