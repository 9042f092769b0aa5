/* SPDX-License-Identifier: MIT */
/*
 * os/dir: what stands in directories, seen from an open one.
 *
 * Paths are relative to a descriptor and may be of any length. No descriptor is kept, and
 * a symbolic link at the end of a path is never followed.
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
	uint64_t allocated;	/* bytes that take room on disk */
	uint64_t device, inode; /* what tells files apart */
	uint64_t links;
	uint64_t rdev; /* of a device file, in the encoding of Linux */
	struct os_time atime, mtime, ctime;
	struct os_time btime; /* all zero: not known, or not asked for */
};

/* What a list of names tells of an entry, if the file system does. */
enum os_kind { OS_KIND_UNKNOWN, OS_KIND_DIRECTORY, OS_KIND_OTHER };

/* Names without "." and "..", one after the other with a NUL each, and one byte with the
 * kind in front; offsets are sorted by the bytes of the names. All zero is an empty list.
 */
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

static inline const char *dw_os_name(const struct os_names *names, size_t i)
{
	return (const char *)names->text.data + names->offsets[i];
}

static inline enum os_kind dw_os_name_kind(const struct os_names *names, size_t i)
{
	return (enum os_kind)names->text.data[names->offsets[i] - 1];
}

/* All of these give 0 or a negative errno value (-ENOMEM too). */

/* A directory by a path of the system, which may be a symbolic link to it. */
int dw_dir_open(const char *path, int *fd_out);

/* A directory by its path below fd; "" is fd itself (another descriptor of it). */
int dw_dir_open_at(int fd, const char *path, int *fd_out);

/* Likewise, only to open what is below it: that is cheaper, and takes directories that
 * may be searched but not read. */
int dw_dir_pass_at(int fd, const char *path, int *fd_out);

/* Read the names of an open directory, from its start. names may hold an earlier list. */
int dw_dir_list(int fd, struct os_names *names);

/* Whether a path of the system, whose symbolic links are followed, is this directory. */
bool dw_dir_is(int fd, const char *path);

int dw_stat_at(int fd, const char *name, struct os_stat *stat_out);
int dw_stat_fd(int fd, struct os_stat *stat_out);

/* When a file was born, where the file system knows it; all zero where not. "" is fd. */
int dw_birth_at(int fd, const char *name, struct os_time *btime_out);

/* The target of a symbolic link, with a NUL; target may hold an earlier one. */
int dw_readlink_at(int fd, const char *name, struct buffer *target);

/* Open a file for reading by its path below fd. Does not wait, whatever the file is. */
int dw_open_at(int fd, const char *path, int *fd_out);

/*
 * The next run of data of a file at or behind from, up to end: [*start_out, *end_out).
 * Both are end when only a hole is left. On file systems that know no holes the whole
 * rest is data.
 */
int dw_next_data(int fd, uint64_t from, uint64_t end, uint64_t *start_out,
		 uint64_t *end_out);

#endif
