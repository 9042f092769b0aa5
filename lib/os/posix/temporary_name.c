/* SPDX-License-Identifier: MIT */
/*
 * os/posix/temporary_name: the name of a file that is not complete.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "os/file_io.h"
#include "os/posix/temporary_name.h"

#define MAX_NAME_TRIES 100

int dw_open_file(const char *path, int flags)
{
	int fd;

	do
		fd = open(path, flags | O_CLOEXEC, 0666);
	while (fd < 0 && errno == EINTR);
	return fd;
}

char *dw_folder_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!slash)
		return dw_strdup(".");
	return slash == path ? dw_strdup("/") : dw_strndup(path, (size_t)(slash - path));
}

/* FNV-1a of the last name of a path. */
static uint64_t hash_name(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	return dw_fnv1a(DW_FNV1A_START, name, strlen(name));
}

/* A hidden name in the same directory: the one of the path, or, if others is not 0, one that is
 * unlikely to exist. */
static char *temporary_name(const char *path, unsigned others)
{
	auto_free char *folder = dw_folder_of(path);
	struct timespec now = { 0 };
	size_t room;
	char *name;

	if (!folder)
		return NULL;
	clock_gettime(CLOCK_REALTIME, &now);
	room = strlen(folder) + 64;
	name = dw_malloc(room);
	if (name && others == 0)
		snprintf(name, room, "%s/.dwarfs-%016" PRIx64, folder, hash_name(path));
	else if (name)
		snprintf(name, room, "%s/.dwarfs-%ld-%lx-%u", folder, (long)getpid(),
			 (unsigned long)now.tv_nsec, others);
	return name;
}

int dw_lock_file(int fd)
{
	while (flock(fd, LOCK_EX | LOCK_NB) != 0)
		if (errno != EINTR)
			return errno == EWOULDBLOCK ? -EBUSY : -ENOTSUP;
	return 0;
}

bool dw_has_name(int fd, const char *name)
{
	struct stat file, found;

	return fstat(fd, &file) == 0 && lstat(name, &found) == 0 &&
	       file.st_dev == found.st_dev && file.st_ino == found.st_ino;
}

/* Remove what a killed process left: 0 if the name is free, -EBUSY if a running process has it,
 * -EEXIST if this is not known. */
static int remove_left_over(const char *name)
{
	int fd = dw_open_file(name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	int ret = -EEXIST;
	struct stat st;

	if (fd < 0)
		return errno == ENOENT ? 0 : -EEXIST;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid())
		ret = dw_lock_file(fd);
	if (ret == 0 && dw_has_name(fd, name) && unlink(name) != 0)
		ret = -EEXIST;
	dw_fd_close(fd);
	return ret == -ENOTSUP ? -EEXIST : ret;
}

int dw_temporary_name_find(const char *path, int (*take)(void *file, const char *name),
			   void *file, char **name_out)
{
	for (unsigned tries = 0, others = 0; tries < MAX_NAME_TRIES; tries++) {
		auto_free char *name = temporary_name(path, others);
		int ret;

		if (!name)
			return -ENOMEM;
		ret = take(file, name);
		if (ret == 0)
			*name_out = dw_steal(name);
		if (ret != -EEXIST)
			return ret;
		if (others == 0 && (ret = remove_left_over(name)) == 0)
			continue;
		if (ret == -EBUSY)
			return ret;
		others++;
	}
	return -EEXIST;
}

int dw_temporary_name_clean_up(const char *path)
{
	auto_free char *name = temporary_name(path, 0);

	if (!name)
		return -ENOMEM;
	return remove_left_over(name) == -EBUSY ? -EBUSY : 0;
}
