/* SPDX-License-Identifier: MIT */
/*
 * pool/crew: run one function on several threads and wait for them.
 *
 * How the threads divide the work is up to the function.
 */
#ifndef DW_POOL_CREW_H
#define DW_POOL_CREW_H

#include "base/memory.h"

struct crew_ops {
	/* Run once by each thread, which are numbered from 0. Not NULL. */
	void (*work)(void *user, uint32_t member);

	/* Called by the caller's thread about ten times a second until all are done; may
	 * be NULL. */
	void (*look)(void *user);
};

/* Run on this many threads, and wait until all are done. With 0, or if none can be
 * started, the caller's thread runs the function as member 0, and look() is not
 * called. Fails only with NOMEM, before anything has run. */
int dw_crew_run(const struct crew_ops *ops, void *user, uint32_t threads,
		dwarfs_error **err);

#endif
