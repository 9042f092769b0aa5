/* SPDX-License-Identifier: MIT */
/*
 * os/windows/missing: functions and constants of POSIX that Windows lacks or has with other values.
 */
#ifndef DW_OS_WINDOWS_MISSING_H
#define DW_OS_WINDOWS_MISSING_H

#define _CRT_RAND_S /* declares rand_s() */

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>

/* Modes are those of the image format, which are those of Linux. */
#undef S_IFBLK
#undef S_ISBLK
#define S_IFBLK	       0x6000
#define S_IFLNK	       0xA000
#define S_IFSOCK       0xC000
#define S_ISBLK(mode)  (((mode)&S_IFMT) == S_IFBLK)
#define S_ISLNK(mode)  (((mode)&S_IFMT) == S_IFLNK)
#define S_ISSOCK(mode) (((mode)&S_IFMT) == S_IFSOCK)
#define S_ISUID	       04000
#define S_ISGID	       02000

#define ESTALE	 2001
#define EDQUOT	 2002
#define AT_FDCWD (-100) /* of os/dir and os/create: the current directory */

/* Signals are not blocked: Windows delivers none to a thread of ours. */
typedef int dw_signals;
#define sigset_t	dw_signals
#define sigfillset(set) ((void)(*(set) = 0))
#define SIG_BLOCK	0
#define SIG_SETMASK	2

#define _SC_PAGESIZE	     30
#define _SC_NPROCESSORS_ONLN 84
#define _SC_PHYS_PAGES	     85
long dw_sysconf(int name);
#define sysconf dw_sysconf

/* 0, or an errno value. */
int dw_strerror_r(int errnum, char *text, size_t bytes);
#define strerror_r dw_strerror_r

char *dw_strsep(char **text, const char *ends);
#define strsep dw_strsep

void *dw_memmem(const void *data, size_t bytes, const void *wanted, size_t wanted_bytes);
#define memmem dw_memmem

void *dw_memrchr(const void *data, int byte, size_t bytes);
#define memrchr dw_memrchr

#define getc_unlocked getc

void dw_qsort_r(void *items, size_t count, size_t bytes,
		int (*compare)(const void *, const void *, void *), void *context);
#define qsort_r dw_qsort_r

/* Patterns of *, ? and [...]; no flags. 0 if the text matches. */
int dw_fnmatch(const char *pattern, const char *text, int flags);
#define fnmatch dw_fnmatch

#endif
