/* SPDX-License-Identifier: MIT */
/*
 * write/input/directory_stack: directories of a tree that is walked in depth first order.
 */
#include <errno.h>
#include <string.h>

#include "os/dir.h"
#include "os/file_io.h"
#include "write/input/directory_stack.h"

/* When the way down to a directory is longer than this, one half of it stays open. */
#define FAR_BYTES 1024

void dw_directory_stack_free(struct directory_stack *depth)
{
	while (depth->count > 0)
		dw_fd_close(depth->open[--depth->count].fd);
	dw_fd_close(depth->root_fd);
	depth->root_fd = -1;
}

/* Close every second one but the deepest, so that those that stay are spread evenly. */
static void thin_out(struct directory_stack *depth)
{
	size_t kept = 0;

	for (size_t i = 0; i < depth->count; i++)
		if (i % 2 == 1)
			depth->open[kept++] = depth->open[i];
		else
			dw_fd_close(depth->open[i].fd);
	depth->count = kept;
}

static void keep(struct directory_stack *depth, size_t bytes, int fd)
{
	if (depth->count == DEPTH_SLOTS)
		thin_out(depth);
	depth->open[depth->count].bytes = bytes;
	depth->open[depth->count++].fd = fd;
}

/* Close what is below the directory that the path goes on from. */
static void climb(struct directory_stack *depth, size_t parent_bytes)
{
	while (depth->count > 0 && depth->open[depth->count - 1].bytes > parent_bytes)
		dw_fd_close(depth->open[--depth->count].fd);
}

static size_t near_bytes(const struct directory_stack *depth)
{
	return depth->count ? depth->open[depth->count - 1].bytes : 0;
}

/* From the nearest directory that is open; path is of the root. */
static int open_from_near(struct directory_stack *depth, const char *path, int *fd_out)
{
	size_t near = near_bytes(depth);
	int ret;

	if (near == 0)
		return dw_dir_open_at(depth->root_fd, path, fd_out);
	ret = dw_dir_open_at(depth->open[depth->count - 1].fd, path + near + 1, fd_out);
	if (ret != -EMFILE && ret != -ENFILE)
		return ret;
	/* Others need descriptors, too. */
	climb(depth, 0);
	return dw_dir_open_at(depth->root_fd, path, fd_out);
}

/* What comes next in a far away place is likely to be near this. */
static int open_on_the_way(struct directory_stack *depth, char *path, size_t bytes)
{
	size_t near = near_bytes(depth), middle = near + (bytes - near) / 2;
	int fd, ret;

	while (middle > near && path[middle] != '/')
		middle--;
	if (middle <= near)
		return 0;
	path[middle] = '\0';
	ret = open_from_near(depth, path, &fd);
	path[middle] = '/';
	if (ret == 0)
		keep(depth, middle, fd);
	return ret == -ENOMEM ? ret : 0;
}

int dw_directory_stack_open(struct directory_stack *depth, char *path, size_t bytes, int *fd_out)
{
	const char *slash = memrchr(path, '/', bytes);
	int ret;

	if (bytes == 0) {
		*fd_out = depth->root_fd;
		return 0;
	}
	climb(depth, slash ? (size_t)(slash - path) : 0);
	if (bytes - near_bytes(depth) > FAR_BYTES &&
	    (ret = open_on_the_way(depth, path, bytes)) < 0)
		return ret;
	if ((ret = open_from_near(depth, path, fd_out)) < 0)
		return ret;
	keep(depth, bytes, *fd_out);
	return 0;
}
