/* SPDX-License-Identifier: MIT */
/*
 * pool/thread_group: run one function on several threads and wait for them.
 *
 * How the threads divide the work is up to the function.
 */
#ifndef DW_POOL_THREAD_GROUP_H
#define DW_POOL_THREAD_GROUP_H

#include "base/memory.h"

struct thread_group_ops {
	/* Run once by each thread, which are numbered from 0. Not NULL. */
	void (*run)(void *user, uint32_t thread);

	/* Called by the caller's thread about ten times a second until all are done; may
	 * be NULL. */
	void (*poll)(void *user);
};

/* Run on this many threads, and wait until all are done. With 0, or if none can be
 * started, the caller's thread runs the function as thread 0, and poll() is not
 * called. Fails only with NOMEM, before anything has run. */
int dw_thread_group_run(const struct thread_group_ops *ops, void *user, uint32_t threads,
			dwarfs_error **err);

#endif
