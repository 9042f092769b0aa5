/* SPDX-License-Identifier: MIT */
/*
 * read/metadata/name_pivots: binary search among all names of an image. See
 * name_pivots.h.
 */
#include "read/metadata/name_pivots.h"

#define MIN_SHIFT  5	   /* one pivot per 32 names, */
#define MAX_PIVOTS 0x10000 /* or fewer, so that they take at most 2 MiB */
#define KEPT_WORDS 3
#define KEPT_BYTES (8 * KEPT_WORDS)
#define LINE_BYTES 64
#define MAX_LINES  8 /* prefetched cache lines */

/* The sizes of names, and these. */
enum {
	PIVOT_NEW,
	PIVOT_TAKEN = 0xFE, /* a thread loads the name */
	PIVOT_OTHER = 0xFF, /* too long to keep, or unreadable */
};

struct pivot {
	uint64_t words[KEPT_WORDS]; /* the name as big-endian words, padded with zeros */
	uint32_t place;		    /* offset in the metadata; a hint */
	_Atomic(uint8_t) size;
};

static unsigned shift_of(const struct view *view)
{
	unsigned shift = MIN_SHIFT;

	while (view->names.count >> shift >= MAX_PIVOTS)
		shift++;
	return shift;
}

static size_t pivot_count(const struct view *view)
{
	unsigned shift = shift_of(view);

	return (size_t)((view->names.count + (UINT64_C(1) << shift) - 1) >> shift);
}

static int make_pivots(const void *owner, uint32_t **items_out, dwarfs_error **err)
{
	size_t count = pivot_count(owner);

	*items_out = dw_calloc(count ? count : 1, sizeof(struct pivot));
	return *items_out ? 0 : dw_fail_nomem(err);
}

static void split_words(const uint8_t *text, uint64_t words[KEPT_WORDS])
{
	for (size_t i = 0; i < KEPT_WORDS; i++)
		words[i] = dw_load_be64(text + 8 * i);
}

/* -- one pivot ----------------------------------------------------------------------- */

/* Whether the name can be kept. */
static bool keep_pivot(const struct view *view, uint64_t number, struct pivot *pivot,
		       uint8_t *size_out)
{
	char name[KEPT_BYTES + 1] = { 0 };
	struct span stored;
	size_t size;

	if (dw_strings_stored(&view->names, number, &stored, NULL) < 0 ||
	    dw_strings_get(&view->names, number, name, sizeof(name), &size, NULL) < 0 ||
	    size == 0)
		return false;
	/* A decoder may have written after the name. */
	memset(name + size, 0, sizeof(name) - size);
	split_words((const uint8_t *)name, pivot->words);
	pivot->place = (uint32_t)(stored.data - view->frozen.data);
	*size_out = (uint8_t)size;
	return true;
}

/* The state of a pivot, loading it if no thread did. */
static uint8_t load_pivot(const struct view *view, struct pivot *pivot, uint64_t number)
{
	uint8_t state = atomic_load_explicit(&pivot->size, memory_order_acquire);

	if (__builtin_expect(state != PIVOT_NEW, 1) ||
	    !atomic_compare_exchange_strong(&pivot->size, &state, PIVOT_TAKEN))
		return state;
	if (!keep_pivot(view, number, pivot, &state))
		state = PIVOT_OTHER;
	atomic_store_explicit(&pivot->size, state, memory_order_release);
	return state;
}

/* Compare the key with a pivot. */
static int compare_pivot(const struct view *view, const struct key *key,
			 const uint64_t words[KEPT_WORDS], struct pivot *pivot,
			 uint64_t number, int *order_out)
{
	uint8_t size = load_pivot(view, pivot, number);

	if (__builtin_expect(size > KEPT_BYTES, 0))
		return dw_strings_compare(&view->names, number, key, order_out, NULL);
	for (size_t i = 0; i < KEPT_WORDS; i++)
		if (words[i] != pivot->words[i]) {
			*order_out = words[i] < pivot->words[i] ? -1 : 1;
			return 0;
		}
	*order_out = (key->size > size) - (key->size < size);
	return 0;
}

/* -- all names ----------------------------------------------------------------------- */

/* Prefetch the names after a pivot. */
static void prefetch_names(const struct view *view, struct pivot *pivot, bool has_next,
			   uint64_t first, uint64_t end)
{
	const struct table *index = &view->names.index;
	uint32_t step = index->stride ? LINE_BYTES * 8 / index->stride + 1 : 1;
	uint8_t size = atomic_load_explicit(&pivot->size, memory_order_acquire);
	uint64_t bytes = MAX_LINES * LINE_BYTES;

	if (view->names.is_compact && !view->names.is_packed)
		for (uint64_t number = first; number < end; number += step)
			dw_table_prefetch(index, number);
	if (size > KEPT_BYTES)
		return;
	if (has_next &&
	    atomic_load_explicit(&pivot[1].size, memory_order_acquire) <= KEPT_BYTES &&
	    pivot[1].place - pivot->place < bytes)
		bytes = pivot[1].place - pivot->place;
	for (uint64_t at = 0; at < bytes; at += LINE_BYTES)
		if (pivot->place + at < view->frozen.size)
			__builtin_prefetch(view->frozen.data + pivot->place + at);
}

/* In a range of names; as dw_pivots_find(). */
static int find_between(const struct view *view, const struct key *key, uint64_t low,
			uint64_t high, uint64_t *number_out)
{
	while (low < high) {
		uint64_t middle = low + (high - low) / 2;
		int order, ret;

		ret = dw_strings_compare(&view->names, middle, key, &order, NULL);
		if (ret < 0)
			return ret;
		if (order == 0) {
			*number_out = middle;
			return 1;
		}
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	*number_out = low;
	return 0;
}

int dw_pivots_find(const struct view *view, const struct key *key, uint64_t *number_out)
{
	unsigned shift = shift_of(view);
	size_t count = pivot_count(view), low = 0, high = count;
	uint64_t words[KEPT_WORDS], first, end;
	struct pivot *pivots;
	int ret = dw_lazy_need(&view->pivots, make_pivots, view, NULL);

	if (ret < 0)
		return ret;
	pivots = (struct pivot *)dw_lazy_items(&view->pivots);
	split_words(key->bytes, words);
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		uint64_t number = (uint64_t)middle << shift;
		int order;

		ret = compare_pivot(view, key, words, &pivots[middle], number, &order);
		if (ret < 0)
			return ret;
		if (order == 0) {
			*number_out = number;
			return 1;
		}
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	*number_out = 0;
	if (low == 0)
		return 0;
	first = (uint64_t)(low - 1) << shift;
	end = first + (UINT64_C(1) << shift);
	if (end > view->names.count)
		end = view->names.count;
	prefetch_names(view, &pivots[low - 1], low < count, first, end);
	return find_between(view, key, first + 1, end, number_out);
}
