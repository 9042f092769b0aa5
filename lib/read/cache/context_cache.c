/* SPDX-License-Identifier: MIT */
/*
 * read/cache/context_cache: the cache of a context: creation, budget, counters, and eviction by age.
 *
 * The functions of <dwarfs/context.h> that are about the cache.
 */
#include "os/pages.h"
#include "pool/threads.h"
#include "read/cache/internal.h"

/* -- creation and destruction -------------------------------------------------------- */

static void cache_free(void *object)
{
	struct cache *cache = object;

	/* All images are closed, and each has freed its blocks. */
	if (!dw_cache_is_lost(cache)) {
		pthread_cond_destroy(&cache->may_start);
		pthread_cond_destroy(&cache->memory_freed);
		pthread_mutex_destroy(&cache->lock);
	}
	dw_pages_free(cache->mark, 1);
	dw_free(cache);
}

static int cache_new(dwarfs_context *context, void **cache_out, dwarfs_error **err)
{
	struct cache *cache = dw_calloc(1, sizeof(*cache));

	if (!cache)
		return dw_fail_nomem(err);
	if (pthread_mutex_init(&cache->lock, NULL) != 0) {
		dw_free(cache);
		return dw_fail_nomem(err);
	}
	if (dw_condition_init(&cache->memory_freed) != 0) {
		pthread_mutex_destroy(&cache->lock);
		dw_free(cache);
		return dw_fail_nomem(err);
	}
	if (pthread_cond_init(&cache->may_start, NULL) != 0) {
		pthread_cond_destroy(&cache->memory_freed);
		pthread_mutex_destroy(&cache->lock);
		dw_free(cache);
		return dw_fail_nomem(err);
	}
	dw_cache_mark_process(cache);
	cache->budget = dw_context_cache_bytes(context);
	cache->finish_percent = dw_context_finish_percent(context);
	cache->decode_limit.times = dw_context_decode_limit(context);
	*cache_out = cache;
	return 0;
}

/* Take the budget from the context, under the lock so that the last one counts, and evict what
 * exceeds it. */
static void resize_cache(struct cache *cache, const dwarfs_context *context)
{
	pthread_mutex_lock(&cache->lock);
	cache->budget = dw_context_cache_bytes(context);
	dw_cache_set_decode_limit(cache, cache->decode_limit.times);
	dw_cache_evict_to(cache, cache->budget);
	/* Unread extents are kept for other reads, but not above the budget. */
	while (cache->used > cache->budget && cache->first_extent)
		dw_cache_drop_extent(cache, cache->first_extent);
	pthread_cond_broadcast(&cache->memory_freed);
	pthread_mutex_unlock(&cache->lock);
}

static void limit_decoding(struct cache *cache, const dwarfs_context *context)
{
	pthread_mutex_lock(&cache->lock);
	dw_cache_set_decode_limit(cache, dw_context_decode_limit(context));
	pthread_mutex_unlock(&cache->lock);
}

int dw_cache_of(dwarfs_context *context, struct cache **cache_out, dwarfs_error **err)
{
	void *object;
	bool is_new;
	int ret =
		dw_context_shared(context, cache_new, cache_free, &object, &is_new, err);

	if (ret < 0)
		return ret;
	if (is_new) {
		resize_cache(object, context);
		limit_decoding(object, context);
	}
	*cache_out = object;
	return 0;
}

/* -- eviction by age ------------------------------------------------------------------ */

static void trim_queue(struct cache *cache, struct queue *queue, uint64_t before_ms)
{
	struct resident *next;

	for (struct resident *resident = queue->oldest; resident; resident = next) {
		next = resident->newer;
		if (atomic_load(&resident->last_ms) <= before_ms &&
		    !resident->slot->job && dw_cache_detach(resident, 0))
			dw_cache_free_resident(cache, resident);
	}
}

/* Evict what was not read for max_age_ms. */
static void evict_older(struct cache *cache, uint64_t max_age_ms)
{
	uint64_t now = dw_cache_now_ms(),
		 before = now > max_age_ms ? now - max_age_ms : 0;
	struct extent *next;

	pthread_mutex_lock(&cache->lock);
	trim_queue(cache, &cache->probation, before);
	trim_queue(cache, &cache->main, before);
	for (struct extent *extent = cache->first_extent; extent; extent = next) {
		next = extent->next;
		if (extent->last_ms <= before)
			dw_cache_drop_extent(cache, extent);
	}
	pthread_cond_broadcast(&cache->memory_freed);
	pthread_mutex_unlock(&cache->lock);
}

/* -- counters ------------------------------------------------------------------------- */

/* Counters since the cache was created, and the current sizes. */
struct cache_counts {
	uint64_t hits, misses, evictions, decoded_bytes, redecoded_bytes, turn_waits;
	uint64_t read_bytes, refused;
	uint64_t budget, used, most_used;
	uint32_t blocks, extents;
};

static uint64_t count_hits(const struct cache *cache)
{
	uint64_t hits = 0;

	for (size_t i = 0; i < 1 << COUNTS_BITS; i++)
		hits += atomic_load(&cache->counts[i].hits);
	return hits;
}

static void count_cache(struct cache *cache, struct cache_counts *counts_out)
{
	pthread_mutex_lock(&cache->lock);
	*counts_out = (struct cache_counts){
		.hits = count_hits(cache),
		.misses = cache->misses,
		.evictions = cache->evictions,
		.decoded_bytes = cache->decoded_bytes,
		.redecoded_bytes = cache->redecoded_bytes,
		.turn_waits = cache->turns.waits,
		.read_bytes = dw_cache_read_bytes(cache),
		.refused = cache->decode_limit.refused,
		.budget = cache->budget,
		.used = cache->used,
		.most_used = cache->most_used,
		.blocks = cache->probation.count + cache->main.count,
		.extents = cache->extent_count,
	};
	pthread_mutex_unlock(&cache->lock);
}

/* -- <dwarfs/context.h> ------------------------------------------------------------- */

uint64_t dwarfs_context_cache_count(const dwarfs_context *context,
				    enum dwarfs_cache_number what)
{
	if (!context)
		return 0;

	struct cache *cache = dw_context_peek(context);
	struct cache_counts counts = { .budget = dw_context_cache_bytes(context) };

	if (cache && !dw_cache_is_lost(cache))
		count_cache(cache, &counts);
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
	case DWARFS_CACHE_REDECODED_BYTES:
		return counts.redecoded_bytes;
	case DWARFS_CACHE_TURN_WAITS:
		return counts.turn_waits;
	case DWARFS_CACHE_READ_BYTES:
		return counts.read_bytes;
	case DWARFS_CACHE_REFUSED:
		return counts.refused;
	default:
		return 0;
	}
}

int dwarfs_context_set_cache_bytes(dwarfs_context *context, uint64_t bytes,
				   dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(context);

	struct cache *cache;

	if (!context)
		return dw_fail_null(err, "context");
	dw_context_note_cache_bytes(context, bytes);
	cache = dw_context_peek(context);
	if (cache && !dw_cache_is_lost(cache))
		resize_cache(cache, context);
	return 0;
}

int dwarfs_context_set_decode_limit(dwarfs_context *context, uint32_t times,
				    dwarfs_error **err)
{
	DW_USE_ALLOCATOR_OF(context);

	struct cache *cache;

	if (!context)
		return dw_fail_null(err, "context");
	dw_context_note_decode_limit(context, times);
	cache = dw_context_peek(context);
	if (cache && !dw_cache_is_lost(cache))
		limit_decoding(cache, context);
	return 0;
}

void dwarfs_context_trim(dwarfs_context *context, uint64_t max_age_ms)
{
	DW_USE_ALLOCATOR_OF(context);

	if (!context)
		return;

	struct cache *cache = dw_context_peek(context);

	if (cache && !dw_cache_is_lost(cache))
		evict_older(cache, max_age_ms);
}
