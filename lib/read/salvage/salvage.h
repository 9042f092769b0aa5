/* SPDX-License-Identifier: MIT */
/*
 * read/salvage/salvage: images that are taken as they are. See <dwarfs/salvage.h>.
 */
#ifndef DW_READ_SALVAGE_SALVAGE_H
#define DW_READ_SALVAGE_SALVAGE_H

#include <dwarfs/salvage.h>

#include "read/image.h"

/* The type of a section of which nothing is known. */
#define DW_SECTION_LOST UINT32_MAX

/* What an image has that was opened for salvage. */
struct salvage {
	int mode; /* a dwarfs_salvage */
	atomic_bool metadata_is_damaged;
	atomic_uchar *lost; /* by block */
};

/* NULL: memory is short. */
struct salvage *dw_salvage_new(int mode);
void dw_salvage_free(struct salvage *salvage);

/* -- image_start.c ----------------------------------------------------------------- */

/* Find where the image starts: where its index says, or else from the headers that are
 * left. */
int dw_salvage_start(struct dwarfs_image *image, dwarfs_error **err);
/* The version, from the first header that is one. */
int dw_salvage_version(struct dwarfs_image *image, dwarfs_error **err);
/* -- section_search.c ------------------------------------------------------------------ */

/* List the sections that can be found, and those that must have been between them. */
int dw_salvage_walk(struct dwarfs_image *image, dwarfs_error **err);

/* -- salvage.c ----------------------------------------------------------------------- */

/* Whether what is in so many bytes can be proved to be a section of this number, whatever
 * its header says. */
bool dw_salvage_is_section(const struct dwarfs_image *image, uint64_t at, uint64_t room,
			   uint32_t number);
/* The blocks are known now. */
int dw_salvage_ready(struct dwarfs_image *image, dwarfs_error **err);
/* Attributes that cannot be read are given up at once, and not again for each entry. */
int dw_salvage_xattrs(struct dwarfs_image *image, dwarfs_error **err);
/* Some header for a section in any case, for those who want to know its size. */
int dw_salvage_header(const struct dwarfs_image *image, uint32_t section,
		      struct section_header *header_out, dwarfs_error **err);
/* Read a section and prove its hash; what becomes of a damaged one is up to its type. */
int dw_salvage_read(const struct dwarfs_image *image, uint32_t section,
		    struct stored *stored_out, dwarfs_error **err);

#endif
