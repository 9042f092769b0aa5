/* SPDX-License-Identifier: MIT */
/*
 * read/cache/eviction: what the cache keeps, within one budget in bytes.
 *
 * The budget counts decoded bytes, the state of decoders, and stored bytes that they
 * still need. Takes a number of bytes to make space for; evicts units and extents, or
 * waits until readers release their pins. All functions are called with cache->lock
 * held.
 *
 * Units are evicted in the order of S3-FIFO (Yang et al., SOSP 2023): units that were
 * read once before units that were read again. For the order of extents see extents.c.
 *
 * Decoded bytes with plain FIFO instead: 1.32 times for all files of *rootfs* in the order
 * of paths, 1.27 times for reads of a few files at random during a scan (cache of 64 MiB).
 * In one release of *releases* (32 MiB) it is 0.60 times. LRU: 1.21, 1.14 and 0.60 times.
 */
#include "os/pages.h"
#include "pool/threads.h"
#include "read/cache/internal.h"

#define PROBATION_SHARE 10 /* share of the budget for units read once: 1/10 */
#define EXTENT_SHARE	2  /* share of the budget for all extents: 1/2 */
#define OVERSIZE_SHARE	8  /* share without extents when units cannot be kept: 1/8 */
#define RECENT_BUDGETS	32 /* budgets decoded since a unit could not be kept */
#define MISSED_BUDGETS	8  /* budgets decoded since an eviction */
#define FRESH_BUDGETS	8  /* budgets decoded since extents were made */
#define POLL_NS		(2 * 1000 * 1000) /* interval for checking pins */

/* -- residents ----------------------------------------------------------------------- */

bool dw_cache_detach(struct resident *resident, unsigned own_pins)
{
	unsigned state = IS_RESIDENT | own_pins * PIN;

	return atomic_compare_exchange_strong(&resident->slot->state, &state, 0);
}

void dw_cache_charge(struct cache *cache, struct resident *resident, uint64_t bytes)
{
	cache->used += bytes - resident->charged;
	if (resident->queue)
		resident->queue->bytes += bytes - resident->charged;
	dw_cache_note_use(cache);
	resident->charged = bytes;
}

static void append_to_queue(struct queue *queue, struct resident *resident)
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

void dw_cache_dequeue(struct resident *resident)
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

bool dw_cache_was_evicted_recently(const struct cache *cache, const struct slot *slot)
{
	return slot->evicted_at &&
	       cache->decode_clock - slot->evicted_at < MISSED_BUDGETS * cache->budget;
}

bool dw_cache_was_just_evicted(const struct cache *cache, const struct slot *slot)
{
	return slot->evicted_at && cache->decode_clock - slot->evicted_at < cache->budget;
}

void dw_cache_attach(struct cache *cache, struct resident *resident)
{
	struct slot *slot = resident->slot;
	bool is_redecode = dw_cache_was_just_evicted(cache, slot);

	atomic_store(&cache->last_read, slot);
	atomic_store(&resident->last_ms, dw_cache_now_ms());
	slot->resident = resident;
	append_to_queue(is_redecode ? &cache->main : &cache->probation, resident);
	atomic_fetch_add(&slot->state, PIN | IS_RESIDENT);
}

void dw_cache_free_resident(struct cache *cache, struct resident *resident)
{
	dw_cache_charge(cache, resident, 0);
	dw_cache_dequeue(resident);
	dw_decoder_free(resident->decoder);
	dw_stored_free(&resident->stored);
	dw_pages_free(resident->pages, resident->page_bytes);
	dw_free(resident);
}

/* -- budget of extents --------------------------------------------------------------- */

uint64_t dw_cache_extent_budget(const struct cache *cache)
{
	uint64_t least = cache->budget / EXTENT_SHARE;
	uint64_t most = cache->budget - cache->budget / OVERSIZE_SHARE;

	/* While units cannot be kept, the budget is for extents, except for units that
	 * are read repeatedly. */
	if (!cache->transient_at ||
	    cache->decode_clock - cache->transient_at > RECENT_BUDGETS * cache->budget)
		return least;
	return most > least + cache->main.bytes ? most - cache->main.bytes : least;
}

uint64_t dw_cache_extent_budget_beside_job(const struct cache *cache)
{
	uint64_t budget = cache->budget, job = cache->recent_unit;
	uint64_t room = dw_cache_extent_budget(cache);

	if (job < budget && room > budget - job)
		room = budget - job > budget / 8 ? budget - job : budget / 8;
	return room;
}

/* Bytes of extents that are not evicted for new units, because they will be read soon. */
static uint64_t protected_bytes(const struct cache *cache)
{
	uint64_t most = cache->budget / EXTENT_SHARE;

	if (cache->decode_clock - cache->last_batch_at > FRESH_BUDGETS * cache->budget)
		return 0;
	return cache->unread_bytes < most ? cache->unread_bytes : most;
}

uint64_t dw_cache_job_limit(const struct cache *cache, const struct decode_job *job)
{
	return job->complete_bytes > cache->budget
		       ? cache->budget - protected_bytes(cache)
		       : cache->budget;
}

/* -- eviction ------------------------------------------------------------------------ */

static bool is_being_decoded(const struct resident *resident)
{
	return resident->slot->job && !resident->slot->job->is_waiting;
}

/* The next unit of a queue to evict, detached. Unless forced, units that were read again
 * are moved to the end of a queue first. */
static struct resident *victim_of(struct cache *cache, struct queue *queue, bool forced)
{
	uint32_t rounds = forced ? queue->count : queue->count * (MAX_USES + 1);

	for (uint32_t i = 0; i < rounds && queue->oldest; i++) {
		struct resident *resident = queue->oldest;
		unsigned uses = atomic_load(&resident->uses);

		dw_cache_dequeue(resident);
		if (!forced && uses > 0) {
			uses = queue == &cache->probation ? 0 : uses - 1;
			atomic_store(&resident->uses, (unsigned char)uses);
			append_to_queue(&cache->main, resident);
			continue;
		}
		if (!is_being_decoded(resident) && dw_cache_detach(resident, 0))
			return resident;
		append_to_queue(queue, resident);
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

/* Bytes of an evicted unit that may be kept as extents besides the next unit. */
static uint64_t extent_space_after(const struct cache *cache,
				   const struct resident *victim, uint64_t limit)
{
	uint64_t others = cache->used - victim->charged;
	uint64_t most = dw_cache_extent_budget_beside_job(cache) >> cache->window_shift;
	uint64_t rest = limit > others ? limit - others : 0;

	return rest < most ? rest : most;
}

/* Evict a unit. One that was evicted before will be read again: the bytes after its
 * readers' offsets become extents, within the space that is left. */
static void evict(struct cache *cache, struct resident *victim, uint64_t limit)
{
	uint64_t most = extent_space_after(cache, victim, limit);

	victim->slot->evicted_at = cache->decode_clock;
	cache->evictions++;
	if (!victim->is_redecode || !victim->pages) {
		dw_cache_free_resident(cache, victim);
		return;
	}
	dw_decoder_free(dw_steal(victim->decoder));
	dw_stored_free(&victim->stored);
	dw_cache_charge(cache, victim, 0);
	dw_cache_convert_to_extents(cache, victim, most);
	dw_cache_free_resident(cache, victim);
}

/* Extents are evicted when they exceed their budget, and otherwise only when no unit
 * can be. */
static bool evict_one(struct cache *cache, uint64_t limit, uint64_t protected)
{
	struct resident *victim;

	if (cache->first_extent && cache->extent_bytes > dw_cache_extent_budget(cache)) {
		dw_cache_drop_extent(cache, cache->first_extent);
		return true;
	}
	victim = pick_victim(cache);
	if (victim) {
		evict(cache, victim, limit);
		return true;
	}
	if (cache->extent_bytes <= protected)
		return false;
	dw_cache_drop_extent(cache, cache->first_extent);
	return true;
}

void dw_cache_evict_to(struct cache *cache, uint64_t limit)
{
	while (cache->used > limit && evict_one(cache, limit, protected_bytes(cache)))
		;
}

/* -- reserving memory ---------------------------------------------------------------- */

/* Whether readers have pins in this queue that they will release soon, or have
 * released by now. */
static bool has_readers(const struct queue *queue)
{
	for (const struct resident *resident = queue->oldest; resident;
	     resident = resident->newer) {
		unsigned pins = atomic_load(&resident->slot->state) / PIN;

		if (!is_being_decoded(resident) && (pins == 0 || pins != resident->holds))
			return true;
	}
	return false;
}

/* Whether memory will be freed by threads other than decode jobs. */
static bool is_release_expected(const struct cache *cache)
{
	return cache->detached_pinned > 0 || has_readers(&cache->probation) ||
	       has_readers(&cache->main);
}

void dw_cache_wait_for_memory(struct cache *cache)
{
	int64_t until = dw_time_from_now(POLL_NS);

	dw_condition_wait(&cache->memory_freed, &cache->lock, until);
}

static bool wait_for_space(struct cache *cache, struct decode_job *job, uint64_t own,
			   uint64_t bytes)
{
	for (;;) {
		uint64_t most = dw_cache_job_limit(cache, job);
		bool fits = own + bytes <= most && job->needed_bytes <= most;
		uint64_t limit = fits ? cache->budget - bytes : cache->budget + own;
		bool is_last = job->is_exclusive || cache->running_jobs == 1;

		dw_cache_evict_to(cache, limit);
		if (cache->used <= limit && (fits || is_last)) {
			if (!fits)
				job->is_exclusive = cache->exclusive_runs = true;
			return true;
		}
		if (is_last) {
			job->is_exclusive = cache->exclusive_runs = true;
			if (!is_release_expected(cache)) {
				while (cache->used > limit && evict_one(cache, limit, 0))
					;
				/* Either only held units are left, or extents that
				 * were dropped while readers still have them. */
				if (cache->used <= limit || !is_release_expected(cache))
					return true;
			}
			dw_cache_wait_for_memory(cache);
			continue;
		}
		if (cache->starved_jobs + 1 >= cache->running_jobs)
			return false;
		cache->starved_jobs++;
		dw_cache_wait_for_memory(cache);
		cache->starved_jobs--;
	}
}

bool dw_cache_reserve(struct cache *cache, struct decode_job *job, uint64_t own,
		      uint64_t bytes)
{
	uint64_t most = dw_cache_job_limit(cache, job);
	bool found;

	if (own + bytes <= most && job->needed_bytes <= most) {
		dw_cache_evict_to(cache, cache->budget - bytes);
		if (cache->used <= cache->budget - bytes)
			return true;
	}
	atomic_fetch_add(&cache->memory_waiters, 1);
	found = wait_for_space(cache, job, own, bytes);
	atomic_fetch_sub(&cache->memory_waiters, 1);
	return found;
}
