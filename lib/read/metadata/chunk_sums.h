/* SPDX-License-Identifier: MIT */
/*
 * read/metadata/chunk_sums: prefix sums of the sizes of all chunks of an image, one for
 * every STEP chunks. Built at first use, for files with so many chunks that adding up
 * their sizes each time would be slow.
 */
#ifndef DW_READ_METADATA_CHUNK_SUMS_H
#define DW_READ_METADATA_CHUNK_SUMS_H

#include "read/metadata/view.h"

#define DW_MANY_CHUNKS 1024 /* of a file, from which the sums are used */

/* Find a chunk at or shortly before an offset of a file, and where it begins. False if
 * there are no sums, because some chunk of the image is invalid. */
bool dw_sums_seek(const struct view *view, struct chunk_range range, uint64_t offset,
		  uint64_t *index_out, uint64_t *at_out);

/* The total size of a range of chunks. False as above. */
bool dw_sums_between(const struct view *view, struct chunk_range range,
		     uint64_t *bytes_out);

#endif
