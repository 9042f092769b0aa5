/* SPDX-License-Identifier: MIT */
/*
 * pool/pipeline: a pool that is fed while the caller stays responsive.
 *
 * Waits for room by taking results and ticking the progress, rather than inside the pool,
 * so that the display moves and a cancellation is seen while all workers are busy.
 */
#ifndef DW_POOL_PIPELINE_H
#define DW_POOL_PIPELINE_H

#include <stdatomic.h>

#include "base/progress.h"
#include "pool/pool.h"

struct pipeline {
	struct pool *pool;
	struct dwarfs_progress *progress;
	uint32_t limit;	    /* jobs under way at most */
	uint32_t under_way; /* submitted, not yet taken */
	atomic_bool stop;   /* for long jobs to look at */

	/* Called before the progress is shown; may be NULL. */
	void (*refresh)(void *user);
	void *refresh_user;
};

/* ops->done must call dw_pipeline_taken(). */
int dw_pipeline_init(struct pipeline *pipeline, const struct pool_ops *ops, void *shared,
		 uint32_t workers, uint32_t limit, struct dwarfs_progress *progress,
		 dwarfs_error **err);
void dw_pipeline_free(struct pipeline *pipeline);
static inline void dw_pipeline_taken(struct pipeline *pipeline)
{
	pipeline->under_way--;
}

/* Hand in a job, which is owned by the pool from now on, also on failure. */
int dw_pipeline_submit(struct pipeline *pipeline, void *job, dwarfs_error **err);
int dw_pipeline_finish(struct pipeline *pipeline, dwarfs_error **err);

/* What a long job asks now and then: true when its result is no longer wanted. */
bool dw_pipeline_stopped(struct pipeline *pipeline);

#endif
