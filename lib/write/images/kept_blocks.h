/* SPDX-License-Identifier: MIT */
/*
 * write/images/kept_blocks: the blocks of source images that a new image keeps.
 *
 * They are its first blocks, in the order of the images and of the blocks in them. Blocks
 * that no file of the new image needs are left out, and a block equal to one of an earlier
 * image has the place of that one (equal_blocks.c). If the block size of an image changes,
 * the bytes of its blocks are concatenated for each stream and divided again.
 */
#ifndef DW_WRITE_IMAGES_KEPT_BLOCKS_H
#define DW_WRITE_IMAGES_KEPT_BLOCKS_H

#include "write/images/source_image.h"
#include "write/segment/segment.h"

/* A block of an image, in the order in which they are written. */
struct kept_block {
	struct source_image *image;
	uint32_t block;	 /* of the image */
	uint32_t stream; /* of the contents */
};

/* Where the bytes of a block are in the new image. */
struct kept_place {
	uint32_t number; /* of the block with the first of them; DW_NONE: not needed */
	uint32_t offset; /* in that block */
	size_t unit;	 /* bytes of each new block; 0: all are in this one */
	uint32_t image, block; /* the block whose place is used: this one, or an equal one
				  of an earlier image; then number is DW_NONE */
	bool was_needed, is_sparse; /* for compaction: needed_blocks.c */
};

struct kept_blocks {
	struct kept_block *list;
	size_t count, room;
	struct kept_place **places; /* by image and block */
	size_t image_count;
	bool are_divided; /* for some image; else list is by number in the new image */
};

void dw_kept_blocks_free(struct kept_blocks *kept);

/* The place of the bytes of a block. */
static inline struct kept_place *dw_kept_place(const struct kept_blocks *kept,
					       uint32_t image, uint32_t block)
{
	const struct kept_place *place = &kept->places[image][block];

	return &kept->places[place->image][place->block];
}

/* Let needed blocks of several images with the same stored bytes share the place of the first
 * one; the others are not needed any more. */
int dw_equal_blocks_find(struct build_run *run, const struct kept_blocks *kept,
			 dwarfs_error **err);

/* Find which blocks the contents need, and where they go. Their streams are added to the
 * contents. INVALID if a codec cannot compress a block that is to be compressed again. */
int dw_kept_blocks_find(struct build_run *run, const struct tree *tree,
			struct contents *contents, struct kept_blocks *kept,
			dwarfs_error **err);

/* The same for all blocks of one image, which no contents refer to. */
int dw_kept_blocks_find_all(struct build_run *run, struct source_image *image,
			    struct contents *contents, struct kept_blocks *kept,
			    dwarfs_error **err);

/* For the total of the progress: the most bytes that are compressed again.
 * dw_kept_blocks_write() subtracts what a block lacks of the block size. */
uint64_t dw_kept_blocks_most_input(const struct kept_blocks *kept);

/* Write those of the list from first on, up to before end. */
int dw_kept_blocks_write(struct build_run *run, const struct contents *contents,
			 const struct kept_blocks *kept, size_t first, size_t end,
			 struct compressor *compressor, dwarfs_error **err);

/* Give the contents in them their chunks. */
int dw_kept_blocks_add_chunks(struct build_run *run, const struct tree *tree,
			      struct contents *contents, const struct kept_blocks *kept,
			      struct chunks *chunks, dwarfs_error **err);

/* The size of a block of the list; unknown if it cannot be read, which fails where its bytes
 * are needed. */
uint64_t dw_kept_blocks_bytes(const struct kept_blocks *kept, size_t index,
			      uint64_t unknown);

/* Read bytes of a block of the list at an offset: their number, less than size at its end,
 * or a negative error code. */
int64_t dw_kept_blocks_read(const struct kept_blocks *kept, size_t index, void *buffer,
			    size_t size, uint64_t offset, dwarfs_error **err);

#endif
