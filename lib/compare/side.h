/* SPDX-License-Identifier: MIT */
/*
 * compare/side: one of the two trees: functions that list it and hash its files.
 */
#ifndef DW_COMPARE_SIDE_H
#define DW_COMPARE_SIDE_H

#include <dwarfs/compare.h>

#include "base/progress.h"
#include "compare/side_listing.h"

enum side_kind { SIDE_NONE, SIDE_IMAGE, SIDE_DIRECTORY, SIDE_ARCHIVE };

struct side {
	enum side_kind kind;
	dwarfs_image *image;
	int fd;		/* of a directory; owned */
	dwarfs_io *io;	/* of an archive */
	bool is_unread; /* nothing asks for the contents of an archive */
	bool is_bare;	/* nor for extended attributes */
	dwarfs_context *context;
	struct side_listing listing;
};

/* List the entries of a side, unsorted. */
int dw_list_image(struct side *side, struct dwarfs_progress *progress,
		  dwarfs_error **err);
int dw_list_directory(struct side *side, struct dwarfs_progress *progress,
		      dwarfs_error **err);
/* This one also hashes all files. */
int dw_list_archive(struct side *side, struct dwarfs_progress *progress,
		    dwarfs_error **err);

/* Whether archives are built in, and whether a file is one: 1, 0 or NOMEM. */
bool dw_can_list_archives(void);
int dw_is_archive(dwarfs_io *io, dwarfs_error **err);

/* Hash the requested files; read errors are recorded as trouble. */
int dw_sum_image(struct side *side, struct dwarfs_progress *progress, dwarfs_error **err);
int dw_sum_directory(struct side *side, struct dwarfs_progress *progress,
		     dwarfs_error **err);

#endif
