/* SPDX-License-Identifier: MIT */
/*
 * write/images/needed_blocks: which blocks of source images a new image needs.
 *
 * Takes the contents; fills kept->places, whose number is DW_NONE for blocks that are not
 * needed. Contents in blocks of which more than max_unused percent is not needed are no
 * longer kept: they are stored anew.
 */
#ifndef DW_WRITE_IMAGES_NEEDED_BLOCKS_H
#define DW_WRITE_IMAGES_NEEDED_BLOCKS_H

#include "write/images/kept_blocks.h"

/* Mark the blocks, and count those that are dropped or rewritten. */
int dw_needed_blocks_find(struct build_run *run, const struct tree *tree,
			  struct contents *contents, const struct kept_blocks *kept,
			  dwarfs_error **err);

/* No block of an image is needed. */
void dw_needed_blocks_clear(const struct source_image *image, struct kept_place *places);

/* A chunk of an image, checked. */
int dw_source_chunk_get(const struct source_image *image, uint64_t number,
			struct source_chunk *chunk_out, dwarfs_error **err);

/* Count a block with its stored bytes, and log it. */
void dw_source_block_count(const struct build_run *run, const struct source_image *image,
			   uint32_t block, enum dwarfs_count count, uint64_t bytes);

#endif
