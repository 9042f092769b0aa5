/* SPDX-License-Identifier: MIT */
/*
 * read/cache/extents: copies of parts of units that cannot stay, which are expected to be
 * read once.
 *
 * Those of a unit do not overlap, and are found in a tree by their places (a treap, which
 * needs no more than two pointers in each: Seidel and Aragon, Algorithmica 1996). All of
 * them stand in the order in which they leave: first those that were read to the end,
 * once, then those that were made first; of those that were made together the first to go
 * is the one that will be read last.
 */
#include <string.h>

#include "os/pages.h"
#include "read/cache/internal.h"

#define EXTENT_BYTES ((uint64_t)1 << 20)   /* of one at most */
#define PAGES_BYTES  ((size_t)64 << 10)	   /* from here on they are pages */
#define LEFT_BYTES   ((uint64_t)256 << 10) /* of one that a unit leaves behind */
#define MAX_NARROW   6			   /* so often the room for a batch is halved */
#define TRY_AGAIN    8u			   /* batches that are read in time, and more */

/* -- by place ------------------------------------------------------------------------ */

/* Which one is nearer to the root: by where they are in memory, so that what an image
 * holds has no say in it. */
static bool is_above(const struct extent *one, const struct extent *other)
{
	return (uint64_t)(uintptr_t)one * UINT64_C(0x9e3779b97f4a7c15) >
	       (uint64_t)(uintptr_t)other * UINT64_C(0x9e3779b97f4a7c15);
}

static struct extent **child(struct extent *extent, uint64_t place)
{
	return place < extent->range.from ? &extent->left : &extent->right;
}

static void tree_insert(struct extent **root, struct extent *extent)
{
	struct extent **left = &extent->left, **right = &extent->right, *rest;
	const uint64_t place = extent->range.from;

	while (*root && is_above(*root, extent))
		root = child(*root, place);
	rest = *root;
	*root = extent;
	while (rest) {
		struct extent ***side = rest->range.from < place ? &left : &right;

		**side = rest;
		*side = child(rest, place);
		rest = **side;
	}
	*left = *right = NULL;
}

static void tree_remove(struct extent **root, struct extent *extent)
{
	struct extent *left = extent->left, *right = extent->right;

	while (*root != extent)
		root = child(*root, extent->range.from);
	while (left && right) {
		if (is_above(left, right)) {
			*root = left;
			root = &left->right;
			left = *root;
		} else {
			*root = right;
			root = &right->left;
			right = *root;
		}
	}
	*root = left ? left : right;
}

/* The last one that does not begin behind a place. */
static struct extent *last_starting_at(struct extent *extent, uint64_t place)
{
	struct extent *last = NULL;

	for (; extent; extent = *child(extent, place))
		if (extent->range.from <= place)
			last = extent;
	return last;
}

/* The first one that does. */
static struct extent *first_starting_after(struct extent *extent, uint64_t place)
{
	struct extent *first = NULL;

	for (; extent; extent = *child(extent, place))
		if (extent->range.from > place)
			first = extent;
	return first;
}

/* -- by when they leave -------------------------------------------------------------- */

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

/* Before another one, or as the last of all. */
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

/* -- those that somebody is about to be through with --------------------------------- */

static bool is_nearly_read(const struct extent *extent)
{
	return extent->read_bytes >= extent->range.size - extent->range.size / 4;
}

static void note_nearly_read(struct extent *extent)
{
	struct extent **first = &extent->slot->nearly_read;

	extent->next_nearly_read = *first;
	extent->nearly_read_at = first;
	if (*first)
		(*first)->nearly_read_at = &extent->next_nearly_read;
	*first = extent;
}

static void forget_nearly_read(struct extent *extent)
{
	if (!extent->nearly_read_at)
		return;
	*extent->nearly_read_at = extent->next_nearly_read;
	if (extent->next_nearly_read)
		extent->next_nearly_read->nearly_read_at = extent->nearly_read_at;
}

/* -- life ---------------------------------------------------------------------------- */

/* What an extent takes, with what the allocator adds. */
static uint64_t bytes_of_extent(uint64_t size)
{
	return size < PAGES_BYTES ? size + sizeof(struct extent) + 16 : size;
}

static void free_extent(struct cache *cache, struct extent *extent)
{
	cache->used -= bytes_of_extent(extent->range.size);
	if (is_in_pages(extent))
		dw_pages_free(extent->bytes, (size_t)extent->range.size);
	free(extent);
}

/* An extent left before it was read: there are more readers than there is room for such
 * long ones. */
static void note_lost(struct cache *cache, const struct extent *extent)
{
	if (extent->batch < cache->shift_since_batch || cache->window_shift >= MAX_NARROW)
		return;
	cache->window_shift++;
	cache->shift_since_batch = cache->batch + 1;
	cache->fully_read = 0;
}

/* One was read in time: after some of them, longer ones are tried again. */
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

/* Out of its slot and the list; freed when nobody reads from it. */
void dw_cache_drop_extent(struct cache *cache, struct extent *extent)
{
	tree_remove(&extent->slot->extents, extent);
	unlink_extent(cache, extent);
	forget_nearly_read(extent);
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
	struct extent *extent = last_starting_at(slot->extents, range.from);

	return extent && range.from - extent->range.from < extent->range.size ? extent
									      : NULL;
}

size_t dw_cache_next_offsets(const struct slot *slot, uint64_t *places, size_t most)
{
	size_t count = 0, tries = 2 * most;

	for (const struct extent *extent = slot->nearly_read;
	     extent && count < most && tries > 0;
	     extent = extent->next_nearly_read, tries--) {
		uint64_t end = extent->range.from + extent->range.size;

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

/* Once it was read to the end it is the first to leave, unless it is read again. */
static void note_given(struct cache *cache, struct extent *extent, uint64_t bytes)
{
	bool was_unread = is_unread(extent), was_nearly_read = is_nearly_read(extent);

	extent->read_bytes += bytes;
	if (!was_nearly_read && is_nearly_read(extent))
		note_nearly_read(extent);
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
	struct extent *extent = malloc(sizeof(*extent) + (large ? 0 : size));

	if (!extent)
		return NULL;
	*extent = (struct extent){ .range = range, .last_ms = dw_cache_now_ms() };
	extent->bytes = (uint8_t *)(extent + 1);
	if (large && !(extent->bytes = dw_pages_new(size))) {
		free(extent);
		return NULL;
	}
	memcpy(extent->bytes, resident->bytes + range.from, size);
	return extent;
}

/* Older ones make room, those of the same batch do not. */
static bool drop_older_extents(struct cache *cache, uint64_t bytes)
{
	uint64_t room = dw_cache_extent_budget(cache);

	while (cache->extent_bytes + bytes > room && cache->first_extent &&
	       cache->first_extent->batch != cache->batch)
		dw_cache_drop_extent(cache, cache->first_extent);
	return cache->extent_bytes + bytes <= room;
}

/* As the last one of its batch. */
static void add_extent(struct cache *cache, struct slot *slot, struct extent *extent)
{
	uint64_t bytes = bytes_of_extent(extent->range.size);

	cache->used += bytes;
	dw_cache_note_use(cache);
	extent->batch = cache->batch;
	extent->slot = slot;
	tree_insert(&slot->extents, extent);
	link_before(cache, extent, cache->batch_extent);
	cache->batch_extent = extent;
	cache->extent_bytes += bytes;
	cache->unread_bytes += extent->range.size;
	cache->extent_count++;
}

/* Keep a copy of a part, if there is room for it within so many bytes in all. */
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

/* What of a range is not there, piece by piece: extents do not overlap. */
static void keep_range(struct cache *cache, const struct resident *resident,
		       struct range range, uint64_t limit)
{
	while (range.size > 0) {
		const struct slot *slot = resident->slot;
		const struct extent *extent = dw_cache_find_extent(slot, range), *next;
		struct range piece = range;

		if (extent)
			piece.size = overlap(extent, range);
		else if ((next = first_starting_after(slot->extents, range.from)) &&
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

/* What of a range is there and not more than so much. */
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

/* The most that each may have, so that all that are kept fit. */
static uint64_t fair_share(const struct cache *cache, const struct resident *resident,
			   const struct request *requests, size_t count, bool all)
{
	uint64_t room = dw_cache_extent_budget(cache);
	uint64_t share = room >> cache->window_shift, sum;

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

/* -- what a unit leaves behind ------------------------------------------------------- */

/* Pages go back to the system in grains: no page is larger. */
static uint64_t round_down(uint64_t place)
{
	return place / PAGES_BYTES * PAGES_BYTES;
}

static uint64_t round_up(uint64_t place)
{
	return round_down(place + PAGES_BYTES - 1);
}

/* The places where it was read, in order and once each, in front of what is there. */
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

/* A grain or some, from there on, which the unit has and nobody else. */
static void convert_pages(struct cache *cache, struct resident *resident,
			  struct range range, uint64_t given)
{
	struct slot *slot = resident->slot;
	struct extent *extent = malloc(sizeof(*extent)), *other;

	while ((other = last_starting_at(slot->extents, range.from + range.size - 1)) &&
	       other->range.from + other->range.size > range.from)
		dw_cache_drop_extent(cache, other);
	if (!extent) {
		dw_pages_free(resident->pages + range.from, (size_t)range.size);
		return;
	}
	*extent = (struct extent){ .range = range,
				   .last_ms = dw_cache_now_ms(),
				   .read_bytes = given,
				   .bytes = resident->pages + range.from };
	add_extent(cache, slot, extent);
}

/* What stands behind a place, up to another one; gives where the next may begin. */
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
	/* What is left of it is for what describes them. */
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
			dw_pages_free(resident->pages + done, (size_t)(from - done));
		done = convert_range(cache, resident, from, heads[i], end);
	}
	if (done < resident->page_bytes)
		dw_pages_free(resident->pages + done,
			      (size_t)(resident->page_bytes - done));
	resident->pages = NULL;
}
