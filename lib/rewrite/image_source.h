/* SPDX-License-Identifier: MIT */
/*
 * rewrite/image_source: an open image as an input of the writer.
 */
#ifndef DW_REWRITE_IMAGE_SOURCE_H
#define DW_REWRITE_IMAGE_SOURCE_H

#include <dwarfs/builder.h>
#include <dwarfs/image.h>

struct source_image;

/*
 * Make a source of an image, which it keeps open. The categories of its blocks become
 * categories of the builder.
 */
int dw_source_of_image(dwarfs_builder *builder, dwarfs_image *image, bool keeps_blocks,
		       struct source_image **source_out, dwarfs_error **err);

/* Fill in the codecs with which the blocks are stored. */
int dw_source_load_codecs(const dwarfs_image *image, struct source_image *to,
			  dwarfs_error **err);

/* Add the sections that the writer does not make itself: history, and types that are
 * unknown. */
int dw_source_load_other_sections(const dwarfs_image *image, struct source_image *to,
				  dwarfs_error **err);

/* Add all sections but blocks and index, in their order; those of the metadata unpacked if
 * they are to be compressed again. */
int dw_source_load_sections(const dwarfs_image *image, bool unpack_metadata,
			    struct source_image *to, dwarfs_error **err);

#endif
