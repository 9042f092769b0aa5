/* SPDX-License-Identifier: MIT */
/*
 * read/cache/cache: decoded bytes of blocks, shared by the images of a context.
 *
 * Lookups. Takes a block and a range of it; gives bytes that are present at once, else
 * decodes them on this thread or waits for the job that does (decode_job.c). What is
 * kept afterwards is decided in eviction.c. All work on units: blocks, or parts of
 * blocks that are decoded independently; see the states of a unit in internal.h.
 *
 * A hit takes no lock: it pins the unit by a compare and swap, and so does eviction, which
 * fails while there are pins.
 */
#include <time.h>

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

/* -- pins ---------------------------------------------------------------------------- */

struct resident *dw_cache_pin(struct slot *slot)
{
	unsigned state = atomic_load(&slot->state);

	/* A slot without a resident never has pins, or a child process could inherit one that no
	 * thread releases. */
	while (state & IS_RESIDENT)
		if (atomic_compare_exchange_weak(&slot->state, &state, state + PIN))
			return slot->resident;
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

struct unit dw_cache_unit_at(struct dwarfs_image *image, uint32_t block, uint64_t offset)
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

struct range dw_cache_clip(const struct unit *unit, struct range range)
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
	struct unit unit = dw_cache_unit_at(image, block, offset);
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
		unit = dw_cache_unit_at(image, block, offset);
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

/* Any thread may use any of them: the address of a variable of the thread selects one. */
static struct read_counts *counts_of_thread(struct cache *cache)
{
	uint64_t address = (uintptr_t)&dw_current_allocator;

	return &cache->counts[address * UINT64_C(0x9e3779b97f4a7c15) >>
			      (64 - COUNTS_BITS)];
}

static void count_hit(struct cache *cache)
{
	atomic_fetch_add_explicit(&counts_of_thread(cache)->hits, 1,
				  memory_order_relaxed);
}

/* Bytes that are given to the reader of a file; not those that are prefetched. */
static void count_read(struct cache *cache, struct chunk_reader reader, uint64_t bytes)
{
	if (reader.inode != NO_INODE)
		atomic_fetch_add_explicit(&counts_of_thread(cache)->read_bytes, bytes,
					  memory_order_relaxed);
}

uint64_t dw_cache_read_bytes(const struct cache *cache)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < 1 << COUNTS_BITS; i++)
		bytes += atomic_load(&cache->counts[i].read_bytes);
	return bytes;
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
		struct unit unit = dw_cache_unit_at(image, block, range.from);
		struct range part = dw_cache_clip(&unit, range);

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
	struct unit unit = dw_cache_unit_at(image, block, range.from);
	struct cached cached = { 0 };
	int ret;

	if (dw_cache_is_lost(cache))
		return dw_cache_fail_lost(err);
	if (take_resident(cache, unit.slot, dw_cache_clip(&unit, range), cached_out)) {
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
	struct unit unit = dw_cache_unit_at(image, block, range.from);

	return !dw_cache_is_lost(image->cache) &&
	       dw_cache_clip(&unit, range).size == range.size &&
	       take_resident(image->cache, unit.slot, dw_cache_clip(&unit, range),
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

/* -- an image is closed -------------------------------------------------------------- */

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
		dw_cache_free_parts(parts);
	}
	pthread_cond_broadcast(&cache->memory_freed);
	pthread_mutex_unlock(&cache->lock);
}
