/* SPDX-License-Identifier: MIT */
/*
 * read/cache: decoded bytes of blocks, shared by the images of a context.
 */
#ifndef DW_READ_CACHE_H
#define DW_READ_CACHE_H

#include <stdatomic.h>

#include "base/context.h"
#include "base/memory.h"

struct dwarfs_image;
struct cache;
struct extent;
struct resident;
struct work;

/* What the cache knows of a block, whether it is there or not. All zero at first. */
struct slot {
	atomic_uint state;	   /* pins, and whether there is a resident */
	struct resident *resident; /* while the state says so */
	struct work *work;	   /* somebody is at it; under the lock */
	struct extent *extents;	   /* parts that were kept; under the lock */
	uint64_t left_at;	   /* when it was evicted last; 0: never */
};

/* Bytes of a block. */
struct range {
	uint64_t from, size;
};

/* Bytes of a block that stay where they are until they are put back. */
struct cached {
	const uint8_t *data;
	struct slot *slot;
	struct extent *extent; /* NULL: it is the block itself that is pinned */
};

/*
 * What else of a block will be wanted soon, in no order. It is kept when the block itself
 * cannot be, and so need not be decoded again.
 */
struct wants {
	const struct range *list;
	size_t count;
};

/* The cache of a context, made when it is asked for first. */
int dw_cache_of(dwarfs_context *context, struct cache **cache_out, dwarfs_error **err);

/*
 * Bytes of a block; CORRUPT when it does not have them. wants may be NULL. Threads: any.
 */
int dw_cache_get(struct dwarfs_image *image, uint32_t block, struct range range,
		 const struct wants *wants, struct cached *cached_out,
		 dwarfs_error **err);
void dw_cache_put(struct dwarfs_image *image, struct cached *cached);

/* Forget all blocks of an image that goes away. */
void dw_cache_forget(struct dwarfs_image *image);

/* Give back what nobody has asked for since so long. */
void dw_cache_trim(struct cache *cache, uint64_t max_age_ms);

/* What happened so far, and what there is now. */
struct cache_counts {
	uint64_t hits, misses, evictions, decoded_bytes;
	uint64_t budget, used, most_used;
	uint32_t blocks, extents;
};
void dw_cache_count(struct cache *cache, struct cache_counts *counts_out);

#endif
