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

#endif
