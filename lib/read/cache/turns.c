/* SPDX-License-Identifier: MIT */
/*
 * read/cache/turns: while most of what is decoded was decoded before, readers take turns.
 *
 * Several threads that read through the image at different positions, with a budget for
 * few blocks, evict what the others will read next. Takes a thread that must decode;
 * returns when it may. There are turns while the budget is less than FEW_UNITS of the
 * largest units, from when more than half of what is decoded was decoded before until it
 * is less than an eighth.
 *
 * One thread decodes at a time, and only when all others wait, too: then everything that
 * is cached was read by those that need it, and may be evicted. Which of the waiting
 * threads is next:
 *
 *	1. the lowest position, in the order of paths, of the group that has the turn.
 *	   A thread joins the group if it waits at most NEAR_FILES from the position of the
 *	   last decode, and leaves it when it goes back. So threads that read the same
 *	   files, or files in one directory, stay together, and a block is decoded once for
 *	   all.
 *	2. if the group has no waiting thread, or its turn is over, the thread that has
 *	   waited longest. A new turn begins at its position.
 *
 * A turn is over after TURN_BUDGETS times the budget and a unit were decoded for each
 * thread of the group; an interval without a decode counts as 1 / TURN_POLLS of that. So a
 * larger group advances faster and reaches other groups, with which it is joined. A thread
 * that waited for a whole turn of its own group (one at a lower position does not advance)
 * counts as a thread of another group; the group of its turn begins at its position.
 *
 * Reads of cached bytes, and of bytes that a job is decoding already, never wait. The wait
 * for threads that run ends
 *
 *	- when they have not read for about the time of a decode, IDLE_POLLS intervals at
 *	  most;
 *	- when they read, or decode in a callback of the program that does not return, after
 *	  some times the time of a decode, which is what the wait can save: LEAST_POLLS to
 *	  MOST_POLLS intervals.
 *
 * Then these threads are LATE until they must decode again. A thread that was late n times in
 * succession stays LATE for its next 2^n - 2 decodes, too. After FEW_VAIN_WAITS such waits in
 * succession there are no waits until a number of budgets was decoded, which doubles each
 * time. So a thread that is slow, has ended, or does not exist in a forked process delays
 * the others by milliseconds.
 *
 * States of a thread in the table of readers:
 *
 *	RUNNING   reads cached bytes, decodes, or does something else: the others wait
 *	WAITING   is in the queue
 *	CHOSEN    may decode, from when it was chosen to when it does
 *	LATE      as RUNNING, but the others do not wait
 *
 * All functions are called with cache->lock held; waiting gives it up. bench/results/reading.md has
 * what turns gain.
 */
#include "pool/threads.h"
#include "read/cache/internal.h"

#define FEW_UNITS	  4
#define TURN_BUDGETS	  16 /* 4, 8: 1.8 and 1.5 times as much decoded */
#define NEAR_FILES	  64
#define THRASHING_BUDGETS 2 /* budgets decoded between two measurements */
#define POLL_NS		  (2 * 1000 * 1000)

/* Intervals of a wait, after which threads that do not read are late: one, and one for so many
 * milliseconds of a decode. */
#define IDLE_POLLS	 8 /* at most */
#define IDLE_POLLS_OF_MS 2

/* The same for threads that read or decode: LEAST_POLLS, and so many for a millisecond of a decode. */
#define LEAST_POLLS 16
#define POLLS_OF_MS 4
#define MOST_POLLS  256 /* at most */

#define TURN_POLLS     128
#define MOST_STRIKES   20
#define FEW_VAIN_WAITS 3

static bool has_few_units(const struct cache *cache)
{
	return cache->budget / FEW_UNITS < cache->largest_unit;
}

void dw_cache_count_decoded(struct cache *cache, struct slot *slot, uint64_t from,
			    uint64_t to)
{
	struct thrashing *thrashing = &cache->thrashing;
	uint64_t again = slot->once_ready < to ? slot->once_ready : to;
	uint64_t share;

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
	/* With turns less is decoded again. */
	share = atomic_load(&thrashing->is_on) && has_few_units(cache) ? 8 : 2;
	atomic_store(&thrashing->is_on,
		     thrashing->redecoded > thrashing->decoded / share);
	thrashing->decoded = thrashing->redecoded = 0;
}

bool dw_cache_takes_turns(const struct cache *cache)
{
	return atomic_load(&cache->thrashing.is_on) && !cache->decode_limit.is_exceeded &&
	       has_few_units(cache);
}

/* Whether bytes can be had without decoding. */
static bool is_served(const struct unit *unit, struct range range)
{
	return unit->slot->job || (!unit->part && atomic_load(&unit->slot->parts)) ||
	       dw_cache_is_ready(unit->slot, range) ||
	       dw_cache_find_extent(unit->slot, range);
}

/* -- the table of readers ------------------------------------------------------------ */

/* The entry of this thread. If the table is full, that of a thread that does not wait is
 * taken, or there is none. */
static struct turn_reader *own_entry(struct turns *turns, bool may_create)
{
	struct turn_reader *taken = NULL;

	for (size_t i = 0; i < turns->reader_count; i++) {
		struct turn_reader *reader = &turns->readers[i];

		if (pthread_equal(reader->thread, pthread_self()))
			return reader;
		if (reader->state == TURN_LATE ||
		    (reader->state == TURN_RUNNING && !taken))
			taken = reader;
	}
	if (!may_create)
		return NULL;
	if (turns->reader_count < MAX_TURN_READERS)
		taken = &turns->readers[turns->reader_count++];
	if (taken)
		*taken = (struct turn_reader){ .thread = pthread_self() };
	return taken;
}

/* Whether a thread must be waited for. */
static bool others_run(const struct cache *cache)
{
	const struct turns *turns = &cache->turns;

	if (cache->decode_clock < turns->resume_at)
		return false;
	for (size_t i = 0; i < turns->reader_count; i++)
		if (turns->readers[i].state == TURN_RUNNING ||
		    turns->readers[i].state == TURN_CHOSEN)
			return true;
	return false;
}

/* Threads that run are late. After several waits that ended so, there are none for some time,
 * twice as long as the last time. */
static void give_up_waiting(struct cache *cache)
{
	struct turns *turns = &cache->turns;

	if (turns->vain_waits < FEW_VAIN_WAITS + MOST_STRIKES)
		turns->vain_waits++;
	if (turns->vain_waits > FEW_VAIN_WAITS)
		turns->resume_at =
			cache->decode_clock + ((cache->budget + cache->largest_unit)
					       << (turns->vain_waits - FEW_VAIN_WAITS));
	for (size_t i = 0; i < turns->reader_count; i++) {
		struct turn_reader *reader = &turns->readers[i];

		if (reader->state != TURN_RUNNING && reader->state != TURN_CHOSEN)
			continue;
		reader->state = TURN_LATE;
		if (reader->strikes < MOST_STRIKES)
			reader->strikes++;
		reader->pardon_after = (UINT64_C(1) << reader->strikes) - 2;
	}
}

/* The thread goes on after it has waited or decoded. */
static void set_running(struct turn_reader *reader)
{
	reader->state = reader->pardon_after > 0 ? TURN_LATE : TURN_RUNNING;
	if (reader->pardon_after > 0)
		reader->pardon_after--;
}

/* -- the queue ----------------------------------------------------------------------- */

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
	/* The first one looks after the others. */
	if (turns->first)
		pthread_cond_signal(&turns->first->changed);
}

/* Whether a thread is in the group that has the turn: it is near, or was when it waited
 * before and has read on since. */
static bool is_in_group(const struct turns *turns, const struct turn_waiter *waiter)
{
	const uint64_t near = (uint64_t)NEAR_FILES << 32, at = waiter->position;

	if (waiter->unit->image != turns->image || turns->position > at + near ||
	    at < turns->from)
		return false;
	return at <= turns->position + near || waiter->reader->turn == turns->number;
}

static bool is_turn_over(const struct cache *cache)
{
	return cache->decode_clock >= cache->turns.end;
}

/* Whether nothing was decoded for a thread of the group in its turn. */
static bool is_passed_over(const struct cache *cache, const struct turn_waiter *waiter)
{
	return is_turn_over(cache) && waiter->number < cache->turns.number &&
	       is_in_group(&cache->turns, waiter);
}

/* The waiting thread that may decode next; NULL if none waits. */
static struct turn_waiter *next_waiter(const struct cache *cache)
{
	const struct turns *turns = &cache->turns;
	struct turn_waiter *lowest = NULL, *other = NULL;

	for (struct turn_waiter *waiter = turns->first; waiter; waiter = waiter->next) {
		if (!is_in_group(turns, waiter) || is_passed_over(cache, waiter))
			other = other ? other : waiter;
		else if (!lowest || waiter->position < lowest->position)
			lowest = waiter;
	}
	return lowest && (!other || !is_turn_over(cache)) ? lowest : other;
}

static void start_turn(struct cache *cache, const struct turn_waiter *waiter)
{
	struct turns *turns = &cache->turns;
	bool is_new = !is_in_group(turns, waiter) || is_turn_over(cache);
	uint64_t length = TURN_BUDGETS * (cache->budget + cache->largest_unit);
	uint32_t count = 0;

	if (is_new)
		turns->from = is_passed_over(cache, waiter) ? waiter->position : 0;
	turns->position = waiter->position;
	turns->image = waiter->unit->image;
	turns->number += is_new;
	waiter->reader->turn = turns->number;
	for (struct turn_waiter *other = turns->first; other; other = other->next) {
		if (!is_in_group(turns, other))
			continue;
		other->reader->turn = turns->number;
		count++;
	}
	if (!is_new)
		return;
	length *= count > 0 ? count : 1;
	turns->end = cache->decode_clock + length;
	turns->charge = length / TURN_POLLS;
}

static bool has_to_wait(const struct cache *cache, const struct turn_waiter *waiter)
{
	return dw_cache_takes_turns(cache) && !waiter->is_chosen &&
	       !is_served(waiter->unit, waiter->range);
}

/* Choose a thread if all wait, and wake those that need not wait any more. */
static void wake_waiters(struct cache *cache)
{
	struct turns *turns = &cache->turns;
	bool is_one_served = false;

	for (struct turn_waiter *waiter = turns->first; waiter; waiter = waiter->next) {
		if (has_to_wait(cache, waiter))
			continue;
		is_one_served = true;
		pthread_cond_signal(&waiter->changed);
	}
	if (is_one_served || !turns->first || others_run(cache))
		return;

	struct turn_waiter *next = next_waiter(cache);

	next->is_chosen = true;
	start_turn(cache, next);
	pthread_cond_signal(&next->changed);
}

/* What was seen of the threads that run. */
struct watch {
	uint64_t decodes, read;
	uint64_t polls, idle_polls;
};

/* Once in each interval: whether to wait no longer for threads that run. */
static bool is_wait_over(const struct cache *cache, struct watch *watch)
{
	const struct turns *turns = &cache->turns;
	uint64_t read = dw_cache_read_bytes(cache);
	uint64_t most = LEAST_POLLS + POLLS_OF_MS * turns->decode_ms;
	uint64_t most_idle = 1 + turns->decode_ms / IDLE_POLLS_OF_MS;
	bool is_over;

	watch->polls++;
	watch->idle_polls++;
	if (watch->decodes != turns->decodes)
		watch->polls = 0;
	if (watch->decodes != turns->decodes || turns->decoding > 0 ||
	    watch->read != read)
		watch->idle_polls = 0;
	watch->decodes = turns->decodes;
	watch->read = read;
	is_over =
		watch->idle_polls >= (most_idle < IDLE_POLLS ? most_idle : IDLE_POLLS) ||
		watch->polls >= (most < MOST_POLLS ? most : MOST_POLLS);
	if (is_over)
		watch->polls = watch->idle_polls = 0;
	return is_over;
}

/* Wait until chosen, or the bytes are there, or there are no turns any more. The first
 * thread in the queue looks after those that run. */
static void wait_in_queue(struct cache *cache, struct turn_waiter *self)
{
	struct turns *turns = &cache->turns;
	struct watch watch = { turns->decodes, dw_cache_read_bytes(cache), 0, 0 };

	while (has_to_wait(cache, self)) {
		if (turns->first != self) {
			pthread_cond_wait(&self->changed, &cache->lock);
			continue;
		}
		if (dw_condition_wait(&self->changed, &cache->lock,
				      dw_time_from_now(POLL_NS)))
			continue;
		if (turns->decoding == 0)
			turns->end -=
				turns->end < turns->charge ? turns->end : turns->charge;
		if (is_wait_over(cache, &watch))
			give_up_waiting(cache);
		wake_waiters(cache);
	}
}

void dw_cache_wake_served(struct cache *cache)
{
	if (cache->turns.first)
		wake_waiters(cache);
}

bool dw_cache_take_turn(struct cache *cache, const struct unit *unit, struct range range,
			uint64_t position)
{
	struct turns *turns = &cache->turns;
	struct turn_reader *reader =
		dw_cache_takes_turns(cache) ? own_entry(turns, true) : NULL;
	struct turn_waiter self = {
		.unit = unit,
		.range = range,
		.position = position,
		.number = turns->number,
		.reader = reader,
	};
	bool waits;

	if (!reader || reader->state == TURN_CHOSEN)
		return true;
	/* It came while another one waited for it. */
	if (reader->state == TURN_RUNNING && turns->first)
		reader->strikes = 0;
	/* There are several threads indeed. */
	if (turns->first || turns->decoding > 0) {
		turns->vain_waits = 0;
		turns->resume_at = 0;
	}
	reader->state = TURN_WAITING;
	waits = (others_run(cache) || turns->first) &&
		dw_condition_init(&self.changed) == 0;
	if (!waits) {
		start_turn(cache, &self);
	} else {
		turns->waits += others_run(cache);
		enter_queue(turns, &self);
		wake_waiters(cache);
		wait_in_queue(cache, &self);
		leave_queue(turns, &self);
		pthread_cond_destroy(&self.changed);
	}
	if ((self.is_chosen || !waits) && !is_served(unit, range))
		reader->state = TURN_CHOSEN;
	else
		set_running(reader);
	return !waits;
}

/* The longest of the last decodes, roughly. */
static void measure_decode(struct turns *turns, bool begins)
{
	uint64_t now = dw_cache_now_ms(), took = now - turns->began_ms;

	if (begins)
		turns->began_ms = now;
	else
		turns->decode_ms = took > turns->decode_ms
					   ? took
					   : (turns->decode_ms * 7 + took) / 8;
}

void dw_cache_note_decode(struct cache *cache, bool begins)
{
	struct turns *turns = &cache->turns;
	struct turn_reader *reader = own_entry(turns, false);

	measure_decode(turns, begins);
	turns->decoding += begins ? 1 : -1;
	turns->decodes++;
	if (reader && reader->state == TURN_CHOSEN && !begins)
		set_running(reader);
	if (!begins)
		dw_cache_wake_served(cache);
}
