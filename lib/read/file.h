/* SPDX-License-Identifier: MIT */
/*
 * read/file: an open file, for the files of this module.
 */
#ifndef DW_READ_FILE_H
#define DW_READ_FILE_H

#include <dwarfs/file.h>

#include "read/image/image.h"
#include "read/metadata/chunk.h"

struct dwarfs_file {
	dwarfs_image *image;
	uint32_t inode;
	struct chunk_range range;
	struct chunk_marks *marks;
};

/* Get bytes of a chunk that is not a hole from the cache, as dw_cache_get() does; size
 * is within the chunk. Release with dw_cache_put(). */
int dw_chunk_get(const dwarfs_image *image, uint32_t inode,
		 const struct file_chunk *chunk, uint64_t skip, size_t size,
		 struct cached *cached_out, dwarfs_error **err);

#endif
