/* SPDX-License-Identifier: MIT */
/*
 * rewrite/add_image: add the entries of an image to a builder.
 */
#ifndef DW_REWRITE_ADD_IMAGE_H
#define DW_REWRITE_ADD_IMAGE_H

#include <dwarfs/rewrite.h>

#include "base/memory.h"

struct source_image;

/* As dwarfs_builder_add_image(); also gives the source, which the builder owns. The prefix
 * was checked. */
int dw_import_image(dwarfs_builder *builder, dwarfs_image *image, struct span prefix,
		    enum dwarfs_image_use use, struct source_image **source_out,
		    dwarfs_error **err);

#endif
