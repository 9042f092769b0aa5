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

/* Unreadable ranges are filled with zeros. */
void dw_scan_read(const struct dwarfs_image *image, uint8_t *bytes, size_t size,
		  uint64_t at);

/* Whether the bytes can be a header: its version is right, and it is within the image. */
bool dw_scan_header(const struct dwarfs_image *image, uint32_t minor, uint64_t at,
		    struct section_header *header);

/* Whether its hash matches; and whether it leads to the next header or to the end. */
bool dw_scan_hash_matches(const struct dwarfs_image *image, uint64_t at,
			  const struct section_header *header);
bool dw_scan_leads_on(const struct dwarfs_image *image, uint64_t at,
		      const struct section_header *header);

/* Find the first header that leads on or whose hash matches: 1, or 0 if there is none. */
int dw_scan_find(const struct dwarfs_image *image, const struct search *search,
		 struct place *place, dwarfs_error **err);

#endif
