/* SPDX-License-Identifier: MIT */
/**
 * @file
 * Archives in and out: tar, cpio, zip and what else libarchive knows.
 *
 *     dwarfs_builder_new(NULL, &builder, &err);
 *     dwarfs_archive_import_new(builder, &import, &err);
 *     dwarfs_archive_import_path(import, "backup.tar.zst", &err);
 *     dwarfs_archive_import_free(import);
 *     dwarfs_builder_write_path(builder, "backup.dwarfs", false, &err);
 *
 * Memory: where an allocation of libarchive itself fails, versions up to 3.6.2 at least may use NULL,
 * or end the process, which this library cannot prevent. Before it calls libarchive it makes sure
 * that 16 MiB can be had, and fails with DWARFS_ERR_NOMEM otherwise. Programs that must survive that
 * run imports and exports in a process of their own.
 *
 * Where the library was built without libarchive, the functions that make a handle return
 * DWARFS_ERR_UNSUPPORTED.
 */
#ifndef DWARFS_ARCHIVE_H
#define DWARFS_ARCHIVE_H

#include <dwarfs/image.h>
#include <dwarfs/item.h>

DWARFS_BEGIN_DECLS

/* -- import: archives into a builder -------------------------------------------------- */

/**
 * Adds the entries of archives to a builder: types, modes, numeric owners, times, contents,
 * holes, hard links, symbolic links, devices, extended attributes, access control lists. Names
 * are taken byte for byte, whatever the locale is.
 *
 * Several archives are merged in the order in which they are given: what comes later replaces
 * what is there, as it does within one archive; a directory that comes twice only gets the later
 * attributes. Where something else comes in place of a directory that is not empty, all that is
 * in it goes, and that is said: see DWARFS_IMPORT_REPLACED.
 *
 * A leading "/" or "./" of a name is dropped. An entry that an image cannot hold is an error, and
 * nothing more of the archive is added, unless dwarfs_archive_import_set_continue_on_error() says
 * otherwise:
 *
 * - a name with ".." in it, none, or one that is too long; a path through something that is no
 *   directory;
 * - a type that images do not have, a number of an owner, a group or a device that is too large;
 * - contents that are encrypted, packed in a way that is not known, or fail their checksum;
 * - a symbolic link to nothing, a hard link to what is not there.
 */
typedef struct dwarfs_archive_import dwarfs_archive_import;

/** What became of an entry, for a dwarfs_import_report_fn. */
enum dwarfs_import_report {
	DWARFS_IMPORT_LEFT_OUT, /**< it is not in the builder; this is a failure */
	DWARFS_IMPORT_REDUCED,	/**< it is there without an attribute, or may be: a warning */
	DWARFS_IMPORT_REPLACED, /**< it came in place of a directory, and all that was in it is
				     gone. With dwarfs_archive_import_set_whiteouts() only where
				     some of that came from the same archive */
};

/**
 * Is told about an entry that is not in a builder as it is in its archive, or that cost others.
 *
 * @param what  a dwarfs_import_report; more may come
 * @param path  of the entry, as the archive has it, or as the image would if it is not at hand
 *              any more; "" if it has none; valid during the call
 * @param why   text without a newline, valid during the call
 * @param user  as given to dwarfs_archive_import_set_report()
 *
 * Threads: that which runs the import. The callback must not use the import or its builder.
 */
typedef void (*dwarfs_import_report_fn)(int what, const char *path, const char *why,
					void *user);

/**
 * Prepare to add archives to a builder.
 *
 * @param builder     a builder that has not run yet and has no directory; must stay until the
 *                    import is freed
 * @param import_out  receives the import; free it with dwarfs_archive_import_free()
 * @param err         receives the details on failure; may be NULL
 * @return 0, DWARFS_ERR_UNSUPPORTED when archives were not built in, or DWARFS_ERR_NOMEM
 *
 * Threads: an import, like its builder, belongs to one thread at a time. Since 0.1.
 */
DWARFS_API int dwarfs_archive_import_new(dwarfs_builder *builder,
					 dwarfs_archive_import **import_out,
					 dwarfs_error **err);

/** Free an import; NULL is accepted. What was added to the builder stays. Since 0.1. */
DWARFS_API void dwarfs_archive_import_free(dwarfs_archive_import *import);

/**
 * The formats that can be read.
 *
 * @param index  0 and up
 * @return a line such as "tar  ustar, pax, GNU, old", its first word being what
 *         dwarfs_archive_import_set_format() takes; lives for ever; NULL past the last one
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API const char *dwarfs_archive_import_format_help(size_t index);

/**
 * Say which format archives have. Compression is recognized in any case, and taken off.
 *
 * @param import  an import
 * @param format  "auto" (default) for any that is known by its first bytes; or the name of one:
 *                "tar", "cpio", "zip", "7zip", "iso9660", "ar", "cab", "lha", "rar", "xar",
 *                "warc". By name only: "mtree", a list of files with their attributes, whose
 *                contents are read from the disk, relative to the working directory; and "raw",
 *                which is no archive, but one file, stored as "data"
 * @param err     receives the details on failure; may be NULL
 * @return 0, DWARFS_ERR_INVALID for a name that does not exist, or DWARFS_ERR_UNSUPPORTED for
 *         one that libarchive lacks
 *
 * Since 0.1.
 */
DWARFS_API int dwarfs_archive_import_set_format(dwarfs_archive_import *import,
						const char *format, dwarfs_error **err);

/**
 * Leave out so many names at the beginning of each path, of the targets of hard links too.
 * Entries with no more names than that are left out. Default 0. Since 0.1.
 */
DWARFS_API void dwarfs_archive_import_set_strip_components(dwarfs_archive_import *import,
							   uint32_t count);

/**
 * Put what archives hold into a directory of the image instead of its root.
 *
 * @param import  an import
 * @param prefix  the path of the directory, which is made if no archive has it; a leading "/"
 *                or "./" is dropped; "" for the root (default)
 * @param err     receives the details on failure; may be NULL
 * @return 0, DWARFS_ERR_INVALID for a path with "..", or DWARFS_ERR_NOMEM
 *
 * Since 0.1.
 */
DWARFS_API int dwarfs_archive_import_set_prefix(dwarfs_archive_import *import,
						const char *prefix, dwarfs_error **err);

/**
 * Take each archive as a layer of a container image: a file ".wh.NAME" removes NAME, and
 * ".wh..wh..opq" all that is in its directory, as far as it was there before this archive.
 * Neither is stored. By default such files are ordinary ones. Since 0.1.
 */
DWARFS_API void dwarfs_archive_import_set_whiteouts(dwarfs_archive_import *import, bool obey);

/**
 * Set where an archive is kept that comes through a pipe and has its directory at the end
 * (zip, 7zip), in a file without a name that goes at the end of the call. What other archives
 * contain is kept where dwarfs_builder_set_spool() says.
 *
 * @param import     an import
 * @param directory  is copied; NULL for the default, "/tmp"
 * @param err        receives the details on failure; may be NULL
 * @return 0, or DWARFS_ERR_NOMEM
 *
 * Since 0.1.
 */
DWARFS_API int dwarfs_archive_import_set_spool(dwarfs_archive_import *import,
					       const char *directory, dwarfs_error **err);

/**
 * Go on after an entry that an image cannot hold: each is reported to the log of the builder's
 * context and counted, and the call that reads the archive fails at its end, with all other
 * entries added: see dwarfs_archive_import_is_complete(). By default it stops at the first.
 * What was at the path of such an entry before stays; hard links of the archive to it fail, too,
 * also where the link itself has replaced something by then.
 *
 * An archive that is damaged, cut off, or not known ends the call in any case, and so does want
 * of memory or room.
 *
 * Since 0.1.
 */
DWARFS_API void
dwarfs_archive_import_set_continue_on_error(dwarfs_archive_import *import, bool go_on);

/** Hear about entries that are not in the builder as they are in an archive; report may be NULL.
 * All are in the log, too. Since 0.1. */
DWARFS_API void dwarfs_archive_import_set_report(dwarfs_archive_import *import,
						 dwarfs_import_report_fn report, void *user);

/**
 * Watch the reading of archives: its phase is DWARFS_PHASE_SCAN, bytes are those of the archive
 * as it is stored. NULL for nobody. Since 0.1.
 */
DWARFS_API void dwarfs_archive_import_set_progress(dwarfs_archive_import *import,
						   dwarfs_progress_fn progress, void *user);

/** Let a switch stop the reading of archives; it stays the caller's. Since 0.1. */
DWARFS_API void dwarfs_archive_import_set_cancel(dwarfs_archive_import *import,
						 dwarfs_cancel *cancel);

/**
 * Add an archive that is in a file, or what comes out of a fifo or device.
 *
 * @param import  an import
 * @param path    of the archive
 * @param err     receives the details on failure; may be NULL
 * @return 0; what opening the file gives; DWARFS_ERR_UNSUPPORTED when it is no archive of a
 *         format that is read, or is encrypted; DWARFS_ERR_CORRUPT when it is damaged or cut
 *         off (a tar without its end marker counts as cut off), and for entries that
 *         contradict themselves; DWARFS_ERR_INVALID for a name that cannot be;
 *         DWARFS_ERR_NOT_FOUND for a hard link to what is not there, or to itself by way of
 *         others; DWARFS_ERR_RANGE for what an image cannot hold; DWARFS_ERR_NO_SPACE when
 *         contents do not fit on the disk; DWARFS_ERR_CANCELLED; DWARFS_ERR_NOMEM. After a
 *         failure the builder has some of the entries, and its image should not be made unless
 *         dwarfs_archive_import_is_complete() says that it has all that it can have
 *
 * Since 0.1.
 */
DWARFS_API int dwarfs_archive_import_path(dwarfs_archive_import *import, const char *path,
					  dwarfs_error **err);

/**
 * Add an archive that is read from a descriptor: from where a regular file stands, otherwise
 * until the end. A pipe is read once.
 *
 * @param import  an import
 * @param fd      stays the caller's
 * @param err     receives the details on failure; may be NULL
 * @return as dwarfs_archive_import_path()
 *
 * Since 0.1.
 */
DWARFS_API int dwarfs_archive_import_fd(dwarfs_archive_import *import, int fd,
					dwarfs_error **err);

/**
 * Add an archive that is in memory.
 *
 * @param import  an import
 * @param data    stays the caller's; not needed after the call
 * @param bytes   how many
 * @param err     receives the details on failure; may be NULL
 * @return as dwarfs_archive_import_path()
 *
 * Since 0.1.
 */
DWARFS_API int dwarfs_archive_import_memory(dwarfs_archive_import *import, const void *data,
					    size_t bytes, dwarfs_error **err);

/**
 * @return whether the last archive was read to its end, and is in the builder but for the entries
 *         that failed. Since 0.1.
 */
DWARFS_API bool
dwarfs_archive_import_is_complete(const dwarfs_archive_import *import);

/** @return how many entries failed, in all archives so far. Since 0.1. */
DWARFS_API uint64_t dwarfs_archive_import_failures(const dwarfs_archive_import *import);

/**
 * @return how many entries lost something: an attribute that could not be read, or that an
 *         image cannot hold, such as an NFSv4 access control list. Each was named in the log.
 *
 * Since 0.1.
 */
DWARFS_API uint64_t dwarfs_archive_import_warnings(const dwarfs_archive_import *import);

/* -- export: an image into an archive -------------------------------------------------- */

/**
 * Writes what an image holds as an archive: types, modes, numeric owners, times with
 * nanoseconds, contents, holes, hard links, symbolic links, devices, extended attributes, access
 * control lists, as far as the format has them. Names are written byte for byte, whatever the
 * locale is.
 *
 * Directories, links and devices come first, in the order of the tree, then the files in the
 * order of their data, so that each block is decoded once, by the workers of the context, as
 * long as the cache has room for what the next files need. Directories come before what is in
 * them.
 *
 * What a format cannot hold:
 *
 * - an entry as a whole (a socket in a tar, a directory in an ar, a name that is no UTF-8 in a
 *   zip): the entry fails;
 * - holes that are huge: the file fails, see dwarfs_archive_export_set_allow_huge_holes();
 * - a time before or after those that the format has room for: the entry has the nearest one,
 *   and is reported as DWARFS_EXPORT_ALTERED;
 * - extended attributes or further names of a file: it is written all the same, as a file of its
 *   own, and reported as DWARFS_EXPORT_REDUCED. "pax" loses nothing.
 *
 * A path is written once. Where a damaged or hostile image has two entries of one name in a
 * directory, which could make whoever unpacks the archive write elsewhere, the first one stays and
 * the others fail, with all that is in them; all this is found before anything is written. An
 * image of which a directory is in two places is refused as a whole.
 */
typedef struct dwarfs_archive_export dwarfs_archive_export;

/** What became of an entry, for a dwarfs_export_report_fn. */
enum dwarfs_export_report {
	DWARFS_EXPORT_LEFT_OUT, /**< it is not in the archive; this is a failure */
	DWARFS_EXPORT_CUT,	/**< its contents could not be read to the end, and the rest of it
				     is zeros; this is a failure */
	DWARFS_EXPORT_REDUCED,	/**< it is there without what the format has no place for */
	DWARFS_EXPORT_ALTERED,	/**< it is there, but with another time, with defaults for what
				     the image has no valid value for (see
				     dwarfs_stat_invalid()), or libarchive warns that it is not
				     as it should be; this is a failure */
};

/**
 * Is told about an entry that is not in an archive as it is in the image.
 *
 * @param what  a dwarfs_export_report; more may come
 * @param path  of the entry, "." for the root, "?" in place of a name that the image has damaged;
 *              valid during the call
 * @param why   text without a newline, valid during the call
 * @param user  as given to dwarfs_archive_export_set_report()
 *
 * Threads: that which runs the export.
 */
typedef void (*dwarfs_export_report_fn)(int what, const char *path, const char *why,
					void *user);

/**
 * Prepare to write an image as an archive.
 *
 * @param image       an image; kept alive
 * @param export_out  receives the export; free it with dwarfs_archive_export_free()
 * @param err         receives the details on failure; may be NULL
 * @return 0, DWARFS_ERR_UNSUPPORTED when archives were not built in, or DWARFS_ERR_NOMEM
 *
 * Threads: any; an export belongs to one thread at a time. Since 0.1.
 */
DWARFS_API int dwarfs_archive_export_new(const dwarfs_image *image,
					 dwarfs_archive_export **export_out,
					 dwarfs_error **err);

/** Free an export; NULL is accepted. Since 0.1. */
DWARFS_API void dwarfs_archive_export_free(dwarfs_archive_export *archive_export);

/**
 * The formats that can be written.
 *
 * @param index  0 and up
 * @return a line such as "ustar  tar as POSIX had it in 1988", its first word being what
 *         dwarfs_archive_export_set_format() takes; lives for ever; NULL past the last one
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API const char *dwarfs_archive_export_format_help(size_t index);

/**
 * The filters that can be written: compressions and codings.
 *
 * @param index  0 and up
 * @return what dwarfs_archive_export_set_filters() takes; lives for ever; NULL past the last one
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API const char *dwarfs_archive_export_filter_name(size_t index);

/**
 * Choose the format.
 *
 * @param archive_export  an export
 * @param format  "auto" (default): format and filters by the end of the output's name, such as
 *                ".tar.zst", ".tgz", ".cpio", ".zip", ".7z" or ".iso"; or the name of a format;
 *                "tar" is "pax"
 * @param err     receives the details on failure; may be NULL
 * @return 0, or DWARFS_ERR_INVALID for a name that does not exist; the error lists those that do
 *
 * Since 0.1.
 */
DWARFS_API int dwarfs_archive_export_set_format(dwarfs_archive_export *archive_export,
						const char *format, dwarfs_error **err);

/**
 * Choose what the archive goes through, such as compression.
 *
 * @param archive_export  an export
 * @param filters  names separated by commas, the first nearest to the archive; "" or NULL for
 *                 none besides those that "auto" finds. "grzip", "lrzip" and "lzop" run the
 *                 programs of these names where libarchive was built so
 * @param err      receives the details on failure; may be NULL
 * @return 0, DWARFS_ERR_INVALID for a name that does not exist, or DWARFS_ERR_NOMEM
 *
 * Since 0.1.
 */
DWARFS_API int dwarfs_archive_export_set_filters(dwarfs_archive_export *archive_export,
						 const char *filters, dwarfs_error **err);

/**
 * Set options of the format and the filters, as archive_write_set_options(3) has them, such as
 * "compression-level=19,threads=4". The run refuses what none of them knows.
 *
 * @param archive_export  an export
 * @param options  is copied; "" or NULL for none
 * @param err      receives the details on failure; may be NULL
 * @return 0, or DWARFS_ERR_NOMEM
 *
 * Since 0.1.
 */
DWARFS_API int dwarfs_archive_export_set_options(dwarfs_archive_export *archive_export,
						 const char *options, dwarfs_error **err);

/**
 * Write only what matches a pattern, what is in directories that match, and the directories
 * above; as dwarfs_extract_add_pattern(). Several patterns add up; without any, everything is
 * written.
 *
 * @param archive_export  an export
 * @param pattern  as for dwarfs_extract_add_pattern()
 * @param err      receives the details on failure; may be NULL
 * @return 0, DWARFS_ERR_INVALID or DWARFS_ERR_NOMEM
 *
 * Since 0.1.
 */
DWARFS_API int dwarfs_archive_export_add_pattern(dwarfs_archive_export *archive_export,
						 const char *pattern, dwarfs_error **err);

/**
 * Set the order of the entries.
 *
 * @param archive_export  an export
 * @param order  a dwarfs_walk_order: DWARFS_WALK_DATA (default), or DWARFS_WALK_TREE, where each
 *               directory is followed by all that is in it. That takes longer where the data of
 *               a directory is spread over the image, and is for readers that set the
 *               attributes of a directory as soon as an entry outside of it comes, such as GNU
 *               tar without --delay-directory-restore
 * @param err    receives the details on failure; may be NULL
 * @return 0, or DWARFS_ERR_RANGE for what is no order
 *
 * Since 0.1.
 */
DWARFS_API int dwarfs_archive_export_set_order(dwarfs_archive_export *archive_export, int order,
					       dwarfs_error **err);

/** Leave out block and character devices, or not (default). Since 0.1. */
DWARFS_API void dwarfs_archive_export_set_skip_devices(dwarfs_archive_export *archive_export,
						       bool skip);

/** Leave out fifos and sockets, or not (default). Since 0.1. */
DWARFS_API void dwarfs_archive_export_set_skip_specials(dwarfs_archive_export *archive_export,
							bool skip);

/** Write extended attributes and access control lists (default), or leave them out. Since 0.1. */
DWARFS_API void dwarfs_archive_export_set_xattrs(dwarfs_archive_export *archive_export,
						 bool keep);

/** Let everything belong to this owner instead of the image's. Since 0.1. */
DWARFS_API void dwarfs_archive_export_set_uid(dwarfs_archive_export *archive_export,
					      uint32_t uid);

/** Let everything belong to this group instead of the image's. Since 0.1. */
DWARFS_API void dwarfs_archive_export_set_gid(dwarfs_archive_export *archive_export,
					      uint32_t gid);

/**
 * Go on after an entry that cannot be written: each is reported to the log of the image's
 * context and counted, and the export fails at its end, with the archive complete but for these.
 * By default it stops at the first, and there is no archive.
 *
 * Since 0.1.
 */
DWARFS_API void
dwarfs_archive_export_set_continue_on_error(dwarfs_archive_export *archive_export, bool go_on);

/**
 * Wait until an archive in a regular file is on disk, with its name (default), or leave that to
 * the system, which is faster.
 *
 * Since 0.1.
 */
DWARFS_API void dwarfs_archive_export_set_sync(dwarfs_archive_export *archive_export, bool sync);

/**
 * Write holes as zeros whatever their size, in formats that have no holes: all but "pax" and
 * "paxr", which keep them, and "mtree" without sums. By default a file is refused before anything
 * is written, when with its holes those of all files become huge by dwarfs_holes_are_huge(), data
 * being what all files of the archive have besides holes: an image of a kilobyte can hold a file
 * of 2^62 bytes.
 *
 * @param archive_export  an export
 * @param allow           whether to write them; default false
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API void
dwarfs_archive_export_set_allow_huge_holes(dwarfs_archive_export *archive_export, bool allow);

/** Hear about entries that are not in the archive as they are in the image; report may be NULL.
 * Since 0.1. */
DWARFS_API void dwarfs_archive_export_set_report(dwarfs_archive_export *archive_export,
						 dwarfs_export_report_fn report, void *user);

/** Watch the export: its phase is DWARFS_PHASE_EXTRACT, bytes are those of the files; progress
 * may be NULL. Since 0.1. */
DWARFS_API void dwarfs_archive_export_set_progress(dwarfs_archive_export *archive_export,
						   dwarfs_progress_fn progress, void *user);

/** Let a switch stop the export; it stays the caller's. Since 0.1. */
DWARFS_API void dwarfs_archive_export_set_cancel(dwarfs_archive_export *archive_export,
						 dwarfs_cancel *cancel);

/**
 * Write the archive to a file, which appears when it is complete and replaces one of that name.
 * What is there and no regular file (a device, a fifo) is written in place.
 *
 * The formats "7zip", "iso9660" and "xar" are put together by libarchive in a temporary file of
 * its own, in $TMPDIR or /tmp.
 *
 * @param archive_export  an export
 * @param path  of the file
 * @param err   receives the first failure; may be NULL
 * @return 0; DWARFS_ERR_INVALID when no format is known for the name, or for options that are
 *         wrong; DWARFS_ERR_NO_SPACE, DWARFS_ERR_ACCESS, DWARFS_ERR_IO and so on when it cannot
 *         be written; DWARFS_ERR_CANCELLED; otherwise the code of the first entry that failed,
 *         which is DWARFS_ERR_UNSUPPORTED for what the format cannot hold
 *
 * Since 0.1.
 */
DWARFS_API int dwarfs_archive_export_to_path(dwarfs_archive_export *archive_export,
					     const char *path, dwarfs_error **err);

/**
 * Write the archive to a descriptor, from first to last.
 *
 * @param archive_export  an export whose format is not "auto"
 * @param fd   stays the caller's; what was written to it when the export fails stays
 * @param err  receives the first failure; may be NULL
 * @return as dwarfs_archive_export_to_path()
 *
 * Since 0.1.
 */
DWARFS_API int dwarfs_archive_export_to_fd(dwarfs_archive_export *archive_export, int fd,
					   dwarfs_error **err);

/**
 * @return whether there is an archive after the last run, complete but for the entries that
 *         failed.
 *
 * Since 0.1.
 */
DWARFS_API bool
dwarfs_archive_export_is_complete(const dwarfs_archive_export *archive_export);

/** @return how many entries failed in the last run. Since 0.1. */
DWARFS_API uint64_t dwarfs_archive_export_failures(const dwarfs_archive_export *archive_export);

DWARFS_END_DECLS

#endif
