/* SPDX-License-Identifier: MIT */
/*
 * read/file: an open file, as the files of this room see it.
 */
#ifndef DW_READ_FILE_H
#define DW_READ_FILE_H

#include <dwarfs/file.h>

#include "read/image.h"
#include "read/metadata/chunk.h"

struct dwarfs_file {
	dwarfs_image *image;
	dwarfs_inode inode;
	struct chunk_range range;
	struct chunk_marks *marks;
};

/* Bytes of a chunk that is no hole, from the cache, as dw_cache_get() has them; size is
 * within it. Put them back. */
int dw_chunk_get(const dwarfs_image *image, dwarfs_inode inode, const struct chunk *chunk,
		 uint64_t skip, size_t size, struct cached *cached_out,
		 dwarfs_error **err);

#endif
