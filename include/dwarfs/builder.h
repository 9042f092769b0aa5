/* SPDX-License-Identifier: MIT */
/**
 * @file
 * Make an image.
 *
 *     dwarfs_builder_new(NULL, &builder, &err);
 *     dwarfs_builder_add_directory(builder, "photos", &err);
 *     dwarfs_builder_write_path(builder, "photos.dwarfs", false, &err);
 *     dwarfs_builder_free(builder);
 *
 * A builder has defaults for everything, takes its input, and writes once. The image is the
 * same for any number of workers. Threads: a builder belongs to one thread at a time, except
 * where a comment says otherwise.
 */
#ifndef DWARFS_BUILDER_H
#define DWARFS_BUILDER_H

#include <dwarfs/context.h>
#include <dwarfs/progress.h>

DWARFS_BEGIN_DECLS

typedef struct dwarfs_builder dwarfs_builder;

/**
 * Make a builder with the defaults of level 7.
 *
 * @param context      the shared context; NULL for a private one
 * @param builder_out  receives the builder; free it with dwarfs_builder_free()
 * @param err          receives the details on failure; may be NULL
 * @return 0, or DWARFS_ERR_NOMEM
 *
 * Since 0.1.
 */
DWARFS_API int dwarfs_builder_new(dwarfs_context *context, dwarfs_builder **builder_out,
				  dwarfs_error **err);

/** Free a builder; NULL is accepted. Since 0.1. */
DWARFS_API void dwarfs_builder_free(dwarfs_builder *builder);

/* -- how blocks are made ------------------------------------------------------------- */

/**
 * Choose between speed and size. Sets the size of blocks, the codecs of all sections and the
 * order; a setter that is called afterwards, or was called before, takes precedence.
 *
 * | level | block  | blocks    | metadata | order |
 * |-------|--------|-----------|----------|-------|
 * | 0     | 1 MiB  | null      | null     | none  |
 * | 1     | 1 MiB  | lz4       | null     | path  |
 * | 2     | 1 MiB  | lz4hc:9   | null     | path  |
 * | 3     | 2 MiB  | lz4hc:9   | null     | path  |
 * | 4     | 4 MiB  | zstd:11   | null     | path  |
 * | 5     | 8 MiB  | zstd:19   | null     | path  |
 * | 6     | 16 MiB | zstd:22   | null     | path  |
 * | 7     | 16 MiB | zstd:22   | zstd:22  | path  |
 * | 8     | 16 MiB | lzma:9    | lzma:9   | path  |
 * | 9     | 64 MiB | lzma:9    | lzma:9   | path  |
 *
 * Schema and history are zstd:16, null at level 0. Metadata that is under 2 % of the image or
 * over 8 MB stays uncompressed unless its codec was set, so that opening is instant. A codec
 * that the library was built without is replaced by the nearest one it has.
 *
 * @param builder  a builder that has not run yet
 * @param level    0..9; default 7
 * @param err      receives the details on failure; may be NULL
 * @return 0, or DWARFS_ERR_RANGE
 *
 * Since 0.1.
 */
DWARFS_API int dwarfs_builder_set_level(dwarfs_builder *builder, uint32_t level,
					dwarfs_error **err);

/**
 * Set how large a block may grow before it is compressed.
 *
 * Larger blocks pack better and cost more memory to read back.
 *
 * @param builder  a builder that has not run yet
 * @param bits     log2 of the size in bytes, 10..30; default 24 (16 MiB)
 * @param err      receives the details on failure; may be NULL
 * @return 0, or DWARFS_ERR_RANGE, and then the old value is kept
 *
 * Since 0.1.
 */
DWARFS_API int dwarfs_builder_set_block_bits(dwarfs_builder *builder, uint32_t bits,
					     dwarfs_error **err);

/** What a codec can be chosen for. */
enum dwarfs_codec_use {
	DWARFS_CODEC_BLOCKS,
	DWARFS_CODEC_METADATA,
	DWARFS_CODEC_SCHEMA,
	DWARFS_CODEC_HISTORY,
};

/**
 * Set the codec of a kind of section. What does not shrink is stored as it is.
 *
 * @param builder  a builder that has not run yet
 * @param use      a dwarfs_codec_use
 * @param codec    a name with options: "null", "lz4", "lz4hc:level=9", "zstd:level=19",
 *                 "zstd:level=19:long", "lzma:level=9:dict_size=24:extreme:binary=x86",
 *                 "brotli:quality=11:lgwin=24"; a bare number stands for level or quality
 * @param err      receives the details on failure; may be NULL
 * @return 0, DWARFS_ERR_INVALID for a codec or option that does not exist, DWARFS_ERR_RANGE for
 *         a value, or DWARFS_ERR_UNSUPPORTED for a codec that was not built in
 *
 * Since 0.1.
 */
DWARFS_API int dwarfs_builder_set_codec(dwarfs_builder *builder, int use, const char *codec,
					dwarfs_error **err);

/**
 * The codecs that can be used for writing.
 *
 * @param index  0 and up
 * @return a line such as "zstd  level=1..22, long"; lives for ever; NULL past the last one
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API const char *dwarfs_codec_help(size_t index);

/**
 * Set the order in which files are stored.
 *
 * @param builder  a builder that has not run yet
 * @param order    "none" (as found), "path" (by path) or "revpath" (by reversed path)
 * @param err      receives the details on failure; may be NULL
 * @return 0, or DWARFS_ERR_INVALID
 *
 * Since 0.1.
 */
DWARFS_API int dwarfs_builder_set_order(dwarfs_builder *builder, const char *order,
					dwarfs_error **err);

/* -- what is stored of each entry ---------------------------------------------------- */

/** Store devices, or leave them out (default). Since 0.1. */
DWARFS_API void dwarfs_builder_set_devices(dwarfs_builder *builder, bool store);

/** Store fifos and sockets, or leave them out (default). Since 0.1. */
DWARFS_API void dwarfs_builder_set_specials(dwarfs_builder *builder, bool store);

/** Store holes as holes (default), or as zeros, which readers before 0.14 need. Since 0.1. */
DWARFS_API void dwarfs_builder_set_sparse_files(dwarfs_builder *builder, bool store);

/** Give all entries one owner. Since 0.1. */
DWARFS_API void dwarfs_builder_set_owner(dwarfs_builder *builder, uint32_t uid);

/** Give all entries one group. Since 0.1. */
DWARFS_API void dwarfs_builder_set_group(dwarfs_builder *builder, uint32_t gid);

/**
 * Give all entries one time.
 *
 * @param builder      a builder that has not run yet
 * @param seconds      since 1970
 * @param nanoseconds  0..999999999
 * @param err          receives the details on failure; may be NULL
 * @return 0, or DWARFS_ERR_RANGE
 *
 * Since 0.1.
 */
DWARFS_API int dwarfs_builder_set_time(dwarfs_builder *builder, uint64_t seconds,
				       uint32_t nanoseconds, dwarfs_error **err);

/**
 * Change the permissions of all entries, as chmod(1) would.
 *
 * @param builder  a builder that has not run yet
 * @param modes    clauses separated by commas: symbolic ("ug-s,o=rX"), or octal, each with an
 *                 optional prefix D (directories only) or F (all but directories); or "norm",
 *                 which is "ug-st,=Xr"
 * @param err      receives the details on failure; may be NULL
 * @return 0, or DWARFS_ERR_INVALID
 *
 * Since 0.1.
 */
DWARFS_API int dwarfs_builder_set_chmod(dwarfs_builder *builder, const char *modes,
					dwarfs_error **err);

/**
 * Set the umask that clauses without "ugoa" respect; default 022.
 *
 * @param builder  a builder that has not run yet
 * @param umask    0..0777
 * @param err      receives the details on failure; may be NULL
 * @return 0, or DWARFS_ERR_RANGE
 *
 * Since 0.1.
 */
DWARFS_API int dwarfs_builder_set_umask(dwarfs_builder *builder, uint32_t umask,
					dwarfs_error **err);

/**
 * Set the step of stored times; what is finer is cut off.
 *
 * @param builder         a builder that has not run yet
 * @param resolution_ns   whole seconds, up to 2^32 - 1 of them, or a divisor of one second, in
 *                        nanoseconds; default 1000000000
 * @param err             receives the details on failure; may be NULL
 * @return 0, or DWARFS_ERR_RANGE
 *
 * Since 0.1.
 */
DWARFS_API int dwarfs_builder_set_time_resolution(dwarfs_builder *builder,
						  uint64_t resolution_ns, dwarfs_error **err);

/** Store access and change times, too, or only modification times (default). Since 0.1. */
DWARFS_API void dwarfs_builder_set_keep_all_times(dwarfs_builder *builder, bool keep);

/* -- what is stored of the image ----------------------------------------------------- */

/**
 * Set how tables are packed.
 *
 * @param builder  a builder that has not run yet
 * @param packing  words separated by commas: "none", "auto" (default: names and symlinks where
 *                 smaller), "all", "chunk_table", "directories", "shared_files", "names",
 *                 "names_index", "symlinks", "symlinks_index", "force" (even where larger),
 *                 "plain" (lists as before format 2.3)
 * @param err      receives the details on failure; may be NULL
 * @return 0, or DWARFS_ERR_INVALID
 *
 * Since 0.1.
 */
DWARFS_API int dwarfs_builder_set_pack_metadata(dwarfs_builder *builder, const char *packing,
						dwarfs_error **err);

/** Store link counts (default), or let readers count. Since 0.1. */
DWARFS_API void dwarfs_builder_set_hardlink_table(dwarfs_builder *builder, bool store);

/** Write a section index (default), or not. Since 0.1. */
DWARFS_API void dwarfs_builder_set_section_index(dwarfs_builder *builder, bool write);

/** Store when the image was made (default), or not. Since 0.1. */
DWARFS_API void dwarfs_builder_set_create_timestamp(dwarfs_builder *builder, bool store);

/** Write a history (default), or not. Since 0.1. */
DWARFS_API void dwarfs_builder_set_history(dwarfs_builder *builder, bool write);

/** Store the time in the history (default), or not. Since 0.1. */
DWARFS_API void dwarfs_builder_set_history_timestamps(dwarfs_builder *builder, bool store);

/**
 * Add a word of the command line to the history; by default it has none.
 *
 * @param builder   a builder that has not run yet
 * @param argument  is copied
 * @param err       receives the details on failure; may be NULL
 * @return 0, or DWARFS_ERR_NOMEM
 *
 * Since 0.1.
 */
DWARFS_API int dwarfs_builder_add_history_argument(dwarfs_builder *builder,
						   const char *argument, dwarfs_error **err);

/**
 * Put bytes in front of the image, such as a script that mounts it.
 *
 * @param builder  a builder that has not run yet
 * @param data     is copied
 * @param bytes    how many; 0 for none
 * @param err      receives the details on failure; may be NULL
 * @return 0, or DWARFS_ERR_NOMEM
 *
 * Since 0.1.
 */
DWARFS_API int dwarfs_builder_set_header(dwarfs_builder *builder, const void *data,
					 size_t bytes, dwarfs_error **err);

/* -- input --------------------------------------------------------------------------- */

/**
 * Take a directory and everything below it; it becomes the root. It is read by the run.
 *
 * @param builder  a builder without input
 * @param path     the directory; a symbolic link to one is followed
 * @param err      receives the details on failure; may be NULL
 * @return 0; DWARFS_ERR_NOT_FOUND, _NOT_DIR or _ACCESS; DWARFS_ERR_INVALID when there is an
 *         input already; DWARFS_ERR_NOMEM
 *
 * Since 0.1.
 */
DWARFS_API int dwarfs_builder_add_directory(dwarfs_builder *builder, const char *path,
					    dwarfs_error **err);

/* -- run ----------------------------------------------------------------------------- */

/** Watch the run; progress may be NULL. Since 0.1. */
DWARFS_API void dwarfs_builder_set_progress(dwarfs_builder *builder, dwarfs_progress_fn progress,
					    void *user);

/** Let a switch stop the run; it stays the caller's. Since 0.1. */
DWARFS_API void dwarfs_builder_set_cancel(dwarfs_builder *builder, dwarfs_cancel *cancel);

/**
 * Write the image to a file.
 *
 * The file appears whole or not at all: it is written under a temporary name beside its place
 * and renamed at the end. An existing output that is no regular file, such as /dev/null or a
 * pipe, is written in place. A file of the input that cannot be read, or that changes while
 * it is read, is reported to the log of the context and counted (DWARFS_COUNT_ERRORS); the
 * image is written all the same, with that file as far as it was read.
 *
 * @param builder    a builder with an input that has not run yet
 * @param path       the file
 * @param overwrite  replace an existing file
 * @param err        receives the details on failure; may be NULL
 * @return 0; DWARFS_ERR_EXISTS; DWARFS_ERR_NO_SPACE, _ACCESS or _IO; DWARFS_ERR_CANCELLED;
 *         DWARFS_ERR_INVALID for options that contradict each other, or a second run;
 *         DWARFS_ERR_NOMEM
 *
 * Since 0.1.
 */
DWARFS_API int dwarfs_builder_write_path(dwarfs_builder *builder, const char *path,
					 bool overwrite, dwarfs_error **err);

/**
 * Write the image to a descriptor, from first byte to last, such as a pipe.
 *
 * @param builder  a builder with an input that has not run yet
 * @param fd       stays the caller's
 * @param err      receives the details on failure; may be NULL
 * @return as dwarfs_builder_write_path()
 *
 * Since 0.1.
 */
DWARFS_API int dwarfs_builder_write_fd(dwarfs_builder *builder, int fd, dwarfs_error **err);

/**
 * Takes the next bytes of the image.
 *
 * @param data   valid during the call
 * @param bytes  how many, at least 1
 * @param user   as given to dwarfs_builder_write_callback()
 * @return 0, or a negative errno value
 *
 * Threads: called by the thread that runs the builder.
 */
typedef int (*dwarfs_write_fn)(const void *data, size_t bytes, void *user);

/**
 * Write the image through a callback, from first byte to last.
 *
 * @param builder  a builder with an input that has not run yet
 * @param write    takes the bytes
 * @param user     handed to write
 * @param err      receives the details on failure; may be NULL
 * @return as dwarfs_builder_write_path()
 *
 * Since 0.1.
 */
DWARFS_API int dwarfs_builder_write_callback(dwarfs_builder *builder, dwarfs_write_fn write,
					     void *user, dwarfs_error **err);

/** What a run counts. */
enum dwarfs_count {
	DWARFS_COUNT_DIRECTORIES,
	DWARFS_COUNT_FILES,           /**< regular files, each hard link counted */
	DWARFS_COUNT_LINKS,           /**< symbolic links */
	DWARFS_COUNT_DEVICES,
	DWARFS_COUNT_SPECIALS,        /**< fifos and sockets */
	DWARFS_COUNT_HARDLINKS,       /**< files that are further names of another one */
	DWARFS_COUNT_DUPLICATES,      /**< files whose contents were stored already */
	DWARFS_COUNT_SKIPPED,         /**< devices and specials that were left out */
	DWARFS_COUNT_ERRORS,          /**< entries that could not be read as they were */
	DWARFS_COUNT_BYTES_IN,        /**< size of all regular files, each hard link once */
	DWARFS_COUNT_BYTES_DUPLICATE, /**< size of the duplicates */
	DWARFS_COUNT_BYTES_HOLES,     /**< size of the holes */
	DWARFS_COUNT_BYTES_STORED,    /**< size of all blocks before compression */
	DWARFS_COUNT_BYTES_BLOCKS,    /**< size of all blocks as written */
	DWARFS_COUNT_BYTES_METADATA,  /**< size of the metadata as written */
	DWARFS_COUNT_BYTES_OUT,       /**< size of the image with its header */
	DWARFS_COUNT_BLOCKS,
	DWARFS_COUNT_CHUNKS,
};

/**
 * Ask what a run has counted.
 *
 * @param builder  a builder that has run
 * @param count    a dwarfs_count
 * @return the number; 0 for an unknown count
 *
 * Since 0.1.
 */
DWARFS_API uint64_t dwarfs_builder_count(const dwarfs_builder *builder, int count);

DWARFS_END_DECLS

#endif
