/* SPDX-License-Identifier: MIT */
/*
 * read/cache/cache: decoded bytes of blocks, shared by the images of a context.
 */
#ifndef DW_READ_CACHE_CACHE_H
#define DW_READ_CACHE_CACHE_H

#include <stdatomic.h>

#include <dwarfs/walk.h>

#include "base/context.h"
#include "base/memory.h"

struct dwarfs_image;
struct cache;
struct extent;
struct parts;
struct resident;
struct decode_job;

/* What the cache knows of a block, or of a part of one, whether it is there or not. All
 * zero at first. */
struct slot {
	atomic_uint state;	     /* pins, and whether there is a resident */
	struct resident *resident;   /* while the state says so */
	struct decode_job *job;	     /* somebody is at it; under the lock */
	struct extent *extents;	     /* parts that were kept: a tree; under the lock */
	struct extent *nearly_read;  /* those that somebody is about to be through with */
	uint64_t evicted_at;	     /* when it was evicted last; 0: never */
	struct parts *_Atomic parts; /* of a block that is not decoded as a whole */
	bool has_no_parts;   /* a block was seen to have no parts; under the lock */
	bool exceeds_budget; /* and that it cannot stay; likewise */
	bool is_damaged;     /* its hash was looked at late and does not match */
};

/* Bytes of a block. */
struct range {
	uint64_t from, size;
};

/* Bytes of a block that stay where they are until they are put back. */
struct cached {
	const uint8_t *data;
	size_t size;
	struct slot *slot;
	struct extent *extent; /* when it is that which is pinned */
	struct resident
		*transient; /* or a block that could not stay; else the slot's own */
	uint64_t held;	    /* bytes that count as lent; see dw_cache_hold() */
};

/* Ranges of one block, in order. */
struct range_list {
	const struct range *list;
	size_t count;
	bool is_dense; /* there is little between them: no copies are made */
};

/* The cache of a context, made when it is asked for first. */
int dw_cache_of(dwarfs_context *context, struct cache **cache_out, dwarfs_error **err);

/*
 * Bytes of a block, as many as are in one piece: cached_out->size, less than asked for
 * where a part of the block ends. CORRUPT when it does not have them. To be put back
 * soon, and before others are got by the same thread. Threads: any.
 */
int dw_cache_get(struct dwarfs_image *image, uint32_t block, struct range range,
		 struct cached *cached_out, dwarfs_error **err);
void dw_cache_put(struct dwarfs_image *image, struct cached *cached);

/*
 * The same for a file. When its block has to be decoded again and again, what the files
 * behind it need is kept, too, see read/bulk/next_ranges.h.
 */
int dw_cache_get_for(struct dwarfs_image *image, dwarfs_inode inode, uint32_t block,
		     struct range range, struct cached *cached_out, dwarfs_error **err);

/* As dw_cache_get(), but false when the bytes are not there, in one piece of a block that
 * stays. */
bool dw_cache_peek(struct dwarfs_image *image, uint32_t block, struct range range,
		   struct cached *cached_out);

/*
 * Keep bytes until they are put back, for however long that takes, and meanwhile get
 * others. False when that would leave too little for others: then nothing changed, and
 * they are to be copied.
 */
bool dw_cache_hold(struct dwarfs_image *image, struct cached *cached);

/*
 * Have ranges of a block decoded and kept as extents, but for those that are there
 * already: the block itself need not stay then, nor be decoded again. They fit into
 * dw_cache_extent_room() together with those of other blocks, or some of them will leave.
 */
int dw_cache_keep_ranges(struct dwarfs_image *image, uint32_t block,
			 const struct range_list *ranges, dwarfs_error **err);
uint64_t dw_cache_extent_capacity(const struct cache *cache);

/*
 * The part of a block that has an offset and is decoded without the rest; of a block that
 * has no parts, all that it might have. Looks at what is stored when that is not known
 * yet.
 */
int dw_cache_unit(struct dwarfs_image *image, uint32_t block, uint64_t offset,
		  struct range *unit_out, dwarfs_error **err);

/* Whether a range could be had without decoding. */
bool dw_cache_has(struct dwarfs_image *image, uint32_t block, struct range range);

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
