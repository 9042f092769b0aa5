/* SPDX-License-Identifier: MIT */
/*
 * read/metadata/chunk_sums: how many bytes the chunks before every so many chunks have, all files one
 * after the other. Made at the first use, for files with so many chunks that adding them
 * up each time would show: then places in these files, and their sizes, are found at
 * once.
 */
#ifndef DW_READ_METADATA_CHUNK_SUMS_H
#define DW_READ_METADATA_CHUNK_SUMS_H

#include "read/metadata/view.h"

#define DW_MANY_CHUNKS 1024 /* of a file: from here on it is worth it */

/*
 * Get near an offset of a file: to a chunk that does not begin behind it, and where that
 * begins. False when there are no sums, as some chunk of the image cannot be right.
 */
bool dw_sums_seek(const struct view *view, struct chunk_range range, uint64_t offset,
		  uint64_t *index_out, uint64_t *at_out);

/* The bytes of chunks. False as above. */
bool dw_sums_between(const struct view *view, struct chunk_range range,
		     uint64_t *bytes_out);

#endif
