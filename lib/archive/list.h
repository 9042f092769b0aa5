/* SPDX-License-Identifier: MIT */
/*
 * archive/list: read an archive from start to end.
 *
 * Needs no builder. Names and attributes are converted as by the import.
 */
#ifndef DW_ARCHIVE_LIST_H
#define DW_ARCHIVE_LIST_H

#include "base/progress.h"
#include "os/io.h"

/* An entry, valid during the call. */
struct archive_listed {
	const char *path; /* names joined by "/", "" for the root */
	size_t path_bytes;
	uint32_t mode;
	uint32_t uid, gid;
	int64_t seconds;
	uint32_t nanoseconds;
	bool has_time;
	uint32_t major, minor;
	const char *target;    /* of a symbolic link, or NULL */
	const char *hard_link; /* path of the target of a hard link, or NULL */
};

/* Callbacks for each entry: entry, then xattr for each attribute, and for regular files
 * data for each piece outside of holes, in ascending order, and end with the size. */
struct archive_list_fns {
	int (*entry)(void *user, const struct archive_listed *listed, dwarfs_error **err);
	int (*xattr)(void *user, const char *name, const void *value, size_t bytes,
		     dwarfs_error **err);
	int (*data)(void *user, const void *data, size_t bytes, uint64_t offset,
		    dwarfs_error **err);
	int (*end)(void *user, uint64_t size, dwarfs_error **err);
};

/* Read an archive; a stream of a format that
 * must be read from its end is first copied to an unnamed file in /tmp. */
int dw_archive_list(dwarfs_io *io, const struct archive_list_fns *fns, void *user,
		    struct dwarfs_progress *progress, dwarfs_error **err);

/* Whether a file that can seek is an archive, by its first entry: 1, 0 or NOMEM. */
int dw_archive_is_one(dwarfs_io *io, dwarfs_error **err);

#endif
