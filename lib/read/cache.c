/* SPDX-License-Identifier: MIT */
/*
 * read/cache: decoded blocks, shared by the images of a context.
 *
 * One budget in bytes for all of them. A block counts from the moment its size is known
 * (its stored bytes, too, while they are needed) to the moment it is freed.
 * Blocks that somebody reads from are pinned; the others leave in the order of their last
 * use. When a block does not fit beside those that are pinned or being loaded, its loader
 * waits, unless there are none: so one block that is larger than the budget can be read
 * all the same.
 */
#include <pthread.h>

#include "read/image.h"

enum block_state { LOADING, READY, FAILED };

struct block {
	struct cached_block public; /* first: what readers see */
	uint8_t *owned;
	struct dwarfs_image *image; /* NULL when the image is gone or the load failed */
	uint32_t number;
	enum block_state state;
	uint32_t pins;		     /* readers and loaders */
	uint64_t charged;	     /* bytes counted for it */
	struct block *older, *newer; /* in the list of blocks that are not pinned */
};

struct cache {
	pthread_mutex_t lock;
	pthread_cond_t changed; /* a load ended, or a pin went */
	uint64_t budget, used;
	uint64_t busy; /* charged bytes of blocks that are pinned or being loaded */
	struct block *oldest, *newest;
};

static void cache_free(void *object)
{
	struct cache *cache = object;

	/* All images are gone, and each has taken its blocks along. */
	pthread_cond_destroy(&cache->changed);
	pthread_mutex_destroy(&cache->lock);
	free(cache);
}

static int cache_new(dwarfs_context *context, void **cache_out, dwarfs_error **err)
{
	struct cache *cache = dw_calloc(1, sizeof(*cache));

	if (!cache)
		return dw_fail_nomem(err);
	if (pthread_mutex_init(&cache->lock, NULL) != 0) {
		free(cache);
		return dw_fail_nomem(err);
	}
	if (pthread_cond_init(&cache->changed, NULL) != 0) {
		pthread_mutex_destroy(&cache->lock);
		free(cache);
		return dw_fail_nomem(err);
	}
	cache->budget = dw_context_cache_bytes(context);
	*cache_out = cache;
	return 0;
}

int dw_cache_of(dwarfs_context *context, struct cache **cache_out, dwarfs_error **err)
{
	void *object;
	int ret = dw_context_shared(context, cache_new, cache_free, &object, err);

	if (ret == 0)
		*cache_out = object;
	return ret;
}

/* -- the list of blocks that nobody reads from; all under the lock ------------------- */

static void list_remove(struct cache *cache, struct block *block)
{
	if (block->older)
		block->older->newer = block->newer;
	else
		cache->oldest = block->newer;
	if (block->newer)
		block->newer->older = block->older;
	else
		cache->newest = block->older;
	block->older = block->newer = NULL;
}

static void list_append(struct cache *cache, struct block *block)
{
	block->older = cache->newest;
	if (cache->newest)
		cache->newest->newer = block;
	else
		cache->oldest = block;
	cache->newest = block;
}

static void charge(struct cache *cache, struct block *block, uint64_t bytes)
{
	cache->used += bytes - block->charged;
	cache->busy += bytes - block->charged;
	block->charged = bytes;
}

/* Free a block that is neither pinned nor listed; its charge must not be in busy any
 * more. */
static void block_free(struct cache *cache, struct block *block)
{
	cache->used -= block->charged;
	if (block->image)
		block->image->cached[block->number] = NULL;
	free(block->owned);
	free(block);
}

static void evict_to(struct cache *cache, uint64_t limit)
{
	while (cache->used > limit && cache->oldest) {
		struct block *block = cache->oldest;

		list_remove(cache, block);
		block_free(cache, block);
	}
}

static void pin(struct cache *cache, struct block *block)
{
	if (block->pins++ == 0) {
		list_remove(cache, block);
		cache->busy += block->charged;
	}
}

static void unpin(struct cache *cache, struct block *block)
{
	if (--block->pins > 0)
		return;
	cache->busy -= block->charged;
	if (block->state == READY && block->image) {
		list_append(cache, block);
		evict_to(cache, cache->budget);
	} else {
		block_free(cache, block);
	}
	pthread_cond_broadcast(&cache->changed);
}

/* Make room for a block of this charge, and count it. */
static void reserve(struct cache *cache, struct block *block, uint64_t bytes)
{
	for (;;) {
		uint64_t limit = bytes < cache->budget ? cache->budget - bytes : 0;

		evict_to(cache, limit);
		if (cache->used <= limit || cache->busy == 0)
			break;
		pthread_cond_wait(&cache->changed, &cache->lock);
	}
	charge(cache, block, bytes);
}

/* -- loading ------------------------------------------------------------------------- */

/* Read, verify and unpack one block; without the lock, except to count bytes. */
static int load(struct cache *cache, struct block *block, dwarfs_error **err)
{
	struct dwarfs_image *image = block->image;
	uint32_t section = image->blocks[block->number];
	auto_stored struct stored stored = { 0 };
	uint64_t size;
	int ret;

	if ((ret = dw_stored_read(image, section, &stored, err)) < 0 ||
	    (ret = dw_verify_xxh3(image, section, &stored, err)) < 0 ||
	    (ret = dw_codec_unpacked_size(stored.header.compression,
					  dw_stored_payload(&stored), &size, err)) < 0)
		return ret;
	if (size > image->view->block_size)
		size = image->view->block_size; /* unpacking will refuse it */
	pthread_mutex_lock(&cache->lock);
	reserve(cache, block, size + stored.header.length);
	pthread_mutex_unlock(&cache->lock);

	ret = dw_unpack_section(image, section, &stored, image->view->block_size, 0,
				&block->owned, &size, err);
	if (ret < 0)
		return ret;
	block->public.data = block->owned;
	block->public.size = size;
	return 0;
}

/* Load a block that this thread has entered into the image; the lock is held. */
static int load_entered(struct cache *cache, struct block *block, dwarfs_error **err)
{
	int ret;

	pthread_mutex_unlock(&cache->lock);
	ret = load(cache, block, err);
	pthread_mutex_lock(&cache->lock);
	if (ret < 0) {
		block->state = FAILED;
		block->image->cached[block->number] = NULL;
		block->image = NULL;
		pthread_cond_broadcast(&cache->changed); /* others wait for this load */
		unpin(cache, block);
		return ret;
	}
	block->state = READY;
	charge(cache, block, block->public.size);
	pthread_cond_broadcast(&cache->changed);
	return 0;
}

static struct block *enter(struct dwarfs_image *image, uint32_t number)
{
	struct block *block = dw_calloc(1, sizeof(*block));

	if (!block)
		return NULL;
	block->image = image;
	block->number = number;
	block->state = LOADING;
	block->pins = 1;
	image->cached[number] = &block->public;
	return block;
}

int dw_cache_get(struct dwarfs_image *image, uint32_t number,
		 struct cached_block **block_out, dwarfs_error **err)
{
	struct cache *cache = image->cache;
	struct block *block;
	int ret = 0;

	pthread_mutex_lock(&cache->lock);
	for (;;) {
		block = (struct block *)image->cached[number];
		if (!block) {
			block = enter(image, number);
			ret = block ? load_entered(cache, block, err)
				    : dw_fail_nomem(err);
			break;
		}
		pin(cache, block);
		while (block->state == LOADING)
			pthread_cond_wait(&cache->changed, &cache->lock);
		if (block->state == READY)
			break;
		/* Somebody else failed; find out why for ourselves. */
		unpin(cache, block);
	}
	pthread_mutex_unlock(&cache->lock);
	if (ret == 0)
		*block_out = &block->public;
	return ret;
}

void dw_cache_put(struct dwarfs_image *image, struct cached_block *block)
{
	struct cache *cache = image->cache;

	pthread_mutex_lock(&cache->lock);
	unpin(cache, (struct block *)block);
	pthread_mutex_unlock(&cache->lock);
}

void dw_cache_forget(struct dwarfs_image *image)
{
	struct cache *cache = image->cache;

	pthread_mutex_lock(&cache->lock);
	for (uint32_t i = 0; i < image->block_count; i++) {
		struct block *block = (struct block *)image->cached[i];

		if (!block)
			continue;
		list_remove(cache, block);
		block_free(cache, block);
	}
	pthread_mutex_unlock(&cache->lock);
}
