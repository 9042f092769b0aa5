/* SPDX-License-Identifier: MIT */
/*
 * build/segment: files -> chunks in blocks.
 */
#ifndef DW_BUILD_SEGMENT_H
#define DW_BUILD_SEGMENT_H

#include "build/compress.h"
#include "build/contents.h"

/* A run of bytes of some contents: in a block, or zeros that are stored nowhere. */
struct chunk {
	uint32_t block; /* DW_NONE: a hole */
	uint32_t offset;
	uint64_t size; /* not over the block size, unless it is a hole */
};

struct chunks {
	struct chunk *list;
	size_t count, room;
};

static inline void dw_chunks_free(struct chunks *chunks)
{
	free(chunks->list);
	*chunks = (struct chunks){ 0 };
}

/*
 * Store the contents with these numbers in this order. Contents get their chunks, size
 * and holes as read. When a file turns out to differ from those that shared its contents,
 * they get contents of their own.
 */
int dw_segment(struct build_run *run, struct tree *tree, struct contents *contents,
	       const uint32_t *numbers, size_t count, struct compressor *compressor,
	       struct chunks *chunks, dwarfs_error **err);

#endif
