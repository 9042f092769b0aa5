/* SPDX-License-Identifier: MIT */
/*
 * pool: run jobs on worker threads, deliver results in the order of submission.
 *
 * A job owns its data, a worker its state. With no workers the same code runs inline.
 * The first error stops the pool: jobs not started are dropped, and submit and finish
 * return that error.
 */
#ifndef DW_POOL_POOL_H
#define DW_POOL_POOL_H

#include <stdatomic.h>

#include "base/memory.h"

struct pool;

/* shared is the pointer given to dw_pool_new(). NULL members are skipped. */
struct pool_ops {
	/* Create and free the state of one worker. Called on that worker's thread. */
	int (*worker_new)(void *shared, void **worker_out, dwarfs_error **err);
	void (*worker_free)(void *worker);

	/* Do the work. On any worker, several at once. */
	int (*run)(void *shared, void *worker, void *job, dwarfs_error **err);

	/* Take the result. On the thread that calls submit or finish, in order of
	 * submission. */
	int (*done)(void *shared, void *job, dwarfs_error **err);

	/* Free the job: after done, or when it is dropped. On the thread of
	 * submit/finish/free. */
	void (*drop)(void *shared, void *job);
};

/* workers: threads at most, 0 for inline. queue: how many jobs may be in flight
 * (waiting, running or not yet taken) before submit blocks; at least 1. A thread starts
 * when a job is submitted that would wait for one. */
int dw_pool_new(const struct pool_ops *ops, void *shared, uint32_t workers,
		uint32_t queue, struct pool **pool_out, dwarfs_error **err);

/* Let no more jobs run at once than this number, which another thread may change at any time;
 * call it before the first job. It is read when a job can be started, and every 50 ms. */
void dw_pool_limit_running(struct pool *pool, const _Atomic uint32_t *limit);

/* Submit a job, which the pool owns from now on, also on failure. May call done and
 * drop. */
int dw_pool_submit(struct pool *pool, void *job, dwarfs_error **err);

/* Take finished results in order, without waiting. */
int dw_pool_poll(struct pool *pool, dwarfs_error **err);

/* Wait until poll can take a result, or this time has passed. */
void dw_pool_wait(struct pool *pool, uint32_t wait_ns);

/* Wait for all jobs, taking results in order. The pool can be used again afterwards. */
int dw_pool_finish(struct pool *pool, dwarfs_error **err);

/* Stop: waits for running jobs, drops the others. NULL is accepted. */
void dw_pool_free(struct pool *pool);
DW_DEFINE_AUTO(pool, struct pool *, dw_pool_free)
#define auto_pool DW_AUTO(pool)

#endif
