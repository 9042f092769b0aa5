/* SPDX-License-Identifier: MIT */
/**
 * @file
 * Build an image.
 *
 *     dwarfs_builder_new(NULL, &builder, &err);
 *     dwarfs_builder_add_directory(builder, "photos", &err);
 *     dwarfs_builder_write_path(builder, "photos.dwarfs", false, &err);
 *     dwarfs_builder_free(builder);
 *
 * A builder starts with defaults for all options, takes an input, and writes one image. Once it
 * has run, successfully or not, functions that change it or add to it return DWARFS_ERR_INVALID,
 * and those without a result do nothing.
 * The image is the same for any number of workers, except for the time at which it was made,
 * see dwarfs_builder_set_create_timestamp() and dwarfs_builder_set_history_timestamps().
 * Threads: a builder belongs to one thread at a time, except where a comment says otherwise.
 */
#ifndef DWARFS_BUILDER_H
#define DWARFS_BUILDER_H

#include <dwarfs/context.h>
#include <dwarfs/progress.h>
#include <dwarfs/sink.h>

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
 * Threads: any. Since 0.1.
 */
DWARFS_API int dwarfs_builder_new(dwarfs_context *context, dwarfs_builder **builder_out,
				  dwarfs_error **err);

/** Free a builder; NULL is accepted. Threads: one. Since 0.1. */
DWARFS_API void dwarfs_builder_free(dwarfs_builder *builder);

/**
 * @return the context that the builder uses; borrowed, valid as long as the builder.
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API dwarfs_context *dwarfs_builder_context(const dwarfs_builder *builder);

/* -- block size, codecs, order, deduplication ---------------------------------------- */

/**
 * Choose a preset between speed and size. It determines the block size, the codecs of all
 * sections, the order of files, and the search for repeated data (window/step); specific
 * setters take precedence, whether called before or after.
 *
 * dwarfs_level_text() and dwarfs_level_number() return these settings, and mkdwarfs(1)
 * lists them. From level 5 on, blocks with a very high compression ratio, such as
 * those of logs, have a separate codec (DWARFS_LEVEL_DENSE_BLOCKS), unless it compresses
 * parts of a block independently and the data repeat across parts, or, at levels 5 to 7,
 * the codec for blocks makes the block smaller. At levels 6 and 7 it
 * is also used for blocks of numbers, samples and pixels if a sample shows that lzma
 * makes them clearly smaller than zstd; one processor reads them at 25 to 100 MB/s. From
 * level 5 on, blocks with hardly any repeated bytes, such as base64 or hexadecimal
 * digits, have another codec (DWARFS_LEVEL_LITERAL_BLOCKS). Levels 8 and 9 try it besides
 * lzma, and use the smaller result. At levels 5 to 7, data that is compressed already is
 * packed by zstd with small tables, unless a fast codec finds repeats which these miss.
 *
 * Categories: incompressible data is stored uncompressed. From level 1 on, audio samples
 * use flac, FITS images ricepp, both in the order revpath, and from level 3 on repeated
 * parts of 1024 samples and more are stored once; at level 0 nothing is compressed. An
 * audio block that the default codec makes smaller, such as one of loops, uses that,
 * unless a codec was set for the category.
 *
 * Levels 0 to 2 do not compress metadata, so that images open faster. Levels 3 to 9
 * compress it only if that makes it smaller and its share of blocks and metadata is
 * large enough: at least 0.1 % for metadata up to 1 MiB, 2 % up to 8 MiB, 5 % above
 * that. If the metadata of an added image is compressed, they compress up to 8 MiB
 * whatever the share. Level 7 uses lzma instead of zstd where that saves at least 4
 * KiB, 1 % of blocks and metadata, and 4 % of them for each MiB of metadata before
 * compression. A codec that was set by dwarfs_builder_set_codec() is used however little
 * it saves. If the codec of a level was not built in, the nearest available one is used;
 * without zstd, levels 3 to 6 do not compress metadata.
 *
 * @param builder  a builder that has not run yet
 * @param level    0..9; default 7
 * @param err      receives the details on failure; may be NULL
 * @return 0, or DWARFS_ERR_RANGE
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API int dwarfs_builder_set_level(dwarfs_builder *builder, uint32_t level,
					dwarfs_error **err);

/** What a level determines: the argument of dwarfs_level_text() or dwarfs_level_number(). */
enum dwarfs_level_setting {
	/* dwarfs_level_number() */
	DWARFS_LEVEL_BLOCK_BITS,  /**< see dwarfs_builder_set_block_bits() */
	DWARFS_LEVEL_WINDOW,	  /**< see dwarfs_builder_set_window() */
	DWARFS_LEVEL_WINDOW_STEP, /**< see dwarfs_builder_set_window_step() */

	/* dwarfs_level_text(): codecs, as for dwarfs_builder_set_codec(), and an order */
	DWARFS_LEVEL_BLOCKS,
	DWARFS_LEVEL_DENSE_BLOCKS, /**< for blocks that this codec makes clearly smaller */
	DWARFS_LEVEL_METADATA,
	DWARFS_LEVEL_SCHEMA,
	DWARFS_LEVEL_HISTORY,
	DWARFS_LEVEL_ORDER, /**< see dwarfs_builder_set_order() */

	/* dwarfs_level_text(), too */
	DWARFS_LEVEL_LITERAL_BLOCKS, /**< for blocks with few repeated bytes, where smaller */
};

/**
 * The codec or the order that a level determines for data without a category.
 *
 * @param level    0..9, as for dwarfs_builder_set_level()
 * @param setting  a dwarfs_level_setting that is a text
 * @return the value in the form that the setter accepts, such as "zstd:level=19"; a static
 *         string. For a codec it is the one that this library uses, which depends on the
 *         codecs that were built in. NULL for DWARFS_LEVEL_DENSE_BLOCKS and
 *         DWARFS_LEVEL_LITERAL_BLOCKS if the level treats such blocks as any other, for a
 *         setting that is a number, for an unknown one, and for a level that does not exist
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API const char *dwarfs_level_text(uint32_t level,
					 enum dwarfs_level_setting setting);

/**
 * A number that a level determines for data without a category.
 *
 * @param level    0..9, as for dwarfs_builder_set_level()
 * @param setting  a dwarfs_level_setting that is a number
 * @return the value as the setter accepts it: DWARFS_LEVEL_BLOCK_BITS and
 *         DWARFS_LEVEL_WINDOW as log2 of bytes, where a window of 0 means that no repeated
 *         data is searched for. 0 for a setting that is a text, for an unknown one, and for
 *         a level that does not exist
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API uint32_t dwarfs_level_number(uint32_t level,
					enum dwarfs_level_setting setting);

/**
 * Set how large a block may grow before it is compressed.
 *
 * Larger blocks compress better and take more memory to read.
 *
 * @param builder  a builder that has not run yet
 * @param bits     log2 of the size in bytes, 10..30; default 24 (16 MiB)
 * @param err      receives the details on failure; may be NULL
 * @return 0, or DWARFS_ERR_RANGE, and then the old value is kept
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API int dwarfs_builder_set_block_bits(dwarfs_builder *builder, uint32_t bits,
					     dwarfs_error **err);

/** Kinds of sections whose codecs can be set. */
enum dwarfs_codec_use {
	DWARFS_CODEC_BLOCKS,
	DWARFS_CODEC_METADATA,
	DWARFS_CODEC_SCHEMA,
	DWARFS_CODEC_HISTORY,
};

/**
 * Set the codec of a kind of section. Sections that do not shrink are stored
 * uncompressed.
 *
 * @param builder  a builder that has not run yet
 * @param use      a dwarfs_codec_use
 * @param codec    a name with options: "null", "lz4", "lz4hc:level=9", "zstd:level=19",
 *                 "zstd:level=19:long", "lzma:level=9:dict_size=24:extreme:binary=x86",
 *                 "lzma:level=6:block_size=21:check=none" (in parts of 2 MiB),
 *                 "brotli:quality=11:lgwin=24"; a number alone is the level or quality
 * @param err      receives the details on failure; may be NULL
 * @return 0, DWARFS_ERR_INVALID for a codec or option that does not exist, or for a codec of
 *         samples (flac, ricepp) for other sections than blocks, DWARFS_ERR_RANGE for
 *         a value, or DWARFS_ERR_UNSUPPORTED for a codec that was not built in
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API int dwarfs_builder_set_codec(dwarfs_builder *builder,
					enum dwarfs_codec_use use, const char *codec,
					dwarfs_error **err);

/**
 * The codecs that can be used for writing.
 *
 * @param index  0 and up
 * @return a line such as "zstd  level=1..22, long"; a static string; NULL past the last one
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API const char *dwarfs_codec_help(size_t index);

/**
 * Set the codec for the blocks of one category, which takes precedence over that of
 * dwarfs_builder_set_codec() and of the level.
 *
 * @param builder   a builder that has not run yet
 * @param category  a name such as "incompressible" or "pcmaudio/waveform"; NULL for all
 *                  categories for which none is set
 * @param codec     as for dwarfs_builder_set_codec(); also "flac:level=5" for
 *                  "pcmaudio/waveform" and "ricepp:block_size=128" for "fits/image"
 * @param err       receives the details on failure; may be NULL
 * @return as dwarfs_builder_set_codec(); DWARFS_ERR_INVALID also for an unknown category
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API int dwarfs_builder_set_category_codec(dwarfs_builder *builder,
						 const char *category, const char *codec,
						 dwarfs_error **err);

/**
 * Set the order in which files are stored.
 *
 * | order      | files are stored |
 * |------------|------------------|
 * | none       | as found |
 * | path       | by path |
 * | revpath    | by file name, then by the names of the directories above from the lowest up |
 * | auto       | in one of these orders: path, similar files together, versions of a file in
 *                similar directories together, with lz4 also from the middle version on,
 *                revpath, similarity, nilsimsa. The size of the image in each is estimated
 *                from a sketch of the data; with a slow codec the best are then tried by packing
 *                with a faster one, with zstd 7 to 12 only those of inputs up to 1 GiB,
 *                with lz4 by itself where nearly all data is repeated.
 *                "auto:max-trials=N": at most N of them, 0..6 |
 * | similarity | by fingerprints of their most frequent bytes |
 * | nilsimsa   | by their nilsimsa digests; "nilsimsa:max-children=N:max-cluster-size=N", both
 *                16384 by default |
 * | explicit   | "explicit:file=F": as listed in that file, one path on each line, relative to
 *                the root or absolute; files that are not listed follow by path |
 *
 * @param builder  a builder that has not run yet
 * @param order    one of these
 * @param err      receives the details on failure; may be NULL
 * @return 0; DWARFS_ERR_INVALID; for "explicit", what opening the list gives
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API int dwarfs_builder_set_order(dwarfs_builder *builder, const char *order,
					dwarfs_error **err);

/**
 * As dwarfs_builder_set_order(), for one category; NULL for all without one.
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API int dwarfs_builder_set_category_order(dwarfs_builder *builder,
						 const char *category, const char *order,
						 dwarfs_error **err);

/**
 * Set how long a run of repeated bytes must be to be deduplicated within or across files.
 *
 * @param builder   a builder that has not run yet
 * @param category  a category; NULL for all for which no value is set
 * @param bits      log2 of the shortest run, 0..24, in bytes; in "pcmaudio/waveform" and
 *                  "fits/image" in frames of one sample for each channel; 0: no search.
 *                  Default: by level
 * @param err       receives the details on failure; may be NULL
 * @return 0, DWARFS_ERR_RANGE, or DWARFS_ERR_INVALID for an unknown category
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API int dwarfs_builder_set_window(dwarfs_builder *builder, const char *category,
					 uint32_t bits, dwarfs_error **err);

/**
 * Set the density of the anchors by which repeated runs are found: about one anchor for each
 * (shortest run of dwarfs_builder_set_window()) >> bits bytes. A higher density finds more runs
 * and takes more memory.
 *
 * @param builder   a builder that has not run yet
 * @param category  a category; NULL for all for which no value is set
 * @param bits      0..8. Default: by level
 * @param err       receives the details on failure; may be NULL
 * @return 0, DWARFS_ERR_RANGE, or DWARFS_ERR_INVALID for an unknown category
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API int dwarfs_builder_set_window_step(dwarfs_builder *builder,
					      const char *category, uint32_t bits,
					      dwarfs_error **err);

/**
 * Set how many blocks back repeated runs are searched for.
 *
 * @param builder   a builder that has not run yet
 * @param category  a category; NULL for all for which no value is set
 * @param blocks    0: no search; 1: only the block being filled; UINT32_MAX: all blocks,
 *                  the default
 * @param err       receives the details on failure; may be NULL
 * @return 0, or DWARFS_ERR_INVALID for an unknown category
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API int dwarfs_builder_set_lookback(dwarfs_builder *builder, const char *category,
					   uint32_t blocks, dwarfs_error **err);

/**
 * Limit the memory that the builder takes while it runs, including that of its
 * compressors, by an upper bound, and of items that were added before. Other memory of
 * the process does not count.
 *
 * To keep a limit, the builder uses, in this order: fewer workers, fewer queued blocks, a
 * coarser index, compressors with less memory, smaller blocks; the log says which.
 * Where references to repeated runs could take too much memory, only longer runs are
 * deduplicated.
 * If the codec for metadata would exceed the limit, even one that was set, it uses less
 * memory, or metadata is not compressed.
 * The same limit produces the same image for any number of workers. Without a limit,
 * only the number of workers is reduced, to use at most a quarter of the machine's memory,
 * so that the image does not depend on the machine.
 *
 * @param builder  a builder that has not run yet
 * @param bytes    by how much the resident size of the process may grow; 0 for no limit, the
 *                 default
 * @param err      receives the details on failure; may be NULL
 * @return 0. The run fails with DWARFS_ERR_LIMIT when the limit is too low for one
 *         worker; the message says how much is needed
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API int dwarfs_builder_set_memory_limit(dwarfs_builder *builder, uint64_t bytes,
					       dwarfs_error **err);

/**
 * Limit the memory of the whole process while the builder runs, as mkdwarfs -L does. Memory
 * that the process uses when the run starts counts. So does the block cache for images that
 * were added: its budget, but at most the size of all their blocks. These images should have the
 * same context; of several caches only the largest one counts. If a limit of
 * dwarfs_builder_set_memory_limit() is set, too, the one that leaves less to the builder applies.
 *
 * @param builder  a builder that has not run yet
 * @param bytes    the resident size of the process at its peak; 0 for none, the default
 * @param err      receives the details on failure; may be NULL
 * @return as dwarfs_builder_set_memory_limit()
 *
 * Threads: a builder belongs to one thread at a time. Since 0.1.
 */
DWARFS_API int dwarfs_builder_set_process_memory_limit(dwarfs_builder *builder,
						       uint64_t bytes,
						       dwarfs_error **err);

/**
 * Lower the scheduling priority of the threads that compress.
 *
 * @param builder   a builder that has not run yet
 * @param niceness  0..19, as for nice(1); default 0. Without effect if there are no
 *                  workers
 * @param err       receives the details on failure; may be NULL
 * @return 0, or DWARFS_ERR_RANGE
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API int dwarfs_builder_set_compress_niceness(dwarfs_builder *builder, int niceness,
						    dwarfs_error **err);

/** Store the names of categories (default), or not. Threads: one. Since 0.1. */
DWARFS_API void dwarfs_builder_set_category_names(dwarfs_builder *builder, bool store);

/** Store the parameters that categories pass to codecs, such as sample sizes (default),
 * or not. Threads: one. Since 0.1. */
DWARFS_API void dwarfs_builder_set_category_metadata(dwarfs_builder *builder, bool store);

/* -- callbacks ----------------------------------------------------------------------- */

/** An entry of the input; valid during the callback that receives it. */
typedef struct dwarfs_input dwarfs_input;

/**
 * @return the path below the root, "" for the root; valid as long as the entry.
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API const char *dwarfs_input_path(const dwarfs_input *input);

/** @return type and permissions, as st_mode has them. Threads: one. Since 0.1. */
DWARFS_API uint32_t dwarfs_input_mode(const dwarfs_input *input);

/** @return bytes of a file, 0 for anything else. Threads: one. Since 0.1. */
DWARFS_API uint64_t dwarfs_input_bytes(const dwarfs_input *input);

/** @return the owner. Threads: one. Since 0.1. */
DWARFS_API uint32_t dwarfs_input_uid(const dwarfs_input *input);

/** @return the group. Threads: one. Since 0.1. */
DWARFS_API uint32_t dwarfs_input_gid(const dwarfs_input *input);

/**
 * @return when it was modified, in seconds since 1970, negative before it.
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API int64_t dwarfs_input_mtime(const dwarfs_input *input);

/**
 * Decides whether an entry is included.
 *
 * @param input  the entry; if a directory is left out, so is everything below it
 * @param err    receives why the callback stops; may be NULL
 * @param user   as given to dwarfs_builder_set_include()
 * @return 1 to include it, 0 to leave it out, or a negative DWARFS_ERR_* code to stop
 *
 * Threads: called by the thread that runs the builder.
 */
typedef int (*dwarfs_include_fn)(const dwarfs_input *input, dwarfs_error **err,
				 void *user);

/**
 * Chooses the category of a file.
 *
 * @param input  the file
 * @param category_out  receives the name of a category, valid until the callback is called
 *                      again; "<default>" for no particular category, without asking the
 *                      categorizers; not set: they decide
 * @param err    receives why the callback stops; may be NULL
 * @param user   as given to dwarfs_builder_set_category_callback()
 * @return 0, or a negative DWARFS_ERR_* code to stop. An unknown name ends the run with
 *         DWARFS_ERR_INVALID, and so does a category whose blocks need a sample layout
 *         ("pcmaudio/waveform", "fits/image")
 *
 * Threads: called by the thread that runs the builder, before the file is read.
 */
typedef int (*dwarfs_category_fn)(const dwarfs_input *input, const char **category_out,
				  dwarfs_error **err, void *user);

/**
 * Receives the result of the filter rules for an entry.
 *
 * @param path          below the root
 * @param is_directory  whether it is one
 * @param included      whether it is included
 * @param err           receives why the callback stops; may be NULL
 * @param user          as given to dwarfs_builder_set_filter_report()
 * @return 0 to go on, or a negative DWARFS_ERR_* code to stop
 *
 * Threads: called by the thread that runs the builder.
 */
typedef int (*dwarfs_filter_report_fn)(const char *path, bool is_directory, bool included,
				       dwarfs_error **err, void *user);

/** The files of one category, to be ordered; valid during the callback. */
typedef struct dwarfs_order_list dwarfs_order_list;

/** @return how many files there are. Threads: one. Since 0.1. */
DWARFS_API size_t dwarfs_order_list_count(const dwarfs_order_list *list);

/**
 * @return the name of the category of the files; valid as long as the builder.
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API const char *dwarfs_order_list_category(const dwarfs_order_list *list);

/** @return the path of a file below the root, the first one when there are several; valid
 * until the next call. NULL past the last file. Threads: one. Since 0.1. */
DWARFS_API const char *dwarfs_order_list_path(dwarfs_order_list *list, size_t index);

/** @return how many bytes of a file are of this category; 0 past the last file. Threads: one.
 * Since 0.1. */
DWARFS_API uint64_t dwarfs_order_list_bytes(const dwarfs_order_list *list, size_t index);

/**
 * Set the rank of a file: the lowest is stored first. Files of the same rank keep their
 * order; files without a rank are stored last, in their order.
 *
 * @param list   as given to the callback
 * @param index  of the file, below dwarfs_order_list_count()
 * @param rank   any number
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API void dwarfs_order_list_set_rank(dwarfs_order_list *list, size_t index,
					   uint64_t rank);

/**
 * Sets the ranks of the files of a category: see dwarfs_order_list_set_rank().
 *
 * @param files  the files with distinct contents, in the order without this callback
 * @param err    receives why the callback stops; may be NULL
 * @param user   as given to dwarfs_builder_set_order_callback()
 * @return 0, or a negative DWARFS_ERR_* code to stop the run
 *
 * Threads: called by the thread that runs the builder, once for each category, or for
 * each sample layout of a category.
 */
typedef int (*dwarfs_order_fn)(dwarfs_order_list *files, dwarfs_error **err, void *user);

/**
 * Set a callback that orders the files of each category, after they were put in the order
 * that is set.
 *
 * @param builder  a builder that has not run yet
 * @param order    the callback; NULL for none (default)
 * @param user     passed to order
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API void dwarfs_builder_set_order_callback(dwarfs_builder *builder,
						  dwarfs_order_fn order, void *user);

/**
 * Set the maximum size of files that are ordered by similarity. Larger ones are stored
 * first, by descending size. Applies to the orders that depend on contents.
 *
 * @param builder  a builder that has not run yet
 * @param bytes    the maximum size; default UINT64_MAX: no maximum
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API void dwarfs_builder_set_max_similarity_bytes(dwarfs_builder *builder,
							uint64_t bytes);

/* -- categories ---------------------------------------------------------------------- */

/**
 * Set the categorizers. They detect types of contents that compress better separately:
 * each category has its own blocks, order, codec and search for repeated data.
 *
 * | categorizer    | categories                                                         |
 * |----------------|--------------------------------------------------------------------|
 * | fits           | fits/image (of 16 bits), fits/metadata                             |
 * | pcmaudio       | pcmaudio/waveform (of WAV, W64, AIFF, CAF), pcmaudio/metadata      |
 * | binary         | binary/elf, /pe, /macho-section, /macho-header, by processor       |
 * | incompressible | incompressible: see dwarfs_builder_set_incompressible()            |
 * | hotness        | hotness: see dwarfs_builder_add_hot_path()                         |
 *
 * All other data is in the category "<default>".
 *
 * @param builder  a builder that has not run yet
 * @param names    separated by commas, in order of precedence: the first that recognizes
 *                 a file decides; "" for none (default)
 * @param err      receives the details on failure; may be NULL
 * @return 0, DWARFS_ERR_INVALID for one that does not exist or is given twice, or
 *         DWARFS_ERR_UNSUPPORTED for one whose codec was not built in
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API int dwarfs_builder_set_categorizers(dwarfs_builder *builder, const char *names,
					       dwarfs_error **err);

/**
 * Add a file to the list of the categorizer "hotness". Listed files are stored together,
 * in the order of the list, so that reading them needs few blocks.
 *
 * @param builder  a builder that has not run yet
 * @param path     relative to the root; a leading "/" or "./" is ignored; need not exist
 * @param err      receives the details on failure; may be NULL
 * @return 0, DWARFS_ERR_INVALID for a path that is empty or listed already, or
 *         DWARFS_ERR_NOMEM
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API int dwarfs_builder_add_hot_path(dwarfs_builder *builder, const char *path,
					   dwarfs_error **err);

/**
 * Set the criteria of the categorizer "incompressible".
 *
 * It tests contents with a fast compressor and by the entropy of their bytes, large contents by
 * samples; the smaller of both sizes counts. Contents of less than 4 KiB must also have a
 * random-looking distribution of bytes, because short texts that do not compress alone do
 * compress together with others.
 *
 * @param builder          a builder that has not run yet
 * @param min_input_bytes  smaller files are not tested; default 256
 * @param block_bytes      compressed at a time, 1 KiB to 1 GiB; default 1 MiB
 * @param ratio            compressed size divided by size from which data counts as
 *                         incompressible, above 0 and at most 1; default 0.99
 * @param zstd_level       of the compressor, -131072..22; default -1. Ignored without
 *                         zstd, when lz4 is used
 * @param fragments        decide for each block_bytes of a file separately, or once for
 *                         the file (default)
 * @param err              receives the details on failure; may be NULL
 * @return 0, or DWARFS_ERR_RANGE, and then the old values are kept
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API int dwarfs_builder_set_incompressible(dwarfs_builder *builder,
						 uint64_t min_input_bytes,
						 uint64_t block_bytes, double ratio,
						 int zstd_level, bool fragments,
						 dwarfs_error **err);

/**
 * Add a category, for the category callback and for per-category settings.
 *
 * @param builder  a builder that has not run yet
 * @param name     up to 255 bytes, without spaces and any of ",:!<>"; is copied
 * @param err      receives the details on failure; may be NULL
 * @return 0, DWARFS_ERR_INVALID for an invalid or existing name, or DWARFS_ERR_NOMEM
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API int dwarfs_builder_add_category(dwarfs_builder *builder, const char *name,
					   dwarfs_error **err);

/**
 * Set a callback that chooses the categories of files; the categorizers decide on the
 * others.
 *
 * @param builder   a builder that has not run yet
 * @param category  called for each file; NULL for none (default)
 * @param user      passed to category
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API void dwarfs_builder_set_category_callback(dwarfs_builder *builder,
						     dwarfs_category_fn category,
						     void *user);

/* -- attributes of entries ----------------------------------------------------------- */

/** Store devices, or leave them out (default). Threads: one. Since 0.1. */
DWARFS_API void dwarfs_builder_set_devices(dwarfs_builder *builder, bool store);

/** Store fifos and sockets, or leave them out (default). Threads: one. Since 0.1. */
DWARFS_API void dwarfs_builder_set_specials(dwarfs_builder *builder, bool store);

/** Store holes as holes (default), or as zeros, for readers before version 0.14. Images whose
 * blocks are copied keep their holes: with such ones, dwarfs_builder_write() returns
 * DWARFS_ERR_INVALID. Threads: one. Since 0.1. */
DWARFS_API void dwarfs_builder_set_sparse_files(dwarfs_builder *builder, bool store);

/** Give all entries one owner; by default they keep theirs. Threads: one. Since 0.1. */
DWARFS_API void dwarfs_builder_set_owner(dwarfs_builder *builder, uint32_t uid);

/** Give all entries one group; by default they keep theirs. Threads: one. Since 0.1. */
DWARFS_API void dwarfs_builder_set_group(dwarfs_builder *builder, uint32_t gid);

/**
 * Set all stored times of all entries to one value; by default they keep theirs.
 *
 * @param builder      a builder that has not run yet
 * @param seconds      since 1970, negative before it
 * @param nanoseconds  0..999999999, added to the seconds, also to negative ones
 * @param err          receives the details on failure; may be NULL
 * @return 0, or DWARFS_ERR_RANGE
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API int dwarfs_builder_set_time(dwarfs_builder *builder, int64_t seconds,
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
 * Threads: one. Since 0.1.
 */
DWARFS_API int dwarfs_builder_set_chmod(dwarfs_builder *builder, const char *modes,
					dwarfs_error **err);

/**
 * Set the umask that applies to clauses without "ugoa"; default 022.
 *
 * @param builder  a builder that has not run yet
 * @param umask    0..0777
 * @param err      receives the details on failure; may be NULL
 * @return 0, or DWARFS_ERR_RANGE
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API int dwarfs_builder_set_umask(dwarfs_builder *builder, uint32_t umask,
					dwarfs_error **err);

/**
 * Set the resolution of stored times; times are rounded down.
 *
 * @param builder         a builder that has not run yet
 * @param resolution_ns   whole seconds, up to 2^32 - 1 of them, or a divisor of one second, in
 *                        nanoseconds; default 1000000000
 * @param err             receives the details on failure; may be NULL
 * @return 0, or DWARFS_ERR_RANGE
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API int dwarfs_builder_set_time_resolution(dwarfs_builder *builder,
						  uint64_t resolution_ns,
						  dwarfs_error **err);

/**
 * Store access and change times, too, or only modification times (default).
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API void dwarfs_builder_set_keep_all_times(dwarfs_builder *builder, bool keep);

/**
 * Store birth times, if the file system has them and the C library has statx(), as musl since
 * 1.2.5, or not (default). See DWARFS_BTIME. It takes one more system call for each entry.
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API void dwarfs_builder_set_keep_birth_times(dwarfs_builder *builder, bool keep);

/**
 * Store extended attributes (default), or not. All namespaces that the process can read
 * are stored: user, trusted, security with capabilities and labels, and access control
 * lists. The virtual attributes of mounted images ("user.dwarfs.*"), the repeated access control
 * lists of XFS ("trusted.SGI_ACL_FILE", "trusted.SGI_ACL_DEFAULT") and other attributes of
 * "system.*" are not. See <dwarfs/xattr.h>. Attributes that cannot be read are logged
 * and counted (DWARFS_COUNT_ERRORS).
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API void dwarfs_builder_set_xattrs(dwarfs_builder *builder, bool keep);

/**
 * Store only some extended attributes: with include rules, those that match one of them;
 * with exclude rules, those that match none of them; with both, those that pass both.
 *
 * @param builder  a builder that has not run yet
 * @param include  whether to include or to exclude
 * @param glob     a pattern for whole names with their namespace, as "user.*": "*"
 *                 matches any bytes, "?" one, "[...]" one of a set; "\" quotes the next
 *                 character
 * @param err      receives the details on failure; may be NULL
 * @return 0, DWARFS_ERR_INVALID for an empty pattern or an unmatched "[", or DWARFS_ERR_NOMEM
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API int dwarfs_builder_add_xattr_rule(dwarfs_builder *builder, bool include,
					     const char *glob, dwarfs_error **err);

/** Whether an image gets a section with digests of its contents. */
enum dwarfs_digests_use {
	DWARFS_DIGESTS_AUTO,   /**< if it is less than 0.5 % of the image */
	DWARFS_DIGESTS_ALWAYS, /**< of any size */
	DWARFS_DIGESTS_NEVER,
};

/**
 * Set whether the image gets a section with the XXH3-128 of each distinct contents and
 * with anchors: hashes of runs of 64 bytes at selected offsets in its blocks. When this
 * image is added to a builder, or is a base of one, the builder finds equal files and
 * equal data by this section, without decompressing blocks that have none. Readers ignore
 * it. See dwarfs-format(5).
 *
 * By default, the section is written if it is less than 0.5 % of the image; it has fewer
 * anchors, or none, if it would be larger with all. With DWARFS_DIGESTS_ALWAYS, digests that
 * images of the input lack are computed, which decompresses these images. dwarfs_rewrite()
 * without DWARFS_REWRITE_REBUILD keeps the section of an image, and does not make one.
 *
 * @param builder  a builder that has not run yet
 * @param use      when to write the section
 * @param err      receives the details on failure; may be NULL
 * @return 0, or DWARFS_ERR_RANGE
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API int dwarfs_builder_set_digests(dwarfs_builder *builder,
					  enum dwarfs_digests_use use,
					  dwarfs_error **err);

/**
 * Set whether the digests in images are trusted. A file of an image then is taken to be equal
 * to another one if the sizes and digests are equal. By default, the bytes of such files are
 * read and compared by the hash of dwarfs_builder_set_file_hash(), and digests only save the
 * comparison of others. Matches of parts of files are always compared byte by byte.
 *
 * A forged image can list any digest, and XXH3 is not a cryptographic hash: a file with the
 * digest of another one can be made on purpose. Files of the new image then get the wrong
 * contents. Trust only images that you made yourself.
 *
 * @param builder  a builder that has not run yet
 * @param trust    default false
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API void dwarfs_builder_set_trust_digests(dwarfs_builder *builder, bool trust);

/* -- metadata and other sections ----------------------------------------------------- */

/**
 * Set how the tables of the metadata are packed.
 *
 * @param builder  a builder that has not run yet
 * @param packing  words separated by commas: "none", "auto" (default: names and symlinks where
 *                 smaller), "all", "chunk_table", "directories", "shared_files", "names",
 *                 "names_index", "symlinks", "symlinks_index", "force" (even where larger),
 *                 "plain" (lists as before format 2.3)
 * @param err      receives the details on failure; may be NULL
 * @return 0, or DWARFS_ERR_INVALID
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API int dwarfs_builder_set_pack_metadata(dwarfs_builder *builder,
						const char *packing, dwarfs_error **err);

/** Store link counts (default), or let readers count links. Threads: one. Since 0.1. */
DWARFS_API void dwarfs_builder_set_hardlink_table(dwarfs_builder *builder, bool store);

/** Write a section index (default), or not. Threads: one. Since 0.1. */
DWARFS_API void dwarfs_builder_set_section_index(dwarfs_builder *builder, bool write);

/** Store when the image was made (default), or not. For an image with entries of other
 * images (dwarfs_builder_add_image()) it is the time of the oldest of these; it is not
 * stored if one of them has none, or if one was made by another program and there is no
 * metadata_version_history. Threads: one. Since 0.1. */
DWARFS_API void dwarfs_builder_set_create_timestamp(dwarfs_builder *builder, bool store);

/** Write a history (default), or not. Threads: one. Since 0.1. */
DWARFS_API void dwarfs_builder_set_history(dwarfs_builder *builder, bool write);

/** Store the time in the history (default), or not. Threads: one. Since 0.1. */
DWARFS_API void dwarfs_builder_set_history_timestamps(dwarfs_builder *builder,
						      bool store);

/**
 * Add a word of the command line to the history; by default it has none.
 *
 * @param builder   a builder that has not run yet
 * @param argument  is copied
 * @param err       receives the details on failure; may be NULL
 * @return 0, or DWARFS_ERR_NOMEM
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API int dwarfs_builder_add_history_argument(dwarfs_builder *builder,
						   const char *argument,
						   dwarfs_error **err);

/**
 * Set the image header: bytes that precede the image, such as a script that mounts it.
 *
 * @param builder  a builder that has not run yet
 * @param data     is copied; must not contain an image, which would be opened instead
 * @param bytes    how many; 0 for none
 * @param err      receives the details on failure; may be NULL
 * @return 0, or DWARFS_ERR_NOMEM
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API int dwarfs_builder_set_header(dwarfs_builder *builder, const void *data,
					 size_t bytes, dwarfs_error **err);

/* -- input --------------------------------------------------------------------------- */

/**
 * Use a directory and everything below it as input; it becomes the root. It is read when
 * the builder runs.
 *
 * @param builder  a builder without input
 * @param path     the directory; a symbolic link to one is followed
 * @param err      receives the details on failure; may be NULL
 * @return 0; DWARFS_ERR_NOT_FOUND, _NOT_DIR or _ACCESS; DWARFS_ERR_INVALID when there is an
 *         input already; DWARFS_ERR_NOMEM
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API int dwarfs_builder_add_directory(dwarfs_builder *builder, const char *path,
					    dwarfs_error **err);

/**
 * Include only this path of the directory, and others added like it, instead of
 * everything. Its parent directories are included, too; the entries of a listed directory
 * are not.
 *
 * Devices, fifos and sockets that are listed are stored. A path that does not exist, or
 * is not below the directory, is logged as an error, counted and left out; a duplicate is
 * included once, with a warning. With the order "none" files are stored in the order in
 * which they were added.
 *
 * @param builder  a builder that has not run yet
 * @param path     relative to the directory, with or without a leading "./"; or absolute,
 *                 also through symbolic links to the directory. "" is the directory
 *                 itself
 * @param err      receives the details on failure; may be NULL
 * @return 0, or DWARFS_ERR_NOMEM. The run fails with DWARFS_ERR_INVALID when there are filter
 *         rules as well
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API int dwarfs_builder_add_path(dwarfs_builder *builder, const char *path,
				       dwarfs_error **err);

/**
 * Add a filter rule that includes or excludes entries.
 *
 *     + pattern   include entries that match
 *     - pattern   exclude entries that match; a directory with everything below it
 *     . file      rules from a file, one a line; empty lines, lines of spaces and those that
 *                 begin with # are skipped
 *
 * The first rule that matches an entry decides; entries without a matching rule are
 * included. For matching, paths of directories end with /: a pattern that ends with /
 * matches directories only, one that ends with ** matches entries of all types, any other
 * pattern only entries that are not directories. Therefore directories are included even if
 * nothing in them is, see
 * dwarfs_builder_set_remove_empty_directories(). "/a/" followed by ** matches the
 * directory a and everything below it; with another / at the end it matches only the
 * directories below a.
 *
 * A pattern that begins with / is matched against the whole path below the root, any
 * other one against the end of the path, from the start of a name on. ? matches one
 * character, * any number of them within a name, ** any number of them, [a-z] one of a
 * set, [!a-z] or [^a-z] one outside of it, {c,h} one of these alternatives, and \ quotes
 * the next character. A set may contain classes of ASCII characters, such as [[:digit:]];
 * an unknown class is refused. Alternatives may be nested; a single one, {1}, is matched
 * literally. The letter i after the sign ignores the case of ASCII letters: "-i *.bak".
 *
 * @param builder  a builder that has not run yet
 * @param rule     the rule
 * @param err      receives the details on failure; may be NULL
 * @return 0; DWARFS_ERR_INVALID; for a file that cannot be read, DWARFS_ERR_NOT_FOUND and the
 *         like; DWARFS_ERR_NOMEM
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API int dwarfs_builder_add_filter(dwarfs_builder *builder, const char *rule,
					 dwarfs_error **err);

/**
 * Set a callback for the result of the rules for each entry; NULL for none. Entries below
 * an excluded directory are not visited.
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API void dwarfs_builder_set_filter_report(dwarfs_builder *builder,
						 dwarfs_filter_report_fn report,
						 void *user);

/**
 * Set a callback that decides on each entry that the rules include, except for the root;
 * NULL for none.
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API void dwarfs_builder_set_include(dwarfs_builder *builder,
					   dwarfs_include_fn include, void *user);

/** Leave out directories that are empty or contain only empty directories, or store them
 * (default). Threads: one. Since 0.1. */
DWARFS_API void dwarfs_builder_set_remove_empty_directories(dwarfs_builder *builder,
							    bool remove);

/**
 * Set the hash by which equal files are found.
 *
 * @param builder  a builder that has not run yet
 * @param name     one of those that dwarfs_digest_name() lists, or "none" not to
 *                 deduplicate files as a whole. Default "xxh3-128", which is fast, and
 *                 collides only if files were crafted to; for untrusted input use
 *                 "sha256" or "blake2b512"
 * @param err      receives the details on failure; may be NULL
 * @return 0, or DWARFS_ERR_INVALID
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API int dwarfs_builder_set_file_hash(dwarfs_builder *builder, const char *name,
					    dwarfs_error **err);

/**
 * Store the size of files without their contents (default: store contents). Files are not
 * opened; in the image they read as zeros. Other attributes are stored as usual.
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API void dwarfs_builder_set_hollow(dwarfs_builder *builder, bool hollow);

/**
 * Set how many worker threads list directories, and read files for the first time.
 *
 * @param builder  a builder that has not run yet
 * @param workers  0 to use the thread of the caller, up to 1024; default: as many as the
 *                 context has
 * @param err      receives the details on failure; may be NULL
 * @return 0, or DWARFS_ERR_RANGE
 *
 * The image does not depend on it. Threads: one. Since 0.1.
 */
DWARFS_API int dwarfs_builder_set_scan_workers(dwarfs_builder *builder, uint32_t workers,
					       dwarfs_error **err);

/* -- run ----------------------------------------------------------------------------- */

/** Set the task that reports the progress of a run and cancels it; it also cancels
 * dwarfs_builder_add_item(), dwarfs_builder_add_tree(), dwarfs_builder_add_image() and
 * dwarfs_builder_add_base(), without reporting progress.
 * It stays owned by the caller; NULL for none. Threads: one. Since 0.1. */
DWARFS_API void dwarfs_builder_set_task(dwarfs_builder *builder, const dwarfs_task *task);

/**
 * Write the image to a file, which dwarfs_sink_open() opens: it appears complete or not at
 * all, and is synchronized to disk.
 *
 * A file of the input that cannot be
 * read, or that changes while it is read, is reported to the log of the context and
 * counted (DWARFS_COUNT_ERRORS); the image is still written, with that file as far as it
 * was read.
 *
 * @param builder    a builder with an input that has not run yet
 * @param path       the file
 * @param overwrite  replace an existing file
 * @param err        receives the details on failure; may be NULL
 * @return 0; DWARFS_ERR_EXISTS; DWARFS_ERR_NO_SPACE, _ACCESS or _IO; DWARFS_ERR_CANCELLED;
 *         DWARFS_ERR_INVALID for options that contradict each other, or a second run;
 *         DWARFS_ERR_RANGE for more entries, names or bytes than an image can have;
 *         DWARFS_ERR_NOMEM
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API int dwarfs_builder_write_path(dwarfs_builder *builder, const char *path,
					 bool overwrite, dwarfs_error **err);

/**
 * Write the image to a sink; as dwarfs_builder_write_path().
 *
 * @param builder  a builder with an input that has not run yet
 * @param sink     a sink that nothing was written to; complete when the call succeeds
 * @param err      receives the details on failure; may be NULL
 * @return as dwarfs_builder_write_path(), or the code of the sink's callback
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API int dwarfs_builder_write(dwarfs_builder *builder, dwarfs_sink *sink,
				    dwarfs_error **err);

/**
 * Only scan the input and apply the filter rules: no file is read and no image is
 * written. Entries are counted as by a run. The builder cannot run again afterwards.
 *
 * @param builder  a builder with its input and options
 * @param err      receives the details on failure; may be NULL
 * @return 0; DWARFS_ERR_INVALID without input, or when the builder has run; DWARFS_ERR_CANCELLED;
 *         DWARFS_ERR_NOMEM
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API int dwarfs_builder_scan(dwarfs_builder *builder, dwarfs_error **err);

/** Counters of a run. */
enum dwarfs_count {
	DWARFS_COUNT_DIRECTORIES,
	DWARFS_COUNT_FILES, /**< regular files, each hard link counted */
	DWARFS_COUNT_LINKS, /**< symbolic links */
	DWARFS_COUNT_DEVICES,
	DWARFS_COUNT_SPECIALS,	 /**< fifos and sockets */
	DWARFS_COUNT_HARDLINKS,	 /**< additional hard links to files */
	DWARFS_COUNT_DUPLICATES, /**< files whose contents were stored already */
	DWARFS_COUNT_SKIPPED,	 /**< devices and specials that were left out */
	DWARFS_COUNT_ERRORS,	 /**< entries that could not be read completely */
	/** size of all regular files, each hard link once; for dwarfs_rewrite() without
	 * DWARFS_REWRITE_REBUILD dwarfs_image_original_bytes() of the image */
	DWARFS_COUNT_BYTES_IN,
	DWARFS_COUNT_BYTES_DUPLICATE, /**< size of the duplicates */
	DWARFS_COUNT_BYTES_HOLES,     /**< size of the holes */
	DWARFS_COUNT_BYTES_STORED,    /**< size of all blocks before compression */
	DWARFS_COUNT_BYTES_BLOCKS,    /**< size of all blocks as written */
	DWARFS_COUNT_BYTES_METADATA,  /**< size of the metadata as written */
	DWARFS_COUNT_BYTES_OUT,	      /**< size of the image with its header */
	DWARFS_COUNT_BLOCKS,
	DWARFS_COUNT_CHUNKS,
	DWARFS_COUNT_SEGMENTS, /**< runs of bytes that were stored already elsewhere */
	DWARFS_COUNT_BYTES_SEGMENTS, /**< size of these runs */
	/* Blocks of images (<dwarfs/rewrite.h>), and their sizes as stored in those. */
	DWARFS_COUNT_BLOCKS_COPIED, /**< copied as they are stored */
	DWARFS_COUNT_BYTES_COPIED,
	DWARFS_COUNT_BLOCKS_REWRITTEN, /**< compressed again, or their files stored anew */
	DWARFS_COUNT_BYTES_REWRITTEN,
	DWARFS_COUNT_BLOCKS_DROPPED, /**< no file needs them, or an earlier image has equal ones;
					  those of bases do not count */
	DWARFS_COUNT_BYTES_DROPPED,
};

/**
 * Get a counter of a run.
 *
 * @param builder  a builder that has run
 * @param count    a dwarfs_count
 * @return the number; 0 for an unknown count
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API uint64_t dwarfs_builder_count(const dwarfs_builder *builder,
					 enum dwarfs_count count);

/** @return how many categories there are in a builder that has run. Threads: one. Since 0.1. */
DWARFS_API size_t dwarfs_builder_category_count(const dwarfs_builder *builder);

/** @return the name of a category, from 0; valid as long as the builder; NULL past the last
 * one. Threads: one. Since 0.1. */
DWARFS_API const char *dwarfs_builder_category_name(const dwarfs_builder *builder,
						    size_t index);

/**
 * Get the sizes of a category.
 *
 * @param builder     a builder that has run
 * @param index       the category, from 0
 * @param in_out      receives the bytes of its files, equal ones counted once
 * @param stored_out  receives the size of its blocks before compression
 * @param packed_out  receives the size of its blocks as written
 * @return 0; DWARFS_ERR_RANGE for an index that does not exist; or DWARFS_ERR_INVALID if
 *         a parameter is NULL
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API int dwarfs_builder_category_bytes(const dwarfs_builder *builder, size_t index,
					     uint64_t *in_out, uint64_t *stored_out,
					     uint64_t *packed_out);

DWARFS_END_DECLS

#endif
