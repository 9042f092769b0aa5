/* SPDX-License-Identifier: MIT */
/*
 * build/flow: a pool that is fed while the caller stays responsive.
 */
#include "build/flow.h"

/* The longest time between two looks at the pool: until a cancellation is seen. */
#define WAIT_NS 20000000

int dw_flow_init(struct flow *flow, const struct pool_ops *ops, void *shared,
		 uint32_t workers, uint32_t limit, struct dwarfs_progress *progress,
		 dwarfs_error **err)
{
	atomic_init(&flow->stop, false);
	flow->progress = progress;
	flow->limit = limit;
	flow->under_way = 0;
	flow->pool = NULL;
	flow->refresh = NULL;
	return dw_pool_new(ops, shared, workers, limit, &flow->pool, err);
}

void dw_flow_free(struct flow *flow)
{
	atomic_store(&flow->stop, true);
	dw_pool_free(flow->pool);
	flow->pool = NULL;
}

bool dw_flow_stopped(struct flow *flow)
{
	return atomic_load_explicit(&flow->stop, memory_order_relaxed) ||
	       dwarfs_cancel_is_set(flow->progress->cancel);
}

/* Take results until at most this many jobs are under way. */
static int wait_until(struct flow *flow, uint32_t under_way, dwarfs_error **err)
{
	int ret;

	for (;;) {
		if ((ret = dw_pool_poll(flow->pool, err)) < 0)
			return ret;
		if (flow->refresh)
			flow->refresh(flow->refresh_user);
		if ((ret = dw_progress_tick(flow->progress, err)) < 0)
			return ret;
		if (flow->under_way <= under_way)
			return 0;
		dw_pool_wait(flow->pool, WAIT_NS);
	}
}

int dw_flow_submit(struct flow *flow, void *job, dwarfs_error **err)
{
	int ret;

	flow->under_way++; /* before it can be taken */
	if ((ret = dw_pool_submit(flow->pool, job, err)) < 0)
		return ret;
	return wait_until(flow, flow->limit - 1, err);
}

int dw_flow_finish(struct flow *flow, dwarfs_error **err)
{
	int ret = wait_until(flow, 0, err);

	if (ret < 0)
		return ret;
	return dw_pool_finish(flow->pool, err);
}
