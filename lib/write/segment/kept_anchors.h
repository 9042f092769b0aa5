/* SPDX-License-Identifier: MIT */
/*
 * write/segment/kept_anchors: anchors of the blocks that were kept from images.
 *
 * An image lists few anchors of its blocks, or none. A block with none is decompressed at
 * once, and the matcher gets all its anchors; one with few is decompressed when it is found
 * to have a run in common with the input. Blocks that no match may refer to are left out.
 */
#ifndef DW_WRITE_SEGMENT_KEPT_ANCHORS_H
#define DW_WRITE_SEGMENT_KEPT_ANCHORS_H

#include "write/images/kept_blocks.h"
#include "write/segment/matcher.h"

struct kept_anchors;

struct kept_anchors_input {
	struct build_run *run;
	const struct kept_blocks *kept;
	struct matcher *matcher;
	struct kept_window *window; /* of these blocks */
	size_t block_bytes;
	uint32_t lookback; /* blocks that may be referred to; UINT32_MAX: all */
	unsigned shift;	   /* of the anchors that images list, as far as is known */
};

/* Give the matcher what is known without reading the input. The arguments outlive it. */
int dw_kept_anchors_new(const struct kept_anchors_input *in,
			struct kept_anchors **anchors_out, dwarfs_error **err);
void dw_kept_anchors_free(struct kept_anchors *anchors);
DW_DEFINE_AUTO(kept_anchors, struct kept_anchors *, dw_kept_anchors_free)

/* Give the matcher the anchors of the blocks with which a piece of the input has a run in
 * common. Call before dw_matcher_begin(). */
int dw_kept_anchors_prepare(struct kept_anchors *anchors, const uint8_t *data,
			    size_t size, dwarfs_error **err);

/* A match was found at a place; the next call of dw_kept_anchors_prepare() gives the matcher
 * the anchors of its blocks. */
void dw_kept_anchors_found(struct kept_anchors *anchors, uint64_t place, size_t size);

#endif
