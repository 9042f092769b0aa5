/* SPDX-License-Identifier: MIT */
/**
 * @file
 * Extract the entries of an image to a directory on disk.
 *
 * Contents, modes, owners (when the process may set them), times, hard links, holes,
 * devices and specials are restored. Nothing is written outside the target, whatever the
 * image contains: names are resolved one at a time, relative to open directories, and
 * symbolic links are never followed.
 *
 * Without privileges a file keeps its setuid and setgid bits only when its owner or group
 * is the one in the image. In formats up to 2.2 entries that share an inode become hard
 * links when all their attributes are equal, and separate files otherwise. Where the
 * target file system allows no (more) hard links, files are copied.
 *
 * The workers of the image's context decompress blocks and write the parts of files in
 * them. A file appears complete or not at all: it has a temporary name (".dwarfs-" and
 * numbers) in its directory until its contents and attributes are written. When the
 * process is killed, incomplete files remain under their temporary names; every file
 * under its final name is complete.
 */
#ifndef DWARFS_EXTRACT_H
#define DWARFS_EXTRACT_H

#include <dwarfs/image.h>

DWARFS_BEGIN_DECLS

typedef struct dwarfs_extract dwarfs_extract;

/**
 * Prepare to extract an image.
 *
 * @param image        an image; kept alive
 * @param extract_out  receives the extraction; free it with dwarfs_extract_free()
 * @param err          receives the details on failure; may be NULL
 * @return 0, or DWARFS_ERR_NOMEM
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API int dwarfs_extract_new(const dwarfs_image *image, dwarfs_extract **extract_out,
				  dwarfs_error **err);

/** Free an extraction; NULL is accepted. Threads: one. Since 0.1. */
DWARFS_API void dwarfs_extract_free(dwarfs_extract *extract);

/**
 * Extract only entries that match a pattern, and their parent directories; more patterns
 * may be added. A matching directory is extracted with everything below it. By default
 * everything is extracted.
 *
 * A pattern is matched against the whole path in the image: ? is one character, * any
 * number within a name, ** any number, [a-z] or [!a-z] one of a set, {one,two} either of
 * them, and a backslash quotes the next character. ** as a whole name also matches no
 * name, so that a pattern beginning with it matches in the root, too. The prefix "i:"
 * makes the pattern ignore the case of ASCII letters. A pattern that ends with a slash
 * matches directories only. A pattern that matches nothing is logged as a warning.
 *
 * @param extract  an extraction
 * @param pattern  the pattern
 * @param err      receives the details on failure; may be NULL
 * @return 0, DWARFS_ERR_INVALID for an invalid pattern, or DWARFS_ERR_NOMEM
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API int dwarfs_extract_add_pattern(dwarfs_extract *extract, const char *pattern,
					  dwarfs_error **err);

/** Leave out block and character devices, or not (default). Threads: one. Since 0.1. */
DWARFS_API void dwarfs_extract_set_skip_devices(dwarfs_extract *extract, bool skip);

/** Leave out fifos and sockets, or not (default). Threads: one. Since 0.1. */
DWARFS_API void dwarfs_extract_set_skip_specials(dwarfs_extract *extract, bool skip);

/**
 * Set owners and groups, or not. By default they are set when the process is privileged.
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API void dwarfs_extract_set_owners(dwarfs_extract *extract, bool set);

/**
 * Set one owner for all entries, instead of the owners in the image. Files whose owner
 * changes lose their setuid bit. Without privileges only the process's own uid can be
 * set.
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API void dwarfs_extract_set_uid(dwarfs_extract *extract, uint32_t uid);

/** As dwarfs_extract_set_uid(), for the group and setgid bits. Threads: one. Since 0.1. */
DWARFS_API void dwarfs_extract_set_gid(dwarfs_extract *extract, uint32_t gid);

/**
 * Set extended attributes (default), or leave them out. When they are set, entries that
 * inherit from a default access control list of the target directory lose what they
 * inherited.
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API void dwarfs_extract_set_xattrs(dwarfs_extract *extract, bool set);

/**
 * Set how many threads write in addition to the workers of the image's context: useful
 * for a slow target, such as a network file system.
 *
 * @param extract  an extraction
 * @param writers  0 (default) to 1024
 * @param err      receives the details on failure; may be NULL
 * @return 0, or DWARFS_ERR_RANGE
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API int dwarfs_extract_set_writers(dwarfs_extract *extract, uint32_t writers,
					  dwarfs_error **err);

/**
 * Continue after an entry that cannot be written: each is reported to the log of the
 * image's context and counted, and the extraction fails at its end. By default it stops
 * at the first.
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API void dwarfs_extract_set_continue_on_error(dwarfs_extract *extract, bool go_on);

/** Set the task that reports and cancels the extraction.
 * It stays owned by the caller; NULL for none. Threads: one. Since 0.1. */
DWARFS_API void dwarfs_extract_set_task(dwarfs_extract *extract, const dwarfs_task *task);

/**
 * Extract into a directory.
 *
 * The directory is created if it is missing (its parents are not). It gets the mode,
 * owner and times of the image's root. An entry that exists already is an error, except
 * that directories are merged; nothing is ever overwritten. An existing directory that
 * belongs to another user keeps its attributes, with a warning in the log.
 *
 * @param extract  an extraction
 * @param path     the directory
 * @param err      receives the first failure; may be NULL
 * @return 0, or the code of the first failure; entries written before it remain. See also
 *         dwarfs_extract_damaged()
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API int dwarfs_extract_to_directory(dwarfs_extract *extract, const char *path,
					   dwarfs_error **err);

/** @return how many entries failed in the last run. Threads: one. Since 0.1. */
DWARFS_API uint64_t dwarfs_extract_failures(const dwarfs_extract *extract);

/**
 * How many entries of the last run were extracted with defaults for attributes that have
 * no valid value in the image (see dwarfs_stat_invalid()): a mode for the owner only, the
 * owner and group 65534 without setuid and setgid bits, times without a fraction. Each is
 * a warning in the log of the image's context. A device whose number has more than 32 bits
 * is left out, and counts. Extended attributes that cannot be read at
 * all count as one more.
 *
 * Such entries never stop a run. When nothing else fails, dwarfs_extract_to_directory()
 * returns DWARFS_ERR_CORRUPT or DWARFS_ERR_CHECKSUM after everything was written.
 *
 * @param extract  an extraction that has run
 * @return how many
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API uint64_t dwarfs_extract_damaged(const dwarfs_extract *extract);

DWARFS_END_DECLS

#endif
