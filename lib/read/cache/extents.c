/* SPDX-License-Identifier: MIT */
/*
 * read/cache/extents: copies of ranges of units that cannot be kept, expected to be read
 * once.
 *
 * Without extents one release of 24 (level 7, cache of 32 MiB) decodes 195 times as many
 * bytes, and at level 9, where a block is larger than the cache, it takes more than 90
 * times as long; random reads of *rootfs* (64 MiB) decode 1.7 times as many without those
 * made of evicted units, but files in the order of paths 0.56 times.
 *
 * Takes a resident and requested ranges, keeps copies of them, and gives them to
 * readers. All functions are called with cache->lock held.
 *
 * The extents of a unit do not overlap, and are in a tree by offset (extent_tree.c). All
 * extents of the cache are in one list in the order of eviction: first those that were
 * read to their end once, then the oldest batch; within a batch the one that will be read
 * last is evicted first.
 */
#include <string.h>

#include "os/pages.h"
#include "read/cache/extent_tree.h"

#define EXTENT_BYTES ((uint64_t)1 << 20) /* maximum of one extent */
#define PAGES_BYTES  ((size_t)64 << 10)	 /* from this size on in pages of their own */
#define LEFT_BYTES                                                                       \
	((uint64_t)256                                                                   \
	 << 10)	      /* maximum of an extent made from pages of an evicted unit */
#define MAX_NARROW 6  /* maximum of window_shift */
#define TRY_AGAIN  8u /* extents read in time before windows grow: 8 << window_shift */

/* -- the list in order of eviction --------------------------------------------------- */

static bool is_unread(const struct extent *extent)
{
	return extent->read_bytes < extent->range.size;
}

static bool is_in_pages(const struct extent *extent)
{
	return extent->bytes != (const uint8_t *)(extent + 1);
}

static void unlink_extent(struct cache *cache, struct extent *extent)
{
	if (cache->batch_extent == extent)
		cache->batch_extent = extent->next;
	if (extent->previous)
		extent->previous->next = extent->next;
	else
		cache->first_extent = extent->next;
	if (extent->next)
		extent->next->previous = extent->previous;
	else
		cache->last_extent = extent->previous;
}

/* Insert before another one; NULL: at the end. */
static void link_before(struct cache *cache, struct extent *extent, struct extent *next)
{
	extent->next = next;
	extent->previous = next ? next->previous : cache->last_extent;
	if (extent->previous)
		extent->previous->next = extent;
	else
		cache->first_extent = extent;
	if (next)
		next->previous = extent;
	else
		cache->last_extent = extent;
}

/* -- creating and dropping ----------------------------------------------------------- */

/* Memory of an extent, with the allocator's overhead. */
static uint64_t bytes_of_extent(uint64_t size)
{
	return size < PAGES_BYTES ? size + sizeof(struct extent) + 32 : size;
}

static void free_extent(struct cache *cache, struct extent *extent)
{
	cache->used -= bytes_of_extent(extent->range.size);
	if (is_in_pages(extent))
		dw_pages_free(extent->bytes, (size_t)extent->range.size);
	dw_free(extent);
}

/* An extent was dropped before it was read: there are too many readers for windows of
 * this size. */
static void note_lost(struct cache *cache, const struct extent *extent)
{
	if (extent->batch < cache->shift_since_batch || cache->window_shift >= MAX_NARROW)
		return;
	cache->window_shift++;
	cache->shift_since_batch = cache->batch + 1;
	cache->fully_read = 0;
}

/* An extent was read in time: after some of them, try larger windows. */
static void note_used_up(struct cache *cache, const struct extent *extent)
{
	if (extent->batch < cache->shift_since_batch || cache->window_shift == 0)
		return;
	if (++cache->fully_read < TRY_AGAIN << cache->window_shift)
		return;
	cache->fully_read = 0;
	cache->window_shift--;
	cache->shift_since_batch = cache->batch + 1;
}

/* Remove from its slot and the list; freed when its last pin is released. */
void dw_cache_drop_extent(struct cache *cache, struct extent *extent)
{
	dw_extent_tree_remove(&extent->slot->extents, extent);
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
		cache->detached_pinned++;
}

struct extent *dw_cache_find_extent(const struct slot *slot, struct range range)
{
	struct extent *extent = dw_extent_tree_last_at(slot->extents, range.from);

	return extent && range.from - extent->range.from < extent->range.size ? extent
									      : NULL;
}

/* How many bytes of a range are in the extent that contains its beginning. */
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

/* Count bytes read. An extent that was read to its end is the first to be evicted,
 * unless it is read again. */
static void note_given(struct cache *cache, struct extent *extent, uint64_t bytes)
{
	bool was_unread = is_unread(extent);

	extent->read_bytes += bytes;
	if (is_unread(extent))
		return;
	unlink_extent(cache, extent);
	if (was_unread) {
		note_used_up(cache, extent);
		cache->unread_bytes -= extent->range.size;
		link_before(cache, extent, cache->first_extent);
	} else {
		link_before(cache, extent, NULL);
	}
}

void dw_cache_read_extent(struct cache *cache, struct extent *extent, struct range range,
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

void dw_cache_count_extent_read(struct cache *cache, const struct slot *slot,
				struct range range)
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
	cache->detached_pinned--;
	free_extent(cache, extent);
	pthread_cond_broadcast(&cache->memory_freed);
}

static struct extent *new_extent(const struct resident *resident, struct range range)
{
	size_t size = (size_t)range.size;
	bool large = size >= PAGES_BYTES;
	struct extent *extent = dw_malloc(sizeof(*extent) + (large ? 0 : size));

	if (!extent)
		return NULL;
	*extent = (struct extent){ .range = range, .last_ms = dw_cache_now_ms() };
	extent->bytes = (uint8_t *)(extent + 1);
	if (large && !(extent->bytes = dw_pages_new(size))) {
		dw_free(extent);
		return NULL;
	}
	memcpy(extent->bytes, resident->bytes + range.from, size);
	return extent;
}

/* Drop extents of older batches until there is space; false if there is none. */
static bool drop_older_extents(struct cache *cache, uint64_t bytes)
{
	uint64_t room = dw_cache_extent_budget(cache);

	while (cache->extent_bytes + bytes > room && cache->first_extent &&
	       cache->first_extent->batch != cache->batch)
		dw_cache_drop_extent(cache, cache->first_extent);
	return cache->extent_bytes + bytes <= room;
}

/* Insert as the last one of the batch. */
static void add_extent(struct cache *cache, struct slot *slot, struct extent *extent)
{
	uint64_t bytes = bytes_of_extent(extent->range.size);

	cache->used += bytes;
	dw_cache_note_use(cache);
	extent->batch = cache->batch;
	extent->slot = slot;
	dw_extent_tree_insert(&slot->extents, extent);
	link_before(cache, extent, cache->batch_extent);
	cache->batch_extent = extent;
	cache->extent_bytes += bytes;
	cache->unread_bytes += extent->range.size;
	cache->extent_count++;
}

/* Keep a copy of a range, if total memory stays below limit. */
static bool keep_extent(struct cache *cache, const struct resident *resident,
			struct range range, uint64_t limit)
{
	struct slot *slot = resident->slot;
	uint64_t bytes = bytes_of_extent(range.size);
	struct extent *extent;

	if (bytes > limit || !drop_older_extents(cache, bytes))
		return false;
	dw_cache_evict_to(cache, limit - bytes);
	while (cache->used > limit - bytes && cache->first_extent &&
	       cache->first_extent->batch != cache->batch)
		dw_cache_drop_extent(cache, cache->first_extent);
	if (cache->used + bytes > limit || !(extent = new_extent(resident, range)))
		return false;
	add_extent(cache, slot, extent);
	return true;
}

/* Copy the pieces of a range that no extent contains: extents do not overlap. */
static void keep_range(struct cache *cache, const struct resident *resident,
		       struct range range, uint64_t limit)
{
	while (range.size > 0) {
		const struct slot *slot = resident->slot;
		const struct extent *extent = dw_cache_find_extent(slot, range), *next;
		struct range piece = range;

		if (extent)
			piece.size = overlap(extent, range);
		else if ((next = dw_extent_tree_first_after(slot->extents, range.from)) &&
			 next->range.from - range.from < piece.size)
			piece.size = next->range.from - range.from;
		if (!extent && piece.size > EXTENT_BYTES)
			piece.size = EXTENT_BYTES;
		if (!extent && !keep_extent(cache, resident, piece, limit))
			return;
		range.from += piece.size;
		range.size -= piece.size;
	}
}

/* The decoded beginning of a range, of at most `most` bytes. */
static struct range clip_to_ready(const struct resident *resident, struct range range,
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

/* The largest size of a copy at which all of them fit into the budget. */
static uint64_t fair_share(const struct cache *cache, const struct resident *resident,
			   const struct request *requests, size_t count, bool all)
{
	uint64_t room = dw_cache_extent_budget(cache);
	uint64_t share = all ? room >> cache->window_shift : room, sum;

	do {
		sum = 0;
		for (size_t i = 0; i < count; i++)
			if (all || requests[i].must_keep)
				sum += clip_to_ready(resident, requests[i].range, share)
					       .size;
		if (sum > room)
			share -= share / 8 + 1;
	} while (sum > room);
	return share;
}

void dw_cache_keep_requests(struct cache *cache, const struct resident *resident,
			    const struct request *requests, size_t count, bool all,
			    uint64_t limit)
{
	uint64_t share = fair_share(cache, resident, requests, count, all);

	cache->batch++;
	cache->batch_extent = NULL;
	cache->last_batch_at = cache->decode_clock;
	for (size_t i = 0; i < count; i++) {
		struct range range = clip_to_ready(resident, requests[i].range, share);

		if (all || requests[i].must_keep)
			keep_range(cache, resident, range, limit);
	}
}

/* -- pages of evicted units ---------------------------------------------------------- */

/* Memory is returned to the system in multiples of PAGES_BYTES: no page is larger. */
static uint64_t round_down(uint64_t place)
{
	return place / PAGES_BYTES * PAGES_BYTES;
}

static uint64_t round_up(uint64_t place)
{
	return round_down(place + PAGES_BYTES - 1);
}

/* The offsets before `ready` at which readers stopped, sorted and without duplicates. */
static size_t list_readers(const struct resident *resident, uint64_t *heads)
{
	uint64_t ready = atomic_load(&resident->ready);
	size_t count = 0;

	for (size_t i = 0; i < MAX_READERS; i++) {
		uint64_t head = atomic_load(&resident->read_ends[i]);
		size_t at = count;

		while (at > 0 && heads[at - 1] > head)
			at--;
		if (head == 0 || head >= ready || (at > 0 && heads[at - 1] == head))
			continue;
		memmove(&heads[at + 1], &heads[at], (count++ - at) * sizeof(*heads));
		heads[at] = head;
	}
	return count;
}

/* An extent of pages that belong to the unit, or a copy of them. */
static struct extent *new_converted(const struct resident *resident, struct range range)
{
	struct extent *extent;

	if (!dw_pages_are_system(resident->pages))
		return new_extent(resident, range);
	extent = dw_malloc(sizeof(*extent));
	if (extent)
		*extent = (struct extent){ .range = range,
					   .last_ms = dw_cache_now_ms(),
					   .bytes = resident->pages + range.from };
	return extent;
}

/* Free pages that belong to the unit; other memory is freed as a whole. */
static void free_pages(const struct resident *resident, uint64_t from, uint64_t end)
{
	if (dw_pages_are_system(resident->pages))
		dw_pages_free(resident->pages + from, (size_t)(end - from));
}

/* Make an extent of pages that belong to the unit. */
static void convert_pages(struct cache *cache, struct resident *resident,
			  struct range range, uint64_t given)
{
	struct slot *slot = resident->slot;
	struct extent *extent = new_converted(resident, range), *other;

	while ((other = dw_extent_tree_last_at(slot->extents,
					       range.from + range.size - 1)) &&
	       other->range.from + other->range.size > range.from)
		dw_cache_drop_extent(cache, other);
	if (!extent) {
		free_pages(resident, range.from, range.from + range.size);
		return;
	}
	extent->read_bytes = given;
	add_extent(cache, slot, extent);
}

/* Make extents of the pages from an offset up to `end`; gives the offset after them. */
static uint64_t convert_range(struct cache *cache, struct resident *resident,
			      uint64_t from, uint64_t head, uint64_t end)
{
	while (from < end) {
		struct range range = { from, LEFT_BYTES };

		if (range.size > end - from)
			range.size = end - from;
		convert_pages(cache, resident, range, head > from ? head - from : 0);
		from = round_up(from + range.size);
	}
	return from;
}

void dw_cache_convert_to_extents(struct cache *cache, struct resident *resident,
				 uint64_t most)
{
	uint64_t ready = atomic_load(&resident->ready), done = 0, heads[MAX_READERS + 1];
	size_t count = list_readers(resident, heads);
	/* The rest is for the structs of the extents. */
	uint64_t each = count ? round_down((most - most / 64) / count) : 0;

	if (each == 0 || !resident->pages)
		return;
	cache->batch++;
	cache->batch_extent = NULL;
	cache->last_batch_at = cache->decode_clock;
	for (size_t i = 0; i < count; i++) {
		uint64_t from = round_down(heads[i]), end = from + each;

		if (from < done)
			from = done;
		if (end > ready)
			end = ready;
		if (from >= end)
			continue;
		if (from > done)
			free_pages(resident, done, from);
		done = convert_range(cache, resident, from, heads[i], end);
	}
	if (done < resident->page_bytes)
		free_pages(resident, done, resident->page_bytes);
	if (dw_pages_are_system(resident->pages))
		resident->pages = NULL;
}
