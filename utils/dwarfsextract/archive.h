/* SPDX-License-Identifier: MIT */
/*
 * dwarfsextract/archive: write an image as an archive.
 */
#ifndef UTILS_DWARFSEXTRACT_ARCHIVE_H
#define UTILS_DWARFSEXTRACT_ARCHIVE_H

#include "common/common.h"
#include "common/progress.h"

/* The settings of the command line for archives. */
struct archive_settings {
	const char *input;	       /* the image */
	const char *format;	       /* NULL: no archive is asked for */
	const char *filters, *options; /* may be NULL */
	const char *output;	       /* NULL and "-" are standard output */
	const char *const *patterns;
	size_t pattern_count;
	bool tree_order, skip_devices, skip_specials, no_xattrs, continue_on_error;
	bool no_sync, allow_huge_holes;
	bool uid_given, gid_given;
	uint32_t uid, gid; /* of everything, if given */
	bool percent;	   /* is printed on standard output */
};

/* "data" or "tree"; returns 0, or 1 after printing. */
int archive_parse_order(const char *text, bool *tree_order_out);

/* Returns 0, or 1 after printing an invalid combination. */
int archive_check(const struct archive_settings *settings);

/* Prints all errors and returns an exit code. The display, which may be NULL, is
 * removed. */
int archive_write(const struct archive_settings *settings, const dwarfs_image *image,
		  const dwarfs_task *task, struct progress **display);

#endif
