/* SPDX-License-Identifier: MIT */
/*
 * os/scratch: a file without a name, which goes with its descriptor.
 */
#ifndef DW_OS_SCRATCH_H
#define DW_OS_SCRATCH_H

#include "base/memory.h"

/* Make one in a directory, to be written and read: 0 or a negative errno value. */
int dw_scratch_open(const char *directory, int *fd_out);

/* What is behind an offset is no longer needed, or a part of the file; where the file
 * system cannot give the room back, it does not. */
void dw_scratch_cut(int fd, uint64_t bytes);
void dw_scratch_drop(int fd, uint64_t offset, uint64_t bytes);

#endif
