/* SPDX-License-Identifier: MIT */
/*
 * read/salvage/header_scan: headers in bytes that may be anything.
 */
#ifndef DW_READ_SALVAGE_HEADER_SCAN_H
#define DW_READ_SALVAGE_HEADER_SCAN_H

#include "read/salvage/salvage.h"

#define DW_SCAN_BYTES ((size_t)1 << 20)
#define DW_ANY_MINOR  UINT32_MAX

/* More than any image has: numbers above are damaged. */
#define DW_MOST_SECTIONS (UINT32_C(1) << 22)

/* A place where a section begins, from the start of the image. */
struct place {
	uint64_t at;
	struct section_header header;
};

/* What to look for. */
struct search {
	uint32_t minor;
	uint64_t from, to; /* where it begins: the first place, and one that is too far */
	uint32_t number;   /* the least one */
	uint32_t limit;	   /* one that is too high */
};

/* Where nothing can be read there are zeros. */
void dw_scan_read(const struct dwarfs_image *image, uint8_t *bytes, size_t size,
		  uint64_t at);

/* A header that may be one: of the right version, and within the image. */
bool dw_scan_header(const struct dwarfs_image *image, uint32_t minor, uint64_t at,
		    struct section_header *header);

/* Whether its hash is right, and whether it leads to the next one or to the end. */
bool dw_scan_hash_matches(const struct dwarfs_image *image, uint64_t at,
			  const struct section_header *header);
bool dw_scan_leads_on(const struct dwarfs_image *image, uint64_t at,
		      const struct section_header *header);

/* The first header that leads on, or whose hash matches: 1, or 0 when there is none. */
int dw_scan_find(const struct dwarfs_image *image, const struct search *search,
		 struct place *place, dwarfs_error **err);

#endif
