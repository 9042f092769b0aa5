/* SPDX-License-Identifier: MIT */
/*
 * write/digests/block_anchors: a sample of the anchors of each block, in bounded memory.
 *
 * An anchor is kept if the low bits of its hash are zero, as many as it takes to keep the
 * number of anchors below a limit: so which are kept depends on the data alone, not on the
 * order in which blocks are added.
 */
#ifndef DW_WRITE_DIGESTS_BLOCK_ANCHORS_H
#define DW_WRITE_DIGESTS_BLOCK_ANCHORS_H

#include "base/memory.h"

/* Of all blocks, at most: 16 MiB. */
#define BLOCK_ANCHORS_MOST (1u << 20)

/* An anchor in about 2^ANCHOR_SPACING_BITS bytes, before there are too many. */
#define ANCHOR_SPACING_BITS 12

struct block_anchor {
	uint64_t hash;
	uint32_t offset; /* in the block */
};

struct anchor_list {
	struct block_anchor *list; /* offsets ascend */
	size_t count, room;
	bool is_known;
};

void dw_anchor_list_free(struct anchor_list *list);

/* The anchors of all blocks of an image. */
struct block_anchors {
	struct anchor_list *blocks; /* by number */
	size_t count, room;
	size_t total;	      /* anchors */
	unsigned sample_bits; /* zero bits of the hash that an anchor needs */
	unsigned shift;	      /* with which anchors are found in data */
};

void dw_block_anchors_free(struct block_anchors *anchors);

/* Find the anchors of the data of a block. Any thread. */
int dw_anchor_list_find(const uint8_t *data, size_t size, unsigned shift,
			struct anchor_list *out, dwarfs_error **err);

/* Add data that follows, at an offset. */
int dw_anchor_list_add(struct anchor_list *list, const uint8_t *data, size_t size,
		       uint32_t offset, unsigned shift, dwarfs_error **err);

/* Set the anchors of a block; takes the list. */
int dw_block_anchors_set(struct block_anchors *anchors, uint32_t block,
			 struct anchor_list *list, dwarfs_error **err);

/* Whether an anchor is in the sample with this many bits. */
static inline bool dw_anchor_is_sampled(const struct block_anchor *anchor, unsigned bits)
{
	return (anchor->hash & ((UINT64_C(1) << bits) - 1)) == 0;
}

/* The number of anchors in a sample. */
size_t dw_block_anchors_count(const struct block_anchors *anchors, unsigned bits);

#endif
