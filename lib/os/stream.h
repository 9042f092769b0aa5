/* SPDX-License-Identifier: MIT */
/*
 * os/stream: descriptors that are read once, such as pipes.
 */
#ifndef DW_OS_STREAM_H
#define DW_OS_STREAM_H

#include "base/memory.h"

/*
 * read() what is there: how many bytes, 0 at the end, -EAGAIN when nothing came within
 * wait_ms or a signal did, or another negative errno value.
 */
int64_t dw_stream_read(int fd, void *buffer, size_t size, int wait_ms);

/* Where a descriptor stands; 0 for one that cannot say. */
uint64_t dw_stream_place(int fd);

#endif
