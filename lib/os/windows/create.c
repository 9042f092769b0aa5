/* SPDX-License-Identifier: MIT */
/*
 * os/create for Windows. Owners and permissions are not restored, and devices, fifos and sockets
 * do not exist: -ENOTSUP. Names that Windows would take for something else give -EINVAL.
 */
#include <errno.h>
#include <io.h>

#include "os/create.h"
#include "os/file_io.h"
#include "os/windows/wide_path.h"

#define EPOCH_SECONDS INT64_C(11644473600) /* from 1601 to 1970 */
#define TICKS	      10000000		   /* a second */
#define MOST_OPEN     2048
#define AS_IT_IS      (FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT)

/* -- directories --------------------------------------------------------------------- */

static int make_directory(int dir, const char *path)
{
	wchar_t *wide;
	int ret = dw_wide_at(dir, path, &wide);

	if (ret < 0)
		return ret;
	ret = CreateDirectoryW(wide, NULL) ? 0 : dw_windows_errno();
	dw_free(wide);
	return ret;
}

int dw_create_open_root(const char *path, bool *made_out)
{
	int fd, ret = make_directory(AT_FDCWD, path);

	*made_out = ret == 0;
	if (ret < 0 && ret != -EEXIST)
		return ret;
	return (ret = dw_dir_open(path, &fd)) < 0 ? ret : fd;
}

int dw_create_identify(int dir, struct file_identity *identity_out)
{
	struct os_stat stat;
	int ret = dw_stat_fd(dir, &stat);

	if (ret == 0)
		*identity_out = (struct file_identity){ stat.device, stat.inode };
	return ret;
}

int dw_create_open_dir(int dir, const char *name)
{
	int fd, ret = dw_dir_open_at(dir, name, &fd);

	return ret < 0 ? ret : fd;
}

int dw_create_open_parent(int dir, const struct file_identity *expected)
{
	struct file_identity found;
	auto_free wchar_t *path = NULL;
	auto_free char *narrow = NULL;
	auto_fd int fd = -1;
	wchar_t *end;
	int ret = dw_wide_at(dir, "", &path);

	if (ret < 0)
		return ret;
	end = wcsrchr(path, L'\\');
	if (!end)
		return -ESTALE;
	*end = L'\0';
	if (!(narrow = dw_narrow(path)))
		return -ENOMEM;
	if ((ret = dw_dir_open(narrow, &fd)) < 0 ||
	    (ret = dw_create_identify(fd, &found)) < 0)
		return ret;
	if (found.device != expected->device || found.inode != expected->inode)
		return -ESTALE;
	ret = fd;
	fd = -1;
	return ret;
}

uint32_t dw_create_most_open(void)
{
	return MOST_OPEN;
}

int dw_create_dir(int dir, const char *name, uint32_t mode)
{
	return make_directory(dir, name);
}

/* -- files --------------------------------------------------------------------------- */

int dw_create_file(int dir, const char *name, uint32_t mode)
{
	return dw_open_handle(dir, name, GENERIC_WRITE | FILE_READ_ATTRIBUTES, CREATE_NEW,
			      FILE_ATTRIBUTE_NORMAL);
}

int dw_create_open_file(int dir, const char *name)
{
	return dw_open_handle(dir, name, GENERIC_WRITE | FILE_READ_ATTRIBUTES,
			      OPEN_EXISTING, FILE_FLAG_OPEN_REPARSE_POINT);
}

int dw_create_is_there(int dir, const char *name)
{
	struct os_stat stat;
	int ret = dw_stat_at(dir, name, &stat);

	return ret == 0 ? 1 : ret == -ENOENT ? 0 : ret;
}

/* Call a function with two paths. */
static int with_paths(int from_dir, const char *from, int dir, const char *to,
		      BOOL (*call)(const wchar_t *from, const wchar_t *to))
{
	auto_free wchar_t *wide_from = NULL;
	auto_free wchar_t *wide_to = NULL;
	int ret;

	if ((ret = dw_wide_at(from_dir, from, &wide_from)) < 0 ||
	    (ret = dw_wide_at(dir, to, &wide_to)) < 0)
		return ret;
	return call(wide_from, wide_to) ? 0 : dw_windows_errno();
}

static BOOL move(const wchar_t *from, const wchar_t *to)
{
	return MoveFileExW(from, to, 0);
}

static BOOL link_to(const wchar_t *from, const wchar_t *to)
{
	return CreateHardLinkW(to, from, NULL);
}

int dw_create_rename(int dir, const char *from, const char *to)
{
	return with_paths(dir, from, dir, to, move);
}

uint64_t dw_create_token(void)
{
	unsigned low = 0, high = 0;

	if (rand_s(&low) == 0 && rand_s(&high) == 0)
		return (uint64_t)high << 32 | low;
	return GetTickCount64() << 20 ^ GetCurrentProcessId();
}

int dw_create_resize(int fd, uint64_t size)
{
	if (size > INT64_MAX)
		return -EFBIG;
	return -_chsize_s(fd, (int64_t)size);
}

int dw_create_close(int fd)
{
	return _close(fd) < 0 ? -errno : 0;
}

int dw_create_symlink(int dir, const char *name, const char *target)
{
	auto_free wchar_t *link = NULL;
	auto_free wchar_t *wide = NULL;
	int ret;

	if ((ret = dw_wide_at(dir, name, &link)) < 0 ||
	    (ret = dw_wide_at(AT_FDCWD, target, &wide)) < 0)
		return ret;
	return CreateSymbolicLinkW(link, wide,
				   SYMBOLIC_LINK_FLAG_ALLOW_UNPRIVILEGED_CREATE)
		       ? 0
		       : dw_windows_errno();
}

int dw_create_hard_link(int from_dir, const char *from, int dir, const char *name)
{
	return with_paths(from_dir, from, dir, name, link_to);
}

int dw_create_node(int dir, const char *name, uint32_t mode, uint32_t major,
		   uint32_t minor)
{
	return -ENOTSUP;
}

void dw_create_undo_file(int dir, const char *name)
{
	wchar_t *wide;

	if (dw_wide_at(dir, name, &wide) < 0)
		return;
	DeleteFileW(wide);
	dw_free(wide);
}

/* -- attributes ---------------------------------------------------------------------- */

uint32_t dw_create_mode(const struct attributes *attributes)
{
	return attributes->mode & 0777;
}

void dw_owned_forget_mode(struct owned *owned)
{
}

bool dw_restore_is_right(const struct attributes *attributes, const struct owned *owned)
{
	return (attributes->mode & S_IFMT) == (owned->mode & S_IFMT);
}

/* What was requested, as far as Windows has it. */
static struct owned owned_as(const struct attributes *attributes, uint32_t type)
{
	return (struct owned){ type | (attributes->mode & 07777), attributes->uid,
			       attributes->gid };
}

int dw_restore_owner(int fd, const struct attributes *attributes, struct owned *owned_out)
{
	struct os_stat stat;
	int ret = dw_stat_fd(fd, &stat);

	if (ret == 0)
		*owned_out = owned_as(attributes, stat.mode & S_IFMT);
	return ret;
}

int dw_restore_mode(int fd, const struct attributes *attributes,
		    const struct owned *owned)
{
	return 0;
}

static FILETIME file_time(struct os_time time)
{
	const int64_t most = INT64_MAX / TICKS - 1;
	int64_t seconds = time.seconds < -EPOCH_SECONDS ? -EPOCH_SECONDS : time.seconds;
	uint64_t ticks;

	seconds = seconds > most - EPOCH_SECONDS ? most : seconds + EPOCH_SECONDS;
	ticks = (uint64_t)seconds * TICKS + time.nanoseconds / 100;
	return (FILETIME){ (DWORD)ticks, (DWORD)(ticks >> 32) };
}

int dw_restore_times(int fd, const struct attributes *attributes)
{
	FILETIME atime = file_time(attributes->atime),
		 mtime = file_time(attributes->mtime);

	return SetFileTime(dw_handle_of(fd), NULL, &atime, &mtime) ? 0
								   : dw_windows_errno();
}

int dw_owned_at(int dir, const char *name, struct owned *owned_out)
{
	struct os_stat stat;
	int ret = dw_stat_at(dir, name, &stat);

	if (ret == 0)
		*owned_out = (struct owned){ stat.mode, 0, 0 };
	return ret;
}

int dw_restore_owner_at(int dir, const char *name, const struct attributes *attributes,
			struct owned *owned_out)
{
	int ret = dw_owned_at(dir, name, owned_out);

	if (ret < 0)
		return ret;
	if ((owned_out->mode & S_IFMT) != (attributes->mode & S_IFMT))
		return -ESTALE;
	*owned_out = owned_as(attributes, owned_out->mode & S_IFMT);
	return 0;
}

int dw_restore_mode_at(int dir, const char *name, const struct attributes *attributes,
		       const struct owned *owned)
{
	return 0;
}

int dw_restore_times_at(int dir, const char *name, const struct attributes *attributes)
{
	auto_fd int fd =
		dw_open_handle(dir, name, FILE_WRITE_ATTRIBUTES, OPEN_EXISTING, AS_IT_IS);

	return fd < 0 ? fd : dw_restore_times(fd, attributes);
}

bool dw_may_set_owners(void)
{
	return false;
}
