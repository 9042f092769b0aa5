/* SPDX-License-Identifier: MIT */
/*
 * write/inspect/distinct_set: the distinct contents found so far.
 *
 * A hash table by digest and size, with arrays in parallel. One mutex protects all of it.
 */
#include <string.h>

#include "base/bytes.h"
#include "write/inspect/distinct_set.h"

int dw_distinct_init(struct distinct_set *set, size_t digest_bytes,
		     bool wants_fingerprints, dwarfs_error **err)
{
	*set = (struct distinct_set){
		.digest_bytes = digest_bytes,
		.wants_fingerprints = wants_fingerprints,
	};
	if (pthread_mutex_init(&set->lock, NULL) != 0)
		return dw_fail_nomem(err);
	return 0;
}

void dw_distinct_free(struct distinct_set *set)
{
	pthread_mutex_destroy(&set->lock);
	for (size_t i = 0; i < set->parts_count; i++)
		dw_category_parts_free(&set->parts[i]);
	dw_free(set->parts);
	dw_kept_free(set->kept, set->kept_count);
	dw_free(set->list);
	dw_free(set->digests);
	dw_free(set->slots);
	dw_free(set->fingerprints);
}

/* -- lookup -------------------------------------------------------------------------- */

static uint8_t *digest_at(const struct distinct_set *set, size_t number)
{
	return set->digests + number * set->digest_bytes;
}

/* The slot of these contents, or the empty one for them. Digests need no further
 * hashing. */
static size_t find_distinct_slot(const struct distinct_set *set, const uint8_t *digest,
				 uint64_t size)
{
	size_t mask = set->slot_count - 1;
	size_t slot = (size_t)dw_load64(digest) & mask;

	for (;; slot = (slot + 1) & mask) {
		uint32_t number = set->slots[slot];

		if (number == 0 ||
		    (set->list[number - 1].size == size &&
		     memcmp(digest_at(set, number - 1), digest, set->digest_bytes) == 0))
			return slot;
	}
}

static int grow_distinct_slots(struct distinct_set *set, dwarfs_error **err)
{
	size_t old_count = set->slot_count, count = old_count ? old_count * 2 : 1024;
	auto_free uint32_t *old = set->slots;
	uint32_t *slots = dw_calloc(count, sizeof(*slots));

	if (!slots) {
		old = NULL;
		return dw_fail_nomem(err);
	}
	set->slots = slots;
	set->slot_count = count;
	for (size_t i = 0; i < old_count; i++) {
		uint32_t number = old[i];

		if (number != 0)
			slots[find_distinct_slot(set, digest_at(set, number - 1),
						 set->list[number - 1].size)] = number;
	}
	return 0;
}

/* -- adding -------------------------------------------------------------------------- */

static int grow_distinct(struct distinct_set *set, const uint8_t *digest,
			 dwarfs_error **err)
{
	size_t need = set->count + 1;
	int ret;

	if (set->count >= DW_NONE - 1)
		return dw_fail(err, DWARFS_ERR_RANGE, "too many files for one image");
	if ((ret = dw_grow(&set->list, &set->room, need, err)) < 0)
		return ret;
	if (set->digest_bytes &&
	    (ret = dw_grow_bytes((void **)&set->digests, &set->digest_room, need,
				 set->digest_bytes, err)) < 0)
		return ret;
	if (set->wants_fingerprints &&
	    (ret = dw_grow(&set->fingerprints, &set->fingerprint_room, need, err)) < 0)
		return ret;
	if (digest && set->hashed_count * 2 >= set->slot_count)
		return grow_distinct_slots(set, err);
	return 0;
}

static int keep_bytes(struct distinct_set *set, const struct finding *finding,
		      dwarfs_error **err)
{
	int ret = dw_grow(&set->kept, &set->kept_room, set->kept_count + 1, err);

	if (ret < 0)
		return ret;
	atomic_fetch_add(&finding->slab->users, 1);
	set->kept[set->kept_count++] = (struct kept){
		.slab = finding->slab,
		.offset = finding->offset,
		.size = (uint32_t)finding->size,
		.content = (uint32_t)set->count,
	};
	return 0;
}

static int add_distinct(struct distinct_set *set, const struct finding *finding,
			dwarfs_error **err)
{
	int ret;

	if (finding->slab && (ret = keep_bytes(set, finding, err)) < 0)
		return ret;
	if (set->digest_bytes)
		memset(digest_at(set, set->count), 0, set->digest_bytes);
	if (set->wants_fingerprints)
		set->fingerprints[set->count] = (struct fingerprint){ 0 };
	if (finding->digest) {
		size_t slot = find_distinct_slot(set, finding->digest, finding->size);

		memcpy(digest_at(set, set->count), finding->digest, set->digest_bytes);
		set->slots[slot] = (uint32_t)set->count + 1;
		set->hashed_count++;
	}
	set->list[set->count++] = (struct distinct){
		.size = finding->size,
		.rank = UINT64_MAX,
		.first = DW_NONE,
		.last = DW_NONE,
	};
	return 0;
}

static int find_or_add(struct distinct_set *set, const struct finding *finding,
		       uint32_t *number_out, bool *is_new_out, dwarfs_error **err)
{
	int ret;

	if (finding->digest && set->slot_count) {
		size_t slot = find_distinct_slot(set, finding->digest, finding->size);

		if (set->slots[slot] != 0) {
			*number_out = set->slots[slot] - 1;
			*is_new_out = false;
			return 0;
		}
	}
	if ((ret = grow_distinct(set, finding->digest, err)) < 0 ||
	    (ret = add_distinct(set, finding, err)) < 0)
		return ret;
	*number_out = (uint32_t)set->count - 1;
	*is_new_out = true;
	return 0;
}

int dw_distinct_add(struct distinct_set *set, const struct finding *finding,
		    uint32_t *number_out, bool *is_new_out, dwarfs_error **err)
{
	int ret;

	pthread_mutex_lock(&set->lock);
	ret = find_or_add(set, finding, number_out, is_new_out, err);
	pthread_mutex_unlock(&set->lock);
	return ret;
}

/* -- categories and fingerprints ----------------------------------------------------- */

static int set_parts(struct distinct_set *set, struct distinct *distinct,
		     struct category_parts *parts, dwarfs_error **err)
{
	int ret;

	if (distinct->parts == 0 && parts->count == 0)
		return 0;
	if (distinct->parts == 0) {
		ret = dw_grow(&set->parts, &set->parts_room, set->parts_count + 1, err);
		if (ret < 0)
			return ret;
		set->parts[set->parts_count++] = (struct category_parts){ 0 };
		distinct->parts = (uint32_t)set->parts_count;
	}
	dw_category_parts_free(&set->parts[distinct->parts - 1]);
	set->parts[distinct->parts - 1] = *parts;
	*parts = (struct category_parts){ 0 };
	return 0;
}

int dw_distinct_describe(struct distinct_set *set, uint32_t number, uint64_t rank,
			 struct category_parts *parts,
			 const struct fingerprint *fingerprint, dwarfs_error **err)
{
	struct distinct *distinct;
	int ret = 0;

	pthread_mutex_lock(&set->lock);
	distinct = &set->list[number];
	if (rank < distinct->rank) {
		ret = set_parts(set, distinct, parts, err);
		distinct->rank = rank;
		if (set->wants_fingerprints)
			set->fingerprints[number] =
				fingerprint ? *fingerprint : (struct fingerprint){ 0 };
	}
	pthread_mutex_unlock(&set->lock);
	return ret;
}
