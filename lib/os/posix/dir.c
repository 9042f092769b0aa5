/* SPDX-License-Identifier: MIT */
/*
 * os/dir for POSIX, with the calls for holes that Linux, FreeBSD and macOS share.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#if __has_include(<sys/sysmacros.h>)
#include <sys/sysmacros.h> /* glibc and musl; elsewhere sys/types.h has device numbers */
#endif

#include "os/dir.h"
#include "os/file_io.h"

/* Maximum length of a path passed to the system. */
#define PIECE_BYTES 4000

/* Open a directory only as a base for other calls. */
#if defined(O_PATH)
#define PASS_ONLY O_PATH
#elif defined(O_SEARCH)
#define PASS_ONLY O_SEARCH
#else
#define PASS_ONLY O_RDONLY
#endif

static int open_at(int fd, const char *path, int flags)
{
	int opened;

	do
		opened = openat(fd, path, flags | O_CLOEXEC);
	while (opened < 0 && errno == EINTR);
	return opened < 0 ? -errno : opened;
}

/* Open long paths piece by piece: the system limits paths to PATH_MAX. */
static int open_long_path(int fd, const char *path, int flags)
{
	auto_fd int at = -1;

	while (strlen(path) > PIECE_BYTES) {
		char piece[PIECE_BYTES + 1];
		size_t length = PIECE_BYTES;
		int next;

		while (length > 0 && path[length] != '/')
			length--;
		if (length == 0)
			return -ENAMETOOLONG;
		memcpy(piece, path, length);
		piece[length] = '\0';
		next = open_at(at < 0 ? fd : at, piece, O_DIRECTORY | PASS_ONLY);
		if (next < 0)
			return next;
		dw_fd_close(at);
		at = next;
		path += length + 1;
	}
	return open_at(at < 0 ? fd : at, path, flags);
}

int dw_dir_open(const char *path, int *fd_out)
{
	int fd = open_at(AT_FDCWD, path, O_DIRECTORY | O_RDONLY);

	if (fd < 0)
		return fd;
	*fd_out = fd;
	return 0;
}

int dw_dir_open_at(int fd, const char *path, int *fd_out)
{
	int opened = open_long_path(fd, *path ? path : ".",
				    O_DIRECTORY | O_RDONLY | O_NOFOLLOW);

	if (opened < 0)
		return opened;
	*fd_out = opened;
	return 0;
}

int dw_dir_pass_at(int fd, const char *path, int *fd_out)
{
	int opened = open_long_path(fd, path, O_DIRECTORY | O_NOFOLLOW | PASS_ONLY);

	if (opened < 0)
		return opened;
	*fd_out = opened;
	return 0;
}

static enum os_kind entry_kind(const struct dirent *entry)
{
	if (entry->d_type == DT_UNKNOWN)
		return OS_KIND_UNKNOWN;
	return entry->d_type == DT_DIR ? OS_KIND_DIRECTORY : OS_KIND_OTHER;
}

static void close_dir(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

int dw_dir_list(int fd, struct os_names *names)
{
	__attribute__((cleanup(close_dir))) DIR *dir = NULL;
	int copy = dw_fd_duplicate(fd);
	struct dirent *entry;
	int ret;

	names->text.size = 0;
	names->count = 0;
	if (copy < 0)
		return copy;
	dir = fdopendir(copy);
	if (!dir) {
		ret = -errno;
		dw_fd_close(copy);
		return ret;
	}
	rewinddir(dir);
	while (errno = 0, (entry = readdir(dir)) != NULL) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if ((ret = dw_os_names_append(names, entry_kind(entry), entry->d_name)) <
		    0)
			return ret;
	}
	if (errno != 0)
		return -errno;
	dw_os_names_sort(names);
	return 0;
}

static uint64_t linux_device(dev_t device)
{
	uint64_t high = major(device), low = minor(device);

	return (low & 0xff) | (high & 0xfff) << 8 | (low & ~UINT64_C(0xff)) << 12 |
	       (high & ~UINT64_C(0xfff)) << 32;
}

static struct os_time os_time_of(struct timespec from)
{
	return (struct os_time){ from.tv_sec, (uint32_t)from.tv_nsec };
}

static void fill_os_stat(const struct stat *st, struct os_stat *stat_out)
{
	*stat_out = (struct os_stat){
		.mode = st->st_mode,
		.uid = st->st_uid,
		.gid = st->st_gid,
		.size = (uint64_t)st->st_size,
		.allocated = (uint64_t)st->st_blocks * 512,
		.device = st->st_dev,
		.inode = st->st_ino,
		.links = st->st_nlink,
		.rdev = linux_device(st->st_rdev),
		.atime = os_time_of(st->st_atim),
		.mtime = os_time_of(st->st_mtim),
		.ctime = os_time_of(st->st_ctim),
	};
}

int dw_stat_at(int fd, const char *name, struct os_stat *stat_out)
{
	struct stat st;

	if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return -errno;
	fill_os_stat(&st, stat_out);
	return 0;
}

bool dw_dir_is(int fd, const char *path)
{
	struct stat one, other;

	return fstat(fd, &one) == 0 && stat(path, &other) == 0 &&
	       one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

int dw_stat_fd(int fd, struct os_stat *stat_out)
{
	struct stat st;

	if (fstat(fd, &st) != 0)
		return -errno;
	fill_os_stat(&st, stat_out);
	return 0;
}

#ifdef STATX_BTIME
int dw_birth_at(int fd, const char *name, struct os_time *btime_out)
{
	struct statx stx;

	*btime_out = (struct os_time){ 0 };
	if (statx(fd, name, AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH, STATX_BTIME, &stx) != 0)
		return errno == ENOSYS ? 0 : -errno;
	if (stx.stx_mask & STATX_BTIME)
		*btime_out =
			(struct os_time){ stx.stx_btime.tv_sec, stx.stx_btime.tv_nsec };
	return 0;
}
#else
int dw_birth_at(int fd, const char *name, struct os_time *btime_out)
{
	*btime_out = (struct os_time){ 0 };
	return 0;
}
#endif

int dw_readlink_at(int fd, const char *name, struct buffer *target)
{
	size_t room = 256;

	for (;; room *= 2) {
		ssize_t length;

		target->size = 0;
		if (dw_buffer_reserve(target, room, NULL) < 0)
			return -ENOMEM;
		length = readlinkat(fd, name, (char *)target->data, room);
		if (length < 0)
			return -errno;
		if ((size_t)length == room)
			continue;
		target->data[length] = '\0';
		target->size = (size_t)length;
		return 0;
	}
}

int dw_open_at(int fd, const char *path, int *fd_out)
{
	int opened =
		open_long_path(fd, path, O_RDONLY | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK);

	if (opened < 0)
		return opened;
	*fd_out = opened;
	return 0;
}

int dw_next_data(int fd, uint64_t from, uint64_t end, uint64_t *start_out,
		 uint64_t *end_out)
{
	off_t start = lseek(fd, (off_t)from, SEEK_DATA), stop;

	if (start < 0 && errno == ENXIO) {
		*start_out = *end_out = end;
		return 0;
	}
	*start_out = start < 0 ? from : (uint64_t)start;
	if (*start_out >= end) {
		*start_out = *end_out = end;
		return 0;
	}
	stop = lseek(fd, (off_t)*start_out, SEEK_HOLE);
	*end_out = stop < 0 || (uint64_t)stop > end ? end : (uint64_t)stop;
	return 0;
}

char *dw_real_path(const char *path)
{
	char *real = realpath(path, NULL), *copy;

	if (!real)
		return NULL;
	copy = dw_strdup(real);
	free(real); /* of the C library */
	return copy;
}
