/* SPDX-License-Identifier: MIT */
/*
 * os/stream: descriptors that are read once, such as pipes.
 */
#ifndef DW_OS_STREAM_H
#define DW_OS_STREAM_H

#include "base/memory.h"

/* read() available bytes: their number, 0 at the end, -EAGAIN if none came within
 * wait_ms or a signal was caught, or another negative errno value. */
int64_t dw_stream_read(int fd, void *buffer, size_t size, int wait_ms);

/* The current offset of a descriptor; 0 if it has none. */
uint64_t dw_stream_place(int fd);

#endif
