/* SPDX-License-Identifier: MIT */
/*
 * archive/import/import: interfaces shared by the import. See <dwarfs/archive.h>.
 */
#ifndef DW_ARCHIVE_IMPORT_IMPORT_H
#define DW_ARCHIVE_IMPORT_IMPORT_H

#include <dwarfs/archive.h>

#include "archive/feed.h"
#include "archive/formats.h"
#include "archive/libarchive.h"

struct dwarfs_archive_import {
	const struct libarchive *la; /* owned */
	dwarfs_builder *builder;
	const struct archive_format *format; /* NULL: auto */
	uint32_t strip;
	struct buffer prefix; /* names joined by "/" */
	bool whiteouts;
	char *spool;		 /* NULL: the default */
	const dwarfs_task *task; /* or NULL */
	bool continue_on_error;
	dwarfs_import_report_fn report;
	void *report_user;
	uint64_t warnings, failures;
	bool is_complete; /* the last archive was read to its end */
};

/*
 * A file of a cpio archive with several names, of which only the last one has contents:
 * it is not added before these are read.
 */
struct late_file {
	char *key;     /* its first name, as the archive has it */
	bool is_named; /* that is the first of the names, too */
	dwarfs_item *item;
	struct buffer names; /* in the image, each with a NUL */
};

/* Whether the entry at a path of the image is not the one of the archive; by the path's
 * hash. */
struct lost_path {
	uint64_t hash; /* 0: the slot is free */
	bool is_lost;
};

/* One archive while it is read. */
struct import_job {
	dwarfs_archive_import *import;
	const struct libarchive *la;
	struct archive *archive;
	struct archive_entry *entry;
	struct feed feed;
	struct text_locale locale;
	struct dwarfs_progress progress;
	const char *shown; /* the path as the archive has it */
	struct buffer path;
	bool is_cpio;
	enum { SIGNS_UNKNOWN, SIGNS_READ, SIGNS_MISREAD } signs; /* see entry_time.c */
	struct late_file *late;
	size_t late_count, late_room;
	struct lost_path *lost; /* a table of lost_room slots, a power of two */
	size_t lost_count, lost_room;
	bool is_broken; /* the archive: nothing more can be read of it */
	bool is_left;	/* an entry failed that ends the import */
	int first_code; /* of the first entry that was left out */
	dwarfs_error *first;

	/* contents of the entry, as they are read */
	uint64_t size; /* UINT64_MAX: not known */
	uint64_t end;  /* of the bytes read */
};

/* -- import.c -------------------------------------------------------------------- */

/* Add an item that is not a directory, or a hard link, and report if it replaces a
 * directory. */
int dw_import_add(struct import_job *job, const struct buffer *path,
		  const dwarfs_item *item, dwarfs_error **err);

/* Enter the locale and open the archive whose bytes the feed has; leave and free both. */
int dw_import_open(struct import_job *job, dwarfs_error **err);

/* Whether the end of an archive that was read is where it should be. */
int dw_import_check_end(struct import_job *job, dwarfs_error **err);

/* -- report.c ------------------------------------------------------------- */

/* Report the loss of an attribute of an entry, and count it. */
void dw_import_warn(struct import_job *job, const char *format, ...) DW_PRINTF(2, 3);

/* Report that an entry replaced a directory that was not empty. */
void dw_import_tell_replaced(struct import_job *job, const char *path, uint64_t count);

/*
 * An entry has failed: report and count it. Takes ownership of why. 0 to continue without
 * the entry, or the code, with *err.
 */
int dw_import_lose(struct import_job *job, const char *path, int code, dwarfs_error *why,
		   dwarfs_error **err);

/* Check the targets of hard links that did not exist when the links were added; if the
 * import continues on errors, links without a target are removed. */
int dw_import_check_links(struct import_job *job, dwarfs_error **err);

/* -- archive_entry.c -------------------------------------------------------------- */

/* Take the entry that job->entry is. */
int dw_import_entry(struct import_job *job, dwarfs_error **err);

/* Where contents end, by the offset that archive_read_data_block() gives with ARCHIVE_EOF: that of
 * a hole at the end. The reader of xar gives the bytes of all entries so far; then 0. */
uint64_t dw_import_end_offset(const struct import_job *job, la_int64_t offset);

/* Have the contents of the entry taken for those of an item. */
int dw_import_set_contents(struct import_job *job, dwarfs_item *item, dwarfs_error **err);

/* -- item_attributes.c --------------------------------------------------------- */

/* The numbers of the device that an entry is. */
void dw_import_device(const struct import_job *job, uint64_t *major_out,
		      uint64_t *minor_out);

/* An item with the type and all attributes of the entry, but without contents. */
int dw_import_item(struct import_job *job, dwarfs_item **item_out, dwarfs_error **err);

/* -- entry_time.c --------------------------------------------------------------- */

/* A time as an image has it: a fraction is added, also before 1970. */
struct import_time {
	int64_t seconds;
	uint32_t nanoseconds;
};

/* A time of an entry, with the sign error of libarchive corrected. */
struct import_time dw_import_time(struct import_job *job, int64_t seconds,
				  long nanoseconds);

/* -- acl.c ---------------------------------------------------------------- */

/*
 * The access control lists of the entry, as extended attributes. The group bits in *mode
 * are set to the mask of the list, as in a file system.
 */
int dw_import_acls(struct import_job *job, dwarfs_item *item, dwarfs_error **err);
uint32_t dw_import_mode(struct import_job *job);

/* One of the lists as such an attribute; empty when the entry has none. */
int dw_import_acl_value(struct import_job *job, int type, struct buffer *value,
			dwarfs_error **err);

/* -- cpio_links.c -------------------------------------------------------------- */

/* Add a hard link: job->path refers to the entry that the archive calls target. */
int dw_import_link(struct import_job *job, const char *target, dwarfs_error **err);

/* The postponed file of this name, whose contents follow, or NULL. */
struct late_file *dw_import_find_late(struct import_job *job, const char *target);

/* The entry is a further name of it, at job->path if it is named, and may have the
 * contents; then late is freed. */
int dw_import_link_late(struct import_job *job, struct late_file *late, bool is_named,
			dwarfs_error **err);

/* Postpone an entry of a cpio archive until its contents are read. */
int dw_import_defer(struct import_job *job, bool is_named, dwarfs_error **err);

/* Add postponed entries without contents. */
int dw_import_add_late(struct import_job *job, dwarfs_error **err);
void dw_import_free_late(struct import_job *job);

/* -- lost_entries.c --------------------------------------------------------------- */

/* Note that an entry of this archive was left out at a path, or that one is there. */
int dw_import_note_lost(struct import_job *job, const struct buffer *path, bool is_lost,
			dwarfs_error **err);

/* Whether an entry of the archive with this path was left out, so that an existing entry
 * is an older one. */
bool dw_import_is_lost(const struct import_job *job, const struct buffer *path);

/* -- entry_path.c --------------------------------------------------------------- */

/*
 * Convert a path of an archive to one of the image: without the first names, below the
 * prefix. 1, or 0 if no name remains, or INVALID. out is overwritten and NUL-terminated.
 */
int dw_import_path(const dwarfs_archive_import *import, const char *text,
		   struct buffer *out, dwarfs_error **err);

/* Append names joined by "/", without ".", and a NUL; ".." is INVALID. The first names
 * are left out; returns the number of names of the path. */
int64_t dw_import_append_names(const char *text, uint32_t skip, struct buffer *out,
			       dwarfs_error **err);

/* An extended attribute of an entry, which owns the memory. */
struct import_xattr {
	const char *name;
	const void *value;
	size_t bytes;
	size_t number;	 /* in the order of the archive */
	bool is_encoded; /* private to item_xattrs.c */
};

/* All that an entry has, each name once, the last one of it; the list is the caller's.
 * Those without a name are only counted. */
int dw_import_xattrs(const struct import_job *job, struct import_xattr **list_out,
		     size_t *count_out, size_t *nameless_out, dwarfs_error **err);

#endif
