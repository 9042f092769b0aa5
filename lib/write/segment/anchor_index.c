/* SPDX-License-Identifier: MIT */
/*
 * write/segment/anchor_index: positions of anchors by hash, in bounded memory.
 *
 * An entry has the low 24 bits of the hash above 40 bits of the position + 1, so that
 * zero is an empty entry. The high 32 bits of the hash select the bucket.
 */
#include "os/pages.h"
#include "write/segment/anchor_index.h"

#define PLACE_BITS 40
#define PLACE_MASK ((UINT64_C(1) << PLACE_BITS) - 1)

#define MIN_BUCKETS	 128
#define FULL_NUMERATOR	 85 /* percent of the entries in use */
#define MAX_DROPPED_BITS 12

struct bucket {
	uint64_t entries[INDEX_WAYS];
};

struct anchor_index {
	struct bucket *buckets;
	uint32_t bucket_count;
	unsigned dropped_bits; /* of the hash, that must be zero for an anchor to count */
	uint64_t used, full;   /* entries */
};

int dw_anchor_index_new(uint64_t anchors, uint64_t max_bytes,
			struct anchor_index **index_out, dwarfs_error **err)
{
	DW_AUTO(anchor_index) struct anchor_index *index = dw_calloc(1, sizeof(*index));
	uint64_t wanted = anchors / 5 + MIN_BUCKETS; /* a load of about 0.6 */

	if (!index)
		return dw_fail_nomem(err);
	if (max_bytes > SIZE_MAX)
		max_bytes = SIZE_MAX;
	if (wanted > max_bytes / sizeof(struct bucket))
		wanted = max_bytes / sizeof(struct bucket);
	if (wanted < MIN_BUCKETS)
		wanted = MIN_BUCKETS;
	if (wanted > UINT32_MAX)
		wanted = UINT32_MAX;
	index->bucket_count = (uint32_t)wanted;
	index->full = wanted * INDEX_WAYS / 100 * FULL_NUMERATOR;
	index->buckets = dw_pages_new((size_t)dw_anchor_index_bytes(index));
	if (!index->buckets)
		return dw_fail_nomem(err);
	dw_pages_use_huge_if_large(index->buckets, (size_t)dw_anchor_index_bytes(index));
	*index_out = dw_steal(index);
	return 0;
}

void dw_anchor_index_free(struct anchor_index *index)
{
	if (!index)
		return;
	dw_pages_free(index->buckets, (size_t)dw_anchor_index_bytes(index));
	dw_free(index);
}

uint64_t dw_anchor_index_bytes(const struct anchor_index *index)
{
	return (uint64_t)index->bucket_count * sizeof(struct bucket);
}

static struct bucket *anchor_bucket(const struct anchor_index *index, uint64_t hash)
{
	return &index->buckets[(hash >> 32) * index->bucket_count >> 32];
}

static bool counts(const struct anchor_index *index, uint64_t hash)
{
	return (hash & ((UINT64_C(1) << index->dropped_bits) - 1)) == 0;
}

bool dw_anchor_index_counts(const struct anchor_index *index, uint64_t hash)
{
	return counts(index, hash);
}

void dw_anchor_index_prefetch(const struct anchor_index *index, uint64_t hash)
{
	__builtin_prefetch(anchor_bucket(index, hash), 1);
}

size_t dw_anchor_index_find(const struct anchor_index *index, uint64_t hash,
			    uint64_t places[INDEX_WAYS])
{
	const struct bucket *bucket = anchor_bucket(index, hash);
	uint64_t tag = hash << PLACE_BITS;
	size_t count = 0;

	for (size_t i = 0; i < INDEX_WAYS; i++) {
		uint64_t entry = bucket->entries[i], place;
		size_t at;

		if (entry == 0 || (entry ^ tag) >> PLACE_BITS != 0)
			continue;
		place = (entry & PLACE_MASK) - 1;
		for (at = count++; at > 0 && places[at - 1] < place; at--)
			places[at] = places[at - 1];
		places[at] = place;
	}
	return count;
}

static void drop_anchors(struct anchor_index *index)
{
	index->dropped_bits++;
	index->used = 0;
	for (uint32_t i = 0; i < index->bucket_count; i++) {
		for (size_t j = 0; j < INDEX_WAYS; j++) {
			uint64_t *entry = &index->buckets[i].entries[j];

			if (*entry == 0)
				continue;
			if (counts(index, *entry >> PLACE_BITS))
				index->used++;
			else
				*entry = 0;
		}
	}
}

/* Of INDEX_MOST_EQUAL entries with the same hash, the oldest but one; else an empty entry, else the
 * oldest. */
static uint64_t *entry_to_replace(struct bucket *bucket, uint64_t tag)
{
	uint64_t *oldest = &bucket->entries[0], *empty = NULL;
	uint64_t *first = NULL, *second = NULL; /* of the same hash */
	size_t equal = 0;

	for (size_t i = 0; i < INDEX_WAYS; i++) {
		uint64_t *entry = &bucket->entries[i];
		uint64_t place = *entry & PLACE_MASK;

		if (*entry == 0) {
			empty = entry;
			continue;
		}
		if (place < (*oldest & PLACE_MASK))
			oldest = entry;
		if ((*entry ^ tag) >> PLACE_BITS != 0)
			continue;
		equal++;
		if (!first || place < (*first & PLACE_MASK)) {
			second = first;
			first = entry;
		} else if (!second || place < (*second & PLACE_MASK)) {
			second = entry;
		}
	}
	if (equal == INDEX_MOST_EQUAL)
		return second;
	return empty ? empty : oldest;
}

void dw_anchor_index_add(struct anchor_index *index, uint64_t hash, uint64_t place)
{
	uint64_t tag = hash << PLACE_BITS;
	uint64_t *entry;

	if (place >= PLACE_MASK || !counts(index, hash))
		return;
	entry = entry_to_replace(anchor_bucket(index, hash), tag);
	index->used += *entry == 0;
	*entry = tag | (place + 1);
	if (index->used > index->full && index->dropped_bits < MAX_DROPPED_BITS)
		drop_anchors(index);
}
