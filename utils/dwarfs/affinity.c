/* SPDX-License-Identifier: MIT */
/*
 * dwarfs/affinity: run the threads that serve requests on the CPU of the calling process.
 *
 * A process that waits for a reply and the thread that replies wake each other for each
 * request. On one CPU this is a context switch; on two it is an interrupt and the end of
 * an idle state each time, which costs more than most replies. So while requests come one
 * at a time, the threads have the affinity of the CPU on which the caller runs; with
 * concurrent requests, large reads, or a caller that the scheduler moves away each time, and
 * while a thread polls instead (busy_poll.h), they have the affinity that the process was
 * started with. Replies do not depend on it, so
 * failures are ignored.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dwarfs/affinity.h"

/* Of the last 64 requests. */
#define MOST_CONCURRENT	 16 /* while the threads follow the caller */
#define LEAST_CONCURRENT 4  /* while they do not */
/* A caller of many requests may be moved by the scheduler. Prime, so that the queries, which
 * also detect a change of what is allowed, are not always made by the same thread. */
#define REQUESTS_PER_QUERY 61
/*
 * A caller that MOST_MOVES queries in a row find on another CPU is not followed for this number
 * of requests. tar and find have moved at one query of four, at five in a row at most; fio with
 * random reads at nearly all.
 */
#define MOST_MOVES	  8
#define REQUESTS_ANYWHERE 8192
#define PROCESSOR_FIELD	  39 /* of /proc/PID/stat, counted from 1 */
#define STAT_BYTES	  1024

/* -- what requests say about their callers ----------------------------------------- */

/* Whether this caller made one of the requests before the last one. */
static bool is_recent(const struct callers *callers, uint32_t caller)
{
	for (size_t i = 0; i < CALLERS_RECENT; i++)
		if (callers->recent[i] == caller)
			return true;
	return false;
}

static void store_caller(struct callers *callers, uint32_t caller)
{
	callers->recent[callers->turn++ % CALLERS_RECENT] = callers->last;
	callers->last = caller;
	callers->unchanged = 0;
	callers->moves = 0;
	callers->anywhere = 0;
}

static void shift_history(struct callers *callers, bool is_concurrent, unsigned bits)
{
	for (unsigned i = 0; i < bits; i++)
		callers->history = callers->history << 1 | is_concurrent;
}

enum callers_advice callers_note(struct callers *callers, uint32_t caller,
				 bool is_overlapping, uint64_t bytes)
{
	bool is_other = caller != callers->last;
	bool returns = is_other && is_recent(callers, caller);
	unsigned count;

	if (bytes >= CALLERS_LARGE_READ)
		shift_history(callers, true, 4);
	else
		shift_history(callers, returns || (is_other && is_overlapping), 1);
	if (is_other)
		store_caller(callers, caller);
	count = (unsigned)__builtin_popcountll(callers->history);
	if (callers->are_concurrent && count <= LEAST_CONCURRENT) {
		callers->are_concurrent = false;
		callers->unchanged = 0;
	} else if (count > MOST_CONCURRENT) {
		callers->are_concurrent = true;
	}
	if (callers->are_concurrent)
		return CALLERS_ANYWHERE;
	if (callers->anywhere > 0) {
		callers->anywhere--;
		return CALLERS_ANYWHERE;
	}
	return callers->unchanged++ % REQUESTS_PER_QUERY == 0 ? CALLERS_QUERY
							      : CALLERS_SAME;
}

void callers_queried(struct callers *callers, bool has_moved)
{
	/* The first query of a caller says nothing about its moves. */
	if (callers->unchanged <= 1)
		return;
	callers->moves = has_moved ? callers->moves + 1 : 0;
	if (callers->moves < MOST_MOVES)
		return;
	callers->moves = 0;
	callers->unchanged = 0;
	callers->anywhere = REQUESTS_ANYWHERE;
}

/* -- where processes run ------------------------------------------------------------- */

int affinity_parse_cpu(const char *stat)
{
	/* The second field is a name, which may contain anything. */
	const char *at = strrchr(stat, ')');
	char *end;
	long cpu;

	for (int field = 2; at && field < PROCESSOR_FIELD; field++)
		at = strchr(at + 1, ' ');
	if (!at)
		return -1;
	errno = 0;
	cpu = strtol(at + 1, &end, 10);
	return end == at + 1 || errno != 0 || cpu < 0 || cpu >= CPU_SETSIZE ? -1
									    : (int)cpu;
}

/* The CPU that a task runs on, or ran on last; -1: not known. */
static int cpu_of_task(uint32_t task)
{
	char path[32], stat[STAT_BYTES];
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), "/proc/%lu/stat", (unsigned long)task);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	got = read(fd, stat, sizeof(stat) - 1);
	close(fd);
	if (got <= 0)
		return -1;
	stat[got] = '\0';
	return affinity_parse_cpu(stat);
}

/* -- threads ----------------------------------------------------------------------- */

/* A thread inherits the affinity of the thread that starts it. */
#define INHERITED (-2)

/* The CPU whose affinity a thread set for itself, or -1 for all of them, or INHERITED. */
static _Thread_local int thread_cpu = INHERITED;

static bool is_only_cpu(const cpu_set_t *set, int cpu)
{
	return CPU_COUNT(set) == 1 && CPU_ISSET(cpu, set);
}

/*
 * Another process may have changed the affinity of this thread, or the CPUs of its control
 * group. Then the thread may use what was set there. Under the lock.
 */
static void adopt_change(struct affinity *affinity)
{
	cpu_set_t now;

	if (thread_cpu == INHERITED || sched_getaffinity(0, sizeof(now), &now) != 0)
		return;
	if (thread_cpu >= 0 ? is_only_cpu(&now, thread_cpu)
			    : CPU_EQUAL(&now, &affinity->allowed))
		return;
	affinity->allowed = now;
}

/* Under the lock. */
static void move_thread(struct affinity *affinity, int cpu)
{
	cpu_set_t set;

	adopt_change(affinity);
	set = affinity->allowed;
	if (cpu >= 0 && CPU_ISSET(cpu, &set)) {
		CPU_ZERO(&set);
		CPU_SET(cpu, &set);
	} else {
		cpu = -1;
	}
	thread_cpu = cpu;
	affinity->moves++;
	/* Without permission, every thread stays where it is. */
	if (sched_setaffinity(0, sizeof(set), &set) != 0)
		affinity->is_on = false;
}

/* -- requests ------------------------------------------------------------------------ */

int affinity_new(enum affinity_mode mode, struct affinity **affinity_out)
{
	struct affinity *affinity = calloc(1, sizeof(*affinity));

	if (!affinity)
		return tool_error("out of memory");
	pthread_mutex_init(&affinity->lock, NULL);
	affinity->mode = mode;
	affinity->cpu = -1;
	affinity->is_on = mode != AFFINITY_NONE &&
			  sched_getaffinity(0, sizeof(affinity->allowed),
					    &affinity->allowed) == 0 &&
			  CPU_COUNT(&affinity->allowed) > 1;
	*affinity_out = affinity;
	return 0;
}

void affinity_free(struct affinity *affinity)
{
	if (!affinity)
		return;
	pthread_mutex_destroy(&affinity->lock);
	free(affinity);
}

/* Under the lock. */
static void query(struct affinity *affinity, uint32_t caller)
{
	int cpu = cpu_of_task(caller);

	adopt_change(affinity);
	if (cpu >= 0 && !CPU_ISSET(cpu, &affinity->allowed))
		cpu = -1;
	if (affinity->mode == AFFINITY_AUTO)
		callers_queried(&affinity->callers, cpu != affinity->cpu);
	affinity->cpu = cpu;
	affinity->queries++;
}

void affinity_begin(struct affinity *affinity, uint32_t caller, uint64_t bytes)
{
	enum callers_advice advice;
	bool is_overlapping = atomic_fetch_add(&affinity->in_service, 1) > 0;

	/* A request of the kernel itself: no process waits for the reply. */
	if (caller == 0)
		return;
	pthread_mutex_lock(&affinity->lock);
	advice = callers_note(&affinity->callers, caller, is_overlapping, bytes);
	if (affinity->is_on) {
		if (affinity->mode == AFFINITY_AUTO &&
		    (advice == CALLERS_ANYWHERE || atomic_load(&affinity->is_polled))) {
			affinity->cpu = -1;
			affinity->concurrent += advice == CALLERS_ANYWHERE;
		} else if (advice != CALLERS_SAME) {
			query(affinity, caller);
		}
	}
	atomic_store(&affinity->state,
		     affinity->callers.are_concurrent	     ? AFFINITY_CONCURRENT
		     : affinity->is_on && affinity->cpu >= 0 ? AFFINITY_FOLLOWING
							     : AFFINITY_FREE);
	pthread_mutex_unlock(&affinity->lock);
}

void affinity_set_polled(struct affinity *affinity, bool is_polled)
{
	atomic_store(&affinity->is_polled, is_polled);
}

enum affinity_state affinity_state(const struct affinity *affinity)
{
	return atomic_load(&affinity->state);
}

void affinity_end(struct affinity *affinity)
{
	atomic_fetch_sub(&affinity->in_service, 1);
	pthread_mutex_lock(&affinity->lock);
	if (affinity->is_on && affinity->cpu != thread_cpu)
		move_thread(affinity, affinity->cpu);
	pthread_mutex_unlock(&affinity->lock);
}

void affinity_counts(struct affinity *affinity, struct affinity_counts *counts_out)
{
	pthread_mutex_lock(&affinity->lock);
	*counts_out = (struct affinity_counts){
		.cpu = affinity->is_on ? affinity->cpu : -1,
		.queries = affinity->queries,
		.moves = affinity->moves,
		.concurrent = affinity->concurrent,
	};
	pthread_mutex_unlock(&affinity->lock);
}
