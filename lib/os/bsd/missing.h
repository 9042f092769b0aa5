/* SPDX-License-Identifier: MIT */
/*
 * os/bsd/missing: functions of glibc and musl that macOS or FreeBSD lack, or declare otherwise.
 */
#ifndef DW_OS_BSD_MISSING_H
#define DW_OS_BSD_MISSING_H

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#ifndef ENODATA
#define ENODATA ENOATTR
#endif

/* With the order of parameters of POSIX 2024; both have an older one. */
void dw_qsort_r(void *items, size_t count, size_t bytes,
		int (*compare)(const void *, const void *, void *), void *context);
#undef qsort_r
#define qsort_r dw_qsort_r

void *dw_memrchr(const void *data, int byte, size_t bytes);
#undef memrchr
#define memrchr dw_memrchr

#ifdef __APPLE__
#define st_atim					     st_atimespec
#define st_mtim					     st_mtimespec
#define st_ctim					     st_ctimespec
#define pthread_condattr_setclock(attributes, clock) ((void)(attributes), 0)
#define mkostemp				     dw_mkostemp
int dw_mkostemp(char *path, int flags);
#endif

#endif
