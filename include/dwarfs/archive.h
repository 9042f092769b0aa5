/* SPDX-License-Identifier: MIT */
/**
 * @file
 * Import and export archives: tar, cpio, zip and the other formats of libarchive.
 *
 *     dwarfs_builder_new(NULL, &builder, &err);
 *     dwarfs_archive_import_new(builder, &import, &err);
 *     dwarfs_archive_import_path(import, "backup.tar.zst", &err);
 *     dwarfs_archive_import_free(import);
 *     dwarfs_builder_write_path(builder, "backup.dwarfs", false, &err);
 *
 * Memory: when an allocation inside libarchive fails, libarchive (at least up to 3.6.2)
 * may dereference NULL or end the process, which this library cannot prevent. Before
 * calling libarchive it checks that 16 MiB can be allocated, and fails with
 * DWARFS_ERR_NOMEM otherwise. Programs that must survive this should run imports and
 * exports in a separate process.
 *
 * If the library was built without libarchive, the functions that make a handle return
 * DWARFS_ERR_UNSUPPORTED; also if it was built to load libarchive.so.13 when the first handle
 * is made, which then stays loaded, and that fails.
 */
#ifndef DWARFS_ARCHIVE_H
#define DWARFS_ARCHIVE_H

#include <dwarfs/image.h>
#include <dwarfs/item.h>
#include <dwarfs/sink.h>

DWARFS_BEGIN_DECLS

/* -- import: archives into a builder ------------------------------------------------- */

/**
 * Adds the entries of archives to a builder: types, modes, numeric owners, times,
 * contents, holes, hard links, symbolic links, devices, extended attributes, access
 * control lists. Names are taken byte for byte, in any locale.
 *
 * Several archives are merged in order: a later entry replaces an earlier one of the same
 * path, as within one archive; for two directories, only the attributes are replaced. An
 * entry that replaces a directory that is not empty removes everything below it, which is
 * reported: see DWARFS_IMPORT_REPLACED.
 *
 * A leading "/" or "./" of a name is dropped. An entry that an image cannot hold is an
 * error, and no further entry of the archive is added, unless
 * dwarfs_archive_import_set_continue_on_error() is set:
 *
 * - a name with ".." in it, an empty name, or one that is too long; a path through an
 *   entry that is not a directory;
 * - a type that images do not support; a number of an owner, a group or a device that is
 *   too large;
 * - contents that are encrypted, compressed by an unknown method, or do not match their
 *   checksum;
 * - a symbolic link without a target, a hard link to a missing entry.
 */
typedef struct dwarfs_archive_import dwarfs_archive_import;

/** Result for one entry of an import, for a dwarfs_import_report_fn. */
enum dwarfs_import_report {
	DWARFS_IMPORT_LEFT_OUT, /**< not added to the builder; a failure */
	DWARFS_IMPORT_REDUCED,	/**< added, but an attribute is or may be missing; a
				     warning */
	DWARFS_IMPORT_REPLACED, /**< it replaced a directory that was not empty; a
				     warning. With dwarfs_archive_import_set_whiteouts()
				     reported only if the directory had entries of the
				     same archive */
};

/**
 * Called for each entry that was not added as it is in the archive, or that removed
 * others.
 *
 * @param what  a dwarfs_import_report; later versions may add values
 * @param path  of the entry in the archive, or, if no longer known, in the image; "" if
 *              it has none; valid during the call
 * @param why   text without a newline, valid during the call
 * @param user  as given to dwarfs_archive_import_set_report()
 *
 * Threads: the thread that runs the import. The callback must not use the import or its builder.
 */
typedef void (*dwarfs_import_report_fn)(enum dwarfs_import_report what, const char *path,
					const char *why, void *user);

/**
 * Prepare to add archives to a builder.
 *
 * @param builder     a builder that has not run yet and has no directory; must outlive
 *                    the import
 * @param import_out  receives the import; free it with dwarfs_archive_import_free()
 * @param err         receives the details on failure; may be NULL
 * @return 0, DWARFS_ERR_UNSUPPORTED when archives were not built in, or DWARFS_ERR_NOMEM
 *
 * Threads: an import, like its builder, belongs to one thread at a time. Since 0.1.
 */
DWARFS_API int dwarfs_archive_import_new(dwarfs_builder *builder,
					 dwarfs_archive_import **import_out,
					 dwarfs_error **err);

/** Free an import; NULL is accepted. Entries that were added to the builder remain.
 * Threads: one. Since 0.1. */
DWARFS_API void dwarfs_archive_import_free(dwarfs_archive_import *import);

/**
 * The formats that can be read.
 *
 * @param index  0 and up
 * @return a line such as "tar  ustar, pax, GNU, old", its first word being what
 *         dwarfs_archive_import_set_format() takes; a static string; NULL past the last one
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API const char *dwarfs_archive_import_format_help(size_t index);

/**
 * Set the format of the archives. Compression is always detected and removed.
 *
 * @param import  an import
 * @param format  "auto" (default) for all that are detected by their first bytes; or one
 *                of "tar", "cpio", "zip", "7zip", "iso9660", "ar", "cab", "lha", "rar",
 *                "xar", "warc". Not detected, only by name: "mtree", a list of files and
 *                attributes, whose contents are read from disk, relative to the working
 *                directory; and "raw", for input that is not an archive but a single
 *                file, stored as "data"
 * @param err     receives the details on failure; may be NULL
 * @return 0, DWARFS_ERR_INVALID for a name that does not exist, or DWARFS_ERR_UNSUPPORTED for
 *         one that libarchive lacks
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API int dwarfs_archive_import_set_format(dwarfs_archive_import *import,
						const char *format, dwarfs_error **err);

/**
 * Remove this many leading names from each path, also from targets of hard links. Entries
 * with at most this many names are left out. Default 0. Threads: one. Since 0.1.
 */
DWARFS_API void dwarfs_archive_import_set_strip_components(dwarfs_archive_import *import,
							   uint32_t count);

/**
 * Add the entries of archives below a directory of the image instead of its root.
 *
 * @param import  an import
 * @param prefix  the path of the directory, which is created if no archive has it; a
 *                leading "/" or "./" is dropped; "" for the root (default)
 * @param err     receives the details on failure; may be NULL
 * @return 0, DWARFS_ERR_INVALID for a path with "..", or DWARFS_ERR_NOMEM
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API int dwarfs_archive_import_set_prefix(dwarfs_archive_import *import,
						const char *prefix, dwarfs_error **err);

/**
 * Take each archive as a layer of a container image: a file ".wh.NAME" removes NAME, and
 * ".wh..wh..opq" everything in its directory, of what was added before this archive.
 * These files are not stored. By default they are ordinary files. Threads: one. Since
 * 0.1.
 */
DWARFS_API void dwarfs_archive_import_set_whiteouts(dwarfs_archive_import *import,
						    bool obey);

/**
 * Set the directory for the unnamed temporary file that buffers an archive which is read
 * from a pipe and has its table of contents at its end (zip, 7zip). The file is deleted
 * at the end of the call. Contents of other archives are buffered as
 * dwarfs_builder_set_spool() says.
 *
 * @param import     an import
 * @param directory  is copied; NULL for the default, "/tmp"
 * @param err        receives the details on failure; may be NULL
 * @return 0, or DWARFS_ERR_NOMEM
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API int dwarfs_archive_import_set_spool(dwarfs_archive_import *import,
					       const char *directory, dwarfs_error **err);

/**
 * Continue after an entry that an image cannot hold: each is reported to the log of the
 * builder's context and counted, and the call that reads the archive fails at its end,
 * with all other entries added: see dwarfs_archive_import_is_complete(). By default it
 * stops at the first. An earlier entry at the same path remains; hard links of the
 * archive to the failed entry fail, too, even if the link has already replaced another
 * entry.
 *
 * An archive that is damaged, truncated or unknown ends the call in any case, and so do
 * lack of memory or disk space.
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API void dwarfs_archive_import_set_continue_on_error(dwarfs_archive_import *import,
							    bool go_on);

/** Set the callback for entries that were not added as they are in the archive; NULL for
 * none. All are logged, too. Threads: one. Since 0.1. */
DWARFS_API void dwarfs_archive_import_set_report(dwarfs_archive_import *import,
						 dwarfs_import_report_fn report,
						 void *user);

/** Set the task that reports and cancels the import: DWARFS_PHASE_IMPORT, bytes are
 * those of the stored archive.
 * It stays owned by the caller; NULL for none. Threads: one. Since 0.1. */
DWARFS_API void dwarfs_archive_import_set_task(dwarfs_archive_import *import,
					       const dwarfs_task *task);

/**
 * Add an archive from a file, fifo or device.
 *
 * @param import  an import
 * @param path    of the archive
 * @param err     receives the details on failure; may be NULL
 * @return 0; the error of opening the file; DWARFS_ERR_UNSUPPORTED when it is not an
 *         archive of a supported format, or is encrypted; DWARFS_ERR_CORRUPT when it is
 *         damaged or truncated (as is a tar without its end marker), and for inconsistent
 *         entries; DWARFS_ERR_INVALID for an invalid name; DWARFS_ERR_NOT_FOUND for a
 *         hard link to a missing entry, or in a loop; DWARFS_ERR_RANGE for an entry that
 *         an image cannot hold; DWARFS_ERR_NO_SPACE when the disk is full;
 *         DWARFS_ERR_CANCELLED; DWARFS_ERR_NOMEM. After a failure the builder has only
 *         some of the entries, and should not write an image unless
 *         dwarfs_archive_import_is_complete() returns true
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API int dwarfs_archive_import_path(dwarfs_archive_import *import, const char *path,
					  dwarfs_error **err);

/**
 * Add an archive from a source.
 *
 * @param import  an import
 * @param io      the archive; a stream is read to its end
 * @param err     receives the details on failure; may be NULL
 * @return as dwarfs_archive_import_path(), or the code of the source's callback
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API int dwarfs_archive_import_io(dwarfs_archive_import *import, dwarfs_io *io,
					dwarfs_error **err);

/**
 * @return whether the last archive was read to its end, and all its entries were added
 *         except for those that failed. Threads: one. Since 0.1.
 */
DWARFS_API bool dwarfs_archive_import_is_complete(const dwarfs_archive_import *import);

/** @return how many entries failed, in all archives so far. Threads: one. Since 0.1. */
DWARFS_API uint64_t dwarfs_archive_import_failures(const dwarfs_archive_import *import);

/**
 * @return how many entries lost an attribute that could not be read, or that an image
 *         cannot hold, such as an NFSv4 access control list. Each was logged.
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API uint64_t dwarfs_archive_import_warnings(const dwarfs_archive_import *import);

/* -- export: an image into an archive ------------------------------------------------ */

/**
 * Writes the entries of an image as an archive: types, modes, numeric owners, times with
 * nanoseconds, contents, holes, hard links, symbolic links, devices, extended attributes,
 * access control lists, as far as the format supports them. Names are written byte for
 * byte, in any locale.
 *
 * Directories, links and devices are written first, in tree order, then files in the
 * order of their data, so that the workers of the context decompress each block once, as
 * long as the cache can hold the blocks of the next files. A directory is written before
 * its entries.
 *
 * Entries that a format cannot represent:
 *
 * - an unsupported type or name (a socket in a tar, a directory in an ar, a name that is
 *   not UTF-8 in a zip): the entry fails;
 * - huge holes: the file fails, see dwarfs_archive_export_set_allow_huge_holes();
 * - a time outside the range of the format: the nearest one is written, and reported as
 *   DWARFS_EXPORT_ALTERED;
 * - extended attributes or hard links: the file is written without attributes, or as a
 *   separate file, and reported as DWARFS_EXPORT_REDUCED. "pax" loses nothing.
 *
 * A path is written once. If a damaged or hostile image has several entries with the same
 * name in a directory, which could make an unpacking program write outside its target,
 * the first one is written and the others fail, with everything below them; they are
 * found before anything is written. An image in which a directory has two parents is
 * refused.
 */
typedef struct dwarfs_archive_export dwarfs_archive_export;

/** Result for one entry of an export, for a dwarfs_export_report_fn. */
enum dwarfs_export_report {
	DWARFS_EXPORT_LEFT_OUT, /**< not in the archive; a failure */
	DWARFS_EXPORT_CUT,	/**< its contents could not be read to the end, and the
				     rest was written as zeros; a failure */
	DWARFS_EXPORT_REDUCED,	/**< written without properties that the format does not
				     support */
	DWARFS_EXPORT_ALTERED,	/**< written with another time, with defaults for invalid
				     attributes (see dwarfs_stat_invalid()), or with a
				     warning of libarchive; a failure */
};

/**
 * Called for each entry that is not in the archive as it is in the image.
 *
 * @param what  a dwarfs_export_report; later versions may add values
 * @param path  of the entry, "." for the root, "?" for a damaged name; valid during the
 *              call
 * @param why   text without a newline, valid during the call
 * @param user  as given to dwarfs_archive_export_set_report()
 *
 * Threads: the thread that runs the export.
 */
typedef void (*dwarfs_export_report_fn)(enum dwarfs_export_report what, const char *path,
					const char *why, void *user);

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

/** Free an export; NULL is accepted. Threads: one. Since 0.1. */
DWARFS_API void dwarfs_archive_export_free(dwarfs_archive_export *archive_export);

/**
 * The formats that can be written.
 *
 * @param index  0 and up
 * @return a line such as "ustar  tar as POSIX had it in 1988", its first word being what
 *         dwarfs_archive_export_set_format() takes; a static string; NULL past the last one
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API const char *dwarfs_archive_export_format_help(size_t index);

/**
 * The filters that can be written: compressions and codings.
 *
 * @param index  0 and up
 * @return what dwarfs_archive_export_set_filters() takes; a static string; NULL past the last one
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API const char *dwarfs_archive_export_filter_name(size_t index);

/**
 * Set the format.
 *
 * @param archive_export  an export
 * @param format          "auto" (default): format and filters from the suffix of the
 *                        output's name, such as ".tar.zst", ".tgz", ".cpio", ".zip",
 *                        ".7z" or ".iso"; or the name of a format; "tar" is "pax"
 * @param err     receives the details on failure; may be NULL
 * @return 0, or DWARFS_ERR_INVALID for a name that does not exist; the error lists those that do
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API int dwarfs_archive_export_set_format(dwarfs_archive_export *archive_export,
						const char *format, dwarfs_error **err);

/**
 * Set the filters of the archive, such as compression.
 *
 * @param archive_export  an export
 * @param filters         names separated by commas, applied in this order; "" or NULL for
 *                        none other than those of the format "auto". "grzip", "lrzip" and
 *                        "lzop" may run the programs of these names, depending on how
 *                        libarchive was built
 * @param err      receives the details on failure; may be NULL
 * @return 0, DWARFS_ERR_INVALID for a name that does not exist, or DWARFS_ERR_NOMEM
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API int dwarfs_archive_export_set_filters(dwarfs_archive_export *archive_export,
						 const char *filters, dwarfs_error **err);

/**
 * Set options of the format and the filters, as archive_write_set_options(3) has them,
 * such as "compression-level=19,threads=4". The run fails on unknown options.
 *
 * @param archive_export  an export
 * @param options  is copied; "" or NULL for none
 * @param err      receives the details on failure; may be NULL
 * @return 0, or DWARFS_ERR_NOMEM
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API int dwarfs_archive_export_set_options(dwarfs_archive_export *archive_export,
						 const char *options, dwarfs_error **err);

/**
 * Write only entries that match a pattern, everything below matching directories, and
 * their parent directories; as dwarfs_extract_add_pattern(). More patterns may be added;
 * by default everything is written.
 *
 * @param archive_export  an export
 * @param pattern  as for dwarfs_extract_add_pattern()
 * @param err      receives the details on failure; may be NULL
 * @return 0, DWARFS_ERR_INVALID or DWARFS_ERR_NOMEM
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API int dwarfs_archive_export_add_pattern(dwarfs_archive_export *archive_export,
						 const char *pattern, dwarfs_error **err);

/**
 * Set the order of the entries.
 *
 * @param archive_export  an export
 * @param order           a dwarfs_walk_order: DWARFS_WALK_DATA (default), or
 *                        DWARFS_WALK_TREE, where each directory is followed by everything
 *                        in it. This is slower where the data of a directory is spread
 *                        over the image; some readers need it because they set the
 *                        attributes of a directory at the first entry outside of it, such
 *                        as GNU tar without --delay-directory-restore
 * @param err    receives the details on failure; may be NULL
 * @return 0, or DWARFS_ERR_RANGE for an unknown order
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API int dwarfs_archive_export_set_order(dwarfs_archive_export *archive_export,
					       enum dwarfs_walk_order order,
					       dwarfs_error **err);

/** Leave out block and character devices, or not (default). Threads: one. Since 0.1. */
DWARFS_API void
dwarfs_archive_export_set_skip_devices(dwarfs_archive_export *archive_export, bool skip);

/** Leave out fifos and sockets, or not (default). Threads: one. Since 0.1. */
DWARFS_API void
dwarfs_archive_export_set_skip_specials(dwarfs_archive_export *archive_export, bool skip);

/**
 * Write extended attributes and access control lists (default), or leave them out.
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API void dwarfs_archive_export_set_xattrs(dwarfs_archive_export *archive_export,
						 bool keep);

/**
 * Set one owner for all entries, instead of those in the image. Files whose owner changes lose their
 * setuid bit.
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API void dwarfs_archive_export_set_uid(dwarfs_archive_export *archive_export,
					      uint32_t uid);

/**
 * Set one group for all entries, instead of those in the image. Files whose group changes lose their
 * setgid bit.
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API void dwarfs_archive_export_set_gid(dwarfs_archive_export *archive_export,
					      uint32_t gid);

/**
 * Continue after an entry that cannot be written: each is reported to the log of the
 * image's context and counted, and the export fails at its end, with the archive complete
 * except for these. By default it stops at the first, and no archive is written.
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API void
dwarfs_archive_export_set_continue_on_error(dwarfs_archive_export *archive_export,
					    bool go_on);

/**
 * Write holes as zeros whatever their size, in formats that have no holes: all but "pax"
 * and "paxr", which keep them, and "mtree" without sums. By default the holes of the files are
 * added up, and a file fails, before anything is written, if its holes make the sum huge
 * compared with the data of all files in the archive (dwarfs_holes_are_huge()): an image of a
 * kilobyte can hold a file of 2^62 bytes.
 *
 * @param archive_export  an export
 * @param allow           whether to write them; default false
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API void
dwarfs_archive_export_set_allow_huge_holes(dwarfs_archive_export *archive_export,
					   bool allow);

/** Set the callback for entries that are not in the archive as they are in the image;
 * NULL for none. Threads: one. Since 0.1. */
DWARFS_API void dwarfs_archive_export_set_report(dwarfs_archive_export *archive_export,
						 dwarfs_export_report_fn report,
						 void *user);

/** Set the task that reports and cancels the export: DWARFS_PHASE_EXTRACT, bytes are
 * those of the files.
 * It stays owned by the caller; NULL for none. Threads: one. Since 0.1. */
DWARFS_API void dwarfs_archive_export_set_task(dwarfs_archive_export *archive_export,
					       const dwarfs_task *task);

/**
 * Write the archive to a file, which dwarfs_sink_open() opens: it appears when it is
 * complete and replaces an existing one.
 *
 * For the formats "7zip", "iso9660" and "xar" libarchive uses a temporary file of its
 * own, in $TMPDIR or /tmp.
 *
 * @param archive_export  an export
 * @param path  of the file
 * @param err   receives the first failure; may be NULL
 * @return 0; DWARFS_ERR_INVALID when the suffix of the name has no format, or for invalid
 *         options; DWARFS_ERR_NO_SPACE, DWARFS_ERR_ACCESS, DWARFS_ERR_IO and so on when
 *         it cannot be written; DWARFS_ERR_CANCELLED; otherwise the code of the first
 *         entry that failed, which is DWARFS_ERR_UNSUPPORTED if the format cannot
 *         represent it
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API int dwarfs_archive_export_to_path(dwarfs_archive_export *archive_export,
					     const char *path, dwarfs_error **err);

/**
 * Write the archive to a sink.
 *
 * @param archive_export  an export; the format "auto" needs a sink of a file
 * @param sink            a sink that nothing was written to; it has a complete archive if
 *                        dwarfs_archive_export_is_complete() returns true afterwards
 * @param err  receives the first failure; may be NULL
 * @return as dwarfs_archive_export_to_path(), or the code of the sink's callback
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API int dwarfs_archive_export_write(dwarfs_archive_export *archive_export,
					   dwarfs_sink *sink, dwarfs_error **err);

/**
 * @return whether the last run wrote an archive, complete except for the entries that
 *         failed.
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API bool
dwarfs_archive_export_is_complete(const dwarfs_archive_export *archive_export);

/** @return how many entries failed in the last run. Threads: one. Since 0.1. */
DWARFS_API uint64_t
dwarfs_archive_export_failures(const dwarfs_archive_export *archive_export);

DWARFS_END_DECLS

#endif
