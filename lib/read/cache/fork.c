/* SPDX-License-Identifier: MIT */
/*
 * read/cache/fork: the cache in a child process.
 *
 * A child has the memory of its parent, but of its threads only the one that forked:
 * locks and jobs of the others never end. A page that the kernel wipes in children shows
 * that a process is new. Its first call examines the cache: without jobs, waiting threads
 * and pins the cache is used as before, otherwise all calls fail.
 */
#include <sched.h>

#include "os/pages.h"
#include "read/cache/internal.h"

enum { MARK_NEW, MARK_USABLE, MARK_EXAMINED, MARK_LOST };

void dw_cache_mark_process(struct cache *cache)
{
	cache->mark = dw_pages_new_wiped_by_fork(1);
	if (cache->mark)
		atomic_init(cache->mark, MARK_USABLE);
}

static bool is_unpinned(const struct queue *queue)
{
	for (const struct resident *resident = queue->oldest; resident;
	     resident = resident->newer)
		if (atomic_load(&resident->slot->state) / PIN != resident->holds)
			return false;
	return true;
}

/* Whether no thread was within the cache, and its lock is free. */
static bool is_at_rest(struct cache *cache)
{
	bool rests;

	if (pthread_mutex_trylock(&cache->lock) != 0)
		return false;
	rests = cache->running_jobs == 0 && cache->blocked_jobs == 0 &&
		!cache->exclusive_first && cache->detached_pinned == 0 &&
		!cache->turns.first && cache->turns.decoding == 0 &&
		atomic_load(&cache->memory_waiters) == 0 &&
		is_unpinned(&cache->probation) && is_unpinned(&cache->main);
	for (const struct extent *extent = cache->first_extent; extent && rests;
	     extent = extent->next)
		rests = extent->pins == 0;
	pthread_mutex_unlock(&cache->lock);
	return rests;
}

bool dw_cache_is_lost(struct cache *cache)
{
	unsigned char mark = MARK_USABLE;

	if (cache->mark)
		mark = atomic_load_explicit(cache->mark, memory_order_acquire);
	if (mark == MARK_USABLE)
		return false;
	mark = MARK_NEW;
	if (atomic_compare_exchange_strong(cache->mark, &mark, MARK_EXAMINED))
		atomic_store(cache->mark, is_at_rest(cache) ? MARK_USABLE : MARK_LOST);
	while ((mark = atomic_load(cache->mark)) == MARK_EXAMINED)
		sched_yield();
	return mark == MARK_LOST;
}

int dw_cache_fail_lost(dwarfs_error **err)
{
	return dw_fail(
		err, DWARFS_ERR_INVALID,
		"other threads used this context when the process was forked: open "
		"the image in the child with a context of its own");
}
