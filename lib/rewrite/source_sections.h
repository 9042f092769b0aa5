/* SPDX-License-Identifier: MIT */
/*
 * rewrite/source_sections: sections of an image that is an input: read, verified, and kept as they
 * are stored, or unpacked to be compressed again.
 */
#ifndef DW_REWRITE_SOURCE_SECTIONS_H
#define DW_REWRITE_SOURCE_SECTIONS_H

#include "read/image/image.h"
#include "write/images/source_image.h"

/* Verify a section that was read, and take its payload. A wrong hash is an error, unless the image
 * was opened without verification of blocks. */
int dw_source_take_section(const dwarfs_image *image, uint32_t section,
			   struct stored *stored, struct stored_section *section_out,
			   dwarfs_error **err);

/* The same, of a section that is read before. */
int dw_source_read_section(const dwarfs_image *image, uint32_t section,
			   struct stored_section *section_out, dwarfs_error **err);

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
