/* SPDX-License-Identifier: MIT */
/*
 * os/scratch for Windows: a file that the system deletes when it is closed.
 */
#include <errno.h>
#include <io.h>

#include "os/create.h"
#include "os/scratch.h"
#include "os/windows/wide_path.h"

int dw_scratch_open(const char *directory, int *fd_out)
{
	size_t room = strlen(directory) + 64;
	auto_free char *path = dw_malloc(room);
	int fd;

	if (!path)
		return -ENOMEM;
	snprintf(path, room, "%s/.dwarfs-%016llx", directory,
		 (unsigned long long)dw_create_token());
	fd = dw_open_handle(AT_FDCWD, path, GENERIC_READ | GENERIC_WRITE | DELETE,
			    CREATE_NEW,
			    FILE_ATTRIBUTE_TEMPORARY | FILE_FLAG_DELETE_ON_CLOSE);
	if (fd < 0)
		return fd;
	*fd_out = fd;
	return 0;
}

uint64_t dw_scratch_space(const char *directory)
{
	auto_free wchar_t *wide = NULL;
	ULARGE_INTEGER space;

	return dw_wide_at(AT_FDCWD, directory, &wide) == 0 &&
			       GetDiskFreeSpaceExW(wide, &space, NULL, NULL)
		       ? space.QuadPart
		       : 0;
}

void dw_scratch_cut(int fd, uint64_t bytes)
{
	(void)_chsize_s(fd, (int64_t)bytes);
}

void dw_scratch_drop(int fd, uint64_t offset, uint64_t bytes)
{
}
