/* SPDX-License-Identifier: MIT */
/*
 * write/digests/digest_section: digests and anchors -> DIGESTS section.
 */
#ifndef DW_WRITE_DIGESTS_DIGEST_SECTION_H
#define DW_WRITE_DIGESTS_DIGEST_SECTION_H

#include "write/digests/digests.h"
#include "write/inspect/unique_contents.h"

/* The section may have this share of the image, unless it is always written. */
#define DIGESTS_SHARE 200 /* one part in */

/* What the section belongs to. */
struct digest_section_input {
	const struct digests *digests;
	const uint32_t
		*files; /* number of the contents, in the order of the chunk table */
	uint32_t file_count;
	uint32_t block_count;
	uint64_t metadata_xxh3;
	uint64_t max_bytes; /* UINT64_MAX: any size */
};

/* The numbers of all contents, in the order of the chunk table, which is that of their
 * inodes. */
int dw_digest_section_order(const struct tree *tree, const struct contents *contents,
			    uint32_t *files, dwarfs_error **err);

/*
 * Append the contents of the section: with as many anchors as fit into max_bytes, without
 * anchors if not even one in 64 KiB does, and nothing at all if the digests alone do not
 * fit.
 */
int dw_digest_section(const struct digest_section_input *input, struct buffer *out,
		      dwarfs_error **err);

#endif
