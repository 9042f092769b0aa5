/* SPDX-License-Identifier: MIT */
/*
 * build/source: the bytes of the files of the input, read when they are needed.
 */
#ifndef DW_BUILD_SOURCE_H
#define DW_BUILD_SOURCE_H

#include "build/tree.h"
#include "os/file.h"

/* What was seen of a file by the scan, to be compared with later. */
struct source_mark {
	uint64_t size;
	int64_t mtime;
	uint32_t mtime_ns;
};

static inline struct source_mark dw_source_mark(const struct tree_inode *inode)
{
	return (struct source_mark){ inode->size, inode->mtime, inode->mtime_ns };
}

/* Open a regular file by its path below the root: 0 or a negative errno value; ESTALE
 * when it is no regular file any more. */
int dw_source_open(int root_fd, const char *path, int *fd_out);

/* Whether the open file still has size and time as scanned: 1, 0, or a negative errno
 * value. */
int dw_source_is_unchanged(int fd, const struct source_mark *mark);

#endif
