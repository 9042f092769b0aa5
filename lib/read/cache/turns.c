/* SPDX-License-Identifier: MIT */
/*
 * read/cache/turns: while most of what is decoded was decoded before, readers take turns.
 *
 * Several threads that read through the image at different positions, with a budget for
 * few blocks, evict what the others will read next. Takes a thread that must decode;
 * returns when it may. There are turns only while more than half of what is decoded was
 * decoded before, WASTED_TIMES as many bytes are decoded as read, and the budget is less
 * than FEW_UNITS of the largest units. One thread has the turn until TURN_BUDGETS budgets
 * and units were decoded and another thread waits. If it decodes nothing for some
 * milliseconds, there are no turns for some time. The others wait in the order of their
 * arrival; reads of cached bytes, and of bytes that a job is decoding already, never
 * wait.
 *
 * All functions are called with cache->lock held.
 */
#include "pool/threads.h"
#include "read/cache/internal.h"

#define FEW_UNITS	  4
#define TURN_BUDGETS	  4
#define WASTED_TIMES	  4 /* decoded for each byte read */
#define THRASHING_BUDGETS 2 /* budgets decoded between two measurements */
#define POLL_NS		  (2 * 1000 * 1000)
#define IDLE_POLLS	  4 /* after which a turn is not used */
#define MAX_IDLE_TURNS	  20

void dw_cache_count_decoded(struct cache *cache, struct slot *slot, uint64_t from,
			    uint64_t to)
{
	struct thrashing *thrashing = &cache->thrashing;
	uint64_t again = slot->once_ready < to ? slot->once_ready : to;
	uint64_t read = atomic_load(&cache->read_bytes);

	again = again > from ? again - from : 0;
	cache->decoded_bytes += to - from;
	cache->decode_clock += to - from;
	cache->redecoded_bytes += again;
	if (slot->once_ready < to)
		slot->once_ready = to;
	thrashing->decoded += to - from;
	thrashing->redecoded += again;
	dw_cache_check_decode_limit(cache);
	if (thrashing->decoded < THRASHING_BUDGETS * cache->budget)
		return;
	thrashing->is_wasteful =
		atomic_load(&thrashing->is_on) &&
		thrashing->decoded / WASTED_TIMES > read - thrashing->read_before;
	atomic_store(&thrashing->is_on, thrashing->redecoded > thrashing->decoded / 2);
	thrashing->read_before = read;
	thrashing->decoded = thrashing->redecoded = 0;
}

static bool takes_turns(const struct cache *cache)
{
	return cache->thrashing.is_wasteful && !cache->decode_limit.is_exceeded &&
	       cache->decode_clock >= cache->turns.resume_at &&
	       cache->budget / FEW_UNITS < cache->largest_unit;
}

/* A reader is a thread, or requests for the same file from several threads. */
static bool has_turn(const struct turns *turns, uint32_t inode)
{
	return turns->is_taken && (pthread_equal(turns->thread, pthread_self()) ||
				   (inode != NO_INODE && turns->inode == inode));
}

/* Whether bytes can be had without a turn. */
static bool is_served(const struct unit *unit, struct range range)
{
	return unit->slot->job || (!unit->part && atomic_load(&unit->slot->parts)) ||
	       dw_cache_is_ready(unit->slot, range) ||
	       dw_cache_find_extent(unit->slot, range);
}

static void enter_queue(struct turns *turns, struct turn_waiter *waiter)
{
	waiter->previous = turns->last;
	if (turns->last)
		turns->last->next = waiter;
	else
		turns->first = waiter;
	turns->last = waiter;
}

static void leave_queue(struct turns *turns, struct turn_waiter *waiter)
{
	if (waiter->previous)
		waiter->previous->next = waiter->next;
	else
		turns->first = waiter->next;
	if (waiter->next)
		waiter->next->previous = waiter->previous;
	else
		turns->last = waiter->previous;
}

static bool has_to_wait(const struct cache *cache, const struct turn_waiter *waiter)
{
	return takes_turns(cache) && !is_served(waiter->unit, waiter->range) &&
	       (cache->turns.first != waiter || cache->turns.is_taken);
}

/* Wake the threads that need not wait any more. The first one sees the end of a turn that
 * is not used. */
static void wake_waiters(struct cache *cache)
{
	for (struct turn_waiter *waiter = cache->turns.first; waiter;
	     waiter = waiter->next)
		if (!has_to_wait(cache, waiter) || waiter == cache->turns.first)
			pthread_cond_signal(&waiter->changed);
}

static void end_turn(struct cache *cache)
{
	cache->turns.is_taken = false;
	wake_waiters(cache);
}

/* The thread that has the turn does not use it: let all threads decode for some time,
 * twice as long as the last time if there was no complete turn since then. */
static void suspend_turns(struct cache *cache)
{
	struct turns *turns = &cache->turns;

	turns->resume_at = cache->decode_clock +
			   ((cache->budget + cache->largest_unit) << turns->idle_turns);
	if (turns->idle_turns < MAX_IDLE_TURNS)
		turns->idle_turns++;
	end_turn(cache);
}

/* Wait to be the first in the queue and for the end of the turn; or until the bytes are
 * there, or there are no turns any more. */
static void wait_for_turn(struct cache *cache, struct turn_waiter *self)
{
	struct turns *turns = &cache->turns;
	uint64_t decodes = turns->decodes;
	int idle_polls = 0;

	turns->waits++;
	enter_queue(turns, self);
	while (has_to_wait(cache, self)) {
		int64_t until = dw_time_from_now(POLL_NS);

		if (turns->first != self)
			pthread_cond_wait(&self->changed, &cache->lock);
		else if (dw_condition_wait(&self->changed, &cache->lock, until) ||
			 turns->decoding > 0 || decodes != turns->decodes)
			idle_polls = 0;
		else if (++idle_polls == IDLE_POLLS)
			suspend_turns(cache);
		decodes = turns->decodes;
	}
	leave_queue(turns, self);
	wake_waiters(cache);
}

bool dw_cache_take_turn(struct cache *cache, const struct unit *unit, struct range range,
			uint32_t inode)
{
	struct turns *turns = &cache->turns;
	struct turn_waiter self = { .unit = unit, .range = range };
	bool waits;

	if (!takes_turns(cache))
		return true;
	if (has_turn(turns, inode) && cache->decode_clock >= turns->end && turns->first) {
		turns->idle_turns = 0;
		end_turn(cache);
	}
	waits = !has_turn(turns, inode) && (turns->is_taken || turns->first) &&
		dw_condition_init(&self.changed) == 0;
	if (waits) {
		wait_for_turn(cache, &self);
		pthread_cond_destroy(&self.changed);
	}
	if (is_served(unit, range))
		return false;
	if (!has_turn(turns, inode)) {
		turns->is_taken = true;
		turns->end = cache->decode_clock +
			     TURN_BUDGETS * (cache->budget + cache->largest_unit);
	}
	turns->thread = pthread_self();
	turns->inode = inode;
	return !waits;
}

void dw_cache_note_decode(struct cache *cache, bool begins)
{
	struct turns *turns = &cache->turns;

	turns->decoding += begins ? 1 : -1;
	turns->decodes++;
	if (!begins && turns->first)
		wake_waiters(cache);
}
