/* SPDX-License-Identifier: MIT */
/*
 * pool/pipeline: submit jobs to a pool while the caller stays responsive.
 */
#include "pool/pipeline.h"

/* Maximum time until a cancellation is noticed. */
#define WAIT_NS 20000000

int dw_pipeline_init(struct pipeline *pipeline, const struct pool_ops *ops, void *shared,
		     uint32_t workers, uint32_t limit, struct dwarfs_progress *progress,
		     dwarfs_error **err)
{
	atomic_init(&pipeline->stop, false);
	pipeline->progress = progress;
	pipeline->limit = limit;
	pipeline->in_flight = 0;
	pipeline->pool = NULL;
	pipeline->refresh = NULL;
	return dw_pool_new(ops, shared, workers, limit, &pipeline->pool, err);
}

void dw_pipeline_free(struct pipeline *pipeline)
{
	atomic_store(&pipeline->stop, true);
	dw_pool_free(pipeline->pool);
	pipeline->pool = NULL;
}

bool dw_pipeline_stopped(struct pipeline *pipeline)
{
	return atomic_load_explicit(&pipeline->stop, memory_order_relaxed) ||
	       dwarfs_task_is_cancelled(pipeline->progress->task);
}

/* Takes results until then. */
int dw_pipeline_wait(struct pipeline *pipeline, uint32_t in_flight, dwarfs_error **err)
{
	int ret;

	for (;;) {
		if ((ret = dw_pool_poll(pipeline->pool, err)) < 0)
			return ret;
		if (pipeline->refresh)
			pipeline->refresh(pipeline->refresh_user);
		if ((ret = dw_progress_tick(pipeline->progress, err)) < 0)
			return ret;
		if (pipeline->in_flight <= in_flight)
			return 0;
		dw_pool_wait(pipeline->pool, WAIT_NS);
	}
}

int dw_pipeline_submit(struct pipeline *pipeline, void *job, dwarfs_error **err)
{
	int ret;

	pipeline->in_flight++; /* before its result can be taken */
	if ((ret = dw_pool_submit(pipeline->pool, job, err)) < 0)
		return ret;
	return dw_pipeline_wait(pipeline, pipeline->limit - 1, err);
}

int dw_pipeline_finish(struct pipeline *pipeline, dwarfs_error **err)
{
	int ret = dw_pipeline_wait(pipeline, 0, err);

	if (ret < 0)
		return ret;
	return dw_pool_finish(pipeline->pool, err);
}
