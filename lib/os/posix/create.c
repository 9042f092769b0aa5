/* SPDX-License-Identifier: MIT */
/*
 * os/create for POSIX: create entries inside an open directory and set their attributes.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#if __has_include(<sys/random.h>)
#include <sys/random.h> /* getentropy() of macOS */
#endif
#if __has_include(<sys/sysmacros.h>)
#include <sys/sysmacros.h> /* glibc and musl; elsewhere sys/types.h has device numbers */
#endif

#include "os/create.h"
#include "os/file_io.h"

#define ANY_MODE  UINT32_MAX
#define DIR_FLAGS (O_RDONLY | O_DIRECTORY | O_CLOEXEC)

/* 0 or a negative errno value, from the result of a system call. */
static int result(int ret)
{
	return ret < 0 ? -errno : 0;
}

static int open_retrying(int dir, const char *name, int flags, mode_t mode)
{
	int fd;

	do
		fd = openat(dir, name, flags, mode);
	while (fd < 0 && errno == EINTR);
	return fd < 0 ? -errno : fd;
}

static int open_existing(int dir, const char *name, int flags)
{
	return open_retrying(dir, name, flags, 0);
}

int dw_create_open_root(const char *path, bool *made_out)
{
	*made_out = mkdir(path, 0700) == 0;
	if (!*made_out && errno != EEXIST)
		return -errno;
	return open_existing(AT_FDCWD, path, DIR_FLAGS);
}

int dw_create_identify(int dir, struct file_identity *identity_out)
{
	struct stat st;

	if (fstat(dir, &st) != 0)
		return -errno;
	*identity_out = (struct file_identity){ st.st_dev, st.st_ino };
	return 0;
}

int dw_create_open_dir(int dir, const char *name)
{
	return open_existing(dir, name, DIR_FLAGS | O_NOFOLLOW);
}

int dw_create_open_parent(int dir, const struct file_identity *expected)
{
	struct file_identity found;
	auto_fd int fd = open_existing(dir, "..", DIR_FLAGS | O_NOFOLLOW);
	int ret;

	if (fd < 0)
		return fd;
	if ((ret = dw_create_identify(fd, &found)) < 0)
		return ret;
	if (found.device != expected->device || found.inode != expected->inode)
		return -ESTALE;
	ret = fd;
	fd = -1;
	return ret;
}

uint32_t dw_create_most_open(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur > UINT32_MAX)
		return UINT32_MAX;
	return (uint32_t)limit.rlim_cur;
}

int dw_create_dir(int dir, const char *name, uint32_t mode)
{
	return result(mkdirat(dir, name, (mode & 0777) | 0700));
}

int dw_create_file(int dir, const char *name, uint32_t mode)
{
	return open_retrying(dir, name,
			     O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			     mode & 0777);
}

int dw_create_is_there(int dir, const char *name)
{
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return 1;
	return errno == ENOENT ? 0 : -errno;
}

/* For file systems that cannot rename without replacing. */
static int link_and_unlink(int dir, const char *from, const char *to)
{
	int ret = result(linkat(dir, from, dir, to, 0));

	if (ret == 0)
		return result(unlinkat(dir, from, 0));
	if (ret == -EEXIST)
		return ret;
	ret = dw_create_is_there(dir, to);
	if (ret != 0)
		return ret > 0 ? -EEXIST : ret;
	return result(renameat(dir, from, dir, to));
}

int dw_create_rename(int dir, const char *from, const char *to)
{
#ifdef RENAME_NOREPLACE
	if (renameat2(dir, from, dir, to, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -errno;
#endif
	return link_and_unlink(dir, from, to);
}

uint64_t dw_create_token(void)
{
	struct timespec now = { 0 };
	uint64_t token;

	if (getentropy(&token, sizeof(token)) == 0)
		return token;
	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec << 30 ^ (uint64_t)now.tv_nsec ^
	       (uint64_t)getpid() << 40;
}

int dw_create_open_file(int dir, const char *name)
{
	return open_existing(dir, name, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
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

uint32_t dw_create_mode(const struct attributes *attributes)
{
	bool stays = !attributes->set_owner ||
		     (attributes->uid == geteuid() && attributes->gid == getegid());

	return attributes->mode & (stays ? 0777 : 0700);
}

static struct owned owned_by(const struct stat *st)
{
	return (struct owned){ st->st_mode, st->st_uid, st->st_gid };
}

static bool has_owner(const struct attributes *attributes, const struct owned *owned)
{
	return !attributes->set_owner ||
	       (owned->uid == attributes->uid && owned->gid == attributes->gid);
}

/* The permission bits to set. */
static mode_t safe_mode(const struct attributes *attributes, const struct owned *owned)
{
	mode_t mode = attributes->mode & 07777;

	if (S_ISDIR(attributes->mode))
		return mode;
	if (owned->uid != attributes->uid || attributes->drop_setuid)
		mode &= ~(mode_t)S_ISUID;
	if (owned->gid != attributes->gid || attributes->drop_setgid)
		mode &= ~(mode_t)S_ISGID;
	return mode;
}

static bool has_mode(const struct attributes *attributes, const struct owned *owned)
{
	return S_ISLNK(attributes->mode) ||
	       (owned->mode != ANY_MODE &&
		(owned->mode & 07777) == safe_mode(attributes, owned));
}

void dw_owned_forget_mode(struct owned *owned)
{
	owned->mode = ANY_MODE;
}

bool dw_restore_is_right(const struct attributes *attributes, const struct owned *owned)
{
	return (attributes->mode & S_IFMT) == (owned->mode & S_IFMT) &&
	       has_owner(attributes, owned) && has_mode(attributes, owned);
}

/* After the owner was set, which clears setuid and setgid bits, but not of directories. */
static void note_owner(const struct attributes *attributes, struct owned *owned)
{
	owned->uid = attributes->uid;
	owned->gid = attributes->gid;
	if (!S_ISDIR(owned->mode))
		owned->mode &= ~(uint32_t)(S_ISUID | S_ISGID);
}

int dw_restore_owner(int fd, const struct attributes *attributes, struct owned *owned_out)
{
	struct stat st;

	if (fstat(fd, &st) != 0)
		return -errno;
	*owned_out = owned_by(&st);
	if (has_owner(attributes, owned_out))
		return 0;
	if (fchown(fd, attributes->uid, attributes->gid) != 0)
		return -errno;
	note_owner(attributes, owned_out);
	return 0;
}

int dw_restore_mode(int fd, const struct attributes *attributes,
		    const struct owned *owned)
{
	if (has_mode(attributes, owned))
		return 0;
	return result(fchmod(fd, safe_mode(attributes, owned)));
}

/* Of access and modification: -EOVERFLOW if the system cannot represent them. */
static int convert_times(const struct attributes *attributes, struct timespec times[2])
{
	const struct os_time given[2] = { attributes->atime, attributes->mtime };

	for (int i = 0; i < 2; i++) {
		times[i] = (struct timespec){ .tv_sec = (time_t)given[i].seconds,
					      .tv_nsec = (long)given[i].nanoseconds };
		if (times[i].tv_sec != given[i].seconds)
			return -EOVERFLOW;
	}
	return 0;
}

int dw_restore_times(int fd, const struct attributes *attributes)
{
	struct timespec times[2];
	int ret = convert_times(attributes, times);

	return ret < 0 ? ret : result(futimens(fd, times));
}

int dw_owned_at(int dir, const char *name, struct owned *owned_out)
{
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return -errno;
	*owned_out = owned_by(&st);
	return 0;
}

int dw_restore_owner_at(int dir, const char *name, const struct attributes *attributes,
			struct owned *owned_out)
{
	int ret = dw_owned_at(dir, name, owned_out);

	if (ret < 0)
		return ret;
	if ((owned_out->mode & S_IFMT) != (attributes->mode & S_IFMT))
		return -ESTALE;
	if (has_owner(attributes, owned_out))
		return 0;
	if (fchownat(dir, name, attributes->uid, attributes->gid, AT_SYMLINK_NOFOLLOW) !=
	    0)
		return -errno;
	note_owner(attributes, owned_out);
	return 0;
}

/* fchmodat() that follows no link, also if neither the kernel nor /proc supports it. */
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

int dw_restore_mode_at(int dir, const char *name, const struct attributes *attributes,
		       const struct owned *owned)
{
	if (has_mode(attributes, owned))
		return 0;
	return set_mode_at(dir, name, safe_mode(attributes, owned));
}

int dw_restore_times_at(int dir, const char *name, const struct attributes *attributes)
{
	struct timespec times[2];
	int ret = convert_times(attributes, times);

	return ret < 0 ? ret : result(utimensat(dir, name, times, AT_SYMLINK_NOFOLLOW));
}

bool dw_may_set_owners(void)
{
	return geteuid() == 0;
}
