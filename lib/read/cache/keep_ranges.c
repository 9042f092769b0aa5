/* SPDX-License-Identifier: MIT */
/*
 * read/cache/keep_ranges: decode ranges of a block that are read later, and keep them in extents.
 */
#include "read/cache/internal.h"

uint64_t dw_cache_extent_capacity(const dwarfs_context *context)
{
	return dw_context_cache_bytes(context) / 2;
}

bool dw_cache_has(struct dwarfs_image *image, uint32_t block, struct range range)
{
	bool is_there = !dw_cache_is_lost(image->cache);

	while (is_there && range.size > 0) {
		struct unit unit = dw_cache_unit_at(image, block, range.from);
		struct range part = dw_cache_clip(&unit, range);

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
		struct range part = dw_cache_clip(unit, ranges->list[i]);

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
			struct unit unit = dw_cache_unit_at(image, block, range.from);
			uint64_t size = dw_cache_clip(&unit, range).size;
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
		struct unit unit = dw_cache_unit_at(image, block, list[i].from);
		struct range_list own = { .list = list + i };

		while (end < count &&
		       dw_cache_unit_at(image, block, list[end].from).slot == unit.slot)
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
