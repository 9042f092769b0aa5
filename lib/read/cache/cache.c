/* SPDX-License-Identifier: MIT */
/*
 * read/cache/cache: decoded bytes of blocks, shared by the images of a context.
 *
 * Lookups. Takes a block and a range of it; gives bytes that are present at once, else
 * decodes them on this thread or waits for the job that does (decode_job.c). What is
 * kept afterwards is decided in eviction.c. All work on units: blocks, or parts of
 * blocks that are decoded independently; see the states of a unit in internal.h.
 *
 * A hit takes no lock: it pins the unit by an atomic add, and eviction is a compare and
 * swap that fails while there are pins.
 */
#include <time.h>

#include "os/pages.h"
#include "pool/threads.h"
#include "read/bulk/next_ranges.h"
#include "read/cache/internal.h"

#ifdef CLOCK_MONOTONIC_COARSE
#define COARSE_CLOCK CLOCK_MONOTONIC_COARSE
#else
#define COARSE_CLOCK CLOCK_MONOTONIC
#endif
#define SCATTERED_SHARE 2
#define SMALL_WINDOWS	3 /* window_shift from which on windows are small */

uint64_t dw_cache_now_ms(void)
{
	struct timespec now = { 0 };

	clock_gettime(COARSE_CLOCK, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

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

/* -- pins ---------------------------------------------------------------------------- */

struct resident *dw_cache_pin(struct slot *slot)
{
	if (atomic_fetch_add(&slot->state, PIN) & IS_RESIDENT)
		return slot->resident;
	dw_cache_unpin(slot);
	return NULL;
}

/* Without the lock held. */
static void unpin(struct cache *cache, struct slot *slot)
{
	dw_cache_unpin(slot);
	if (atomic_load(&cache->memory_waiters) == 0)
		return;
	pthread_mutex_lock(&cache->lock);
	pthread_cond_broadcast(&cache->memory_freed);
	pthread_mutex_unlock(&cache->lock);
}

/* Store the offset at which a sequential reader will continue. */
static void note_reader(struct resident *resident, struct range range)
{
	unsigned at = 0;

	while (at < MAX_READERS &&
	       atomic_load_explicit(&resident->read_ends[at], memory_order_relaxed) !=
		       range.from)
		at++;
	if (at == MAX_READERS)
		at = atomic_fetch_add_explicit(&resident->next_reader, 1,
					       memory_order_relaxed) %
		     MAX_READERS;
	atomic_store_explicit(&resident->read_ends[at], range.from + range.size,
			      memory_order_relaxed);
}

/* Count a use. Consecutive reads of the same unit count once. */
static void note_read(struct cache *cache, struct resident *resident, struct range range)
{
	struct slot *slot = resident->slot;
	unsigned uses;

	note_reader(resident, range);
	atomic_store_explicit(&resident->last_ms, dw_cache_now_ms(),
			      memory_order_relaxed);
	if (atomic_load_explicit(&cache->last_read, memory_order_relaxed) == slot)
		return;
	atomic_store_explicit(&cache->last_read, slot, memory_order_relaxed);
	uses = atomic_load_explicit(&resident->uses, memory_order_relaxed);
	if (uses < MAX_USES)
		atomic_store_explicit(&resident->uses, (unsigned char)(uses + 1),
				      memory_order_relaxed);
}

/* -- units --------------------------------------------------------------------------- */

/* The unit that contains an offset; for offsets after the end, the last part. */
static struct unit unit_at(struct dwarfs_image *image, uint32_t block, uint64_t offset)
{
	struct unit unit = { image, block, NULL, &image->slots[block] };
	const struct parts *parts = atomic_load(&unit.slot->parts);
	size_t low = 0, high;

	if (!parts)
		return unit;
	for (high = parts->count; high - low > 1;) {
		size_t middle = low + (high - low) / 2;

		if (parts->list[middle].from <= offset)
			low = middle;
		else
			high = middle;
	}
	unit.part = &parts->list[low];
	unit.slot = &parts->slots[low];
	return unit;
}

/* Convert a range of the block to one of the unit in which it begins, cut off at the
 * end of a part. */
static struct range clip_to_unit(const struct unit *unit, struct range range)
{
	if (!unit->part)
		return range;
	range.from -= unit->part->from;
	if (range.from < unit->part->size && range.size > unit->part->size - range.from)
		range.size = unit->part->size - range.from;
	return range;
}

/* Open a block to find out its parts, without decoding it. The lock is held. */
static int find_block_parts(struct cache *cache, const struct unit *unit,
			    dwarfs_error **err)
{
	struct cached unused = { 0 };
	int ret = 0;

	while (ret == 0 && !unit->slot->has_no_parts &&
	       !atomic_load(&unit->slot->parts)) {
		if (unit->slot->job)
			ret = dw_cache_wait(cache, unit, (struct range){ 0, 1 }, &unused,
					    err);
		else
			ret = dw_cache_decode(cache, unit, (struct range){ 0, 0 }, NULL,
					      &unused, err);
		if (unused.transient)
			dw_cache_put_transient(cache, unused.transient);
		unused.transient = NULL;
	}
	return ret;
}

int dw_cache_unit(struct dwarfs_image *image, uint32_t block, uint64_t offset,
		  struct range *unit_out, dwarfs_error **err)
{
	struct unit unit = unit_at(image, block, offset);
	struct section_header header;
	int ret = 0;

	if (dw_cache_is_lost(image->cache))
		return dw_cache_fail_lost(err);
	if (!unit.part)
		ret = dw_locate_header(image, image->blocks[block], &header, err);
	if (!unit.part && ret == 0 && dw_codec_may_have_parts(header.compression)) {
		pthread_mutex_lock(&image->cache->lock);
		ret = find_block_parts(image->cache, &unit, err);
		pthread_mutex_unlock(&image->cache->lock);
		unit = unit_at(image, block, offset);
	}
	*unit_out = unit.part ? (struct range){ unit.part->from, unit.part->size }
			      : (struct range){ 0, image->view->block_size };
	return ret;
}

/* -- lookup -------------------------------------------------------------------------- */

/* With or without the lock. */
static bool take_resident(struct cache *cache, struct slot *slot, struct range range,
			  struct cached *cached_out)
{
	struct resident *resident = dw_cache_pin(slot);

	if (!resident)
		return false;
	if (range.from + range.size <= atomic_load(&resident->ready)) {
		note_read(cache, resident, range);
		*cached_out = (struct cached){
			.data = resident->bytes + range.from,
			.size = (size_t)range.size,
			.slot = slot,
		};
		return true;
	}
	dw_cache_unpin(slot);
	return false;
}

/* Under the lock. */
bool dw_cache_find(struct cache *cache, struct slot *slot, struct range range,
		   struct cached *cached_out)
{
	struct extent *extent;

	if (take_resident(cache, slot, range, cached_out))
		return true;
	if (!(extent = dw_cache_find_extent(slot, range)))
		return false;
	dw_cache_read_extent(cache, extent, range, cached_out);
	return true;
}

static void count_hit(struct cache *cache)
{
	atomic_fetch_add_explicit(&cache->hits, 1, memory_order_relaxed);
}

/* Bytes that are given to the reader of a file; not those that are prefetched. */
static void count_read(struct cache *cache, struct chunk_reader reader, uint64_t bytes)
{
	if (reader.inode != NO_INODE)
		atomic_fetch_add_explicit(&cache->read_bytes, bytes,
					  memory_order_relaxed);
}

/* Whether the ranges are the smaller part of the span between the first and the last. */
static bool are_scattered(const struct range *list, size_t count)
{
	uint64_t bytes = 0, span;

	if (count < 2)
		return false;
	for (size_t i = 0; i < count; i++)
		bytes += list[i].size;
	span = list[count - 1].from + list[count - 1].size - list[0].from;
	return span / SCATTERED_SHARE > bytes;
}

/* Which other ranges of the block to keep, because files near this one need them. If
 * the unit is too large to be kept and the ranges are dense, a window after the range
 * is kept anyway, and nothing is added. The lock is held on entry and exit. */
static int find_siblings(struct cache *cache, struct dwarfs_image *image, uint32_t block,
			 struct chunk_reader reader, uint64_t from,
			 struct range **list_out, struct range_list *ranges_out,
			 dwarfs_error **err)
{
	uint64_t room = dw_cache_extent_budget_beside_job(cache);
	size_t count;
	int ret;

	pthread_mutex_unlock(&cache->lock);
	ret = dw_siblings_in(image, reader, block, from, room, list_out, &count, err);
	pthread_mutex_lock(&cache->lock);
	if (ret < 0)
		return ret;
	/* Of dense ranges a window is kept instead, unless windows have become small. */
	ranges_out->is_dense = !are_scattered(*list_out, count) &&
			       !(atomic_load(&cache->thrashing.is_on) &&
				 cache->window_shift >= SMALL_WINDOWS);
	if (image->slots[block].exceeds_budget && ranges_out->is_dense)
		count = 0;
	ranges_out->list = *list_out;
	ranges_out->count = count;
	return 0;
}

/* The lock is held on entry and exit. */
static uint64_t locate_reader(struct cache *cache, const struct dwarfs_image *image,
			      struct chunk_reader reader)
{
	uint64_t position;

	pthread_mutex_unlock(&cache->lock);
	position = dw_reader_position(image, reader);
	pthread_mutex_lock(&cache->lock);
	return position;
}

/* Find or decode a range; by this thread or by a job that runs already. The lock is
 * held on entry and exit. */
static int get_or_decode(struct cache *cache, struct dwarfs_image *image,
			 struct chunk_reader reader, uint32_t block, struct range range,
			 struct cached *cached, dwarfs_error **err)
{
	auto_free struct range *list = NULL;
	struct range_list ranges = { 0 };
	bool may_search = reader.inode != NO_INODE;
	bool is_located = !may_search;
	uint64_t position = 0;
	int ret = 0;

	for (bool is_first = true; ret == 0; is_first = false) {
		/* Looked up each time: the block may have been split into parts. */
		struct unit unit = unit_at(image, block, range.from);
		struct range part = clip_to_unit(&unit, range);

		if (dw_cache_find(cache, unit.slot, part, cached)) {
			if (is_first)
				count_hit(cache);
			return 0;
		}
		if (!unit.slot->job && cache->decode_limit.is_exceeded)
			return dw_cache_refuse_decode(cache, image, err);
		if (!is_located && dw_cache_takes_turns(cache)) {
			position = locate_reader(cache, image, reader);
			is_located = true;
			continue;
		}
		if (!unit.slot->job && !dw_cache_take_turn(cache, &unit, part, position))
			continue;
		if (may_search && !unit.part && !unit.slot->job &&
		    (atomic_load(&cache->thrashing.is_on) ||
		     dw_cache_was_evicted_recently(cache, unit.slot))) {
			ret = find_siblings(cache, image, block, reader, range.from,
					    &list, &ranges, err);
			may_search = false;
			continue;
		}
		if (unit.slot->job) {
			ret = dw_cache_wait(cache, &unit, part, cached, err);
		} else {
			dw_cache_note_decode(cache, true);
			ret = dw_cache_decode(cache, &unit, part,
					      ranges.count && !unit.part ? &ranges : NULL,
					      cached, err);
			dw_cache_note_decode(cache, false);
		}
		if (ret == 0 && cached->data)
			return 0;
	}
	return ret;
}

int dw_cache_get(struct dwarfs_image *image, uint32_t block, struct range range,
		 struct cached *cached_out, dwarfs_error **err)
{
	return dw_cache_get_for(image, (struct chunk_reader){ NO_INODE, 0 }, block, range,
				cached_out, err);
}

int dw_cache_get_for(struct dwarfs_image *image, struct chunk_reader reader,
		     uint32_t block, struct range range, struct cached *cached_out,
		     dwarfs_error **err)
{
	struct cache *cache = image->cache;
	struct unit unit = unit_at(image, block, range.from);
	struct cached cached = { 0 };
	int ret;

	if (dw_cache_is_lost(cache))
		return dw_cache_fail_lost(err);
	if (take_resident(cache, unit.slot, clip_to_unit(&unit, range), cached_out)) {
		count_hit(cache);
		count_read(cache, reader, cached_out->size);
		return 0;
	}
	pthread_mutex_lock(&cache->lock);
	ret = get_or_decode(cache, image, reader, block, range, &cached, err);
	pthread_mutex_unlock(&cache->lock);
	if (ret < 0)
		return ret;
	count_read(cache, reader, cached.size);
	*cached_out = cached;
	return 0;
}

bool dw_cache_peek(struct dwarfs_image *image, uint32_t block, struct range range,
		   struct cached *cached_out)
{
	struct unit unit = unit_at(image, block, range.from);

	return !dw_cache_is_lost(image->cache) &&
	       clip_to_unit(&unit, range).size == range.size &&
	       take_resident(image->cache, unit.slot, clip_to_unit(&unit, range),
			     cached_out);
}

void dw_cache_put(struct dwarfs_image *image, struct cached *cached)
{
	struct cache *cache = image->cache;

	if (dw_cache_is_lost(cache))
		return;
	if (!cached->extent && !cached->transient && !cached->held) {
		unpin(cache, cached->slot);
		return;
	}
	pthread_mutex_lock(&cache->lock);
	if (cached->transient) {
		dw_cache_put_transient(cache, cached->transient);
	} else if (cached->extent) {
		dw_cache_put_extent(cache, cached->extent);
	} else {
		cached->slot->resident->holds--;
		cache->held_bytes -= cached->held;
		dw_cache_unpin(cached->slot);
		pthread_cond_broadcast(&cache->memory_freed);
	}
	pthread_mutex_unlock(&cache->lock);
}

/* The lock is held. */
static bool hold_unit(struct cache *cache, struct cached *cached)
{
	uint64_t bytes;

	if (!(atomic_load(&cached->slot->state) & IS_RESIDENT))
		return false;
	/* Another job may decode the rest of it meanwhile. */
	bytes = cached->slot->resident->max_bytes;
	if (cache->largest_unit < bytes)
		cache->largest_unit = bytes;
	if (cache->held_bytes + bytes + 2 * cache->largest_unit > cache->budget)
		return false;
	cached->held = bytes;
	cache->held_bytes += bytes;
	cached->slot->resident->holds++;
	return true;
}

bool dw_cache_hold(struct dwarfs_image *image, struct cached *cached)
{
	bool held;

	if (cached->extent || cached->transient || dw_cache_is_lost(image->cache))
		return false;
	pthread_mutex_lock(&image->cache->lock);
	held = hold_unit(image->cache, cached);
	pthread_mutex_unlock(&image->cache->lock);
	return held;
}

/* -- decoding ahead ------------------------------------------------------------------ */

uint64_t dw_cache_extent_capacity(const dwarfs_context *context)
{
	return dw_context_cache_bytes(context) / 2;
}

bool dw_cache_has(struct dwarfs_image *image, uint32_t block, struct range range)
{
	bool is_there = !dw_cache_is_lost(image->cache);

	while (is_there && range.size > 0) {
		struct unit unit = unit_at(image, block, range.from);
		struct range part = clip_to_unit(&unit, range);

		is_there = dw_cache_is_ready(unit.slot, part);
		if (!is_there) {
			pthread_mutex_lock(&image->cache->lock);
			is_there = dw_cache_has_extents(unit.slot, part);
			pthread_mutex_unlock(&image->cache->lock);
		}
		range.from += part.size;
		range.size -= part.size;
	}
	return is_there;
}

/* The ranges of a unit that no extents contain; gives their number. */
static size_t list_missing(const struct unit *unit, const struct range_list *ranges,
			   struct range *missing_out)
{
	size_t count = 0;

	for (size_t i = 0; i < ranges->count; i++) {
		struct range part = clip_to_unit(unit, ranges->list[i]);

		if (!dw_cache_has_extents(unit->slot, part))
			missing_out[count++] = part;
	}
	return count;
}

/* Split the ranges where parts begin. */
static int split_at_parts(struct dwarfs_image *image, uint32_t block,
			  const struct range_list *ranges, struct range **list_out,
			  size_t *count_out, dwarfs_error **err)
{
	auto_free struct range *list = NULL;
	size_t count = 0, room = 0;

	for (size_t i = 0; i < ranges->count; i++) {
		struct range range = ranges->list[i];

		while (range.size > 0) {
			struct unit unit = unit_at(image, block, range.from);
			uint64_t size = clip_to_unit(&unit, range).size;
			int ret = dw_grow(&list, &room, count + 1, err);

			if (ret < 0)
				return ret;
			list[count++] = (struct range){ range.from, size };
			range.from += size;
			range.size -= size;
		}
	}
	*list_out = dw_steal(list);
	*count_out = count;
	return 0;
}

/* The lock is held on entry and exit. */
static int keep_unit_ranges(struct cache *cache, const struct unit *unit,
			    const struct range_list *ranges, struct range *room,
			    dwarfs_error **err)
{
	struct range_list left = { .list = room,
				   .count = list_missing(unit, ranges, room) };
	int ret = 0;

	/* Twice: a job that ran already may have decoded other ranges. */
	for (int i = 0; i < 2 && ret == 0 && left.count > 0; i++) {
		ret = dw_cache_decode_extents(cache, unit, &left, err);
		left.count = list_missing(unit, ranges, room);
	}
	return ret;
}

int dw_cache_keep_ranges(struct dwarfs_image *image, uint32_t block,
			 const struct range_list *ranges, dwarfs_error **err)
{
	struct cache *cache = image->cache;
	auto_free struct range *list = NULL, *room = NULL;
	struct range first;
	size_t count;
	int ret;

	if (ranges->count == 0)
		return 0;
	if (dw_cache_is_lost(cache))
		return dw_cache_fail_lost(err);
	if ((ret = dw_cache_unit(image, block, ranges->list[0].from, &first, err)) < 0 ||
	    (ret = split_at_parts(image, block, ranges, &list, &count, err)) < 0)
		return ret;
	if (!(room = dw_calloc(count, sizeof(*room))))
		return dw_fail_nomem(err);
	pthread_mutex_lock(&cache->lock);
	for (size_t i = 0, end = 0; i < count && ret == 0; i = end) {
		struct unit unit = unit_at(image, block, list[i].from);
		struct range_list own = { .list = list + i };

		while (end < count &&
		       unit_at(image, block, list[end].from).slot == unit.slot)
			end++;
		own.count = end - i;
		if (cache->decode_limit.is_exceeded)
			ret = dw_cache_refuse_decode(cache, image, err);
		else
			ret = keep_unit_ranges(cache, &unit, &own, room, err);
	}
	pthread_mutex_unlock(&cache->lock);
	return ret;
}

/* -- freeing memory ------------------------------------------------------------------ */

static void forget_slot(struct cache *cache, struct slot *slot)
{
	if (atomic_load(&slot->state) & IS_RESIDENT)
		dw_cache_free_resident(cache, slot->resident);
	while (slot->extents)
		dw_cache_drop_extent(cache, slot->extents);
}

void dw_cache_forget(struct dwarfs_image *image)
{
	struct cache *cache = image->cache;

	/* The memory of the blocks stays allocated. */
	if (dw_cache_is_lost(cache))
		return;
	pthread_mutex_lock(&cache->lock);
	/* No reader is left: the image is being closed. */
	for (uint32_t i = 0; i < image->block_count; i++) {
		struct parts *parts = atomic_load(&image->slots[i].parts);

		forget_slot(cache, &image->slots[i]);
		for (size_t j = 0; parts && j < parts->count; j++)
			forget_slot(cache, &parts->slots[j]);
		if (parts) {
			dw_free(atomic_load(&parts->verified_block));
			dw_free(parts->slots);
			dw_free(parts->list);
			dw_free(parts);
		}
	}
	pthread_cond_broadcast(&cache->memory_freed);
	pthread_mutex_unlock(&cache->lock);
}

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

/* Counters since the cache was created, and the current sizes. */
struct cache_counts {
	uint64_t hits, misses, evictions, decoded_bytes, redecoded_bytes, turn_waits;
	uint64_t read_bytes, refused;
	uint64_t budget, used, most_used;
	uint32_t blocks, extents;
};

static void count_cache(struct cache *cache, struct cache_counts *counts_out)
{
	pthread_mutex_lock(&cache->lock);
	*counts_out = (struct cache_counts){
		.hits = atomic_load(&cache->hits),
		.misses = cache->misses,
		.evictions = cache->evictions,
		.decoded_bytes = cache->decoded_bytes,
		.redecoded_bytes = cache->redecoded_bytes,
		.turn_waits = cache->turns.waits,
		.read_bytes = atomic_load(&cache->read_bytes),
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
