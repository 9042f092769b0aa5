/* SPDX-License-Identifier: MIT */
/*
 * read/salvage/salvage: images opened for salvage. See <dwarfs/salvage.h>.
 */
#ifndef DW_READ_SALVAGE_SALVAGE_H
#define DW_READ_SALVAGE_SALVAGE_H

#include <dwarfs/salvage.h>

#include "read/image/image.h"

/* The type of a section of unknown type. */
#define DW_SECTION_LOST UINT32_MAX

/* State of an image opened for salvage. */
struct salvage {
	int mode; /* a dwarfs_salvage */
	atomic_bool metadata_is_damaged;
	atomic_uchar *lost; /* by block */
};

/* NULL: out of memory. */
struct salvage *dw_salvage_new(int mode);
void dw_salvage_free(struct salvage *salvage);

/* -- image_start.c ----------------------------------------------------------------- */

/* Find the start of the image: by its index, or else by the remaining headers. */
int dw_salvage_start(struct dwarfs_image *image, dwarfs_error **err);
/* The version, from the first valid header. */
int dw_salvage_version(struct dwarfs_image *image, dwarfs_error **err);
/* -- section_search.c --------------------------------------------------------------- */

/* List the sections that can be found, and those missing between them. */
int dw_salvage_walk(struct dwarfs_image *image, dwarfs_error **err);

/* -- salvage.c ----------------------------------------------------------------------- */

/* Whether a code means that bytes of the image are damaged: they contradict their hash or
 * the format, or a file on a disk cannot be read there. Other failures of a source, such as
 * a lost connection, say nothing of the image, and are returned to the caller. */
bool dw_salvage_is_damage(const struct dwarfs_image *image, int code);

/* Whether these bytes can be verified as a section of this number, whatever its header
 * says: 1 or 0, or a negative code if they cannot be read for another reason than damage. */
int dw_salvage_is_section(const struct dwarfs_image *image, uint64_t at, uint64_t room,
			  uint32_t number, dwarfs_error **err);
/* Called when the blocks are known. */
int dw_salvage_ready(struct dwarfs_image *image, dwarfs_error **err);
/* Extended attributes that cannot be read are given up once, not for each entry. */
int dw_salvage_xattrs(struct dwarfs_image *image, dwarfs_error **err);
/* A header for a section in any case, for its size. */
int dw_salvage_header(const struct dwarfs_image *image, uint32_t section,
		      struct section_header *header_out, dwarfs_error **err);
/* Read and verify a section; a damaged one is handled according to its type. */
int dw_salvage_read(const struct dwarfs_image *image, uint32_t section,
		    struct stored *stored_out, dwarfs_error **err);

#endif
