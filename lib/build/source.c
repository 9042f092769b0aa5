/* SPDX-License-Identifier: MIT */
/*
 * build/source: the bytes of the files of the input, read when they are needed.
 *
 * No descriptor is kept from one stage to the next, so files may change in between. That
 * is found by comparing size and time.
 */
#include <errno.h>

#include "build/source.h"
#include "format/metadata.h"

int dw_source_open(int root_fd, const char *path, int *fd_out)
{
	struct os_stat stat;
	auto_fd int fd = -1;
	int ret;

	if ((ret = dw_open_at(root_fd, path, &fd)) < 0 ||
	    (ret = dw_stat_fd(fd, &stat)) < 0)
		return ret;
	if ((stat.mode & DW_S_IFMT) != DW_S_IFREG)
		return -ESTALE;
	*fd_out = fd;
	fd = -1;
	return 0;
}

int dw_source_is_unchanged(int fd, const struct source_mark *mark)
{
	struct os_stat stat;
	int ret = dw_stat_fd(fd, &stat);

	if (ret < 0)
		return ret;
	return stat.size == mark->size && stat.mtime.seconds == mark->mtime &&
	       stat.mtime.nanoseconds == mark->mtime_ns;
}
