/* SPDX-License-Identifier: MIT */
/**
 * @file
 * Get out of a damaged image what is intact.
 *
 * An image that is opened for salvage is taken as it is: without its section index, with sections
 * whose headers are damaged (which are searched for, and put right where their hashes prove it),
 * and with metadata whose hash does not match, as far as that can be read. Each damage that is
 * found is a warning in the log of the context. What is read is checked as ever: a damaged block
 * costs the files that need it, and no others.
 *
 * Without metadata nothing has a name; dwarfs_salvage_blocks() gives the blocks then.
 */
#ifndef DWARFS_SALVAGE_H
#define DWARFS_SALVAGE_H

#include <dwarfs/walk.h>

DWARFS_BEGIN_DECLS

/** What becomes of the files that need a damaged block. */
enum dwarfs_salvage {
	DWARFS_SALVAGE_OFF,    /**< damage is an error when the image is opened; the default */
	DWARFS_SALVAGE_INTACT, /**< they cannot be read where they need it */
	DWARFS_SALVAGE_ZEROS,  /**< zeros are read there instead */
};

/**
 * Open an image for salvage.
 *
 * @param options  the options
 * @param mode     a dwarfs_salvage; whatever else counts as DWARFS_SALVAGE_OFF
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API void dwarfs_image_options_set_salvage(dwarfs_image_options *options, int mode);

/**
 * Whether a block is known to be lost, since it was tried to read. Blocks that nobody has asked
 * for yet count as good.
 *
 * @param image  an image that was opened for salvage; others have no such blocks
 * @param block  0 to dwarfs_image_block_count() - 1
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API bool dwarfs_image_block_is_lost(const dwarfs_image *image, uint32_t block);

/** @return whether the hash of the metadata did not match: names, attributes and contents may
 * be wrong. Threads: any. Since 0.1. */
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
 * @param why    why it is lost, valid during the call; NULL when it is not
 * @param user   as given to dwarfs_salvage_blocks()
 * @return 0; anything else stops, and is then returned by dwarfs_salvage_blocks()
 *
 * Threads: that which called dwarfs_salvage_blocks().
 */
typedef int (*dwarfs_salvage_block_fn)(uint32_t block, const void *data, size_t bytes,
				       const dwarfs_error *why, void *user);

/**
 * Unpack all blocks of an image, whether it has metadata or not: contents of files, one after
 * the other, without names.
 *
 * @param context  the shared context; NULL for a private one
 * @param path     the file
 * @param options  where the image is; NULL for the defaults
 * @param block    called for each block
 * @param user     handed to it
 * @param err      receives the details on failure; may be NULL
 * @return 0, what the callback returned, DWARFS_ERR_NOT_IMAGE when no section can be found, or
 *         what dwarfs_io_open() returns
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API int dwarfs_salvage_blocks(dwarfs_context *context, const char *path,
				     const dwarfs_image_options *options,
				     dwarfs_salvage_block_fn block, void *user,
				     dwarfs_error **err);

DWARFS_END_DECLS

#endif
