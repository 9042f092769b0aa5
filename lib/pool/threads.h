/* SPDX-License-Identifier: MIT */
/*
 * pool/threads: threads of the library.
 *
 * Signals are for the program's own threads: these start with all of them blocked. If
 * the system cannot create all threads, fewer are started, or none.
 */
#ifndef DW_POOL_THREADS_H
#define DW_POOL_THREADS_H

#include <pthread.h>

#include "base/memory.h"

/* All zero: no threads. */
struct threads {
	pthread_t *list;
	struct thread_start *start; /* what they run */
	uint32_t count;
	long process; /* the process they belong to; a fork does not have them */
};

/* Start up to this many, each of which runs the function. Their memory comes from the allocator
 * of the calling thread. */
int dw_threads_start(struct threads *threads, uint32_t count, void *(*run)(void *),
		     void *argument, dwarfs_error **err);

/* Start one more of up to this many. count is as before if that fails, or there are as many. The
 * other arguments are those of the first call. */
int dw_threads_start_one(struct threads *threads, uint32_t limit, void *(*run)(void *),
			 void *argument, dwarfs_error **err);

/* Wait for all to end. */
void dw_threads_join(struct threads *threads);

/* Create a condition whose timed waits use the monotonic clock: 0 or an errno value. */
int dw_condition_init(pthread_cond_t *condition);

/* As pthread_cond_wait() with a deadline, of dw_time_from_now(): false when it has
 * passed. */
bool dw_condition_wait(pthread_cond_t *condition, pthread_mutex_t *lock, int64_t until);

/* The time this far from now, in nanoseconds of the monotonic clock. */
int64_t dw_time_from_now(uint32_t wait_ns);

#endif
