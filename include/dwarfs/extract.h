/* SPDX-License-Identifier: MIT */
/**
 * @file
 * Write what an image holds to disk.
 *
 * Contents, modes, owners (when the process may set them), times, hard links, holes, devices
 * and specials come back as they were. Nothing is written outside the target, whatever the
 * image says: names are taken one at a time, relative to open directories, and no symbolic
 * link is ever followed.
 *
 * Without privileges a file keeps its setuid and setgid bits only when it belongs to the owner
 * or group they are about. In formats up to 2.2 entries that share an inode become hard links
 * when all their attributes are equal, and files of their own otherwise. Where the disk allows
 * no (more) hard links, files are copied.
 *
 * The workers of the image's context decode blocks and write what they hold. A file appears
 * complete or not at all: it has a temporary name (".dwarfs-" and numbers) in its directory until
 * its contents and attributes are written. When the process is killed, files that were not
 * complete stay under their temporary names; whatever has its own name is complete.
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
 * Extract only what a pattern matches, with the directories above it; more patterns may be
 * added. A directory that is matched comes with everything in it. By default all is extracted.
 *
 * A pattern is matched against the whole path in the image: ? is one character, * any number
 * within a name, ** any number, [a-z] or [!a-z] one of a set, {one,two} either of them, and
 * a backslash takes the next character as it is. Where ** is a name of its own it may stand for
 * none, so that a pattern beginning with it matches at the top, too. "i:" in front lets the
 * pattern ignore the case of ASCII letters. A slash at the end is for directories only. One that
 * matches nothing in the image is named in the log, as a warning.
 *
 * @param extract  an extraction
 * @param pattern  the pattern
 * @param err      receives the details on failure; may be NULL
 * @return 0, DWARFS_ERR_INVALID when it makes no sense, or DWARFS_ERR_NOMEM
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
 * Let everything belong to one user, instead of the owners in the image. Files of other owners
 * lose their setuid bits. Without privileges only one's own number can be set.
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API void dwarfs_extract_set_uid(dwarfs_extract *extract, uint32_t uid);

/** As dwarfs_extract_set_uid(), for the group and setgid bits. Threads: one. Since 0.1. */
DWARFS_API void dwarfs_extract_set_gid(dwarfs_extract *extract, uint32_t gid);

/**
 * Set extended attributes (default), or leave them out. When they are set, what is made in a
 * directory that has a default access control list keeps nothing of what it inherits of that.
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API void dwarfs_extract_set_xattrs(dwarfs_extract *extract, bool set);

/**
 * Set how many threads write, besides the workers of the image's context: useful for a target
 * that answers slowly, as over a network.
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
 * Go on after an entry that cannot be written: each is reported to the log of the image's
 * context and counted, and the extraction fails at its end. By default it stops at the first.
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API void dwarfs_extract_set_continue_on_error(dwarfs_extract *extract, bool go_on);

/** Watch the extraction; progress may be NULL. Threads: one. Since 0.1. */
DWARFS_API void dwarfs_extract_set_progress(dwarfs_extract *extract, dwarfs_progress_fn progress,
					    void *user);

/** Let a switch stop the extraction; it stays the caller's. Threads: one. Since 0.1. */
DWARFS_API void dwarfs_extract_set_cancel(dwarfs_extract *extract, dwarfs_cancel *cancel);

/**
 * Extract into a directory.
 *
 * The directory is made if it is missing (its parents are not). The root of the image becomes
 * the directory itself, with its mode, owner and times. An entry whose name is taken already
 * is an error, except that directories are merged; nothing is ever overwritten. A directory
 * that was there and belongs to someone else keeps its attributes, with a warning in the log.
 *
 * @param extract  an extraction
 * @param path     the directory
 * @param err      receives the first failure; may be NULL
 * @return 0, or the code of the first failure; what was written before it stays. See also
 *         dwarfs_extract_damaged()
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API int dwarfs_extract_to_directory(dwarfs_extract *extract, const char *path,
					   dwarfs_error **err);

/** @return how many entries failed in the last run. Threads: one. Since 0.1. */
DWARFS_API uint64_t dwarfs_extract_failures(const dwarfs_extract *extract);

/**
 * How many entries of the last run are there with contents, but with defaults for attributes
 * that the image has no valid value for (see dwarfs_stat_invalid()): a mode for the owner only,
 * the owner and group 65534 without setuid and setgid bits, times without a fraction. Each is a
 * warning in the log of the image's context. Extended attributes that cannot be read at all
 * count as one more.
 *
 * Such entries never end a run. When nothing else fails, dwarfs_extract_to_directory() returns
 * DWARFS_ERR_CORRUPT or DWARFS_ERR_CHECKSUM after everything was written.
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API uint64_t dwarfs_extract_damaged(const dwarfs_extract *extract);

DWARFS_END_DECLS

#endif
