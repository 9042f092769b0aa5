/* SPDX-License-Identifier: MIT */
/*
 * pool/crew: several threads that do the same, while the caller looks after them.
 *
 * How the work is shared out among them is up to the work.
 */
#ifndef DW_POOL_CREW_H
#define DW_POOL_CREW_H

#include "base/memory.h"

struct crew_ops {
	/* Done by every thread once, each with a number of its own from 0 on. Not NULL.
	 */
	void (*work)(void *user, uint32_t member);

	/* Called by the caller's thread about ten times a second until all are done; may
	 * be NULL. */
	void (*look)(void *user);
};

/*
 * Let this many threads work, and wait until all of them are done. With none, and where
 * none can be started, the caller's thread does the work, as member 0, and is the only
 * one: what it has to look after is up to the work then. Fails with NOMEM only, before
 * anything was done.
 */
int dw_crew_run(const struct crew_ops *ops, void *user, uint32_t threads,
		dwarfs_error **err);

#endif
