/* SPDX-License-Identifier: MIT */
/*
 * read/cache/internal: what the files of the cache share.
 *
 *	cache.c		who asks: hits, parts of blocks, what is lent
 *	decode_job.c	who decodes, and who waits for that
 *	decode_step.c	how a unit is opened and decoded
 *	eviction.c	what is kept: the budget, what leaves first
 *	extents.c	copies of parts of what is not kept
 */
#ifndef DW_READ_CACHE_INTERNAL_H
#define DW_READ_CACHE_INTERNAL_H

#include <pthread.h>

#include "read/cache/cache.h"
#include "read/image.h"

/* Of slot.state. */
#define IS_RESIDENT 1u
#define PIN	    2u

/* Of resident.uses. */
#define MAX_USES 3

/* So many readers of a resident are told from each other. */
#define HEADS 4

/* What is decoded for itself: a block, or a part of one. */
struct unit {
	struct dwarfs_image *image;
	uint32_t block;
	const struct codec_part *part; /* NULL: the whole block */
	struct slot *slot;
};

/* What parts need of the beginning of a block's payload. */
#define HEAD_BYTES 12

/*
 * What was found to be good of a block with parts. The hash in its header is one of all
 * that is stored. To look at it again for each part would take longer than decoding does,
 * so when it is found to match, each part gets a hash of its own, of the same bytes. From
 * then on no more is read than a part, and what is read is compared with that, wherever
 * it comes from: what a source gives the second time need not be what it gave the first.
 */
struct proof {
	struct section_header header;
	uint8_t head[HEAD_BYTES];
	uint64_t xxh3[]; /* by part; 0 where hashes are not looked at */
};

/* A block that consists of parts: they have slots of their own. */
struct parts {
	size_t count;
	struct codec_part *list;
	struct slot *slots;
	struct proof *_Atomic proof; /* NULL: there is none yet */
};

struct queue {
	struct resident *oldest, *newest;
	uint64_t bytes;
	uint32_t count;
};

/* A unit as far as it is decoded. What is not atomic is the worker's, or, when there is
 * none, under the lock. */
struct resident {
	struct slot *slot;
	uint64_t size;
	const uint8_t *bytes;
	atomic_size_t ready; /* so many of the bytes are there */
	uint8_t *pages;	     /* NULL: what is stored is what is read */
	size_t page_bytes;
	struct stored stored;
	struct decoder *decoder; /* NULL: all is there */
	uint64_t charged;
	uint64_t most;	   /* so much it will take at most, from now on; under the lock */
	bool is_trusted;   /* its hash is looked at when all is decoded */
	bool is_taken_out; /* of what is stored of its block only this part was read */
	uint8_t worth;	   /* rounds that it stays because it is slow to decode */
	atomic_uchar uses;
	_Atomic uint64_t last_ms;      /* when it was read last */
	_Atomic uint64_t heads[HEADS]; /* and up to where, by each who goes through it */
	atomic_uchar next_head;
	bool comes_back; /* it was decoded before, and left not long ago */
	uint32_t lent;	 /* pins that may stay for long; under the lock */
	uint32_t passed; /* to so many, in its last moments; under the lock */
	struct queue *queue;
	struct resident *older, *newer;
};

/* A copy of some bytes of a unit. Under the lock, but for the bytes. */
struct extent {
	struct range range;
	uint32_t pins;
	uint32_t batch;			/* those that were made at the same time */
	uint64_t given;			/* bytes, to readers */
	struct slot *slot;		/* NULL: it is kept no longer */
	struct extent *before, *behind; /* by place, in the slot */
	struct extent *previous, *next; /* by when they leave */
	struct extent *next_nearly_read, **nearly_read_at;
	uint64_t last_ms;
	uint8_t *bytes; /* pages, or they follow this */
};

/* Bytes to be kept when the unit cannot be, or in any case. */
struct want {
	struct range range;
	bool in_any_case;
};

/* Somebody decodes a unit; on his stack, under the lock. */
struct work {
	uint64_t need;	      /* what the unit will take in the end, as far as is known */
	uint64_t whole;	      /* and if it were decoded to its end */
	uint64_t end;	      /* how far */
	uint64_t upto;	      /* and if the unit cannot stay */
	uint64_t began;	      /* how far it was before */
	uint32_t waiters;     /* who look at what follows when it has ended */
	pthread_cond_t moved; /* it went on, ended, or it is its turn */
	struct work *next_in_line; /* of those that wait until they are alone */
	bool idle;		   /* it waits for its turn: the unit may be evicted */
	bool alone;		   /* no other one is under way */
	bool comes_back; /* the unit left not long ago, and will leave again soon */
	bool made;	 /* the resident */
	bool divided;	 /* the block turned out to have parts */
	bool harvests;	 /* for extents only */
	bool ended;
	int code; /* 0 or why it failed */
	const dwarfs_error *problem;
	struct resident *passing; /* that they may still read from */
	struct want *wants;
	size_t want_count, want_room;
};

struct cache {
	pthread_mutex_t lock;
	uint32_t finish_percent; /* of a unit: then it is decoded to its end */
	pthread_cond_t changed;	 /* memory was given back, or works gave up */
	pthread_cond_t gate;	 /* works may begin again */
	uint64_t budget, used, most_used;
	uint32_t running;		     /* works under way */
	uint32_t waiting;		     /* those of them that wait for memory */
	uint32_t gated;			     /* those that wait until they may begin */
	struct work *line_first, *line_last; /* those that wait until they are alone */
	bool alone;			     /* one is */
	struct queue probation, main;
	struct extent *first_extent, *last_extent; /* to leave */
	struct extent *batch_extent; /* in front of it goes the next one of a batch */
	uint64_t extent_bytes,
		unread_bytes; /* of all, and of those not read to the end */
	uint32_t extent_count, batch;
	uint32_t narrow;      /* a batch may take the room, halved so often */
	uint32_t narrowed_at; /* the batch from which on that holds */
	uint32_t used_up;     /* extents since then that were read to the end */
	uint64_t kept_at;     /* on the clock: when the last of them was made */
	uint32_t loose; /* what is read from, but has no place: extents, passing units */
	uint64_t lent_bytes;	      /* what all that is lent may take in the end */
	uint64_t largest_work;	      /* the most that a unit takes while it is decoded */
	uint64_t passed_at;	      /* on the clock: when a unit could not stay last */
	uint64_t clock;		      /* bytes that were ever taken in */
	struct slot *_Atomic touched; /* the unit that was read last */
	atomic_uint thirsty;	      /* so many wait for a pin to go */
	uint64_t misses, evictions, decoded_bytes;
	_Atomic uint64_t hits;
};

/* -- cache.c ------------------------------------------------------------------------- */

uint64_t dw_cache_now_ms(void);

/* The resident of a slot, pinned; NULL when there is none. Any thread. */
struct resident *dw_cache_pin(struct slot *slot);

/* The pin goes, for somebody who has the lock. */
static inline void dw_cache_unpin(struct slot *slot)
{
	atomic_fetch_sub(&slot->state, PIN);
}

/* As dw_cache_get(), within a unit; false when the bytes are not there. */
bool dw_cache_take(struct cache *cache, struct slot *slot, struct range range,
		   struct cached *cached_out);

/* -- decode_job.c; all under the lock, which is given up meanwhile ------------------- */

/*
 * Decode a unit, which no thread is decoding, as far as this caller and those that wait
 * meanwhile need it. Afterwards the unit has the range, or turned out to have parts; where
 * the unit cannot be kept, cached_out has the range unless that is empty. The ranges of
 * wants, which may be NULL, are decoded as well, and kept as extents in any case.
 */
int dw_cache_decode(struct cache *cache, const struct unit *unit, struct range range,
		    const struct wants *wants, struct cached *cached_out,
		    dwarfs_error **err);

/* Somebody works at it: say what else is needed, and wait for that or until he is done.
 * Afterwards it is there, or *cached_out has it, or it has to be tried again. */
int dw_cache_wait(struct cache *cache, const struct unit *unit, struct range range,
		  struct cached *cached_out, dwarfs_error **err);

/* Decode for these ranges, to be kept as extents; or wait until somebody did, and then
 * try again. */
int dw_cache_decode_parts(struct cache *cache, const struct unit *unit,
			  const struct wants *wants, dwarfs_error **err);

/* Whether somebody's bytes are there while the unit is worked at. */
bool dw_cache_has_come(struct slot *slot, struct range range);

/* One reader less of a unit that passes. */
void dw_cache_put_passing(struct cache *cache, struct resident *resident);

/* -- decode_step.c; all under the lock, which is given up meanwhile ----------------- */

/* How a step of the work ends, when it does not fail. */
enum outcome {
	DONE,
	NO_ROOM, /* now; it has to be tried again when nobody else works */
	DIVIDED, /* the block has parts */
};

/* Open a unit when there is no resident yet, and decode to what is wanted; an outcome. */
int dw_cache_go_on(struct cache *cache, const struct unit *unit, struct work *work,
		   struct resident **resident, dwarfs_error **err);

/* All is there, or nobody will go on: what only the decoder needed can go. */
void dw_cache_settle(struct cache *cache, struct resident *resident);

/* What a resident takes while it is decoded so far. */
uint64_t dw_cache_bytes_until(const struct resident *resident, uint64_t ready);

/* -- eviction.c; all under the lock ------------------------------------------------ */

/* Take the resident out of its slot, unless somebody else than the caller has pinned it.
 */
bool dw_cache_detach(struct resident *resident, unsigned own_pins);

/* Whether a unit left that may be asked for again and again. */
bool dw_cache_is_missed(const struct cache *cache, const struct slot *slot);

/* Whether a unit left not long ago. */
bool dw_cache_comes_back(const struct cache *cache, const struct slot *slot);

/* The unit is there from now on, as far as it is; the caller has a pin. */
void dw_cache_attach(struct cache *cache, struct resident *resident);

/* Out of its queue, but not freed. */
void dw_cache_dequeue(struct resident *resident);

/* It is detached, so nobody reads from it. */
void dw_cache_free_resident(struct cache *cache, struct resident *resident);

/* What it takes is so much now. */
void dw_cache_charge(struct cache *cache, struct resident *resident, uint64_t bytes);

static inline void dw_cache_note_use(struct cache *cache)
{
	if (cache->used > cache->most_used)
		cache->most_used = cache->used;
}

/* Let go of what is worth least. */
void dw_cache_evict_to(struct cache *cache, uint64_t limit);

/*
 * Room for so many bytes more, besides those that the work has. What does not fit into
 * the whole budget is let through when it is alone, and what others keep stays within the
 * budget. False when all works wait for memory: the caller then gives back what it has.
 */
bool dw_cache_reserve(struct cache *cache, struct work *work, uint64_t own,
		      uint64_t bytes);

/* Until memory may have been given back. */
void dw_cache_wait_a_little(struct cache *cache);

/*
 * What a work may take for its unit before that counts as one that cannot stay: of one
 * that is larger than the budget less, when somebody is about to read extents.
 */
uint64_t dw_cache_limit(const struct cache *cache, const struct work *work);

/* What all extents together may take. */
uint64_t dw_cache_room_for_extents(const struct cache *cache);

/* And beside a block that is being decoded. */
uint64_t dw_cache_room_beside(const struct cache *cache);

/* -- extents.c; all under the lock ---------------------------------------------- */

/* Keep copies of what is wanted of a resident, as far as it is there: all, or only what
 * is to be kept in any case. What is kept in all stays within so many bytes. */
void dw_cache_keep_wants(struct cache *cache, const struct resident *resident,
			 const struct want *wants, size_t count, bool all,
			 uint64_t limit);

/*
 * A unit leaves, which nobody reads from any more: of what stands behind the places where
 * it was read, so much stays at most, in the pages where it is. The rest of it is still
 * to be freed.
 */
void dw_cache_leave_behind(struct cache *cache, struct resident *resident, uint64_t most);

/* The one that has the first of these bytes. */
struct extent *dw_cache_find_extent(const struct slot *slot, struct range range);
void dw_cache_give_extent(struct cache *cache, struct extent *extent, struct range range,
			  struct cached *cached_out);
/* Where those will go on who are about to be through with an extent; so many at most. */
size_t dw_cache_next_reads(const struct slot *slot, uint64_t *places, size_t most);
/* Somebody got these bytes from elsewhere: where they are in extents, too, they count as
 * read. */
void dw_cache_credit(struct cache *cache, const struct slot *slot, struct range range);
/* Whether there are extents for all of it. */
bool dw_cache_has_extents(const struct slot *slot, struct range range);
void dw_cache_put_extent(struct cache *cache, struct extent *extent);
void dw_cache_drop_extent(struct cache *cache, struct extent *extent);

#endif
