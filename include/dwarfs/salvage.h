/* SPDX-License-Identifier: MIT */
/**
 * @file
 * Recover intact files from a damaged image.
 *
 * Opening for salvage accepts an image whose section index is missing, whose section
 * headers are damaged (sections are searched for, and a header is repaired if a hash
 * confirms it), or whose metadata does not match its hash, as far as it can be read. Each
 * damage found is logged to the context as a warning. Hashes of blocks are verified as
 * usual: a damaged block affects only the files that need it.
 *
 * Damage is what contradicts a hash or the format, and what a file on a disk cannot read
 * (DWARFS_ERR_IO), since disks with bad sectors are a reason to salvage. Any other failure of the
 * source is returned as usual, and the same call may succeed later: memory that is exhausted, and
 * all codes of a callback (dwarfs_io_new()), also DWARFS_ERR_IO. With DWARFS_ERR_CORRUPT,
 * _CHECKSUM, _NOT_IMAGE or _UNSUPPORTED a callback says that the bytes are damaged.
 *
 * Without metadata files have no names; dwarfs_salvage_blocks() and dwarfs_salvage_blocks_io()
 * return the blocks then.
 */
#ifndef DWARFS_SALVAGE_H
#define DWARFS_SALVAGE_H

#include <dwarfs/walk.h>

DWARFS_BEGIN_DECLS

/** Whether a damaged image is opened, and how files that need a damaged block are read. */
enum dwarfs_salvage {
	DWARFS_SALVAGE_OFF, /**< damage is an error when the image is opened; the default */
	DWARFS_SALVAGE_INTACT, /**< reading a part of a file that is in a damaged block fails */
	DWARFS_SALVAGE_ZEROS, /**< such a part is read as zeros */
};

/**
 * Open an image for salvage.
 *
 * @param options  the options
 * @param mode     a dwarfs_salvage; any other value counts as DWARFS_SALVAGE_OFF
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API void dwarfs_image_options_set_salvage(dwarfs_image_options *options,
						 enum dwarfs_salvage mode);

/**
 * Whether a block is known to be lost, because it was found to be damaged when it was read.
 * Blocks that have not been read yet count as good, and those that were read later, too.
 *
 * @param image  an image; only those opened for salvage have lost blocks
 * @param block  0 to dwarfs_image_block_count() - 1
 * @return whether it is
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API bool dwarfs_image_block_is_lost(const dwarfs_image *image, uint32_t block);

/** @return whether the hash of the metadata did not match: names, attributes and contents may
 * be wrong. Always false for an image that was not opened for salvage. Threads: any. Since 0.1. */
DWARFS_API bool dwarfs_image_metadata_is_damaged(const dwarfs_image *image);

/**
 * How many bytes of a file are in blocks that are known to be lost.
 *
 * @param image      an image
 * @param inode      inode of a regular file
 * @param bytes_out  receives how many
 * @param err        receives the details on failure; may be NULL
 * @return 0; DWARFS_ERR_IS_DIR, DWARFS_ERR_INVALID, DWARFS_ERR_RANGE or DWARFS_ERR_CORRUPT
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API int dwarfs_file_lost_bytes(const dwarfs_image *image, dwarfs_inode inode,
				      uint64_t *bytes_out, dwarfs_error **err);

/**
 * Receives the blocks of an image, in their order.
 *
 * @param block  its number
 * @param data   its contents, valid during the call; NULL when it is lost
 * @param bytes  how many
 * @param why    the error if the block is lost, valid during the call; otherwise NULL
 * @param err    receives why the callback stops; may be NULL
 * @param user   as given to dwarfs_salvage_blocks() or dwarfs_salvage_blocks_io()
 * @return 0 to go on, or a negative DWARFS_ERR_* code to stop
 *
 * Threads: the thread that called that function.
 */
typedef int (*dwarfs_salvage_block_fn)(uint32_t block, const void *data, size_t bytes,
				       const dwarfs_error *why, dwarfs_error **err,
				       void *user);

/**
 * Decompress all blocks of an image, with or without metadata. Blocks hold the contents
 * of files, concatenated and without names.
 *
 * @param context  the shared context; NULL for a private one
 * @param path     the file
 * @param options  where the image is; NULL for the defaults
 * @param block    called for each block
 * @param user     passed to it
 * @param err      receives the details on failure; may be NULL
 * @return 0, the code of a callback that stopped, DWARFS_ERR_NOT_IMAGE when no section can be
 *         found, DWARFS_ERR_CANCELLED by the task of the options, or what dwarfs_io_open()
 *         returns
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API int dwarfs_salvage_blocks(dwarfs_context *context, const char *path,
				     const dwarfs_image_options *options,
				     dwarfs_salvage_block_fn block, void *user,
				     dwarfs_error **err);

/**
 * As dwarfs_salvage_blocks(), for the image in a source.
 *
 * @param context  the shared context; NULL for a private one
 * @param io       the source, not a stream; not needed afterwards
 * @param options  where the image is; NULL for the defaults
 * @param block    called for each block
 * @param user     passed to it
 * @param err      receives the details on failure; may be NULL
 * @return as dwarfs_salvage_blocks(); DWARFS_ERR_INVALID for a stream; or the code of the
 *         source's callback if it does not mean damage, see above
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API int dwarfs_salvage_blocks_io(dwarfs_context *context, dwarfs_io *io,
					const dwarfs_image_options *options,
					dwarfs_salvage_block_fn block, void *user,
					dwarfs_error **err);

DWARFS_END_DECLS

#endif
