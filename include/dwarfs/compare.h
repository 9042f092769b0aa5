/* SPDX-License-Identifier: MIT */
/**
 * @file
 * Compare two trees, each of them an image, a directory or an archive.
 *
 * Entries are matched by their paths and compared: type, mode, owner, group, modification
 * time, size, contents, target of a symbolic link, device, hard links, extended
 * attributes. Contents count as equal if their sizes and XXH3-128 digests are equal; files of
 * different sizes are not read. Files of an image are read in the order of their data,
 * each block decompressed once; those of a directory by the workers of the context; an
 * archive is read once, from start to end. Holes are not read, whatever their size.
 *
 * Properties that one of the two cannot represent are not compared: modes of symbolic
 * links, sizes of directories, hard links in formats up to 2.2 (where equal files share
 * an inode), the attributes of a directory that an archive does not mention, or of its
 * root. Times are compared at the coarsest of three resolutions: those of the two trees
 * and the one that was set. An archive in which no time has a fraction of a second has a
 * resolution of one second.
 */
#ifndef DWARFS_COMPARE_H
#define DWARFS_COMPARE_H

#include <dwarfs/image.h>

DWARFS_BEGIN_DECLS

typedef struct dwarfs_compare dwarfs_compare;

/** The two sides. */
enum dwarfs_compare_side { DWARFS_COMPARE_A, DWARFS_COMPARE_B };

/** Kinds of differences. */
enum dwarfs_compare_kind {
	DWARFS_DIFFERENCE_ONLY_A,   /**< the path does not exist in B */
	DWARFS_DIFFERENCE_ONLY_B,   /**< the path does not exist in A */
	DWARFS_DIFFERENCE_TYPE,	    /**< then nothing else of the entry is compared */
	DWARFS_DIFFERENCE_MODE,	    /**< permissions, setuid, setgid, sticky */
	DWARFS_DIFFERENCE_OWNER,    /**< the owner's number */
	DWARFS_DIFFERENCE_GROUP,    /**< the group's number */
	DWARFS_DIFFERENCE_MTIME,    /**< when it was modified */
	DWARFS_DIFFERENCE_SIZE,	    /**< of a file */
	DWARFS_DIFFERENCE_CONTENTS, /**< of a file, of the same size */
	DWARFS_DIFFERENCE_TARGET,   /**< of a symbolic link */
	DWARFS_DIFFERENCE_DEVICE,   /**< the numbers of a device */
	DWARFS_DIFFERENCE_LINKS, /**< which other paths are hard links to the same file */
	DWARFS_DIFFERENCE_XATTR, /**< one extended attribute */
	DWARFS_DIFFERENCE_TROUBLE, /**< something on one side cannot be read and was not
					 compared: contents, extended attributes (reported
					 once, at the root, for an image, as they are in
					 one section), invalid attributes
					 (dwarfs_stat_invalid()), a special file without a
					 valid mode; or an image has several entries with
					 this path, none of which is compared, nor
					 anything below */
	DWARFS_DIFFERENCE_KINDS,   /**< number of kinds; may grow in later versions */
};

/** A difference; valid during the callback that receives it. */
typedef struct dwarfs_difference dwarfs_difference;

/** @return a dwarfs_compare_kind. Threads: one. Since 0.1. */
DWARFS_API enum dwarfs_compare_kind
dwarfs_difference_kind(const dwarfs_difference *difference);

/** @return a word for a kind, such as "mode"; NULL for none. Threads: any. Since 0.1. */
DWARFS_API const char *dwarfs_difference_word(enum dwarfs_compare_kind kind);

/** @return the path, names joined by "/"; "" for the root. Threads: one. Since 0.1. */
DWARFS_API const char *dwarfs_difference_path(const dwarfs_difference *difference);

/** @return the name of an extended attribute; NULL for other kinds. Threads: one. Since 0.1. */
DWARFS_API const char *dwarfs_difference_name(const dwarfs_difference *difference);

/**
 * The value of one side: "file", "directory" and so on for a type and for an entry that
 * only one side has, an octal number for a mode, a number for an owner, a group or a
 * size, "2026-05-09 07:29:33" in UTC for a time, "major,minor" for a device, bytes for a
 * target and for the value of an attribute, for links the first path of the same file, and
 * a message for trouble.
 *
 * @param difference  a difference
 * @param side        a dwarfs_compare_side
 * @param bytes_out   receives the length, without the NUL after it; may be NULL
 * @return the value; NULL if the side has none
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API const char *dwarfs_difference_value(const dwarfs_difference *difference,
					       enum dwarfs_compare_side side,
					       size_t *bytes_out);

/**
 * Receives the differences, in the order of the paths: a directory, then what is in it, by the
 * bytes of the names.
 *
 * @param difference  valid during the call
 * @param err         receives why the callback stops; may be NULL
 * @param user        as given to dwarfs_compare_run()
 * @return 0 to go on, or a negative DWARFS_ERR_* code to stop
 *
 * Threads: the thread that called dwarfs_compare_run().
 */
typedef int (*dwarfs_difference_fn)(const dwarfs_difference *difference,
				    dwarfs_error **err, void *user);

/**
 * Prepare to compare.
 *
 * @param context      the context for workers and for opening images; NULL for a private
 *                     one
 * @param compare_out  receives the comparison; free it with dwarfs_compare_free()
 * @param err          receives the details on failure; may be NULL
 * @return 0, or DWARFS_ERR_NOMEM
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API int dwarfs_compare_new(dwarfs_context *context, dwarfs_compare **compare_out,
				  dwarfs_error **err);

/** Free a comparison; NULL is accepted. Threads: one. Since 0.1. */
DWARFS_API void dwarfs_compare_free(dwarfs_compare *compare);

/**
 * Set one side to an image.
 *
 * @param compare  a comparison; it keeps the image alive
 * @param side     a dwarfs_compare_side; replaces an earlier setting
 * @param image    an image
 * @param err      receives the details on failure; may be NULL
 * @return 0, or DWARFS_ERR_RANGE for a side that does not exist
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API int dwarfs_compare_set_image(dwarfs_compare *compare,
					enum dwarfs_compare_side side,
					const dwarfs_image *image, dwarfs_error **err);

/**
 * Set one side to a directory.
 *
 * @param compare  a comparison
 * @param side     a dwarfs_compare_side
 * @param path     the directory, or a symbolic link to it; opened now
 * @param err      receives the details on failure; may be NULL
 * @return 0, DWARFS_ERR_RANGE, DWARFS_ERR_NOT_FOUND, _NOT_DIR, _ACCESS, _IO or _NOMEM
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API int dwarfs_compare_set_directory(dwarfs_compare *compare,
					    enum dwarfs_compare_side side,
					    const char *path, dwarfs_error **err);

/**
 * Set one side to an archive of any format that <dwarfs/archive.h> imports. Errors in the
 * archive are returned by dwarfs_compare_run().
 *
 * @param compare  a comparison
 * @param side     a dwarfs_compare_side
 * @param io       the archive; may be a stream; the comparison keeps it alive
 * @param err      receives the details on failure; may be NULL
 * @return 0, DWARFS_ERR_RANGE, _NOMEM; DWARFS_ERR_UNSUPPORTED where archives are not built in
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API int dwarfs_compare_set_archive(dwarfs_compare *compare,
					  enum dwarfs_compare_side side, dwarfs_io *io,
					  dwarfs_error **err);

/**
 * Set one side to a directory, an archive or an image, as found at a path. The start of
 * an image is searched for after any image header, unless the whole file is an
 * archive.
 *
 * @param compare  a comparison
 * @param side     a dwarfs_compare_side
 * @param path     the directory or file; a fifo or other file that can be read only once
 *                 is taken as an archive
 * @param options  to open an image with; NULL for the defaults
 * @param err      receives the details on failure; may be NULL
 * @return 0, DWARFS_ERR_RANGE, or as dwarfs_compare_set_directory(), dwarfs_image_open() or
 *         dwarfs_compare_set_archive()
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API int dwarfs_compare_set_path(dwarfs_compare *compare,
				       enum dwarfs_compare_side side, const char *path,
				       const dwarfs_image_options *options,
				       dwarfs_error **err);

/**
 * Do not report differences of a kind. Without DWARFS_DIFFERENCE_CONTENTS no contents are read.
 *
 * @param compare  a comparison
 * @param kind     a dwarfs_compare_kind other than DWARFS_DIFFERENCE_TROUBLE; trouble with a
 *                 mode, owner, group, time or extended attributes is ignored with their kind
 * @param err      receives the details on failure; may be NULL
 * @return 0, or DWARFS_ERR_RANGE
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API int dwarfs_compare_ignore(dwarfs_compare *compare,
				     enum dwarfs_compare_kind kind, dwarfs_error **err);

/**
 * Set the resolution at which times are compared.
 *
 * @param compare  a comparison
 * @param ns       in nanoseconds, 1 to 2^63 - 1; default 1000000000, a second
 * @param err      receives the details on failure; may be NULL
 * @return 0, or DWARFS_ERR_RANGE
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API int dwarfs_compare_set_time_resolution(dwarfs_compare *compare, uint64_t ns,
						  dwarfs_error **err);

/** Set the task that reports and cancels the comparison.
 * It stays owned by the caller; NULL for none. Threads: one. Since 0.1. */
DWARFS_API void dwarfs_compare_set_task(dwarfs_compare *compare, const dwarfs_task *task);

/**
 * Compare.
 *
 * @param compare    a comparison of which both sides are set
 * @param difference called for each difference; may be NULL
 * @param user       passed to it
 * @param count_out  receives how many differences there are, trouble among them; may be NULL
 * @param err        receives the details on failure; may be NULL
 * @return 0 when everything was compared, whether equal or not; DWARFS_ERR_INVALID when a
 *         side was not set; the code of the callback that stopped; DWARFS_ERR_CANCELLED;
 *         or the error for a side that cannot be read at all
 *
 * An archive that is a stream can be compared only once. Threads: one. Since 0.1.
 */
DWARFS_API int dwarfs_compare_run(dwarfs_compare *compare,
				  dwarfs_difference_fn difference, void *user,
				  uint64_t *count_out, dwarfs_error **err);

/** @return how many differences of a kind the last run found. Threads: one. Since 0.1. */
DWARFS_API uint64_t dwarfs_compare_count(const dwarfs_compare *compare,
					 enum dwarfs_compare_kind kind);

/** @return how many entries a side had in the last run, including its root. Threads: one.
 *         Since 0.1. */
DWARFS_API uint64_t dwarfs_compare_entries(const dwarfs_compare *compare,
					   enum dwarfs_compare_side side);

DWARFS_END_DECLS

#endif
