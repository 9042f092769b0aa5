/* SPDX-License-Identifier: MIT */
/*
 * pool/threads: the threads of this library.
 *
 * Signals are for the program's own threads, so these start with all of them blocked.
 * Where the system has no more threads to give, fewer start, and in the end none.
 */
#ifndef DW_POOL_THREADS_H
#define DW_POOL_THREADS_H

#include <pthread.h>

#include "base/memory.h"

/* All zero: no threads. */
struct threads {
	pthread_t *list;
	uint32_t count;
	long process; /* that they run in; a fork of it does not have them */
};

/* Start up to this many, each of which runs the function. */
int dw_threads_start(struct threads *threads, uint32_t count, void *(*run)(void *),
		     void *argument, dwarfs_error **err);

/* Wait for all to end. */
void dw_threads_join(struct threads *threads);

/* Whether they run in this process, and not only in the one that it is a fork of. */
bool dw_threads_are_here(const struct threads *threads);

/* A condition whose timed waits go by a clock that nobody sets: 0 or an errno value. */
int dw_condition_init(pthread_cond_t *condition);

/* Wait as pthread_cond_wait(), but no longer than this: false when the time is over. */
bool dw_condition_wait(pthread_cond_t *condition, pthread_mutex_t *lock,
		       const struct timespec *until);

/* The time that is so far from now. */
struct timespec dw_time_from_now(uint32_t wait_ns);

#endif
