/* SPDX-License-Identifier: MIT */
/*
 * read/cache: decoded bytes of blocks, shared by the images of a context.
 *
 * A block is decoded only as far as somebody reads (a resident), by whoever comes first;
 * others wait for their own place in it. One budget in bytes counts what is decoded, the
 * state of decoders and the stored bytes that they still need. Where a block alone does
 * not fit, one at a time is decoded all the same, while no other work is under way; who
 * waits for it gets his bytes, and then it is gone (it passes). Of that only what is
 * wanted soon is kept (extents).
 *
 * A hit takes no lock: it pins the block by an atomic add, and a block is evicted by a
 * compare and swap that fails while there are pins. What leaves first is chosen as in
 * S3-FIFO (Yang et al., SOSP 2023): what was read once, in one go, leaves before what was
 * read again; blocks whose codec is slow stay for longer.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "os/pages.h"
#include "pool/threads.h"
#include "read/cache.h"
#include "read/image.h"

/* Of slot.state. */
#define IS_RESIDENT 1u
#define PIN	    2u

#define STEP_BYTES	((size_t)128 << 10) /* decoded before others are told */
#define RESERVE_BYTES	((size_t)1 << 20)   /* at a time */
#define PROBATION_SHARE 10		    /* of the budget: one part in */
#define EXTENT_SHARE	2		    /* of the budget, for all extents */
#define WANT_SHARE	4		    /* and for what follows one read */
#define MAX_USES	3
#define PAGES_BYTES	((size_t)64 << 10) /* extents from here on are pages */
#define GLANCE_NS	(2 * 1000 * 1000) /* how often those are looked at who only read */

struct queue {
	struct resident *oldest, *newest;
	uint64_t bytes;
	uint32_t count;
};

/* A block as far as it is decoded. What is not atomic is the worker's, or, when there is
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
	uint8_t worth; /* rounds that it stays because it is slow to decode */
	atomic_uchar uses;
	_Atomic uint64_t last_ms; /* when it was read last */
	uint32_t lent;		  /* pins that may stay for long; under the lock */
	uint32_t passed;	  /* to so many, in its last moments; under the lock */
	struct queue *queue;
	struct resident *older, *newer;
};

/* A part of a block. Under the lock, but for the bytes. */
struct extent {
	struct range range;
	uint32_t pins;
	struct slot *slot; /* NULL: it is kept no longer */
	struct extent *next_in_slot;
	struct extent *older, *newer;
	uint64_t last_ms;
	uint8_t *bytes;
	uint8_t *pages; /* NULL: they follow this */
};

/* Somebody decodes a block; on his stack, under the lock. */
struct work {
	uint64_t need;	  /* what the block will take in the end, as far as is known */
	uint64_t end;	  /* how far, for himself */
	uint64_t upto;	  /* and for all who wait, if the block cannot stay */
	uint32_t waiters; /* who look at what follows when it has ended */
	pthread_cond_t moved;	   /* it went on, ended, or it is its turn */
	struct work *next_in_line; /* of those that wait until they are alone */
	bool idle;		   /* it waits for its turn: the block may be evicted */
	bool alone;		   /* no other one is under way */
	bool harvest;		   /* for the extents only */
	bool made;		   /* the resident */
	bool ended;
	int code; /* 0 or why it failed */
	char message[256];
	struct resident *passing; /* that they may still read from */
	struct range *wants;	  /* to be kept when the block cannot be */
	size_t want_count, want_room;
};

struct cache {
	pthread_mutex_t lock;
	uint32_t finish_percent; /* of a block: then it is decoded to its end */
	pthread_cond_t changed;	 /* memory was given back, or works gave up */
	pthread_cond_t gate;	 /* works may begin again */
	uint64_t budget, used, most_used;
	uint32_t running;		     /* works under way */
	uint32_t waiting;		     /* those of them that wait for memory */
	uint32_t gated;			     /* those that wait until they may begin */
	struct work *line_first, *line_last; /* those that wait until they are alone */
	bool alone;			     /* one is */
	struct queue probation, main;
	struct extent *oldest_extent, *newest_extent;
	uint64_t extent_bytes;
	uint32_t extent_count;
	uint32_t loose; /* what is read from, but has no place: extents, passing blocks */
	uint64_t lent_bytes, largest_block;
	uint64_t clock;		      /* bytes that were ever taken in */
	struct slot *_Atomic touched; /* the block that was read last */
	atomic_uint thirsty;	      /* so many wait for a pin to go */
	uint64_t misses, evictions, decoded_bytes;
	_Atomic uint64_t hits;
};

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* -- life ---------------------------------------------------------------------------- */

static void cache_free(void *object)
{
	struct cache *cache = object;

	/* All images are gone, and each has taken its blocks along. */
	pthread_cond_destroy(&cache->gate);
	pthread_cond_destroy(&cache->changed);
	pthread_mutex_destroy(&cache->lock);
	free(cache);
}

static int cache_new(dwarfs_context *context, void **cache_out, dwarfs_error **err)
{
	struct cache *cache = dw_calloc(1, sizeof(*cache));

	if (!cache)
		return dw_fail_nomem(err);
	if (pthread_mutex_init(&cache->lock, NULL) != 0) {
		free(cache);
		return dw_fail_nomem(err);
	}
	if (dw_condition_init(&cache->changed) != 0) {
		pthread_mutex_destroy(&cache->lock);
		free(cache);
		return dw_fail_nomem(err);
	}
	if (pthread_cond_init(&cache->gate, NULL) != 0) {
		pthread_cond_destroy(&cache->changed);
		pthread_mutex_destroy(&cache->lock);
		free(cache);
		return dw_fail_nomem(err);
	}
	cache->budget = dw_context_cache_bytes(context);
	cache->finish_percent = dw_context_finish_percent(context);
	*cache_out = cache;
	return 0;
}

int dw_cache_of(dwarfs_context *context, struct cache **cache_out, dwarfs_error **err)
{
	void *object;
	int ret = dw_context_shared(context, cache_new, cache_free, &object, err);

	if (ret == 0)
		*cache_out = object;
	return ret;
}

/* -- pins ---------------------------------------------------------------------------- */

/* The resident of a slot, pinned; NULL when there is none. */
static struct resident *pin(struct slot *slot)
{
	if (atomic_fetch_add(&slot->state, PIN) & IS_RESIDENT)
		return slot->resident;
	atomic_fetch_sub(&slot->state, PIN);
	return NULL;
}

static void unpin(struct cache *cache, struct slot *slot)
{
	atomic_fetch_sub(&slot->state, PIN);
	if (atomic_load(&cache->thirsty) == 0)
		return;
	pthread_mutex_lock(&cache->lock);
	pthread_cond_broadcast(&cache->changed);
	pthread_mutex_unlock(&cache->lock);
}

/* Take the resident out of its slot, unless somebody else than the caller has pinned it.
 */
static bool detach(struct resident *resident, unsigned own_pins)
{
	unsigned state = IS_RESIDENT | own_pins * PIN;

	return atomic_compare_exchange_strong(&resident->slot->state, &state, 0);
}

/* Reads in one go, with none of another block between them, count once. */
static void touch(struct cache *cache, struct resident *resident)
{
	struct slot *slot = resident->slot;
	unsigned uses;

	atomic_store_explicit(&resident->last_ms, now_ms(), memory_order_relaxed);
	if (atomic_load_explicit(&cache->touched, memory_order_relaxed) == slot)
		return;
	atomic_store_explicit(&cache->touched, slot, memory_order_relaxed);
	uses = atomic_load_explicit(&resident->uses, memory_order_relaxed);
	if (uses < MAX_USES)
		atomic_store_explicit(&resident->uses, (unsigned char)(uses + 1),
				      memory_order_relaxed);
}

/* -- the budget; all under the lock ------------------------------------------------- */

static void charge(struct cache *cache, struct resident *resident, uint64_t bytes)
{
	cache->used += bytes - resident->charged;
	if (resident->queue)
		resident->queue->bytes += bytes - resident->charged;
	if (cache->used > cache->most_used)
		cache->most_used = cache->used;
	resident->charged = bytes;
}

static void enqueue(struct queue *queue, struct resident *resident)
{
	resident->queue = queue;
	resident->newer = NULL;
	resident->older = queue->newest;
	if (queue->newest)
		queue->newest->newer = resident;
	else
		queue->oldest = resident;
	queue->newest = resident;
	queue->bytes += resident->charged;
	queue->count++;
}

static void dequeue(struct resident *resident)
{
	struct queue *queue = resident->queue;

	if (!queue)
		return;
	if (resident->older)
		resident->older->newer = resident->newer;
	else
		queue->oldest = resident->newer;
	if (resident->newer)
		resident->newer->older = resident->older;
	else
		queue->newest = resident->older;
	queue->bytes -= resident->charged;
	queue->count--;
	resident->queue = NULL;
}

/* It is detached, so nobody reads from it. */
static void free_resident(struct cache *cache, struct resident *resident)
{
	charge(cache, resident, 0);
	dequeue(resident);
	dw_decoder_free(resident->decoder);
	dw_stored_free(&resident->stored);
	dw_pages_free(resident->pages, resident->page_bytes);
	free(resident);
}

static void free_extent(struct cache *cache, struct extent *extent)
{
	cache->used -= extent->range.size;
	dw_pages_free(extent->pages, (size_t)extent->range.size);
	free(extent);
}

/* Out of its slot and the list; freed when nobody reads from it. */
static void drop_extent(struct cache *cache, struct extent *extent)
{
	struct extent **at = &extent->slot->extents;

	while (*at != extent)
		at = &(*at)->next_in_slot;
	*at = extent->next_in_slot;
	if (extent->older)
		extent->older->newer = extent->newer;
	else
		cache->oldest_extent = extent->newer;
	if (extent->newer)
		extent->newer->older = extent->older;
	else
		cache->newest_extent = extent->older;
	extent->slot = NULL;
	cache->extent_bytes -= extent->range.size;
	cache->extent_count--;
	if (extent->pins == 0)
		free_extent(cache, extent);
	else
		cache->loose++;
}

static bool is_being_worked_at(const struct resident *resident)
{
	return resident->slot->work && !resident->slot->work->idle;
}

/* One that may leave now; unless forced, those that were read again get their rounds. */
static struct resident *victim_of(struct cache *cache, struct queue *queue, bool forced)
{
	uint32_t rounds = forced ? queue->count : queue->count * (MAX_USES + 1);

	for (uint32_t i = 0; i < rounds && queue->oldest; i++) {
		struct resident *resident = queue->oldest;
		unsigned uses = atomic_load(&resident->uses);

		dequeue(resident);
		if (!forced && uses > 0) {
			uses = queue == &cache->probation ? 0 : uses - 1;
			atomic_store(&resident->uses, (unsigned char)uses);
			enqueue(&cache->main, resident);
			continue;
		}
		if (!forced && resident->worth > 0) {
			resident->worth--;
			enqueue(queue, resident);
			continue;
		}
		if (!is_being_worked_at(resident) && detach(resident, 0))
			return resident;
		enqueue(queue, resident);
	}
	return NULL;
}

static struct resident *pick_victim(struct cache *cache)
{
	struct queue *first = &cache->main, *second = &cache->probation;
	struct resident *victim = NULL;

	if (cache->probation.bytes > cache->budget / PROBATION_SHARE ||
	    !cache->main.oldest) {
		first = &cache->probation;
		second = &cache->main;
	}
	for (int forced = 0; forced <= 1 && !victim; forced++) {
		victim = victim_of(cache, first, forced);
		if (!victim)
			victim = victim_of(cache, second, forced);
	}
	return victim;
}

static bool evict_one(struct cache *cache)
{
	struct resident *victim;

	if (cache->oldest_extent && cache->extent_bytes > cache->budget / EXTENT_SHARE) {
		drop_extent(cache, cache->oldest_extent);
		return true;
	}
	victim = pick_victim(cache);
	if (victim) {
		victim->slot->left_at = cache->clock;
		cache->evictions++;
		free_resident(cache, victim);
		return true;
	}
	if (!cache->oldest_extent)
		return false;
	drop_extent(cache, cache->oldest_extent);
	return true;
}

static void evict_to(struct cache *cache, uint64_t limit)
{
	while (cache->used > limit && evict_one(cache))
		;
}

/* Whether somebody has pins in this queue who will be done with them in a moment, or is
 * by now. */
static bool has_readers(const struct queue *queue)
{
	for (const struct resident *resident = queue->oldest; resident;
	     resident = resident->newer) {
		unsigned pins = atomic_load(&resident->slot->state) / PIN;

		if (!is_being_worked_at(resident) &&
		    (pins == 0 || pins != resident->lent))
			return true;
	}
	return false;
}

/* Something will be given back without anybody's work. */
static bool will_be_given_back(const struct cache *cache)
{
	return cache->loose > 0 || has_readers(&cache->probation) ||
	       has_readers(&cache->main);
}

static void wait_a_little(struct cache *cache)
{
	struct timespec until = dw_time_from_now(GLANCE_NS);

	dw_condition_wait(&cache->changed, &cache->lock, &until);
}

/*
 * Room for so many bytes more, besides those that the work has. What does not fit into
 * the whole budget is let through when it is alone, and what others keep stays within the
 * budget. False when all works wait for memory: the caller then gives back what it has.
 */
static bool find_room(struct cache *cache, struct work *work, uint64_t own,
		      uint64_t bytes)
{
	for (;;) {
		bool fits = own + bytes <= cache->budget && work->need <= cache->budget;
		uint64_t limit = fits ? cache->budget - bytes : cache->budget + own;
		bool is_last = work->alone || cache->running == 1;

		evict_to(cache, limit);
		if (cache->used <= limit && (fits || is_last)) {
			if (!fits)
				work->alone = cache->alone = true;
			return true;
		}
		if (is_last) {
			work->alone = cache->alone = true;
			/* What is lent for long is all that can be in the way then. */
			if (!will_be_given_back(cache))
				return true;
			wait_a_little(cache);
			continue;
		}
		if (cache->waiting + 1 >= cache->running)
			return false;
		cache->waiting++;
		wait_a_little(cache);
		cache->waiting--;
	}
}

static bool reserve(struct cache *cache, struct work *work, uint64_t own, uint64_t bytes)
{
	bool found;

	if (own + bytes <= cache->budget && work->need <= cache->budget) {
		evict_to(cache, cache->budget - bytes);
		if (cache->used <= cache->budget - bytes)
			return true;
	}
	atomic_fetch_add(&cache->thirsty, 1);
	found = find_room(cache, work, own, bytes);
	atomic_fetch_sub(&cache->thirsty, 1);
	return found;
}

/* -- extents; all under the lock ---------------------------------------------------- */

static struct extent *new_extent(const struct resident *resident, struct range range)
{
	size_t size = (size_t)range.size;
	bool large = size >= PAGES_BYTES;
	struct extent *extent = malloc(sizeof(*extent) + (large ? 0 : size));

	if (!extent)
		return NULL;
	*extent = (struct extent){ .range = range, .last_ms = now_ms() };
	extent->bytes = (uint8_t *)(extent + 1);
	if (large && !(extent->bytes = extent->pages = dw_pages_new(size))) {
		free(extent);
		return NULL;
	}
	memcpy(extent->bytes, resident->bytes + range.from, size);
	return extent;
}

/* Keep a copy of a part, if there is room for it within so many bytes in all. */
static void keep_extent(struct cache *cache, const struct resident *resident,
			struct range range, uint64_t limit)
{
	struct slot *slot = resident->slot;
	struct extent *extent;

	if (range.size == 0 || range.size > cache->budget / EXTENT_SHARE)
		return;
	while (cache->extent_bytes + range.size > cache->budget / EXTENT_SHARE)
		drop_extent(cache, cache->oldest_extent);
	evict_to(cache, limit - range.size);
	if (cache->used + range.size > limit || !(extent = new_extent(resident, range)))
		return;
	cache->used += range.size;
	if (cache->used > cache->most_used)
		cache->most_used = cache->used;
	extent->slot = slot;
	extent->next_in_slot = slot->extents;
	slot->extents = extent;
	extent->older = cache->newest_extent;
	if (cache->newest_extent)
		cache->newest_extent->newer = extent;
	else
		cache->oldest_extent = extent;
	cache->newest_extent = extent;
	cache->extent_bytes += range.size;
	cache->extent_count++;
}

static bool covers(struct range whole, struct range part)
{
	return part.from >= whole.from &&
	       part.from + part.size <= whole.from + whole.size;
}

static struct extent *find_extent(const struct slot *slot, struct range range)
{
	for (struct extent *extent = slot->extents; extent; extent = extent->next_in_slot)
		if (covers(extent->range, range))
			return extent;
	return NULL;
}

static void give_extent(struct extent *extent, struct slot *slot, struct range range,
			struct cached *cached_out)
{
	extent->pins++;
	extent->last_ms = now_ms();
	*cached_out = (struct cached){
		.data = extent->bytes + (range.from - extent->range.from),
		.slot = slot,
		.extent = extent,
	};
}

/* -- work --------------------------------------------------------------------------- */

static int fail_range(uint64_t size, uint32_t number, dwarfs_error **err)
{
	return dw_fail(err, DWARFS_ERR_CORRUPT,
		       "metadata: a chunk ends behind the %" PRIu64
		       " bytes of block %" PRIu32,
		       size, number);
}

static int add_want(struct work *work, struct range range, dwarfs_error **err)
{
	int ret = dw_grow(&work->wants, &work->want_room, work->want_count + 1, err);

	if (ret < 0)
		return ret;
	work->wants[work->want_count++] = range;
	if (work->upto < range.from + range.size)
		work->upto = range.from + range.size;
	return 0;
}

/* How many rounds a block stays, by what it costs to decode. */
static uint8_t worth_of(uint32_t codec)
{
	switch (codec) {
	case CODEC_LZMA:
		return 2;
	case CODEC_BROTLI:
	case CODEC_FLAC:
	case CODEC_RICEPP:
		return 1;
	default:
		return 0;
	}
}

/* Without the lock. */
static int start_decoding(struct dwarfs_image *image, struct resident *resident,
			  uint32_t section, dwarfs_error **err)
{
	struct stored *stored = &resident->stored;
	struct span payload = dw_stored_payload(stored);
	uint32_t codec = stored->header.compression;
	int ret;

	ret = dw_codec_unpacked_size(codec, payload, &resident->size, err);
	if (ret == 0 && resident->size > image->view->block_size)
		ret = dw_fail(err, DWARFS_ERR_CORRUPT,
			      "it announces %" PRIu64 " bytes where at most %" PRIu64
			      " are possible",
			      resident->size, image->view->block_size);
	if (ret == 0 && codec == CODEC_NONE) {
		resident->bytes = payload.data;
		return 0;
	}
	if (ret == 0) {
		resident->page_bytes = resident->size ? (size_t)resident->size : 1;
		resident->pages = dw_pages_new(resident->page_bytes);
		if (!resident->pages)
			return dw_fail_nomem(err);
		resident->bytes = resident->pages;
		ret = dw_decoder_new(codec, payload, resident->pages,
				     (size_t)resident->size, &resident->decoder, err);
	}
	return ret < 0 ? dw_explain(err, ret, "section %" PRIu32 " (BLOCK)", section) : 0;
}

/* What a resident takes while it is decoded so far. */
static uint64_t bytes_until(const struct resident *resident, uint64_t ready)
{
	uint64_t bytes = resident->pages ? ready : 0;

	if (resident->decoder)
		bytes += dw_decoder_memory(resident->decoder, (size_t)ready);
	if (resident->stored.bytes)
		bytes += resident->stored.header.length;
	return bytes;
}

/* And afterwards: when all is there, what only the decoder needs can go. */
static uint64_t bytes_after(const struct resident *resident, uint64_t ready)
{
	if (resident->pages && ready >= resident->size)
		return resident->size;
	return bytes_until(resident, ready);
}

/* Charge for it before it is taken; false: give up, and try again when nobody works. */
static bool claim(struct cache *cache, struct work *work, struct resident *resident,
		  uint64_t bytes)
{
	if (bytes > resident->charged) {
		if (!reserve(cache, work, resident->charged, bytes - resident->charged))
			return false;
		charge(cache, resident, bytes);
	}
	return true;
}

/* Whether the hash is looked at when all is decoded, and not before. */
static bool is_verified_late(const struct dwarfs_image *image,
			     const struct resident *resident)
{
	return image->is_lazy && !resident->slot->is_damaged &&
	       resident->stored.header.compression != CODEC_NONE;
}

/* Read a block's stored bytes and get ready to decode them. The lock is held but for the
 * time that takes. 1: no memory now. */
static int open_block(struct cache *cache, struct dwarfs_image *image, uint32_t number,
		      struct work *work, struct resident *resident, dwarfs_error **err)
{
	uint32_t section = image->blocks[number];
	struct section_header header;
	int ret;

	pthread_mutex_unlock(&cache->lock);
	ret = dw_locate_header(image, section, &header, err);
	pthread_mutex_lock(&cache->lock);
	if (ret < 0)
		return ret;
	if (header.length <= 2 * image->view->block_size + 65536 &&
	    !claim(cache, work, resident, header.length))
		return 1;
	pthread_mutex_unlock(&cache->lock);
	if ((ret = dw_stored_read(image, section, &resident->stored, err)) == 0 &&
	    (is_verified_late(image, resident) ||
	     (ret = dw_verify_xxh3(image, section, &resident->stored, err)) == 0))
		ret = start_decoding(image, resident, section, err);
	pthread_mutex_lock(&cache->lock);
	if (ret < 0)
		return ret;
	resident->worth = worth_of(resident->stored.header.compression);
	if (!resident->decoder)
		atomic_store(&resident->ready, (size_t)resident->size);
	return 0;
}

/* Decode a little more. As open_block(). */
static int decode_step(struct cache *cache, struct dwarfs_image *image, uint32_t number,
		       struct work *work, struct resident *resident, uint64_t upto,
		       dwarfs_error **err)
{
	size_t ready = atomic_load(&resident->ready), target = ready + STEP_BYTES;
	uint64_t ahead = ready + RESERVE_BYTES;
	int ret, bad = 0;

	if (target > resident->size)
		target = (size_t)resident->size;
	if (ahead > upto)
		ahead = upto > target ? upto : target;
	/* Step by step when there is no room for more at once. */
	if (cache->used + bytes_until(resident, ahead) - resident->charged >
	    cache->budget)
		ahead = target;
	if (!claim(cache, work, resident, bytes_until(resident, ahead)))
		return 1;
	pthread_mutex_unlock(&cache->lock);
	ret = dw_decoder_run(resident->decoder, target, err);
	if (ret == 0 && dw_decoder_done(resident->decoder) == resident->size &&
	    is_verified_late(image, resident))
		bad = ret = dw_verify_xxh3(image, image->blocks[number],
					   &resident->stored, err);
	pthread_mutex_lock(&cache->lock);
	if (bad < 0)
		resident->slot->is_damaged = true;
	if (ret < 0)
		return dw_explain(err, ret, "section %" PRIu32 " (BLOCK)",
				  image->blocks[number]);
	cache->decoded_bytes += dw_decoder_done(resident->decoder) - ready;
	cache->clock += dw_decoder_done(resident->decoder) - ready;
	atomic_store(&resident->ready, dw_decoder_done(resident->decoder));
	return 0;
}

/* All is there, or nobody will go on: what only the decoder needed can go. */
static void settle(struct cache *cache, struct resident *resident, bool is_last)
{
	uint64_t ready = atomic_load(&resident->ready);

	if (resident->decoder && (ready == resident->size || is_last)) {
		dw_decoder_free(dw_steal(resident->decoder));
		dw_stored_free(&resident->stored);
	}
	charge(cache, resident, bytes_after(resident, ready));
}

/* The block is there from now on, as far as it is; the caller has a pin. */
static void attach(struct cache *cache, struct resident *resident)
{
	struct slot *slot = resident->slot;
	bool comes_back = slot->left_at && cache->clock - slot->left_at < cache->budget;

	atomic_store(&cache->touched, slot);
	atomic_store(&resident->last_ms, now_ms());
	slot->resident = resident;
	enqueue(comes_back ? &cache->main : &cache->probation, resident);
	atomic_fetch_add(&slot->state, PIN | IS_RESIDENT);
}

/* How far to go: for those who wait, and for what follows, only when that is lost
 * otherwise. */
static uint64_t target_of(const struct cache *cache, const struct work *work,
			  const struct resident *resident)
{
	uint64_t end = work->end;

	if (work->upto > end && bytes_after(resident, end) > cache->budget)
		end = work->upto;
	/* Little is left, and nothing but the budget speaks against it. */
	if (cache->finish_percent < 100 && resident->size <= cache->budget &&
	    end > resident->size / 100 * cache->finish_percent)
		end = resident->size;
	return end < resident->size ? end : resident->size;
}

/* The block goes on to what is wanted. The lock is held on entry and exit. 1: no memory
 * now. */
static int go_on(struct cache *cache, struct dwarfs_image *image, uint32_t number,
		 struct work *work, struct resident **resident, dwarfs_error **err)
{
	uint64_t target;
	int ret = 0;

	if (!*resident) {
		*resident = dw_calloc(1, sizeof(**resident));
		if (!*resident)
			return dw_fail_nomem(err);
		(*resident)->slot = &image->slots[number];
		ret = open_block(cache, image, number, work, *resident, err);
		if (ret != 0) {
			free_resident(cache, dw_steal(*resident));
			return ret;
		}
		attach(cache, *resident);
		work->made = true;
	}
	while (ret == 0 && (target = target_of(cache, work, *resident)) >
				   atomic_load(&(*resident)->ready)) {
		work->need = bytes_until(*resident, target);
		ret = decode_step(cache, image, number, work, *resident, target, err);
		if (work->waiters > 0)
			pthread_cond_broadcast(&work->moved);
	}
	return ret;
}

/* Keep what is wanted soon, as far as it is there. */
static void keep_wants(struct cache *cache, const struct work *work,
		       const struct resident *resident, uint64_t limit)
{
	size_t ready = atomic_load(&resident->ready);

	for (size_t i = 0; i < work->want_count; i++) {
		struct range range = work->wants[i];

		if (range.from >= ready)
			continue;
		if (range.size > ready - range.from)
			range.size = ready - range.from;
		if (!find_extent(resident->slot, range))
			keep_extent(cache, resident, range, limit);
	}
}

/* Drop the worker's pin, and the block with it unless somebody reads from it. */
static void release(struct cache *cache, struct resident *resident, bool drop)
{
	if (drop && detach(resident, 1))
		free_resident(cache, resident);
	else
		atomic_fetch_sub(&resident->slot->state, PIN);
}

/* The block leaves its slot; who waits for the work may still read from it. False when
 * it cannot leave. Ends the worker's pin in any case. */
static bool pass(struct cache *cache, struct work *work, struct resident *resident)
{
	struct slot *slot = resident->slot;

	if (resident->lent > 0) {
		release(cache, resident, false);
		return false;
	}
	atomic_fetch_add(&cache->thirsty, 1);
	atomic_fetch_and(&slot->state, ~IS_RESIDENT);
	while (atomic_load(&slot->state) != PIN)
		wait_a_little(cache);
	atomic_fetch_sub(&cache->thirsty, 1);
	atomic_fetch_sub(&slot->state, PIN);
	settle(cache, resident, true);
	dequeue(resident);
	cache->loose++;
	work->passing = resident;
	return true;
}

/* One reader less of a block that passes. */
static void put_passing(struct cache *cache, struct resident *resident)
{
	if (--resident->passed > 0)
		return;
	cache->loose--;
	free_resident(cache, resident);
	pthread_cond_broadcast(&cache->changed);
}

/* The bytes of a block that passes, or one reader less of it. */
static void take_passing(struct cache *cache, struct resident *resident,
			 struct range range, struct cached *cached_out)
{
	if (range.from + range.size > atomic_load(&resident->ready)) {
		put_passing(cache, resident);
		return;
	}
	*cached_out = (struct cached){
		.data = resident->bytes + range.from,
		.passing = resident,
	};
}

/* Nobody begins while a work is alone, or some wait for that. */
static void enter(struct cache *cache, struct work *work)
{
	work->idle = true;
	cache->gated++;
	while (cache->alone || cache->line_first)
		pthread_cond_wait(&cache->gate, &cache->lock);
	cache->gated--;
	work->idle = false;
	cache->running++;
}

/* All others have left: it is the turn of the first in line. */
static void call_next(struct cache *cache)
{
	struct work *next = cache->line_first;

	if (next && cache->running == 0) {
		cache->line_first = next->next_in_line;
		cache->running = 1;
		next->alone = cache->alone = true;
		pthread_cond_broadcast(&next->moved);
	} else if (!next && !cache->alone && cache->gated > 0) {
		pthread_cond_broadcast(&cache->gate);
	}
}

static void leave(struct cache *cache, struct work *work)
{
	cache->running--;
	if (work->alone)
		work->alone = cache->alone = false;
	call_next(cache);
	pthread_cond_broadcast(&cache->changed);
}

static void enter_alone(struct cache *cache, struct work *work)
{
	work->idle = true;
	work->next_in_line = NULL;
	if (cache->line_first)
		cache->line_last->next_in_line = work;
	else
		cache->line_first = work;
	cache->line_last = work;
	leave(cache, work);
	while (!work->alone)
		pthread_cond_wait(&work->moved, &cache->lock);
	work->idle = false;
}

static void end_work(struct cache *cache, struct slot *slot, struct work *work, int code,
		     const dwarfs_error *problem)
{
	work->ended = true;
	work->code = code;
	snprintf(work->message, sizeof(work->message), "%s",
		 problem ? dwarfs_error_message(problem) : "");
	if (work->passing)
		work->passing->passed = 1 + work->waiters;
	slot->work = NULL;
	leave(cache, work);
	pthread_cond_broadcast(&work->moved);
	while (work->waiters > 0)
		pthread_cond_wait(&work->moved, &cache->lock);
	pthread_cond_destroy(&work->moved);
	free(work->wants);
}

/* Decode, and begin again alone when there is no memory otherwise. */
static int decode_block(struct cache *cache, struct dwarfs_image *image, uint32_t number,
			struct work *work, struct resident **resident_out,
			dwarfs_error **err)
{
	struct slot *slot = &image->slots[number];
	struct resident *resident;
	int ret;

	enter(cache, work);
	resident = pin(slot);
	while ((ret = go_on(cache, image, number, work, &resident, err)) == 1) {
		if (resident)
			release(cache, dw_steal(resident), true);
		enter_alone(cache, work);
		resident = pin(slot);
	}
	*resident_out = resident;
	return ret;
}

/* What is decoded stays, or not. */
static void finish(struct cache *cache, struct work *work, struct resident *resident,
		   int code)
{
	settle(cache, resident, false);
	if (code < 0) {
		release(cache, resident, true);
		return;
	}
	if (resident->charged <= cache->budget)
		evict_to(cache, cache->budget);
	if (cache->used > cache->budget) {
		keep_wants(cache, work, resident, cache->budget + resident->charged);
		pass(cache, work, resident);
		return;
	}
	if (work->harvest)
		keep_wants(cache, work, resident, cache->budget);
	release(cache, resident, work->harvest && work->made);
}

/*
 * Decode a block as far as is needed, for this caller and all who come meanwhile. The
 * lock is held on entry and exit. When the block cannot stay, *cached_out has the range;
 * otherwise the block has it.
 */
static int do_work(struct cache *cache, struct dwarfs_image *image, uint32_t number,
		   struct range range, const struct wants *wants, bool harvest,
		   struct cached *cached_out, dwarfs_error **err)
{
	struct work work = { .end = range.from + range.size, .harvest = harvest };
	struct slot *slot = &image->slots[number];
	auto_error dwarfs_error *problem = NULL;
	struct resident *resident = NULL;
	uint64_t size = 0;
	int ret = 0;

	if (pthread_cond_init(&work.moved, NULL) != 0)
		return dw_fail_nomem(err);
	slot->work = &work;
	cache->misses++;
	if (cache->largest_block < image->view->block_size)
		cache->largest_block = image->view->block_size;
	for (size_t i = 0; wants && i < wants->count && ret == 0; i++) {
		struct range want = wants->list[i];

		/* What stands behind it in the block is likely to be read next, too. */
		if (!harvest)
			want.size = cache->budget / WANT_SHARE;
		ret = add_want(&work, want, &problem);
	}
	if (ret == 0)
		ret = decode_block(cache, image, number, &work, &resident, &problem);
	else
		enter(cache, &work);
	if (resident) {
		size = resident->size;
		finish(cache, &work, resident, ret);
	}
	end_work(cache, slot, &work, ret, problem);
	if (work.passing)
		take_passing(cache, work.passing, range, cached_out);
	if (ret == 0 && range.from + range.size > size)
		ret = fail_range(size, number, &problem);
	if (ret < 0 && err) {
		dwarfs_error_free(*err);
		*err = dw_steal(problem);
	}
	return ret;
}

/* Whether somebody's bytes are there while the block is worked at. */
static bool has_come(struct slot *slot, struct range range)
{
	struct resident *resident = pin(slot);
	bool is_there =
		resident && range.from + range.size <= atomic_load(&resident->ready);

	if (resident)
		atomic_fetch_sub(&slot->state, PIN);
	return is_there;
}

/* Somebody else is at it: tell what we need, and wait for that, or until he is done. */
static int wait_for_work(struct cache *cache, struct slot *slot, struct range range,
			 bool to_the_end, struct cached *cached_out, dwarfs_error **err)
{
	struct work *work = slot->work;
	int ret = add_want(work, range, err);

	if (ret < 0)
		return ret;
	work->waiters++;
	while (!work->ended && (to_the_end || !has_come(slot, range)))
		pthread_cond_wait(&work->moved, &cache->lock);
	if (work->ended && work->code < 0)
		ret = dw_fail(err, work->code, "%s", work->message);
	if (work->ended && work->passing && ret == 0)
		take_passing(cache, work->passing, range, cached_out);
	else if (work->ended && work->passing)
		put_passing(cache, work->passing);
	if (--work->waiters == 0)
		pthread_cond_broadcast(&work->moved);
	return ret;
}

/* With or without the lock. */
static bool take_resident(struct cache *cache, struct slot *slot, struct range range,
			  struct cached *cached_out)
{
	struct resident *resident = pin(slot);

	if (!resident)
		return false;
	if (range.from + range.size <= atomic_load(&resident->ready)) {
		touch(cache, resident);
		*cached_out = (struct cached){
			.data = resident->bytes + range.from,
			.slot = slot,
		};
		return true;
	}
	atomic_fetch_sub(&slot->state, PIN);
	return false;
}

/* Under the lock. */
static bool take(struct cache *cache, struct slot *slot, struct range range,
		 struct cached *cached_out)
{
	struct extent *extent;

	if (take_resident(cache, slot, range, cached_out))
		return true;
	if (!(extent = find_extent(slot, range)))
		return false;
	give_extent(extent, slot, range, cached_out);
	return true;
}

static void count_hit(struct cache *cache)
{
	atomic_fetch_add_explicit(&cache->hits, 1, memory_order_relaxed);
}

int dw_cache_get(struct dwarfs_image *image, uint32_t block, struct range range,
		 const struct wants *wants, struct cached *cached_out, dwarfs_error **err)
{
	struct cache *cache = image->cache;
	struct slot *slot = &image->slots[block];
	struct cached cached = { 0 };
	int ret = 0;

	if (take_resident(cache, slot, range, cached_out)) {
		count_hit(cache);
		return 0;
	}
	pthread_mutex_lock(&cache->lock);
	if (take(cache, slot, range, &cached))
		count_hit(cache);
	while (ret == 0 && !cached.data && !take(cache, slot, range, &cached)) {
		if (slot->work)
			ret = wait_for_work(cache, slot, range, false, &cached, err);
		else
			ret = do_work(cache, image, block, range, wants, false, &cached,
				      err);
	}
	pthread_mutex_unlock(&cache->lock);
	if (ret == 0)
		*cached_out = cached;
	return ret;
}

bool dw_cache_peek(struct dwarfs_image *image, uint32_t block, struct range range,
		   struct cached *cached_out)
{
	struct cache *cache = image->cache;
	struct slot *slot = &image->slots[block];
	bool is_there;

	if (take_resident(cache, slot, range, cached_out))
		return true;
	pthread_mutex_lock(&cache->lock);
	is_there = take(cache, slot, range, cached_out);
	pthread_mutex_unlock(&cache->lock);
	return is_there;
}

static void put_locked(struct cache *cache, struct cached *cached)
{
	struct extent *extent = cached->extent;

	if (cached->passing) {
		put_passing(cache, cached->passing);
		return;
	}
	if (!extent) {
		cached->slot->resident->lent--;
		cache->lent_bytes -= cached->held;
		atomic_fetch_sub(&cached->slot->state, PIN);
		pthread_cond_broadcast(&cache->changed);
		return;
	}
	if (--extent->pins == 0 && !extent->slot) {
		cache->loose--;
		free_extent(cache, extent);
		pthread_cond_broadcast(&cache->changed);
	}
}

void dw_cache_put(struct dwarfs_image *image, struct cached *cached)
{
	struct cache *cache = image->cache;

	if (!cached->extent && !cached->passing && !cached->held) {
		unpin(cache, cached->slot);
		return;
	}
	pthread_mutex_lock(&cache->lock);
	put_locked(cache, cached);
	pthread_mutex_unlock(&cache->lock);
}

bool dw_cache_hold(struct dwarfs_image *image, struct cached *cached)
{
	struct cache *cache = image->cache;
	bool held = false;

	if (cached->extent || cached->passing)
		return false;
	pthread_mutex_lock(&cache->lock);
	/* What is lent leaves room for decoding any other block. */
	if (cache->lent_bytes + 3 * cache->largest_block <= cache->budget &&
	    (atomic_load(&cached->slot->state) & IS_RESIDENT)) {
		cached->held = cache->largest_block;
		cache->lent_bytes += cached->held;
		cached->slot->resident->lent++;
		held = true;
	}
	pthread_mutex_unlock(&cache->lock);
	return held;
}

/* -- parts of blocks ---------------------------------------------------------------- */

uint64_t dw_cache_extent_room(const struct cache *cache)
{
	return cache->budget / EXTENT_SHARE;
}

bool dw_cache_has(struct dwarfs_image *image, uint32_t block, struct range range)
{
	struct slot *slot = &image->slots[block];
	bool is_there;

	if (has_come(slot, range))
		return true;
	pthread_mutex_lock(&image->cache->lock);
	is_there = find_extent(slot, range) != NULL;
	pthread_mutex_unlock(&image->cache->lock);
	return is_there;
}

/* How far a block has to be decoded for what is not there; 0 when all is. */
static uint64_t missing_end(struct slot *slot, const struct wants *wants)
{
	uint64_t end = 0;

	for (size_t i = 0; i < wants->count; i++) {
		uint64_t own = wants->list[i].from + wants->list[i].size;

		if (own > end && !find_extent(slot, wants->list[i]))
			end = own;
	}
	return end;
}

int dw_cache_harvest(struct dwarfs_image *image, uint32_t block,
		     const struct wants *wants, dwarfs_error **err)
{
	struct cache *cache = image->cache;
	struct slot *slot = &image->slots[block];
	struct cached cached = { 0 };
	uint64_t end;
	int ret = 0;

	pthread_mutex_lock(&cache->lock);
	while (ret == 0 && slot->work && missing_end(slot, wants) > 0) {
		ret = wait_for_work(cache, slot, wants->list[0], true, &cached, err);
		if (cached.data)
			put_locked(cache, &cached);
		cached = (struct cached){ 0 };
	}
	end = missing_end(slot, wants);
	if (ret == 0 && end > 0)
		ret = do_work(cache, image, block, (struct range){ end, 0 }, wants, true,
			      &cached, err);
	if (cached.data)
		put_locked(cache, &cached);
	pthread_mutex_unlock(&cache->lock);
	return ret;
}

/* -- memory that is given back ------------------------------------------------------ */

void dw_cache_forget(struct dwarfs_image *image)
{
	struct cache *cache = image->cache;

	pthread_mutex_lock(&cache->lock);
	/* Nobody reads from it any more. */
	for (uint32_t i = 0; i < image->block_count; i++) {
		struct slot *slot = &image->slots[i];

		if (atomic_load(&slot->state) & IS_RESIDENT)
			free_resident(cache, slot->resident);
		while (slot->extents)
			drop_extent(cache, slot->extents);
	}
	pthread_cond_broadcast(&cache->changed);
	pthread_mutex_unlock(&cache->lock);
}

static void trim_queue(struct cache *cache, struct queue *queue, uint64_t before_ms)
{
	struct resident *next;

	for (struct resident *resident = queue->oldest; resident; resident = next) {
		next = resident->newer;
		if (atomic_load(&resident->last_ms) <= before_ms &&
		    !resident->slot->work && detach(resident, 0))
			free_resident(cache, resident);
	}
}

void dw_cache_trim(struct cache *cache, uint64_t max_age_ms)
{
	uint64_t now = now_ms(), before = now > max_age_ms ? now - max_age_ms : 0;
	struct extent *next;

	pthread_mutex_lock(&cache->lock);
	trim_queue(cache, &cache->probation, before);
	trim_queue(cache, &cache->main, before);
	for (struct extent *extent = cache->oldest_extent; extent; extent = next) {
		next = extent->newer;
		if (extent->last_ms <= before)
			drop_extent(cache, extent);
	}
	pthread_cond_broadcast(&cache->changed);
	pthread_mutex_unlock(&cache->lock);
}

void dw_cache_count(struct cache *cache, struct cache_counts *counts_out)
{
	pthread_mutex_lock(&cache->lock);
	*counts_out = (struct cache_counts){
		.hits = atomic_load(&cache->hits),
		.misses = cache->misses,
		.evictions = cache->evictions,
		.decoded_bytes = cache->decoded_bytes,
		.budget = cache->budget,
		.used = cache->used,
		.most_used = cache->most_used,
		.blocks = cache->probation.count + cache->main.count,
		.extents = cache->extent_count,
	};
	pthread_mutex_unlock(&cache->lock);
}

/* -- <dwarfs/context.h> ------------------------------------------------------------- */

uint64_t dwarfs_context_cache_count(const dwarfs_context *context, int what)
{
	struct cache *cache = dw_context_peek(context);
	struct cache_counts counts = { .budget = dw_context_cache_bytes(context) };

	if (cache)
		dw_cache_count(cache, &counts);
	switch (what) {
	case DWARFS_CACHE_BUDGET:
		return counts.budget;
	case DWARFS_CACHE_USED:
		return counts.used;
	case DWARFS_CACHE_MOST_USED:
		return counts.most_used;
	case DWARFS_CACHE_BLOCKS:
		return counts.blocks;
	case DWARFS_CACHE_EXTENTS:
		return counts.extents;
	case DWARFS_CACHE_HITS:
		return counts.hits;
	case DWARFS_CACHE_MISSES:
		return counts.misses;
	case DWARFS_CACHE_EVICTIONS:
		return counts.evictions;
	case DWARFS_CACHE_DECODED_BYTES:
		return counts.decoded_bytes;
	default:
		return 0;
	}
}

int dwarfs_context_trim(dwarfs_context *context, uint64_t max_age_ms)
{
	struct cache *cache = dw_context_peek(context);

	if (cache)
		dw_cache_trim(cache, max_age_ms);
	return 0;
}
