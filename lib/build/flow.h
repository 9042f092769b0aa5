/* SPDX-License-Identifier: MIT */
/*
 * build/flow: a pool that is fed while the caller stays responsive.
 *
 * Waits for room by taking results and ticking the progress, rather than inside the pool,
 * so that the display moves and a cancellation is seen while all workers are busy.
 */
#ifndef DW_BUILD_FLOW_H
#define DW_BUILD_FLOW_H

#include <stdatomic.h>

#include "base/progress.h"
#include "pool/pool.h"

struct flow {
	struct pool *pool;
	struct dwarfs_progress *progress;
	uint32_t limit;	    /* jobs under way at most */
	uint32_t under_way; /* submitted, not yet taken */
	atomic_bool stop;   /* for long jobs to look at */

	/* Called before the progress is shown; may be NULL. */
	void (*refresh)(void *user);
	void *refresh_user;
};

/* ops->done must call dw_flow_taken(). */
int dw_flow_init(struct flow *flow, const struct pool_ops *ops, void *shared,
		 uint32_t workers, uint32_t limit, struct dwarfs_progress *progress,
		 dwarfs_error **err);
void dw_flow_free(struct flow *flow);
static inline void dw_flow_taken(struct flow *flow)
{
	flow->under_way--;
}

/* Hand in a job, which is owned by the pool from now on, also on failure. */
int dw_flow_submit(struct flow *flow, void *job, dwarfs_error **err);
int dw_flow_finish(struct flow *flow, dwarfs_error **err);

/* What a long job asks now and then: true when its result is no longer wanted. */
bool dw_flow_stopped(struct flow *flow);

#endif
