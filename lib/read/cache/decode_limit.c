/* SPDX-License-Identifier: MIT */
/*
 * read/cache/decode_limit: refuse to decode when far more is decoded than read.
 *
 * Takes the counters of the cache; determines after each window whether more was decoded
 * in it than the limit allows for what was read. The window is counted in bytes that were
 * decoded again, so that a first pass over an image, in any order, never ends one. All
 * functions are called with cache->lock held.
 */
#include "read/cache/internal.h"

#define WINDOW_BUDGETS	   16
#define LEAST_WINDOW_BYTES (UINT64_C(16) << 20)

static void start_window(struct cache *cache)
{
	struct decode_limit *limit = &cache->decode_limit;

	limit->decoded_before = cache->decoded_bytes;
	limit->redecoded_before = cache->redecoded_bytes;
	limit->read_before = dw_cache_read_bytes(cache);
}

void dw_cache_set_decode_limit(struct cache *cache, uint32_t times)
{
	cache->decode_limit.times = times;
	cache->decode_limit.is_exceeded = false;
	start_window(cache);
}

static bool is_window_over(const struct cache *cache)
{
	uint64_t bytes = cache->redecoded_bytes - cache->decode_limit.redecoded_before;

	return bytes >= LEAST_WINDOW_BYTES && bytes / WINDOW_BUDGETS >= cache->budget;
}

void dw_cache_check_decode_limit(struct cache *cache)
{
	struct decode_limit *limit = &cache->decode_limit;

	if (limit->times == 0 || limit->is_exceeded || !is_window_over(cache))
		return;
	limit->decoded = cache->decoded_bytes - limit->decoded_before;
	limit->read = dw_cache_read_bytes(cache) - limit->read_before;
	limit->is_exceeded = limit->decoded / limit->times > limit->read;
	start_window(cache);
}

int dw_cache_refuse_decode(struct cache *cache, const struct dwarfs_image *image,
			   dwarfs_error **err)
{
	struct decode_limit *limit = &cache->decode_limit;

	limit->refused++;
	return dw_fail(err, DWARFS_ERR_LIMIT,
		       "%" PRIu64 " bytes were decompressed to read %" PRIu64
		       ", more than %" PRIu32 " times as many: a cache of %" PRIu64
		       " bytes is too small for blocks of up to %" PRIu64
		       " bytes read in this order",
		       limit->decoded, limit->read, limit->times, cache->budget,
		       image->view->block_size);
}
