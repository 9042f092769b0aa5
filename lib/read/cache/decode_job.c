/* SPDX-License-Identifier: MIT */
/*
 * read/cache/decode_job: who decodes a unit of the cache, and who waits for that.
 *
 * A unit, that is a block or a part of one, is decoded only as far as somebody reads, by
 * whoever comes first; others wait for their own place in it. Where a unit alone does not
 * fit into the budget, one at a time is decoded all the same, while no other work is
 * under way; who waits for it gets his bytes, and then it is gone (it passes). What
 * stands behind these bytes is likely to be read next, and so are the files that somebody
 * named: of that, extents are kept.
 */
#include "read/cache/internal.h"

#define MAX_OTHERS   16
#define WINDOW_SHARE 4 /* of the budget, behind what is read: one part in */

static int fail_range(const struct unit *unit, uint64_t size, dwarfs_error **err)
{
	if (unit->part)
		size += unit->part->from;
	return dw_fail(err, DWARFS_ERR_CORRUPT,
		       "metadata: a chunk ends behind the %" PRIu64
		       " bytes of block %" PRIu32,
		       size, unit->block);
}

/* -- what is wanted ------------------------------------------------------------------ */

static int add_want(struct work *work, struct range range, bool in_any_case,
		    dwarfs_error **err)
{
	int ret = dw_grow(&work->wants, &work->want_room, work->want_count + 1, err);

	if (ret < 0)
		return ret;
	work->wants[work->want_count++] = (struct want){ range, in_any_case };
	if (work->upto < range.from + range.size)
		work->upto = range.from + range.size;
	if (in_any_case && work->end < work->upto)
		work->end = work->upto;
	return 0;
}

/*
 * A range that somebody reads, with what stands behind it: that is kept if the unit
 * cannot be, so there is more of it where much has to be decoded before it, which at
 * most doubles or so what there is to do; and less, the more readers there are, and when
 * it is known that nothing is needed from some place on.
 */
static int add_reader(const struct cache *cache, struct work *work, struct range range,
		      uint64_t end, dwarfs_error **err)
{
	uint64_t before = range.from > work->began ? range.from - work->began : 0;
	uint64_t least = cache->budget / WINDOW_SHARE >> cache->narrow;
	uint64_t most = cache->budget >> cache->narrow;
	uint64_t window = before + before / 2;

	if (window < least)
		window = least;
	if (window > most)
		window = most;
	if (window > end - range.from)
		window = end - range.from;
	if (window > range.size)
		range.size = window;
	return add_want(work, range, false, err);
}

/* When a unit has to be decoded again, others who go through it will need it soon: have
 * all of them go on at once. */
static int add_others(struct work *work, const struct slot *slot, dwarfs_error **err)
{
	uint64_t places[MAX_OTHERS], from = work->wants[0].range.from;
	uint64_t window = work->wants[0].range.size;
	size_t count = dw_cache_next_reads(slot, places, MAX_OTHERS);
	int ret = 0;

	for (size_t i = 0; i < count && ret == 0; i++)
		if (places[i] < from || places[i] - from >= window)
			ret = add_want(work, (struct range){ places[i], window }, false,
				       err);
	return ret;
}

static int add_wants(struct work *work, const struct wants *wants, dwarfs_error **err)
{
	int ret = 0;

	for (size_t i = 0; i < wants->count && ret == 0; i++)
		ret = add_want(work, wants->list[i], true, err);
	return ret;
}

/* -- units that cannot stay ---------------------------------------------------------- */

/* Drop the worker's pin, and the unit with it unless somebody reads from it. */
static void release(struct cache *cache, struct resident *resident, bool drop)
{
	if (drop && dw_cache_detach(resident, 1))
		dw_cache_free_resident(cache, resident);
	else
		dw_cache_unpin(resident->slot);
}

/* The unit leaves its slot; who waits for the work may still read from it. Ends the
 * worker's pin in any case. */
static void pass(struct cache *cache, struct work *work, struct resident *resident)
{
	struct slot *slot = resident->slot;
	cache->passed_at = slot->left_at = cache->clock;
	slot->is_large = work->whole > cache->budget;
	if (resident->lent > 0) {
		release(cache, resident, false);
		return;
	}
	/* Nobody comes any more, and who reads from it will be done in a moment. */
	atomic_fetch_add(&cache->thirsty, 1);
	atomic_fetch_and(&slot->state, ~IS_RESIDENT);
	while (atomic_load(&slot->state) != PIN)
		dw_cache_wait_a_little(cache);
	atomic_fetch_sub(&cache->thirsty, 1);
	dw_cache_unpin(slot);
	if (resident->decoder) {
		dw_decoder_free(dw_steal(resident->decoder));
		dw_stored_free(&resident->stored);
	}
	dw_cache_charge(cache, resident,
			dw_cache_bytes_until(resident, atomic_load(&resident->ready)));
	dw_cache_dequeue(resident);
	cache->loose++;
	work->passing = resident;
}

void dw_cache_put_passing(struct cache *cache, struct resident *resident)
{
	if (--resident->passed > 0)
		return;
	cache->loose--;
	dw_cache_free_resident(cache, resident);
	pthread_cond_broadcast(&cache->changed);
}

/* The bytes of a unit that passes, or one reader less of it. */
static void take_passing(struct cache *cache, struct resident *resident,
			 struct range range, struct cached *cached_out)
{
	if (range.size == 0 || range.from + range.size > atomic_load(&resident->ready)) {
		dw_cache_put_passing(cache, resident);
		return;
	}
	dw_cache_credit(cache, resident->slot, range);
	*cached_out = (struct cached){
		.data = resident->bytes + range.from,
		.size = (size_t)range.size,
		.passing = resident,
	};
}

/* -- whose turn it is ---------------------------------------------------------------- */

/* Nobody begins while a work is alone, or some wait for that. */
static void enter(struct cache *cache, struct work *work)
{
	work->idle = true;
	cache->gated++;
	while (cache->alone || cache->line_first)
		pthread_cond_wait(&cache->gate, &cache->lock);
	cache->gated--;
	work->idle = false;
	cache->running++;
}

/* All others have left: it is the turn of the first in line. */
static void call_next(struct cache *cache)
{
	struct work *next = cache->line_first;

	if (next && cache->running == 0) {
		cache->line_first = next->next_in_line;
		cache->running = 1;
		next->alone = cache->alone = true;
		pthread_cond_broadcast(&next->moved);
	} else if (!next && !cache->alone && cache->gated > 0) {
		pthread_cond_broadcast(&cache->gate);
	}
}

static void leave(struct cache *cache, struct work *work)
{
	cache->running--;
	if (work->alone)
		work->alone = cache->alone = false;
	call_next(cache);
	pthread_cond_broadcast(&cache->changed);
}

static void enter_alone(struct cache *cache, struct work *work)
{
	work->idle = true;
	work->next_in_line = NULL;
	if (cache->line_first)
		cache->line_last->next_in_line = work;
	else
		cache->line_first = work;
	cache->line_last = work;
	leave(cache, work);
	while (!work->alone)
		pthread_cond_wait(&work->moved, &cache->lock);
	work->idle = false;
}

/* -- a work from its beginning to its end -------------------------------------------- */

/* Decode, and begin again alone when there is no memory otherwise. */
static int decode(struct cache *cache, const struct unit *unit, struct work *work,
		  struct resident **resident_out, dwarfs_error **err)
{
	struct resident *resident;
	int ret;

	enter(cache, work);
	resident = dw_cache_pin(unit->slot);
	while ((ret = dw_cache_go_on(cache, unit, work, &resident, err)) == NO_ROOM) {
		if (resident)
			release(cache, dw_steal(resident), true);
		enter_alone(cache, work);
		resident = dw_cache_pin(unit->slot);
	}
	work->divided = ret == DIVIDED;
	*resident_out = resident;
	return ret < 0 ? ret : 0;
}

/* Whether there are extents for all that is wanted in any case. */
static bool has_all(const struct work *work, const struct resident *resident)
{
	for (size_t i = 0; i < work->want_count; i++)
		if (work->wants[i].in_any_case &&
		    !dw_cache_has_extents(resident->slot, work->wants[i].range))
			return false;
	return true;
}

/* What is decoded stays, or not. */
static void finish(struct cache *cache, struct work *work, struct resident *resident)
{
	uint64_t limit = cache->budget;

	if (cache->largest_work < work->whole)
		cache->largest_work = work->whole;
	dw_cache_settle(cache, resident);
	/* What it has itself does not count then. */
	if (work->whole > cache->budget)
		limit += resident->charged;
	if (work->code < 0) {
		release(cache, resident, true);
		return;
	}
	if (resident->charged <= cache->budget)
		dw_cache_evict_to(cache, cache->budget);
	if (cache->used > cache->budget ||
	    (work->comes_back && work->whole > cache->budget)) {
		cache->passed_at = cache->clock;
		/* It takes no room from what is kept. */
		if (resident->lent == 0)
			dw_cache_dequeue(resident);
		dw_cache_keep_wants(cache, resident, work->wants, work->want_count, true,
				    limit);
		pass(cache, work, resident);
		return;
	}
	/* What else is wanted of one that comes back it leaves behind. */
	resident->comes_back |= work->comes_back;
	dw_cache_keep_wants(cache, resident, work->wants, work->want_count, false,
			    cache->budget);
	release(cache, resident,
		work->harvests && work->made && work->waiters == 0 &&
			has_all(work, resident));
}

/* Those who wait take what they need of it, before its memory goes. */
static void end_work(struct cache *cache, struct slot *slot, struct work *work)
{
	work->ended = true;
	if (work->passing)
		work->passing->passed = 1 + work->waiters;
	slot->work = NULL;
	leave(cache, work);
	pthread_cond_broadcast(&work->moved);
	while (work->waiters > 0)
		pthread_cond_wait(&work->moved, &cache->lock);
	pthread_cond_destroy(&work->moved);
	free(work->wants);
}

/* What is wanted from the beginning: nothing is decoded yet. */
static int begin(const struct cache *cache, const struct unit *unit, struct work *work,
		 struct range range, const struct wants *wants, dwarfs_error **err)
{
	uint64_t end = UINT64_MAX;
	int ret;

	if (wants && !wants->in_row) {
		ret = add_want(work, range, false, err);
		return ret < 0 ? ret : add_wants(work, wants, err);
	}
	if (wants) {
		const struct range *last = &wants->list[wants->count - 1];

		end = last->from + last->size;
		if (end < range.from + range.size)
			end = range.from + range.size;
	}
	ret = add_reader(cache, work, range, end, err);
	if (ret == 0 && work->comes_back)
		ret = add_others(work, unit->slot, err);
	return ret;
}

static int run(struct cache *cache, const struct unit *unit, struct range range,
	       const struct wants *wants, struct cached *cached_out, dwarfs_error **err)
{
	DW_LATENCY_SPAN(unit->image->latency, DWARFS_LATENCY_DECODE);
	struct work work = {
		.end = range.from + range.size,
		.harvests = wants && range.size == 0,
	};
	auto_error dwarfs_error *problem = NULL;
	struct resident *resident = dw_cache_pin(unit->slot);
	uint64_t size = UINT64_MAX;

	work.comes_back = !resident && ((wants && wants->in_row) ||
					dw_cache_comes_back(cache, unit->slot));
	if (resident) {
		work.began = atomic_load(&resident->ready);
		dw_cache_unpin(unit->slot);
	}
	if (pthread_cond_init(&work.moved, NULL) != 0)
		return dw_fail_nomem(err);
	unit->slot->work = &work;
	work.code = begin(cache, unit, &work, range, wants, &problem);
	resident = NULL;
	if (work.code == 0)
		work.code = decode(cache, unit, &work, &resident, &problem);
	else
		enter(cache, &work);
	/* What is decoded for it is one of the parts then, and counts there. */
	cache->misses += !work.divided && (range.size > 0 || wants);
	if (resident) {
		size = resident->size;
		finish(cache, &work, resident);
		if (!work.passing)
			dw_cache_credit(cache, unit->slot, range);
	}
	/* Now, as others may be waited for. */
	if (work.code == 0 && resident && !work.passing && range.size > 0 &&
	    range.from + range.size <= size)
		dw_cache_take(cache, unit->slot, range, cached_out);
	work.problem = problem;
	end_work(cache, unit->slot, &work);
	if (work.passing)
		take_passing(cache, work.passing, range, cached_out);
	if (work.code < 0) {
		if (err) {
			dwarfs_error_free(*err);
			*err = dw_steal(problem);
		}
		return work.code;
	}
	return range.from + range.size > size ? fail_range(unit, size, err) : 0;
}

int dw_cache_decode(struct cache *cache, const struct unit *unit, struct range range,
		    const struct wants *wants, struct cached *cached_out,
		    dwarfs_error **err)
{
	return run(cache, unit, range, wants, cached_out, err);
}

/* -- waiting ------------------------------------------------------------------------- */

bool dw_cache_has_come(struct slot *slot, struct range range)
{
	struct resident *resident = dw_cache_pin(slot);
	bool is_there =
		resident && range.from + range.size <= atomic_load(&resident->ready);

	if (resident)
		dw_cache_unpin(slot);
	return is_there;
}

/* Wait until a range is there, or, with none, to the end of the work. */
static int wait_for(struct cache *cache, const struct unit *unit, struct range range,
		    struct cached *cached_out, dwarfs_error **err)
{
	DW_LATENCY_SPAN(unit->image->latency, DWARFS_LATENCY_WAIT);
	struct work *work = unit->slot->work;
	int ret = 0;

	work->waiters++;
	while (!work->ended && (range.size == 0 || !dw_cache_has_come(unit->slot, range)))
		pthread_cond_wait(&work->moved, &cache->lock);
	if (work->ended && work->code < 0)
		ret = dw_error_copy(err, work->code, work->problem);
	if (work->ended && work->passing)
		take_passing(cache, work->passing, range, cached_out);
	if (--work->waiters == 0)
		pthread_cond_broadcast(&work->moved);
	return ret;
}

int dw_cache_wait(struct cache *cache, const struct unit *unit, struct range range,
		  struct cached *cached_out, dwarfs_error **err)
{
	int ret = add_reader(cache, unit->slot->work, range, UINT64_MAX, err);

	return ret < 0 ? ret : wait_for(cache, unit, range, cached_out, err);
}

int dw_cache_decode_parts(struct cache *cache, const struct unit *unit,
			  const struct wants *wants, dwarfs_error **err)
{
	struct work *work = unit->slot->work;
	struct range none = { 0, 0 };
	struct cached unused;
	int ret;

	if (!work)
		return run(cache, unit, none, wants, &unused, err);
	ret = add_wants(work, wants, err);
	return ret < 0 ? ret : wait_for(cache, unit, none, &unused, err);
}
