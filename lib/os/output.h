/* SPDX-License-Identifier: MIT */
/*
 * os/output: a file that appears whole or not at all, or a descriptor, which takes bytes
 * from first to last. See os/sink for memory and callbacks.
 */
#ifndef DW_OS_OUTPUT_H
#define DW_OS_OUTPUT_H

#include "base/memory.h"
#include "base/progress.h"
#include "os/dir.h"

struct output;

/* Write a file. An existing regular file is replaced at commit if overwrite is set,
 * otherwise EXISTS; other files (a device, a pipe) are written in place. */
int dw_output_create(const char *path, bool overwrite, struct output **output_out,
		     dwarfs_error **err);

/* Whether dw_output_create() could make a file for this path, or replace the one there. */
int dw_output_check(const char *path, dwarfs_error **err);

/* Write to a descriptor, which stays the caller's. */
int dw_output_to_fd(int fd, struct output **output_out, dwarfs_error **err);

/* Whether to sync a regular file and its directory at commit; default: no. */
void dw_output_set_sync(struct output *output, bool sync);

/* Append. Ticks progress, so that a blocked write can be cancelled. */
int dw_output_write(struct output *output, const void *data, size_t bytes,
		    struct dwarfs_progress *progress, dwarfs_error **err);

/* The descriptors of a file that no other process writes, as it has no name yet or a temporary
 * one: for writing, at position 0 when it is made, and for reading. Otherwise both are -1. */
void dw_output_fds(const struct output *output, int *writer_out, int *reader_out);

/* Whether a file is the one being written, or the one it replaces. */
bool dw_output_is(const struct output *output, const struct os_stat *found);

/* The directory of a file that appears at commit, allocated; NULL if there is none, or no
 * memory. */
char *dw_output_directory(const struct output *output);

/* Name the file. Nothing can be written afterwards. */
int dw_output_commit(struct output *output, dwarfs_error **err);

/* Without a commit nothing remains. NULL is accepted. */
void dw_output_free(struct output *output);
DW_DEFINE_AUTO(output, struct output *, dw_output_free)
#define auto_output DW_AUTO(output)

/* -- for the implementations ---------------------------------------------------------- */

/* "WHAT 'PATH'", and why. */
static inline int dw_output_fail(dwarfs_error **err, int errnum, const char *what,
				 const char *path)
{
	return dw_error_at_path(err, dw_fail_errno(err, errnum, "%s '%s'", what, path),
				path);
}

static inline int dw_output_fail_exists(dwarfs_error **err, const char *path)
{
	return dw_error_at_path(
		err,
		dw_fail(err, DWARFS_ERR_EXISTS, "output file already exists: '%s'", path),
		path);
}

/* replaced: there was a file at the beginning; otherwise there is one now. */
static inline int dw_output_fail_changed(dwarfs_error **err, const char *path,
					 bool replaced)
{
	return dw_error_at_path(
		err,
		dw_fail(err, DWARFS_ERR_EXISTS,
			"the output file '%s' was %s by another process meanwhile, and is "
			"kept",
			path, replaced ? "replaced" : "created"),
		path);
}

/* The path is NULL where it is not known. */
static inline int dw_output_fail_write(dwarfs_error **err, int errnum, const char *path)
{
	return path ? dw_output_fail(err, errnum, "cannot write", path)
		    : dw_fail_errno(err, errnum, "cannot write the output");
}

#endif
