/* SPDX-License-Identifier: MIT */
/*
 * os/sink: a file that appears whole or not at all; or a descriptor, memory or a callback
 * that takes bytes from first to last. See <dwarfs/sink.h>.
 */
#ifndef DW_OS_SINK_H
#define DW_OS_SINK_H

#include <dwarfs/sink.h>

#include "base/memory.h"
#include "base/progress.h"
#include "os/dir.h"

/* Before the first byte: 0, or INVALID for a sink that was used already. */
int dw_sink_begin(dwarfs_sink *sink, dwarfs_error **err);

/* Append. Ticks progress, so that a blocked write can be cancelled. */
int dw_sink_write(dwarfs_sink *sink, const void *data, size_t bytes,
		  struct dwarfs_progress *progress, dwarfs_error **err);

/*
 * Let the next bytes be those of a file at an offset, as far as the file system can share them
 * without copying: whole blocks of it, and only with a sink that is a file by its path. Which
 * these are is set; none if it cannot. They have to be written all the same, by
 * dw_sink_write_shared(), or replaced by dw_sink_write().
 */
struct shared_bytes {
	uint64_t from, to; /* in the output */
};
int dw_sink_share(dwarfs_sink *sink, int fd, uint64_t offset, uint64_t bytes,
		  struct dwarfs_progress *progress, struct shared_bytes *shared_out,
		  dwarfs_error **err);

/* Bytes that were written so far. */
uint64_t dw_sink_bytes(const dwarfs_sink *sink);

/* Read shared bytes from the output, at an offset in it. Later changes of the other file do not
 * change them. */
int dw_sink_read_shared(dwarfs_sink *sink, void *buffer, size_t bytes, uint64_t offset,
			dwarfs_error **err);

/* Append data that begins with, ends with, or is bytes that were read by dw_sink_read_shared():
 * these are not written again. */
int dw_sink_write_shared(dwarfs_sink *sink, const void *data, size_t bytes,
			 struct dwarfs_progress *progress, dwarfs_error **err);

/* Whether a file is the one being written, or the one it replaces. */
bool dw_sink_is(const dwarfs_sink *sink, const struct os_stat *found);

/* The directory of a file that appears at commit, allocated; NULL for anything else, or if there is
 * no memory. */
char *dw_sink_directory(const dwarfs_sink *sink);

/* The path of the file, or NULL. */
const char *dw_sink_path(const dwarfs_sink *sink);

/* Name the file. Nothing can be written afterwards. */
int dw_sink_commit(dwarfs_sink *sink, dwarfs_error **err);

DW_DEFINE_AUTO(sink, dwarfs_sink *, dwarfs_sink_free)
#define auto_sink DW_AUTO(sink)

#endif
