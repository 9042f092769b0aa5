/* SPDX-License-Identifier: MIT */
/*
 * os/scratch: an unnamed temporary file, removed when its descriptor is closed.
 */
#ifndef DW_OS_SCRATCH_H
#define DW_OS_SCRATCH_H

#include "base/memory.h"

/* Create one in a directory, for writing and reading: 0 or a negative errno value. */
int dw_scratch_open(const char *directory, int *fd_out);

/* Bytes that one in a directory may have: those free in the file system, but no more than the
 * limit of the process on the size of files; 0 if not known. */
uint64_t dw_scratch_space(const char *directory);

/* Free the space after an offset, or of a range, if the file system can. */
void dw_scratch_cut(int fd, uint64_t bytes);
void dw_scratch_drop(int fd, uint64_t offset, uint64_t bytes);

#endif
