/* SPDX-License-Identifier: MIT */
/*
 * read/salvage/header_scan: find headers in arbitrary bytes.
 */
#ifndef DW_READ_SALVAGE_HEADER_SCAN_H
#define DW_READ_SALVAGE_HEADER_SCAN_H

#include "read/salvage/salvage.h"

#define DW_SCAN_BYTES ((size_t)1 << 20)
#define DW_ANY_MINOR  UINT32_MAX

/* More than any image has: larger numbers are damaged. */
#define DW_MOST_SECTIONS (UINT32_C(1) << 22)

/* The offset of a section, from the start of the image. */
struct place {
	uint64_t at;
	struct section_header header;
};

/* Which headers to search for. */
struct search {
	uint32_t minor;
	uint64_t from,
		to; /* its offset: from the first one up to (not including) the second */
	uint32_t number; /* smallest section number */
	uint32_t limit;	 /* section numbers are below this */
};

/*
 * All functions return negative codes if the search must end: for a failure of the source
 * that is not damage (dw_salvage_is_damage()), or because the task of the opening is
 * cancelled. Otherwise 1 is yes, and 0 is no.
 */

/* Read a range; 0: it is damaged. */
int dw_scan_get(const struct dwarfs_image *image, void *bytes, size_t size, uint64_t at,
		dwarfs_error **err);

/* Read a range, with zeros for what is damaged; 0 on success. */
int dw_scan_read(const struct dwarfs_image *image, uint8_t *bytes, size_t size,
		 uint64_t at, dwarfs_error **err);

/* Whether the bytes can be a header: its version is right, and it is within the image. */
int dw_scan_header(const struct dwarfs_image *image, uint32_t minor, uint64_t at,
		   struct section_header *header, dwarfs_error **err);

/* Whether its hash matches; and whether it leads to the next header or to the end. */
int dw_scan_hash_matches(const struct dwarfs_image *image, uint64_t at,
			 const struct section_header *header, dwarfs_error **err);
int dw_scan_leads_on(const struct dwarfs_image *image, uint64_t at,
		     const struct section_header *header, dwarfs_error **err);

/* Whether one of both holds. */
int dw_scan_is_confirmed(const struct dwarfs_image *image, uint64_t at,
			 const struct section_header *header, dwarfs_error **err);

/* Find the first header that leads on or whose hash matches. */
int dw_scan_find(const struct dwarfs_image *image, const struct search *search,
		 struct place *place, dwarfs_error **err);

#endif
