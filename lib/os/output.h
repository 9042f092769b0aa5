/* SPDX-License-Identifier: MIT */
/*
 * os/output: a file that appears whole or not at all; or a descriptor or callback that
 * takes bytes from first to last.
 */
#ifndef DW_OS_OUTPUT_H
#define DW_OS_OUTPUT_H

#include "base/memory.h"
#include "base/progress.h"
#include "os/dir.h"

struct output;

/*
 * A file at path. An existing regular file is replaced at commit if overwrite is set, and
 * EXISTS otherwise; what is no regular file (a device, a pipe) is written in place.
 */
int dw_output_create(const char *path, bool overwrite, struct output **output_out,
		     dwarfs_error **err);

/* Bytes into a descriptor, which stays the caller's. */
int dw_output_to_fd(int fd, struct output **output_out, dwarfs_error **err);

/* Bytes into a function, which gives 0 or a negative errno value. */
int dw_output_to_function(int (*write)(const void *data, size_t bytes, void *user),
			  void *user, struct output **output_out, dwarfs_error **err);

/* Whether a regular file is on disk once it is committed, and its name too; it is not when
 * this is not called. */
void dw_output_set_sync(struct output *output, bool sync);

/* Append. Ticks progress now and then, so that a slow taker can be given up. */
int dw_output_write(struct output *output, const void *data, size_t bytes,
		    struct dwarfs_progress *progress, dwarfs_error **err);

/* Whether a file that was found is the one being written, or the one it replaces. */
bool dw_output_is(const struct output *output, const struct os_stat *found);

/* Give the file its name. The output takes no more bytes then. */
int dw_output_commit(struct output *output, dwarfs_error **err);

/* Without a commit before, nothing remains. NULL is accepted. */
void dw_output_free(struct output *output);
DW_DEFINE_AUTO(output, struct output *, dw_output_free)
#define auto_output DW_AUTO(output)

#endif
