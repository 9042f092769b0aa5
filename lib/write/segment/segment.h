/* SPDX-License-Identifier: MIT */
/*
 * write/segment/segment: fragments -> chunks in blocks.
 */
#ifndef DW_WRITE_SEGMENT_SEGMENT_H
#define DW_WRITE_SEGMENT_SEGMENT_H

#include "write/budget/budget.h"
#include "write/inspect/unique_contents.h"
#include "write/pack/compress.h"

struct kept_blocks;

/* A run of bytes of a fragment: in a block, or zeros that are stored nowhere. */
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
	dw_free(chunks->list);
	*chunks = (struct chunks){ 0 };
}

/* Append a chunk, as the last one of a fragment. */
int dw_chunks_append(struct chunks *chunks, struct fragment *fragment, struct chunk chunk,
		     dwarfs_error **err);

/* The fragments of one stream. */
struct segment_input {
	struct build_run *run;
	struct tree *tree;
	struct contents *contents;
	uint32_t stream;
	const struct stream_settings *settings;
	const struct budget *budget;
	const struct kept_blocks *kept; /* whose bytes may be referred to, or NULL */
	const uint32_t *numbers;	/* in this order */
	size_t count;
};

/*
 * Store fragments. They get their chunks, and their size as read. When a file turns out
 * to differ from those that shared its contents, these get contents of their own, in the
 * default stream, at the end of the list.
 */
int dw_segment(const struct segment_input *input, struct compressor *compressor,
	       struct chunks *chunks, dwarfs_error **err);

/* After blocks that were kept, anchors are closer together while there are no more of them
 * than this: about 27 MB of the index. */
#define DW_ANCHORS_AFTER_KEPT (UINT64_C(1) << 21)

#endif
