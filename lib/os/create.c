/* SPDX-License-Identifier: MIT */
/*
 * os/create for POSIX.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "os/create.h"
#include "os/file.h"

#define DIR_FLAGS (O_RDONLY | O_DIRECTORY | O_CLOEXEC)

/* 0 or a negative errno value, from the result of a system call. */
static int result(int ret)
{
	return ret < 0 ? -errno : 0;
}

static int open_again(int dir, const char *name, int flags)
{
	int fd;

	do
		fd = openat(dir, name, flags, 0600);
	while (fd < 0 && errno == EINTR);
	return fd < 0 ? -errno : fd;
}

int dw_create_open_root(const char *path, bool *made_out)
{
	*made_out = mkdir(path, 0700) == 0;
	if (!*made_out && errno != EEXIST)
		return -errno;
	return open_again(AT_FDCWD, path, DIR_FLAGS);
}

static int identify(int fd, struct file_identity *identity_out)
{
	struct stat st;

	if (fstat(fd, &st) != 0)
		return -errno;
	*identity_out = (struct file_identity){ st.st_dev, st.st_ino };
	return 0;
}

int dw_create_open_dir(int dir, const char *name, struct file_identity *identity_out)
{
	auto_fd int fd = open_again(dir, name, DIR_FLAGS | O_NOFOLLOW);
	int ret;

	if (fd >= 0 && identity_out && (ret = identify(fd, identity_out)) < 0)
		return ret;
	ret = fd;
	fd = -1;
	return ret;
}

int dw_create_open_parent(int dir, const struct file_identity *expected)
{
	struct file_identity found;
	auto_fd int fd = open_again(dir, "..", DIR_FLAGS | O_NOFOLLOW);
	int ret;

	if (fd < 0)
		return fd;
	if ((ret = identify(fd, &found)) < 0)
		return ret;
	if (found.device != expected->device || found.inode != expected->inode)
		return -ESTALE;
	ret = fd;
	fd = -1;
	return ret;
}

int dw_create_dir(int dir, const char *name)
{
	return result(mkdirat(dir, name, 0700));
}

int dw_create_file(int dir, const char *name)
{
	return open_again(dir, name,
			  O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC);
}

int dw_create_open_file(int dir, const char *name)
{
	return open_again(dir, name, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
}

int dw_create_write(int fd, const void *data, size_t size, uint64_t offset)
{
	size_t done = 0;

	while (done < size) {
		ssize_t put = pwrite(fd, (const char *)data + done, size - done,
				     (off_t)(offset + done));

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return -errno;
		if (put == 0)
			return -EIO;
		done += (size_t)put;
	}
	return 0;
}

int dw_create_resize(int fd, uint64_t size)
{
	int ret;

	if (size > INT64_MAX)
		return -EFBIG;
	do
		ret = ftruncate(fd, (off_t)size);
	while (ret < 0 && errno == EINTR);
	return result(ret);
}

int dw_create_close(int fd)
{
	/* After EINTR the descriptor is gone, too. */
	return close(fd) < 0 && errno != EINTR ? -errno : 0;
}

int dw_create_symlink(int dir, const char *name, const char *target)
{
	return result(symlinkat(target, dir, name));
}

int dw_create_hard_link(int from_dir, const char *from, int dir, const char *name)
{
	return result(linkat(from_dir, from, dir, name, 0));
}

int dw_create_node(int dir, const char *name, uint32_t mode, uint32_t major,
		   uint32_t minor)
{
	return result(mknodat(dir, name, (mode & S_IFMT) | 0600, makedev(major, minor)));
}

void dw_create_undo_file(int dir, const char *name)
{
	unlinkat(dir, name, 0);
}

/* The permission bits to set on what st describes. */
static mode_t safe_mode(const struct attributes *attributes, const struct stat *st)
{
	mode_t mode = attributes->mode & 07777;

	if (S_ISDIR(attributes->mode))
		return mode;
	if (st->st_uid != attributes->uid)
		mode &= ~(mode_t)S_ISUID;
	if (st->st_gid != attributes->gid)
		mode &= ~(mode_t)S_ISGID;
	return mode;
}

int dw_restore_fd(int fd, const struct attributes *attributes, const char **what_out)
{
	struct timespec times[2] = { attributes->atime, attributes->mtime };
	struct stat st;

	*what_out = "owner";
	if (attributes->set_owner && fchown(fd, attributes->uid, attributes->gid) != 0)
		return -errno;
	*what_out = "mode";
	if (fstat(fd, &st) != 0 || fchmod(fd, safe_mode(attributes, &st)) != 0)
		return -errno;
	*what_out = "times";
	return result(futimens(fd, times));
}

/* fchmodat() that follows no link, also where neither the kernel nor /proc helps. */
static int set_mode_at(int dir, const char *name, mode_t mode)
{
	struct stat st;

	if (fchmodat(dir, name, mode, AT_SYMLINK_NOFOLLOW) == 0)
		return 0;
	if (errno != EOPNOTSUPP && errno != ENOSYS)
		return -errno;
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return -errno;
	if (S_ISLNK(st.st_mode))
		return -ELOOP;
	return result(fchmodat(dir, name, mode, 0));
}

int dw_restore_at(int dir, const char *name, const struct attributes *attributes,
		  const char **what_out)
{
	struct timespec times[2] = { attributes->atime, attributes->mtime };
	struct stat st;
	int ret;

	*what_out = "owner";
	if (attributes->set_owner && fchownat(dir, name, attributes->uid, attributes->gid,
					      AT_SYMLINK_NOFOLLOW) != 0)
		return -errno;
	*what_out = "mode";
	if (!S_ISLNK(attributes->mode)) {
		if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
			return -errno;
		if ((ret = set_mode_at(dir, name, safe_mode(attributes, &st))) < 0)
			return ret;
	}
	*what_out = "times";
	return result(utimensat(dir, name, times, AT_SYMLINK_NOFOLLOW));
}

bool dw_may_set_owners(void)
{
	return geteuid() == 0;
}
