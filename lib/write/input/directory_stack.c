/* SPDX-License-Identifier: MIT */
/*
 * write/input/directory_stack: open directories along the path of a depth-first walk.
 *
 * The open directories are a stack, each one below the one before it. A full stack closes
 * every second descriptor, so that depth is not limited by descriptors.
 */
#include <errno.h>
#include <string.h>

#include "os/dir.h"
#include "os/file_io.h"
#include "write/input/directory_stack.h"

/* If more than this many bytes of path are not open, a directory halfway is opened,
 * too. */
#define FAR_BYTES 1024

void dw_directory_stack_free(struct directory_stack *stack)
{
	while (stack->count > 0)
		dw_fd_close(stack->open[--stack->count].fd);
	dw_fd_close(stack->root_fd);
	stack->root_fd = -1;
}

/* Close every second one but not the deepest; those left stay evenly spread. */
static void close_every_second(struct directory_stack *stack)
{
	size_t kept = 0;

	for (size_t i = 0; i < stack->count; i++)
		if (i % 2 == 1)
			stack->open[kept++] = stack->open[i];
		else
			dw_fd_close(stack->open[i].fd);
	stack->count = kept;
}

static void push_open_directory(struct directory_stack *stack, size_t bytes, int fd)
{
	if (stack->count == DIRECTORY_STACK_SLOTS)
		close_every_second(stack);
	stack->open[stack->count].bytes = bytes;
	stack->open[stack->count++].fd = fd;
}

/* Close the directories below the parent of the next path. */
static void close_below(struct directory_stack *stack, size_t parent_bytes)
{
	while (stack->count > 0 && stack->open[stack->count - 1].bytes > parent_bytes)
		dw_fd_close(stack->open[--stack->count].fd);
}

static size_t deepest_bytes(const struct directory_stack *stack)
{
	return stack->count ? stack->open[stack->count - 1].bytes : 0;
}

/* Open a path relative to the deepest open directory. path is relative to the root. */
static int open_from_deepest(struct directory_stack *stack, const char *path, int *fd_out)
{
	size_t deepest = deepest_bytes(stack);
	int ret;

	if (deepest == 0)
		return dw_dir_open_at(stack->root_fd, path, fd_out);
	ret = dw_dir_open_at(stack->open[stack->count - 1].fd, path + deepest + 1,
			     fd_out);
	if (!dw_fd_is_exhausted(-ret))
		return ret;
	/* Out of descriptors: close all but the root and try again. */
	close_below(stack, 0);
	return dw_dir_open_at(stack->root_fd, path, fd_out);
}

/* The next directories are likely to share the first half of a long path. */
static int open_halfway(struct directory_stack *stack, char *path, size_t bytes)
{
	size_t deepest = deepest_bytes(stack), middle = deepest + (bytes - deepest) / 2;
	int fd, ret;

	while (middle > deepest && path[middle] != '/')
		middle--;
	if (middle <= deepest)
		return 0;
	path[middle] = '\0';
	ret = open_from_deepest(stack, path, &fd);
	path[middle] = '/';
	if (ret == 0)
		push_open_directory(stack, middle, fd);
	return ret == -ENOMEM ? ret : 0;
}

int dw_directory_stack_open(struct directory_stack *stack, char *path, size_t bytes,
			    int *fd_out)
{
	const char *slash = memrchr(path, '/', bytes);
	int ret;

	if (bytes == 0) {
		*fd_out = stack->root_fd;
		return 0;
	}
	close_below(stack, slash ? (size_t)(slash - path) : 0);
	if (bytes - deepest_bytes(stack) > FAR_BYTES &&
	    (ret = open_halfway(stack, path, bytes)) < 0)
		return ret;
	if ((ret = open_from_deepest(stack, path, fd_out)) < 0)
		return ret;
	push_open_directory(stack, bytes, *fd_out);
	return 0;
}

void dw_directory_stack_close_others(struct directory_stack *stack)
{
	size_t last = stack->count - 1;

	if (stack->count <= 1)
		return;
	for (size_t i = 0; i < last; i++)
		dw_fd_close(stack->open[i].fd);
	stack->open[0] = stack->open[last];
	stack->count = 1;
}
