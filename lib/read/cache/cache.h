/* SPDX-License-Identifier: MIT */
/*
 * read/cache/cache: decoded bytes of blocks, shared by the images of a context.
 *
 * Takes a block and a range; gives a pinned pointer to the decoded bytes, which the
 * caller releases. Decodes on a miss, on the calling thread. The states of a cached
 * unit, its locks and what happens on a wrong hash: internal.h.
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

/* Cache state of a block, or of a part of one. Exists as long as the image; initially
 * zero. */
struct slot {
	atomic_uint state;	   /* IS_RESIDENT and the pins */
	struct resident *resident; /* valid while IS_RESIDENT is set */
	struct decode_job *job;	   /* decodes it now; under the lock */
	struct extent *extents;	   /* a tree of copies of ranges; under the lock */
	uint64_t evicted_at;	   /* decode_clock of the last eviction; 0: never */
	uint64_t once_ready; /* most bytes of it that were decoded; under the lock */
	struct parts
		*_Atomic parts; /* of a block with parts, which have slots of their own */
	bool has_no_parts;	/* the block has no parts; under the lock */
	bool exceeds_budget;	/* it is larger than the budget; under the lock */
	bool is_damaged;	/* verified late, and the hash did not match */
};

/* A range of a block. */
struct range {
	uint64_t from, size;
};

/* The chunk of a file that is read. */
struct chunk_reader {
	uint32_t inode; /* NO_INODE: of no known file */
	uint64_t chunk; /* index in the table of chunks */
};
#define NO_INODE UINT32_MAX

/* Decoded bytes, pinned until dw_cache_put(). */
struct cached {
	const uint8_t *data;
	size_t size;
	struct slot *slot;
	struct extent *extent;	    /* the pinned extent, or */
	struct resident *transient; /* a unit that could not be kept; else the slot's
				       resident is pinned */
	uint64_t held;		    /* bytes counted by dw_cache_hold() */
};

/* Ranges of one block, sorted. */
struct range_list {
	const struct range *list;
	size_t count;
	bool is_dense; /* small gaps: keep the window, not a copy of each range */
};

/* The cache of a context, created by the first call. */
int dw_cache_of(dwarfs_context *context, struct cache **cache_out, dwarfs_error **err);

/*
 * Get decoded bytes of a block, at most range.size: cached_out->size is smaller where
 * the range crosses the end of a part. CORRUPT when the range exceeds the block,
 * CHECKSUM when its hash is wrong. Call dw_cache_put() soon, and before the same thread
 * gets other bytes. Threads: any.
 */
int dw_cache_get(struct dwarfs_image *image, uint32_t block, struct range range,
		 struct cached *cached_out, dwarfs_error **err);
void dw_cache_put(struct dwarfs_image *image, struct cached *cached);

/* The same for a file. When its block is decoded repeatedly, ranges of the files that
 * follow in the tree are kept as extents, see read/bulk/next_ranges.h. */
int dw_cache_get_for(struct dwarfs_image *image, struct chunk_reader reader,
		     uint32_t block, struct range range, struct cached *cached_out,
		     dwarfs_error **err);

/* As dw_cache_get(), but returns false instead of decoding, or when the range is not
 * in one resident unit. */
bool dw_cache_peek(struct dwarfs_image *image, uint32_t block, struct range range,
		   struct cached *cached_out);

/* Keep bytes pinned for an unlimited time, so that the thread may get others
 * meanwhile. False, without effect, when that would leave too little of the budget for
 * decoding: then the caller copies the bytes. */
bool dw_cache_hold(struct dwarfs_image *image, struct cached *cached);

/* Decode ranges of a block and keep them as extents, except those that are present;
 * the block itself need not be kept. Ranges of all blocks together should fit into
 * dw_cache_extent_capacity(), or older extents are evicted. */
int dw_cache_keep_ranges(struct dwarfs_image *image, uint32_t block,
			 const struct range_list *ranges, dwarfs_error **err);
uint64_t dw_cache_extent_capacity(const dwarfs_context *context);

/* The range of the unit that contains an offset: a part of the block, or the whole
 * block (up to the block size) when it has no parts. Reads the section when that is
 * not known yet. */
int dw_cache_unit(struct dwarfs_image *image, uint32_t block, uint64_t offset,
		  struct range *unit_out, dwarfs_error **err);

/* Whether a range can be read without decoding. */
bool dw_cache_has(struct dwarfs_image *image, uint32_t block, struct range range);

/* Free everything cached of an image that is being closed. */
void dw_cache_forget(struct dwarfs_image *image);

#endif
