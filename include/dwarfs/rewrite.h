/* SPDX-License-Identifier: MIT */
/**
 * @file
 * Images from images: append, merge, remove entries, change metadata.
 *
 *     dwarfs_builder_new(NULL, &builder, &err);
 *     dwarfs_builder_add_image(builder, old, "", 0, DWARFS_KEEP_BLOCKS, &err);
 *     dwarfs_builder_add_tree(builder, "new files", "", 0, &err);
 *     dwarfs_builder_write_path(builder, "new.dwarfs", false, &err);
 *
 * The new image copies the blocks of the old one as they are stored, without
 * decompressing them. New files that are equal to old ones are not stored again, and other
 * new data refers to the old data where it repeats it.
 */
#ifndef DWARFS_REWRITE_H
#define DWARFS_REWRITE_H

#include <dwarfs/builder.h>
#include <dwarfs/image.h>

DWARFS_BEGIN_DECLS

/** What a builder does with the blocks of an image. */
enum dwarfs_image_use {
	/** Take over the blocks that are needed, as they are stored. A block of which only a
	 * part is needed stays whole. */
	DWARFS_KEEP_BLOCKS,
	/** Use the image as a directory: its files are ordered, deduplicated and compressed
	 * anew. One that cannot be read is an error of dwarfs_builder_write(), unless the image
	 * was opened with DWARFS_VERIFY_NO_BLOCKS: then it is counted
	 * (DWARFS_COUNT_ERRORS) and stored empty. */
	DWARFS_REPACK,
};

/**
 * Add the entries of an image, as if each were added by dwarfs_builder_add_item() with its
 * attributes; later inputs replace earlier ones. Names and attributes are read now, contents
 * when the builder runs.
 *
 * Hard links, extended attributes, holes, the categories of blocks, history, and sections
 * of types that the library does not know are kept; of several images with sections of the
 * same type only those of the first are kept, with a warning if the others are not equal to
 * these. Times are kept as exactly as the images have them, in units of the common divisor of
 * their resolutions, unless dwarfs_builder_set_time_resolution() was called. Devices and
 * other special files are stored, and so are access, change and birth times that an image
 * has. Options that change attributes, and filters, apply as to other items.
 *
 * Block sizes: the new image has the one of the builder, or the largest of its images if
 * that is larger.
 *
 * Equal files are found by their sizes and hashes (dwarfs_builder_set_file_hash()). Only
 * files whose size also occurs in another input are read for that.
 *
 * If the image was opened by path or descriptor, the sink by path, and the file system of both
 * can share ranges of files (Btrfs, XFS with reflinks), the new image shares with it the
 * blocks that stay where they are in the file, and they are verified as read from the new one.
 * The same applies to dwarfs_rewrite().
 *
 * The cache of the image's context is emptied (dwarfs_context_trim()) when the files of images
 * were compared with those of others, and it has no room for the next image; also before orders are
 * tried. If its blocks take more than 32 MiB together or do not fit into the cache, it is emptied
 * after each block that is searched for matches with new data, too; blocks that are compared
 * with new data are then decompressed once, into an unnamed temporary file:
 * dwarfs_builder_set_spool(). It takes at most a quarter of the free space of its file system, and
 * of the limit of the process on the size of files. Without the file, or when it is full, they are
 * decompressed into the cache, some again and again, up to a limit beyond which new data is not
 * compared with them.
 *
 * @param builder  a builder that has not run yet and has no directory
 * @param image    the image; the builder keeps a reference. The hash of each block that is
 *                 copied is verified, unless the image was opened with
 *                 DWARFS_VERIFY_NO_BLOCKS: then a damaged block stays damaged, invalid
 *                 attributes become defaults (dwarfs_stat_invalid()), entries that no image
 *                 can have are left out, and each of these is a warning and counted
 *                 (DWARFS_COUNT_ERRORS)
 * @param prefix   where its root goes, as for dwarfs_builder_add_item(); "" for the root
 * @param bytes    length of prefix
 * @param use      a dwarfs_image_use
 * @param err      receives the details on failure; may be NULL
 * @return 0, DWARFS_ERR_INVALID, DWARFS_ERR_NOT_DIR (a parent is not a directory),
 *         DWARFS_ERR_CORRUPT (also for metadata in which dwarfs_image_check() finds
 *         errors), DWARFS_ERR_CHECKSUM, DWARFS_ERR_IO, DWARFS_ERR_RANGE or
 *         DWARFS_ERR_NOMEM; the entries added before a failure stay
 *
 * Threads: a builder belongs to one thread at a time; while it runs, it reads the image
 * from several. Since 0.1.
 */
DWARFS_API int dwarfs_builder_add_image(dwarfs_builder *builder, dwarfs_image *image,
					const char *prefix, size_t bytes,
					enum dwarfs_image_use use, dwarfs_error **err);

/** Which files of the input are taken to be equal to those of a base without reading them. */
enum dwarfs_base_trust {
	DWARFS_BASE_TRUST_TIMES, /**< those of the same path, size and modification time */
	DWARFS_BASE_TRUST_NONE,	 /**< none */
};

/**
 * Use the data of an image for an incremental snapshot: the entries of the new image are
 * those of the inputs alone, but contents that the base has are not stored again. The blocks
 * with them are copied, and other new data refers to these blocks where it repeats them.
 *
 * Files that are not found by path, size and time are compared with those of the base by
 * size and hash, as files of inputs are. If the base and the new image have all times
 * (dwarfs_builder_set_keep_all_times()), change times must be equal, too, not only
 * modification times. Times are compared as exactly as the base has them. A file is read if
 * it changed after the base was made or shortly before: less than one step of the base's
 * times, at least two seconds. It is also read if it is not known when the data of the base
 * were read: if the base has no time (dwarfs_image_created_on()), or the base or an image
 * that it comes from was made by another program. The times of the base must be those of
 * the files, not of dwarfs_builder_set_time().
 *
 * @param builder  a builder that has not run yet and has no directory; its inputs are those
 *                 of dwarfs_builder_add_tree() and the like. May have several bases
 * @param image    the base; the builder keeps a reference
 * @param trust    a dwarfs_base_trust
 * @param err      receives the details on failure; may be NULL
 * @return as dwarfs_builder_add_image()
 *
 * Threads: as dwarfs_builder_add_image(). Since 0.1.
 */
DWARFS_API int dwarfs_builder_add_base(dwarfs_builder *builder, dwarfs_image *image,
				       enum dwarfs_base_trust trust, dwarfs_error **err);

/**
 * Set how much of a block that is copied from an image may be unused. A block of which
 * more is unused is left out, and the files in it are stored anew, as those of a directory.
 * As this can leave other blocks with more unused bytes, it is repeated until no block exceeds
 * the limit, at most 64 times. Blocks of which nothing is used are always left out. A dry run
 * (dwarfs_sink_to_nothing()) counts what would be left out (DWARFS_COUNT_BYTES_DROPPED and
 * others).
 *
 * @param builder  a builder that has not run yet
 * @param percent  0..100 of the bytes of the block; 100, the default: any share
 * @param err      receives the details on failure; may be NULL
 * @return 0, or DWARFS_ERR_RANGE
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API int dwarfs_builder_set_max_unused(dwarfs_builder *builder, uint32_t percent,
					     dwarfs_error **err);

/** What dwarfs_rewrite() changes; may be combined by |. */
enum dwarfs_rewrite_part {
	/** Compress blocks again, with the codecs of the builder. */
	DWARFS_REWRITE_BLOCKS = 1,
	/** Compress metadata and schema again. */
	DWARFS_REWRITE_METADATA = 2,
	/** Make the metadata anew: options of the builder that change attributes, times or
	 * their layout apply, and blocks that no file needs are left out. Without it the
	 * metadata stays as it is, byte for byte. */
	DWARFS_REWRITE_REBUILD = 4,
	/** Give blocks the block size of the builder. Needs DWARFS_REWRITE_BLOCKS and
	 * DWARFS_REWRITE_REBUILD. */
	DWARFS_REWRITE_BLOCK_SIZE = 8,
};

/**
 * Write an image anew, with the same files.
 *
 * The result has format 2.5, a new section index, consecutive section numbers, and one
 * more entry of history. Sections stay in their order; sections of types that the library
 * does not know are copied. Extended attributes are kept.
 *
 * A block that is stored uncompressed, and whose codec would be "null" again, is copied. A
 * rebuild adds an entry
 * to the metadata_version_history (dwarfs_builder_set_version_history()) and keeps times as
 * exactly as the image has them, or rounds them to dwarfs_builder_set_time_resolution().
 *
 * @param image    the image. Its sections are verified as they are read. If it was opened
 *                 with DWARFS_VERIFY_NO_BLOCKS, a section whose hash is wrong is copied, and
 *                 its hash stays wrong
 * @param parts    0 to change only the container, or dwarfs_rewrite_part values
 * @param builder  without input; gives codecs, level, header, workers, limits, progress and
 *                 all other options, and counts. It has run afterwards
 * @param sink     where the image goes; used once
 * @param err      receives the details on failure; may be NULL
 * @return 0; DWARFS_ERR_INVALID for a combination of parts and options that cannot be met,
 *         before there is output: a finer time resolution than that of the image or one that
 *         is not a multiple of it, no sparse files for an image with holes, a category that
 *         the image lacks, a codec that needs a sample layout that a block lacks; else as
 *         dwarfs_builder_write()
 *
 * Threads: as dwarfs_builder_add_image(). Since 0.1.
 */
DWARFS_API int dwarfs_rewrite(dwarfs_image *image, uint32_t parts,
			      dwarfs_builder *builder, dwarfs_sink *sink,
			      dwarfs_error **err);

/**
 * Set which blocks dwarfs_rewrite() compresses again, by their categories. Blocks without a
 * category are always compressed again.
 *
 * @param builder     a builder that has not run yet
 * @param categories  names with commas between them; with "!" in front: all but these; NULL
 *                    for all blocks, the default. Is copied
 * @param err         receives the details on failure; may be NULL
 * @return 0, or DWARFS_ERR_NOMEM. That the image has such categories is checked by
 *         dwarfs_rewrite()
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API int dwarfs_builder_set_recompress_categories(dwarfs_builder *builder,
							const char *categories,
							dwarfs_error **err);

/**
 * Store which writers made the metadata that was rebuilt (default), or not.
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API void dwarfs_builder_set_version_history(dwarfs_builder *builder, bool store);

DWARFS_END_DECLS

#endif
