/* SPDX-License-Identifier: MIT */
/*
 * os/file_xattr for Linux.
 *
 * Since 6.13 there are system calls that take a directory and a name. On older kernels
 * the path is that of a descriptor in /proc and a single name, for the calls whose names
 * begin with "l", which do not follow symbolic links. Without /proc, only directories and
 * regular files can be accessed, as they can be opened without side effects.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "os/file_io.h"
#include "os/file_xattr.h"

/* The same on all machines. */
#ifndef SYS_setxattrat
#define SYS_setxattrat	  463
#define SYS_getxattrat	  464
#define SYS_listxattrat	  465
#define SYS_removexattrat 466
#endif

#define FIRST_ROOM 512
#define MAX_ROOM   ((size_t)1 << 20) /* no system exceeds this */

/* The arguments of setxattrat() and getxattrat(). */
struct xattr_arguments {
	__attribute__((aligned(8))) uint64_t value;
	uint32_t size;
	uint32_t flags;
};

/* Operations. */
enum action { ACTION_LIST, ACTION_GET, ACTION_SET, ACTION_REMOVE };

struct call {
	enum action action;
	const char *attribute;
	void *data;
	size_t size;
};

/* -- system calls -------------------------------------------------------------------- */

static ssize_t call_at(const struct call *call, int dir, const char *name)
{
	unsigned flags = AT_SYMLINK_NOFOLLOW | (*name ? 0 : AT_EMPTY_PATH);
	struct xattr_arguments arguments = { (uintptr_t)call->data, (uint32_t)call->size,
					     0 };

	switch (call->action) {
	case ACTION_LIST:
		return syscall(SYS_listxattrat, dir, name, flags, call->data, call->size);
	case ACTION_GET:
		return syscall(SYS_getxattrat, dir, name, flags, call->attribute,
			       &arguments, sizeof(arguments));
	case ACTION_REMOVE:
		return syscall(SYS_removexattrat, dir, name, flags, call->attribute);
	default:
		return syscall(SYS_setxattrat, dir, name, flags, call->attribute,
			       &arguments, sizeof(arguments));
	}
}

static ssize_t call_fd(const struct call *call, int fd)
{
	switch (call->action) {
	case ACTION_LIST:
		return flistxattr(fd, call->data, call->size);
	case ACTION_GET:
		return fgetxattr(fd, call->attribute, call->data, call->size);
	case ACTION_REMOVE:
		return fremovexattr(fd, call->attribute);
	default:
		return fsetxattr(fd, call->attribute, call->data, call->size, 0);
	}
}

static ssize_t call_path(const struct call *call, const char *path)
{
	switch (call->action) {
	case ACTION_LIST:
		return llistxattr(path, call->data, call->size);
	case ACTION_GET:
		return lgetxattr(path, call->attribute, call->data, call->size);
	case ACTION_REMOVE:
		return lremovexattr(path, call->attribute);
	default:
		return lsetxattr(path, call->attribute, call->data, call->size, 0);
	}
}

static ssize_t call_opened(const struct call *call, int dir, const char *name)
{
	auto_fd int fd = -1;
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return -1;
	if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)) {
		errno = ENOTSUP;
		return -1;
	}
	fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	return fd < 0 ? -1 : call_fd(call, fd);
}

static bool has_proc(void)
{
	struct stat st;

	return stat("/proc/self/fd", &st) == 0;
}

/* Before Linux 6.13. */
static ssize_t call_below(const struct call *call, int dir, const char *name)
{
	char path[64 + 256];
	ssize_t ret;

	if (!*name)
		return call_fd(call, dir);
	if (strlen(name) > 255) {
		errno = ENAMETOOLONG;
		return -1;
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", dir, name);
	ret = call_path(call, path);
	if (ret < 0 && errno == ENOENT && !has_proc())
		return call_opened(call, dir, name);
	return ret;
}

/* Bytes, or a negative errno value. */
static ssize_t run_call(const struct call *call, int dir, const char *name)
{
	ssize_t ret = call_at(call, dir, name);

	/* Filters of system calls return EPERM for unknown calls. */
	if (ret < 0 && (errno == ENOSYS || errno == EPERM))
		ret = call_below(call, dir, name);
	return ret < 0 ? -errno : ret;
}

/* -- operations ---------------------------------------------------------------------- */

/* Most values are short, and fit at the first attempt. */
static int read_growing(struct call *call, int dir, const char *name, struct buffer *out)
{
	for (size_t room = FIRST_ROOM; room <= MAX_ROOM; room *= 4) {
		ssize_t size;

		out->size = 0;
		if (dw_buffer_reserve(out, room, NULL) < 0)
			return -ENOMEM;
		call->data = out->data;
		call->size = room;
		size = run_call(call, dir, name);
		if (size == -ERANGE)
			continue;
		if (size < 0)
			return (int)size;
		out->size = (size_t)size;
		return 0;
	}
	return -E2BIG;
}

int dw_xattr_list_at(int dir, const char *name, struct buffer *names)
{
	struct call call = { .action = ACTION_LIST };
	int ret = read_growing(&call, dir, name, names);

	/* The list of names must end with a NUL. */
	if (ret == 0 && names->size > 0 && names->data[names->size - 1] != '\0')
		return -EIO;
	return ret;
}

int dw_xattr_get_at(int dir, const char *name, const char *attribute,
		    struct buffer *value)
{
	struct call call = { .action = ACTION_GET, .attribute = attribute };

	return read_growing(&call, dir, name, value);
}

int dw_xattr_set_at(int dir, const char *name, const char *attribute, struct span value)
{
	/* The type is not const, but the call does not change it. */
	struct call call = { .action = ACTION_SET,
			     .attribute = attribute,
			     .data = (void *)(uintptr_t)value.data,
			     .size = value.size };

	return (int)run_call(&call, dir, name);
}

int dw_xattr_remove_at(int dir, const char *name, const char *attribute)
{
	struct call call = { .action = ACTION_REMOVE, .attribute = attribute };

	return (int)run_call(&call, dir, name);
}

int dw_xattr_make_writable_at(int dir, const char *name, uint32_t *mode_out)
{
	struct stat st;
	mode_t mode;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH) != 0)
		return -errno;
	if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		return -EACCES;
	if (st.st_mode & S_IWUSR)
		return -EACCES;
	mode = (st.st_mode & 07777) | S_IWUSR;
	if ((*name ? fchmodat(dir, name, mode, AT_SYMLINK_NOFOLLOW)
		   : fchmod(dir, mode)) != 0)
		return -errno;
	*mode_out = st.st_mode | S_IWUSR;
	return 0;
}
