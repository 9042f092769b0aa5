/* SPDX-License-Identifier: MIT */
/*
 * read/cache_room: what the cache keeps, within one budget in bytes that counts what is
 * decoded, the state of decoders and the stored bytes that they still need.
 *
 * What leaves first is chosen as in S3-FIFO (Yang et al., SOSP 2023): what was read once,
 * in one go, leaves before what was read again; units whose codec is slow stay for
 * longer. Extents are copies of what is expected to be read once, of units that cannot
 * stay; the oldest leave first, and before them those that were read to the end, once.
 */
#include <string.h>

#include "os/pages.h"
#include "pool/threads.h"
#include "read/cache_inner.h"

#define PROBATION_SHARE 10		    /* of the budget: one part in */
#define EXTENT_SHARE	2		    /* of the budget, for all extents */
#define EXTENT_BYTES	((uint64_t)1 << 20) /* of one at most */
#define OVERSIZE_SHARE	8		    /* what they leave, when units cannot stay */
#define RECENT_BUDGETS	32		    /* taken in since one could not */
#define MISSED_BUDGETS	8		    /* taken in since a unit left */
#define FRESH_BUDGETS	8		    /* taken in since extents were made */
#define MAX_NARROW	6		    /* so often the room for a batch is halved */
#define TRY_AGAIN	8u		    /* batches that are read in time, and more */
#define PAGES_BYTES	((size_t)64 << 10)  /* extents from here on are pages */
#define GLANCE_NS	(2 * 1000 * 1000) /* how often those are looked at who only read */

/* -- residents ----------------------------------------------------------------------- */

bool dw_cache_detach(struct resident *resident, unsigned own_pins)
{
	unsigned state = IS_RESIDENT | own_pins * PIN;

	return atomic_compare_exchange_strong(&resident->slot->state, &state, 0);
}

static void note_use(struct cache *cache)
{
	if (cache->used > cache->most_used)
		cache->most_used = cache->used;
}

void dw_cache_charge(struct cache *cache, struct resident *resident, uint64_t bytes)
{
	cache->used += bytes - resident->charged;
	if (resident->queue)
		resident->queue->bytes += bytes - resident->charged;
	note_use(cache);
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

bool dw_cache_is_missed(const struct cache *cache, const struct slot *slot)
{
	return slot->left_at &&
	       cache->clock - slot->left_at < MISSED_BUDGETS * cache->budget;
}

bool dw_cache_comes_back(const struct cache *cache, const struct slot *slot)
{
	return slot->left_at && cache->clock - slot->left_at < cache->budget;
}

void dw_cache_attach(struct cache *cache, struct resident *resident)
{
	struct slot *slot = resident->slot;
	bool comes_back = dw_cache_comes_back(cache, slot);

	atomic_store(&cache->touched, slot);
	atomic_store(&resident->last_ms, dw_cache_now_ms());
	slot->resident = resident;
	enqueue(comes_back ? &cache->main : &cache->probation, resident);
	atomic_fetch_add(&slot->state, PIN | IS_RESIDENT);
}

void dw_cache_free_resident(struct cache *cache, struct resident *resident)
{
	dw_cache_charge(cache, resident, 0);
	dw_cache_dequeue(resident);
	dw_decoder_free(resident->decoder);
	dw_stored_free(&resident->stored);
	dw_pages_free(resident->pages, resident->page_bytes);
	free(resident);
}

/* -- extents ------------------------------------------------------------------------- */

uint64_t dw_cache_room_for_extents(const struct cache *cache)
{
	uint64_t least = cache->budget / EXTENT_SHARE;
	uint64_t most = cache->budget - cache->budget / OVERSIZE_SHARE;

	/* When units cannot stay, extents are what the cache is for, besides what is
	 * read again and again. */
	if (!cache->passed_at ||
	    cache->clock - cache->passed_at > RECENT_BUDGETS * cache->budget)
		return least;
	return most > least + cache->main.bytes ? most - cache->main.bytes : least;
}

/* Of the extents, so much stays while others need memory: somebody is about to read it.
 */
static uint64_t protected_bytes(const struct cache *cache)
{
	uint64_t most = cache->budget / EXTENT_SHARE;

	if (cache->clock - cache->kept_at > FRESH_BUDGETS * cache->budget)
		return 0;
	return cache->unread_bytes < most ? cache->unread_bytes : most;
}

uint64_t dw_cache_limit(const struct cache *cache, const struct work *work)
{
	return work->whole > cache->budget ? cache->budget - protected_bytes(cache)
					   : cache->budget;
}

static bool is_unread(const struct extent *extent)
{
	return extent->given < extent->range.size;
}

static void unlink_extent(struct cache *cache, struct extent *extent)
{
	if (extent->older)
		extent->older->newer = extent->newer;
	else
		cache->oldest_extent = extent->newer;
	if (extent->newer)
		extent->newer->older = extent->older;
	else
		cache->newest_extent = extent->older;
}

/* What an extent takes, with what the allocator adds. */
static uint64_t bytes_of_extent(uint64_t size)
{
	return size < PAGES_BYTES ? size + sizeof(struct extent) + 16 : size;
}

static void free_extent(struct cache *cache, struct extent *extent)
{
	cache->used -= bytes_of_extent(extent->range.size);
	dw_pages_free(extent->pages, (size_t)extent->range.size);
	free(extent);
}

/* An extent left before it was read: there are more readers than there is room for such
 * long ones. */
static void note_lost(struct cache *cache, const struct extent *extent)
{
	if (extent->batch < cache->narrowed_at || cache->narrow >= MAX_NARROW)
		return;
	cache->narrow++;
	cache->narrowed_at = cache->batch + 1;
	cache->used_up = 0;
}

/* One was read in time: after some of them, longer ones are tried again. */
static void note_used_up(struct cache *cache, const struct extent *extent)
{
	if (extent->batch < cache->narrowed_at || cache->narrow == 0)
		return;
	if (++cache->used_up < TRY_AGAIN << cache->narrow)
		return;
	cache->used_up = 0;
	cache->narrow--;
	cache->narrowed_at = cache->batch + 1;
}

/* Out of its slot and the list; freed when nobody reads from it. */
void dw_cache_drop_extent(struct cache *cache, struct extent *extent)
{
	struct extent **at = &extent->slot->extents;

	while (*at != extent)
		at = &(*at)->next_in_slot;
	*at = extent->next_in_slot;
	unlink_extent(cache, extent);
	extent->slot = NULL;
	cache->extent_bytes -= bytes_of_extent(extent->range.size);
	if (is_unread(extent)) {
		cache->unread_bytes -= extent->range.size;
		note_lost(cache, extent);
	}
	cache->extent_count--;
	if (extent->pins == 0)
		free_extent(cache, extent);
	else
		cache->loose++;
}

static bool has(const struct extent *extent, uint64_t place)
{
	return place >= extent->range.from &&
	       place - extent->range.from < extent->range.size;
}

struct extent *dw_cache_find_extent(const struct slot *slot, struct range range)
{
	for (struct extent *extent = slot->extents; extent; extent = extent->next_in_slot)
		if (has(extent, range.from))
			return extent;
	return NULL;
}

size_t dw_cache_next_reads(const struct slot *slot, uint64_t *places, size_t most)
{
	size_t count = 0, tries = 2 * most;

	for (const struct extent *extent = slot->extents; extent && count < most;
	     extent = extent->next_in_slot) {
		uint64_t end = extent->range.from + extent->range.size;

		if (extent->given < extent->range.size - extent->range.size / 4)
			continue;
		if (tries-- == 0)
			break;
		if (!dw_cache_find_extent(slot, (struct range){ end, 1 }))
			places[count++] = end;
	}
	return count;
}

/* How much of a range stands in an extent that has its beginning. */
static uint64_t overlap(const struct extent *extent, struct range range)
{
	uint64_t rest = extent->range.from + extent->range.size - range.from;

	return rest < range.size ? rest : range.size;
}

bool dw_cache_has_extents(const struct slot *slot, struct range range)
{
	while (range.size > 0) {
		const struct extent *extent = dw_cache_find_extent(slot, range);
		uint64_t part;

		if (!extent)
			return false;
		part = overlap(extent, range);
		range.from += part;
		range.size -= part;
	}
	return true;
}

static void link_oldest(struct cache *cache, struct extent *extent)
{
	extent->older = NULL;
	extent->newer = cache->oldest_extent;
	if (cache->oldest_extent)
		cache->oldest_extent->older = extent;
	else
		cache->newest_extent = extent;
	cache->oldest_extent = extent;
}

static void link_newest(struct cache *cache, struct extent *extent)
{
	extent->newer = NULL;
	extent->older = cache->newest_extent;
	if (cache->newest_extent)
		cache->newest_extent->newer = extent;
	else
		cache->oldest_extent = extent;
	cache->newest_extent = extent;
}

/* Once it was read to the end it is the first to leave, unless it is read again. */
static void note_given(struct cache *cache, struct extent *extent, uint64_t bytes)
{
	bool was_unread = is_unread(extent);

	extent->given += bytes;
	if (is_unread(extent))
		return;
	unlink_extent(cache, extent);
	if (was_unread) {
		note_used_up(cache, extent);
		cache->unread_bytes -= extent->range.size;
		link_oldest(cache, extent);
	} else {
		link_newest(cache, extent);
	}
}

void dw_cache_give_extent(struct cache *cache, struct extent *extent, struct range range,
			  struct cached *cached_out)
{
	uint64_t size = overlap(extent, range);

	extent->pins++;
	extent->last_ms = dw_cache_now_ms();
	note_given(cache, extent, size);
	*cached_out = (struct cached){
		.data = extent->bytes + (range.from - extent->range.from),
		.size = (size_t)size,
		.slot = extent->slot,
		.extent = extent,
	};
}

void dw_cache_credit(struct cache *cache, const struct slot *slot, struct range range)
{
	while (range.size > 0) {
		struct extent *extent = dw_cache_find_extent(slot, range);
		uint64_t part;

		if (!extent)
			return;
		part = overlap(extent, range);
		note_given(cache, extent, part);
		range.from += part;
		range.size -= part;
	}
}

void dw_cache_put_extent(struct cache *cache, struct extent *extent)
{
	if (--extent->pins > 0 || extent->slot)
		return;
	cache->loose--;
	free_extent(cache, extent);
	pthread_cond_broadcast(&cache->changed);
}

static struct extent *new_extent(const struct resident *resident, struct range range)
{
	size_t size = (size_t)range.size;
	bool large = size >= PAGES_BYTES;
	struct extent *extent = malloc(sizeof(*extent) + (large ? 0 : size));

	if (!extent)
		return NULL;
	*extent = (struct extent){ .range = range, .last_ms = dw_cache_now_ms() };
	extent->bytes = (uint8_t *)(extent + 1);
	if (large && !(extent->bytes = extent->pages = dw_pages_new(size))) {
		free(extent);
		return NULL;
	}
	memcpy(extent->bytes, resident->bytes + range.from, size);
	return extent;
}

/* The one to leave: what was read, or else, of what was made first, what will be read
 * last.
 */
static struct extent *pick_extent(const struct cache *cache)
{
	struct extent *extent = cache->oldest_extent;

	if (!extent || !is_unread(extent))
		return extent;
	while (extent->newer && extent->newer->batch == cache->oldest_extent->batch)
		extent = extent->newer;
	return extent;
}

/* Older ones make room, those of the same batch do not. */
static bool make_extent_room(struct cache *cache, uint64_t bytes)
{
	uint64_t room = dw_cache_room_for_extents(cache);

	while (cache->extent_bytes + bytes > room && cache->oldest_extent &&
	       cache->oldest_extent->batch != cache->batch)
		dw_cache_drop_extent(cache, pick_extent(cache));
	return cache->extent_bytes + bytes <= room;
}

/* Keep a copy of a part, if there is room for it within so many bytes in all. */
static bool keep_extent(struct cache *cache, const struct resident *resident,
			struct range range, uint64_t limit)
{
	struct slot *slot = resident->slot;
	uint64_t bytes = bytes_of_extent(range.size);
	struct extent *extent;

	if (bytes > limit || !make_extent_room(cache, bytes))
		return false;
	dw_cache_evict_to(cache, limit - bytes);
	while (cache->used > limit - bytes && cache->oldest_extent &&
	       cache->oldest_extent->batch != cache->batch)
		dw_cache_drop_extent(cache, pick_extent(cache));
	if (cache->used + bytes > limit || !(extent = new_extent(resident, range)))
		return false;
	cache->used += bytes;
	note_use(cache);
	extent->batch = cache->batch;
	extent->slot = slot;
	extent->next_in_slot = slot->extents;
	slot->extents = extent;
	link_newest(cache, extent);
	cache->extent_bytes += bytes;
	cache->unread_bytes += range.size;
	cache->extent_count++;
	return true;
}

/* What of a range is not there, piece by piece. */
static void keep_range(struct cache *cache, const struct resident *resident,
		       struct range range, uint64_t limit)
{
	while (range.size > 0) {
		const struct extent *extent = dw_cache_find_extent(resident->slot, range);
		struct range piece = range;

		if (extent)
			piece.size = overlap(extent, range);
		else if (piece.size > EXTENT_BYTES)
			piece.size = EXTENT_BYTES;
		if (!extent && !keep_extent(cache, resident, piece, limit))
			return;
		range.from += piece.size;
		range.size -= piece.size;
	}
}

/* What of a range is there and not more than so much. */
static struct range clip(const struct resident *resident, struct range range,
			 uint64_t most)
{
	uint64_t ready = atomic_load(&resident->ready);
	uint64_t there = range.from < ready ? ready - range.from : 0;

	if (range.size > there)
		range.size = there;
	if (range.size > most)
		range.size = most;
	return range;
}

/* The most that each may have, so that all that are kept fit. */
static uint64_t fair_share(const struct cache *cache, const struct resident *resident,
			   const struct want *wants, size_t count, bool all)
{
	uint64_t room = dw_cache_room_for_extents(cache);
	uint64_t share = room >> cache->narrow, sum;

	do {
		sum = 0;
		for (size_t i = 0; i < count; i++)
			if (all || wants[i].in_any_case)
				sum += clip(resident, wants[i].range, share).size;
		if (sum > room)
			share -= share / 8 + 1;
	} while (sum > room);
	return share;
}

void dw_cache_keep_wants(struct cache *cache, const struct resident *resident,
			 const struct want *wants, size_t count, bool all, uint64_t limit)
{
	uint64_t share = fair_share(cache, resident, wants, count, all);

	cache->batch++;
	cache->kept_at = cache->clock;
	for (size_t i = 0; i < count; i++) {
		struct range range = clip(resident, wants[i].range, share);

		if (all || wants[i].in_any_case)
			keep_range(cache, resident, range, limit);
	}
}

/* -- what leaves --------------------------------------------------------------------- */

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

		dw_cache_dequeue(resident);
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
		if (!is_being_worked_at(resident) && dw_cache_detach(resident, 0))
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

/* Extents leave when they are too many, and else only when nothing else can. */
static bool evict_one(struct cache *cache, uint64_t protected)
{
	struct resident *victim;

	if (cache->oldest_extent &&
	    cache->extent_bytes > dw_cache_room_for_extents(cache)) {
		dw_cache_drop_extent(cache, pick_extent(cache));
		return true;
	}
	victim = pick_victim(cache);
	if (victim) {
		victim->slot->left_at = cache->clock;
		cache->evictions++;
		dw_cache_free_resident(cache, victim);
		return true;
	}
	if (cache->extent_bytes <= protected)
		return false;
	dw_cache_drop_extent(cache, pick_extent(cache));
	return true;
}

void dw_cache_evict_to(struct cache *cache, uint64_t limit)
{
	while (cache->used > limit && evict_one(cache, protected_bytes(cache)))
		;
}

/* -- room for more ------------------------------------------------------------------- */

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

void dw_cache_wait_a_little(struct cache *cache)
{
	struct timespec until = dw_time_from_now(GLANCE_NS);

	dw_condition_wait(&cache->changed, &cache->lock, &until);
}

static bool find_room(struct cache *cache, struct work *work, uint64_t own,
		      uint64_t bytes)
{
	for (;;) {
		uint64_t most = dw_cache_limit(cache, work);
		bool fits = own + bytes <= most && work->need <= most;
		uint64_t limit = fits ? cache->budget - bytes : cache->budget + own;
		bool is_last = work->alone || cache->running == 1;

		dw_cache_evict_to(cache, limit);
		if (cache->used <= limit && (fits || is_last)) {
			if (!fits)
				work->alone = cache->alone = true;
			return true;
		}
		if (is_last) {
			work->alone = cache->alone = true;
			if (!will_be_given_back(cache)) {
				while (cache->used > limit && evict_one(cache, 0))
					;
				/* What is lent for long is all that can be in the way. */
				return true;
			}
			dw_cache_wait_a_little(cache);
			continue;
		}
		if (cache->waiting + 1 >= cache->running)
			return false;
		cache->waiting++;
		dw_cache_wait_a_little(cache);
		cache->waiting--;
	}
}

bool dw_cache_reserve(struct cache *cache, struct work *work, uint64_t own,
		      uint64_t bytes)
{
	uint64_t most = dw_cache_limit(cache, work);
	bool found;

	if (own + bytes <= most && work->need <= most) {
		dw_cache_evict_to(cache, cache->budget - bytes);
		if (cache->used <= cache->budget - bytes)
			return true;
	}
	atomic_fetch_add(&cache->thirsty, 1);
	found = find_room(cache, work, own, bytes);
	atomic_fetch_sub(&cache->thirsty, 1);
	return found;
}
