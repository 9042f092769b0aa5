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

/* Whether a file is the one being written, or the one it replaces. */
bool dw_sink_is(const dwarfs_sink *sink, const struct os_stat *found);

/* The path of the file, or NULL. */
const char *dw_sink_path(const dwarfs_sink *sink);

/* Name the file. Nothing can be written afterwards. */
int dw_sink_commit(dwarfs_sink *sink, dwarfs_error **err);

DW_DEFINE_AUTO(sink, dwarfs_sink *, dwarfs_sink_free)
#define auto_sink DW_AUTO(sink)

#endif
