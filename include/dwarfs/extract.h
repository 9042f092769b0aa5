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
 * no (more) hard links, files are copied. A file is written whole or not at all.
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
 * @return 0, or the code of the first failure; what was written before it stays
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API int dwarfs_extract_to_directory(dwarfs_extract *extract, const char *path,
					   dwarfs_error **err);

/** @return how many entries failed in the last run. Threads: one. Since 0.1. */
DWARFS_API uint64_t dwarfs_extract_failures(const dwarfs_extract *extract);

DWARFS_END_DECLS

#endif
