/* SPDX-License-Identifier: MIT */
/*
 * read/cache: decoded bytes of blocks, shared by the images of a context.
 *
 * A block is decoded only as far as somebody reads (a resident), by whoever comes first;
 * others wait for their own place in it. One budget in bytes counts what is decoded, the
 * state of decoders and the stored bytes that they still need. Where a block alone does
 * not fit, one at a time is decoded all the same; of that only what is wanted soon is
 * kept (extents).
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
#include "read/cache.h"
#include "read/image.h"

/* Of slot.state. */
#define IS_RESIDENT 1u
#define PIN	    2u

#define STEP_BYTES	((size_t)128 << 10) /* decoded before others are told */
#define RESERVE_BYTES	((size_t)1 << 20)   /* at a time */
#define PROBATION_SHARE 10		    /* of the budget: one part in */
#define EXTENT_SHARE	2
#define MAX_USES	3
#define PATIENCE_NS	(5 * 1000 * 1000) /* for readers that are about to unpin */

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
	struct stored stored;
	struct decoder *decoder; /* NULL: all is there */
	uint64_t charged;
	uint8_t worth; /* rounds that it stays because it is slow to decode */
	atomic_uchar uses;
	_Atomic uint64_t last_ms; /* when it was read last */
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
	uint8_t bytes[];
};

/* Somebody decodes a block; on his stack, under the lock. */
struct work {
	uint64_t upto;	  /* how far, for all who wait */
	uint32_t waiters; /* who look at what follows when it has ended */
	bool ended;
	int code; /* 0 or why it failed */
	char message[256];
	struct range *wants; /* to be kept when the block cannot be */
	size_t want_count, want_room;
};

struct cache {
	pthread_mutex_t lock;
	pthread_cond_t changed; /* a work went on or ended, or memory was given back */
	uint64_t budget, used, most_used;
	uint32_t running, waiting; /* works, and those of them that wait for memory */
	struct queue probation, main;
	struct extent *oldest_extent, *newest_extent;
	uint64_t extent_bytes;
	uint32_t extent_count;
	uint64_t clock; /* bytes that were ever taken in */
	struct slot *_Atomic touched; /* the block that was read last */
	atomic_bool thirsty; /* somebody waits for a pin to go */
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
	if (pthread_cond_init(&cache->changed, NULL) != 0) {
		pthread_mutex_destroy(&cache->lock);
		free(cache);
		return dw_fail_nomem(err);
	}
	cache->budget = dw_context_cache_bytes(context);
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
	if (!atomic_load(&cache->thirsty))
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

/* -- the budget; all under the lock ----------------------------------------------------
 */

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
	dw_pages_free(resident->pages, (size_t)resident->size);
	free(resident);
}

static void free_extent(struct cache *cache, struct extent *extent)
{
	cache->used -= extent->range.size;
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
}

/* One that may leave; *any_pinned_out: others could not. */
static struct resident *victim_of(struct cache *cache, struct queue *queue,
				  bool *any_pinned)
{
	uint32_t rounds = queue->count * (MAX_USES + 1);

	for (uint32_t i = 0; i < rounds && queue->oldest; i++) {
		struct resident *resident = queue->oldest;
		unsigned uses = atomic_load(&resident->uses);

		dequeue(resident);
		if (uses > 0) {
			uses = queue == &cache->probation ? 0 : uses - 1;
			atomic_store(&resident->uses, (unsigned char)uses);
			enqueue(&cache->main, resident);
			continue;
		}
		if (resident->worth > 0) {
			resident->worth--;
			enqueue(queue, resident);
			continue;
		}
		if (!resident->slot->work && detach(resident, 0))
			return resident;
		*any_pinned |= !resident->slot->work;
		enqueue(queue, resident);
	}
	return NULL;
}

static bool evict_one(struct cache *cache, bool *any_pinned)
{
	struct queue *first = &cache->main, *second = &cache->probation;
	struct resident *victim;

	if (cache->oldest_extent && cache->extent_bytes > cache->budget / EXTENT_SHARE) {
		drop_extent(cache, cache->oldest_extent);
		return true;
	}
	if (cache->probation.bytes > cache->budget / PROBATION_SHARE ||
	    !cache->main.oldest) {
		first = &cache->probation;
		second = &cache->main;
	}
	victim = victim_of(cache, first, any_pinned);
	if (!victim)
		victim = victim_of(cache, second, any_pinned);
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

/* False when some of what is there could not leave, because it is being read. */
static bool evict_to(struct cache *cache, uint64_t limit)
{
	bool any_pinned = false;

	while (cache->used > limit && evict_one(cache, &any_pinned))
		;
	return cache->used <= limit || !any_pinned;
}

static void wait_for(struct cache *cache, long patience_ns)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += patience_ns;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_cond_timedwait(&cache->changed, &cache->lock, &until);
}

/*
 * Room for so many bytes more. A work that is alone gets it in any case; else false, when
 * all works wait for memory: the caller then gives back what it has.
 */
static bool reserve(struct cache *cache, uint64_t bytes)
{
	uint64_t limit = bytes < cache->budget ? cache->budget - bytes : 0;

	for (bool patient = true;; patient = false) {
		bool done = evict_to(cache, limit);

		if (cache->used <= limit)
			return true;
		if (cache->running == 1 && (done || !patient))
			return true;
		if (cache->running == 1) {
			atomic_store(&cache->thirsty, true);
			wait_for(cache, PATIENCE_NS);
			atomic_store(&cache->thirsty, false);
			continue;
		}
		if (cache->waiting + 1 >= cache->running)
			return false;
		cache->waiting++;
		wait_for(cache, 10 * PATIENCE_NS);
		cache->waiting--;
	}
}

/* -- extents; all under the lock -------------------------------------------------------
 */

/* Keep a copy, which may already be there. own: also when it does not fit. */
static struct extent *keep_extent(struct cache *cache, struct resident *resident,
				  struct range range, bool own)
{
	struct slot *slot = resident->slot;
	struct extent *extent;

	if (!own && cache->used + range.size > cache->budget + resident->charged)
		return NULL;
	extent = malloc(sizeof(*extent) + (size_t)range.size);
	if (!extent)
		return NULL;
	memset(extent, 0, sizeof(*extent));
	extent->range = range;
	extent->last_ms = now_ms();
	memcpy(extent->bytes, resident->bytes + range.from, (size_t)range.size);
	cache->used += range.size;
	if (cache->used > cache->most_used)
		cache->most_used = cache->used;
	if (cache->used > cache->budget + resident->charged)
		return extent; /* the caller's alone */
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
	return extent;
}

static bool covers(struct range whole, struct range part)
{
	return part.from >= whole.from &&
	       part.from + part.size <= whole.from + whole.size;
}

static struct extent *find_extent(struct slot *slot, struct range range)
{
	for (struct extent *extent = slot->extents; extent;
	     extent = extent->next_in_slot) {
		if (covers(extent->range, range)) {
			extent->last_ms = now_ms();
			return extent;
		}
	}
	return NULL;
}

static void give_extent(struct extent *extent, struct slot *slot, struct range range,
			struct cached *cached_out)
{
	extent->pins++;
	*cached_out = (struct cached){
		extent->bytes + (range.from - extent->range.from),
		slot,
		extent,
	};
}

/* -- work ------------------------------------------------------------------------------
 */

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

	if (ret == 0)
		work->wants[work->want_count++] = range;
	return ret;
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
		resident->pages =
			dw_pages_new(resident->size ? (size_t)resident->size : 1);
		if (!resident->pages)
			return dw_fail_nomem(err);
		resident->bytes = resident->pages;
		ret = dw_decoder_new(codec, payload, resident->pages,
				     (size_t)resident->size, &resident->decoder, err);
	}
	return ret < 0 ? dw_explain(err, ret, "section %" PRIu32 " (BLOCK)", section) : 0;
}

/* What a resident takes when so much of it is decoded. */
static uint64_t bytes_for(const struct resident *resident, uint64_t ready)
{
	uint64_t bytes = resident->pages ? ready : 0;

	if (resident->decoder && ready < resident->size)
		bytes += dw_decoder_memory(resident->decoder, (size_t)ready);
	if (resident->stored.bytes && (!resident->pages || ready < resident->size))
		bytes += resident->stored.header.length;
	return bytes;
}

/* Charge for it before it is taken; false: give up, and try again when nobody works. */
static bool claim(struct cache *cache, struct resident *resident, uint64_t bytes)
{
	if (bytes > resident->charged) {
		if (!reserve(cache, bytes - resident->charged))
			return false;
		charge(cache, resident, bytes);
	}
	return true;
}

/* Read a block's stored bytes and get ready to decode them. The lock is held but for the
 * time that takes. 1: no memory now. */
static int open_block(struct cache *cache, struct dwarfs_image *image, uint32_t number,
		      struct resident *resident, dwarfs_error **err)
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
	    !claim(cache, resident, header.length))
		return 1;
	pthread_mutex_unlock(&cache->lock);
	if ((ret = dw_stored_read(image, section, &resident->stored, err)) == 0 &&
	    (ret = dw_verify_xxh3(image, section, &resident->stored, err)) == 0)
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
		       struct resident *resident, uint64_t upto, dwarfs_error **err)
{
	size_t ready = atomic_load(&resident->ready), target = ready + STEP_BYTES;
	uint64_t ahead = ready + RESERVE_BYTES;
	int ret;

	if (target > resident->size)
		target = (size_t)resident->size;
	if (ahead > upto)
		ahead = upto > target ? upto : target;
	/* Step by step when there is no room for more at once. */
	if (cache->used + bytes_for(resident, ahead) - resident->charged > cache->budget)
		ahead = target;
	if (!claim(cache, resident, bytes_for(resident, ahead)))
		return 1;
	pthread_mutex_unlock(&cache->lock);
	ret = dw_decoder_run(resident->decoder, target, err);
	pthread_mutex_lock(&cache->lock);
	if (ret < 0)
		return dw_explain(err, ret, "section %" PRIu32 " (BLOCK)",
				  image->blocks[number]);
	cache->decoded_bytes += dw_decoder_done(resident->decoder) - ready;
	cache->clock += dw_decoder_done(resident->decoder) - ready;
	atomic_store(&resident->ready, dw_decoder_done(resident->decoder));
	return 0;
}

/* All is there: what only the decoder needed can go. */
static void settle(struct cache *cache, struct resident *resident)
{
	uint64_t ready = atomic_load(&resident->ready);

	if (ready == resident->size && resident->decoder) {
		dw_decoder_free(dw_steal(resident->decoder));
		dw_stored_free(&resident->stored);
	}
	charge(cache, resident, bytes_for(resident, ready));
}

/* The block goes on to what all who wait want. The lock is held on entry and exit. 1:
 * no memory now; the resident is gone, and *resident is NULL. */
static int go_on(struct cache *cache, struct dwarfs_image *image, uint32_t number,
		 struct work *work, struct resident **resident, dwarfs_error **err)
{
	struct slot *slot = &image->slots[number];
	int ret = 0;

	if (!*resident) {
		*resident = dw_calloc(1, sizeof(**resident));
		if (!*resident)
			return dw_fail_nomem(err);
		(*resident)->slot = slot;
		ret = open_block(cache, image, number, *resident, err);
		if (ret != 0) {
			free_resident(cache, dw_steal(*resident));
			return ret;
		}
		atomic_store(&cache->touched, slot);
		atomic_store(&(*resident)->last_ms, now_ms());
		slot->resident = *resident;
		atomic_fetch_add(&slot->state, PIN | IS_RESIDENT);
		enqueue(slot->left_at && cache->clock - slot->left_at < cache->budget
				? &cache->main
				: &cache->probation,
			*resident);
		pthread_cond_broadcast(&cache->changed);
	}
	while (ret == 0 && atomic_load(&(*resident)->ready) < (*resident)->size &&
	       atomic_load(&(*resident)->ready) < work->upto) {
		ret = decode_step(cache, image, number, *resident, work->upto, err);
		if (work->waiters > 0)
			pthread_cond_broadcast(&cache->changed);
	}
	return ret;
}

/* The block is over the budget: keep what is wanted of it, and give it back. */
static void reduce(struct cache *cache, struct work *work, struct resident *resident,
		   struct range range, struct cached *cached_out)
{
	struct slot *slot = resident->slot;
	size_t ready = atomic_load(&resident->ready);
	struct extent *own = NULL;

	if (range.from + range.size <= ready) {
		struct range most = range;

		for (size_t i = 0; i < work->want_count; i++)
			if (covers(work->wants[i], most) &&
			    work->wants[i].from + work->wants[i].size <= ready)
				most = work->wants[i];
		if (most.size > cache->budget / EXTENT_SHARE)
			most = range;
		own = keep_extent(cache, resident, most, true);
	}
	if (!own) /* no memory for the copy: the block stays until it is put back */
		return;
	give_extent(own, slot, range, cached_out);
	for (size_t i = 0; i < work->want_count; i++)
		if (work->wants[i].from + work->wants[i].size <= ready &&
		    !find_extent(slot, work->wants[i]))
			keep_extent(cache, resident, work->wants[i], false);
}

/* Drop the worker's pin, and the block with it when it cannot stay. */
static void release(struct cache *cache, struct resident *resident, bool drop)
{
	if (drop && detach(resident, 1))
		free_resident(cache, resident);
	else
		atomic_fetch_sub(&resident->slot->state, PIN);
}

static void end_work(struct cache *cache, struct slot *slot, struct work *work, int code,
		     const dwarfs_error *problem)
{
	work->ended = true;
	work->code = code;
	snprintf(work->message, sizeof(work->message), "%s",
		 problem ? dwarfs_error_message(problem) : "");
	slot->work = NULL;
	pthread_cond_broadcast(&cache->changed);
	while (work->waiters > 0)
		pthread_cond_wait(&cache->changed, &cache->lock);
	free(work->wants);
}

/*
 * Decode a block as far as is needed, for this caller and all who come meanwhile. The
 * lock is held on entry and exit. When the block cannot stay, *cached_out has the range;
 * otherwise the block has it.
 */
static int do_work(struct cache *cache, struct dwarfs_image *image, uint32_t number,
		   struct range range, const struct wants *wants,
		   struct cached *cached_out, dwarfs_error **err)
{
	struct slot *slot = &image->slots[number];
	struct work work = { .upto = range.from + range.size };
	auto_error dwarfs_error *problem = NULL;
	struct resident *resident = pin(slot);
	int ret = 0;

	slot->work = &work;
	cache->misses++;
	cache->running++;
	for (size_t i = 0; wants && i < wants->count && ret == 0; i++)
		ret = add_want(&work, wants->list[i], &problem);
	while (ret == 0 &&
	       (ret = go_on(cache, image, number, &work, &resident, &problem)) == 1) {
		/* All works wait for memory: this one begins again when it is alone. */
		if (resident)
			release(cache, dw_steal(resident), true);
		cache->running--;
		pthread_cond_broadcast(&cache->changed);
		while (cache->running > 0)
			pthread_cond_wait(&cache->changed, &cache->lock);
		cache->running++;
		resident = pin(slot);
		ret = 0;
	}
	if (resident) {
		settle(cache, resident);
		if (ret == 0 && range.from + range.size > resident->size)
			ret = fail_range(resident->size, number, &problem);
		else if (ret == 0 && (cache->used > cache->budget))
			(void)evict_to(cache, cache->budget);
		if (ret == 0 && cache->used > cache->budget)
			reduce(cache, &work, resident, range, cached_out);
		release(cache, resident, ret < 0 || cached_out->extent);
	}
	cache->running--;
	end_work(cache, slot, &work, ret, problem);
	if (ret < 0 && err) {
		dwarfs_error_free(*err);
		*err = dw_steal(problem);
	}
	return ret;
}

/* Somebody else is at it: tell what we need, and wait for that. */
static int wait_for_work(struct cache *cache, struct slot *slot, struct range range,
			 dwarfs_error **err)
{
	struct work *work = slot->work;
	int ret = add_want(work, range, err);

	if (ret < 0)
		return ret;
	if (work->upto < range.from + range.size)
		work->upto = range.from + range.size;
	work->waiters++;
	while (!work->ended) {
		struct resident *resident = pin(slot);
		bool ready = resident &&
			     atomic_load(&resident->ready) >= range.from + range.size;

		if (resident)
			atomic_fetch_sub(&slot->state, PIN);
		if (ready)
			break;
		pthread_cond_wait(&cache->changed, &cache->lock);
	}
	if (work->ended && work->code < 0)
		ret = dw_fail(err, work->code, "%s", work->message);
	if (--work->waiters == 0)
		pthread_cond_broadcast(&cache->changed);
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
		*cached_out = (struct cached){ resident->bytes + range.from, slot, NULL };
		return true;
	}
	atomic_fetch_sub(&slot->state, PIN);
	return false;
}

int dw_cache_get(struct dwarfs_image *image, uint32_t block, struct range range,
		 const struct wants *wants, struct cached *cached_out, dwarfs_error **err)
{
	struct cache *cache = image->cache;
	struct slot *slot = &image->slots[block];
	struct cached cached = { 0 };
	struct extent *extent;
	int ret = 0;

	if (take_resident(cache, slot, range, cached_out)) {
		atomic_fetch_add_explicit(&cache->hits, 1, memory_order_relaxed);
		return 0;
	}
	pthread_mutex_lock(&cache->lock);
	while (ret == 0 && !cached.data) {
		if (take_resident(cache, slot, range, &cached))
			break;
		if ((extent = find_extent(slot, range)))
			give_extent(extent, slot, range, &cached);
		else if (slot->work)
			ret = wait_for_work(cache, slot, range, err);
		else
			ret = do_work(cache, image, block, range, wants, &cached, err);
	}
	pthread_mutex_unlock(&cache->lock);
	if (ret == 0)
		*cached_out = cached;
	return ret;
}

void dw_cache_put(struct dwarfs_image *image, struct cached *cached)
{
	struct cache *cache = image->cache;
	struct extent *extent = cached->extent;

	if (!extent) {
		unpin(cache, cached->slot);
		return;
	}
	pthread_mutex_lock(&cache->lock);
	if (--extent->pins == 0 && !extent->slot) {
		free_extent(cache, extent);
		pthread_cond_broadcast(&cache->changed);
	}
	pthread_mutex_unlock(&cache->lock);
}

/* -- memory that is given back ---------------------------------------------------------
 */

void dw_cache_forget(struct dwarfs_image *image)
{
	struct cache *cache = image->cache;

	pthread_mutex_lock(&cache->lock);
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
