/* SPDX-License-Identifier: MIT */
/*
 * pool/pipeline: submit jobs to a pool while the caller stays responsive.
 *
 * When the pool is full, takes results and reports the progress instead of blocking in
 * the pool, so that the display is updated and a cancellation is noticed while all
 * workers are busy.
 */
#ifndef DW_POOL_PIPELINE_H
#define DW_POOL_PIPELINE_H

#include <stdatomic.h>

#include "base/progress.h"
#include "pool/pool.h"

struct pipeline {
	struct pool *pool;
	struct dwarfs_progress *progress;
	uint32_t limit;	    /* maximum number of jobs in flight */
	uint32_t in_flight; /* submitted, not yet taken */
	atomic_bool stop;   /* checked by long jobs */

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
	pipeline->in_flight--;
}

/* Submit a job, which the pool owns from now on, also on failure. */
int dw_pipeline_submit(struct pipeline *pipeline, void *job, dwarfs_error **err);
/* Wait until at most this number of jobs is in flight. */
int dw_pipeline_wait(struct pipeline *pipeline, uint32_t in_flight, dwarfs_error **err);
int dw_pipeline_finish(struct pipeline *pipeline, dwarfs_error **err);

/* For long jobs: true when the result is no longer needed. */
bool dw_pipeline_stopped(struct pipeline *pipeline);

#endif
