/* SPDX-License-Identifier: MIT */
/*
 * archive/formats: which formats and filters of libarchive are used for reading.
 */
#ifndef DW_ARCHIVE_FORMATS_H
#define DW_ARCHIVE_FORMATS_H

#include "archive/libarchive.h"
#include "base/memory.h"

/* A line of the table; NULL is "auto". */
struct archive_format;

/* The format of a name: NULL for "auto". INVALID or UNSUPPORTED. */
int dw_archive_format_find(const struct libarchive *la, const char *name,
			   const struct archive_format **format_out, dwarfs_error **err);

/* Whether a format is read from its end, and cannot be from a stream. */
bool dw_archive_format_wants_seek(const struct archive_format *format);

/*
 * Have a new archive take the format, or all that are recognized by their bytes, and
 * every filter that needs no other program.
 */
int dw_archive_format_enable(const struct libarchive *la, struct archive *archive,
			     const struct archive_format *format, dwarfs_error **err);

/*
 * The last error of libarchive, as one of ours: out of memory, unknown format, encrypted,
 * or damaged.
 */
int dw_archive_fail(const struct libarchive *la, struct archive *archive,
		    dwarfs_error **err);

#endif
