/* SPDX-License-Identifier: MIT */
/*
 * os/posix/temporary_name: the name of a file that is not complete.
 *
 * Each path has one such name, in the same directory, and a process that uses it has the file
 * locked. So two processes that use the name exclude each other, and a file that a
 * killed process left, which is not locked, is removed by the next process. If the file
 * system has no locks, a file that was left stays, and other names are used.
 */
#ifndef DW_OS_POSIX_TEMPORARY_NAME_H
#define DW_OS_POSIX_TEMPORARY_NAME_H

#include "base/memory.h"

/* open(), with O_CLOEXEC; on some file systems a signal interrupts it. */
int dw_open_file(const char *path, int flags);

/* The folder of a path, "." when it names none; free it with dw_free(). NULL: out of memory. */
char *dw_folder_of(const char *path);

/* Lock an open file until it is closed: 0, -EBUSY if it is locked, or another error if the file
 * system has no locks. */
int dw_lock_file(int fd);

/* Whether a name is that of an open file. */
bool dw_has_name(int fd, const char *name);

/*
 * Call a function with one temporary name of the path after the other until it does not return
 * -EEXIST, and return what it did. After 0 the caller frees *name_out with dw_free(). A file that a
 * killed process left is removed before. -ENOMEM, and -EBUSY if another process has the name, are
 * returned too.
 */
int dw_temporary_name_find(const char *path, int (*take)(void *file, const char *name),
			   void *file, char **name_out);

/* Remove what a killed process left: 0, -EBUSY if a running one has the name, or -ENOMEM. */
int dw_temporary_name_clean_up(const char *path);

#endif
