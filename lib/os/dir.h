/* SPDX-License-Identifier: MIT */
/*
 * os/dir: entries of directories, relative to an open one.
 *
 * Paths are relative to a descriptor and may be of any length. No descriptor is kept,
 * and a symbolic link at the end of a path is never followed.
 */
#ifndef DW_OS_DIR_H
#define DW_OS_DIR_H

#include "base/memory.h"

struct os_time {
	int64_t seconds;
	uint32_t nanoseconds;
};

struct os_stat {
	uint32_t mode; /* with the bits of the type, as the format stores it */
	uint32_t uid, gid;
	uint64_t size;
	uint64_t allocated;	/* bytes used on disk */
	uint64_t device, inode; /* identify a file */
	uint64_t links;
	uint64_t rdev; /* of a device file, in the encoding of Linux */
	struct os_time atime, mtime, ctime;
	struct os_time btime; /* all zero: not known, or not requested */
};

/* The type of a listed entry, if the file system gives it. */
enum os_kind { OS_KIND_UNKNOWN, OS_KIND_DIRECTORY, OS_KIND_OTHER };

/* Names without "." and "..": for each one byte with the kind, the name and a NUL.
 * Offsets are sorted by the bytes of the names. Zero-initialized, it is empty. */
struct os_names {
	struct buffer text;
	uint64_t *offsets;
	size_t count, room;
};

void dw_os_names_free(struct os_names *names);
static inline void dw_cleanup_os_names(struct os_names *names)
{
	dw_os_names_free(names);
}
#define auto_os_names __attribute__((cleanup(dw_cleanup_os_names)))

/* For dw_dir_list(): 0 or -ENOMEM. */
int dw_os_names_append(struct os_names *names, enum os_kind kind, const char *name);
void dw_os_names_sort(struct os_names *names);

static inline const char *dw_os_name(const struct os_names *names, size_t i)
{
	return (const char *)names->text.data + names->offsets[i];
}

static inline enum os_kind dw_os_name_kind(const struct os_names *names, size_t i)
{
	return (enum os_kind)names->text.data[names->offsets[i] - 1];
}

/* All of these give 0 or a negative errno value, -ENOMEM included. */

/* Open a directory by a path of the system, which may be a symbolic link to it. */
int dw_dir_open(const char *path, int *fd_out);

/* Open a directory by its path below fd; "" is fd itself (another descriptor of it). */
int dw_dir_open_at(int fd, const char *path, int *fd_out);

/* The same, only as a base for other calls: cheaper, and needs no read permission. */
int dw_dir_pass_at(int fd, const char *path, int *fd_out);

/* Read the names of an open directory, from its start. names may contain an earlier
 * list. */
int dw_dir_list(int fd, struct os_names *names);

/* Whether a path of the system (symbolic links are followed) is this directory. */
bool dw_dir_is(int fd, const char *path);

/* The path of the system without symbolic links, absolute: NULL with errno. */
char *dw_real_path(const char *path);

int dw_stat_at(int fd, const char *name, struct os_stat *stat_out);
int dw_stat_fd(int fd, struct os_stat *stat_out);

/* The birth time of a file, if the file system knows it; otherwise all zero. "" is fd. */
int dw_birth_at(int fd, const char *name, struct os_time *btime_out);

/* The target of a symbolic link, with a NUL; target may contain an earlier one. */
int dw_readlink_at(int fd, const char *name, struct buffer *target);

/* Open a file for reading by its path below fd. Never blocks, whatever the file is. */
int dw_open_at(int fd, const char *path, int *fd_out);

/* The next run of data of a file at or after `from`, up to end: [*start_out,
 * *end_out). Both are end if only a hole is left. File systems without holes: the
 * whole rest is data. */
int dw_next_data(int fd, uint64_t from, uint64_t end, uint64_t *start_out,
		 uint64_t *end_out);

#endif
