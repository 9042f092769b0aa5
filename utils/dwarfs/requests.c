/* SPDX-License-Identifier: MIT */
/*
 * dwarfs/requests: what is done for each request of the kernel, whatever its kind: it is
 * counted, its time is taken, and the thread that serves it follows its caller.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "dwarfs/affinity.h"
#include "dwarfs/mount.h"

struct requests {
	_Atomic uint64_t counts[PERF_TIMER_COUNT];
	_Atomic uint64_t by_io_uring;
	_Atomic uint64_t polls[2]; /* for requests: given up, and successful */
};

int requests_new(struct requests **requests_out)
{
	*requests_out = calloc(1, sizeof(**requests_out));
	return *requests_out ? 0 : tool_error("out of memory");
}

void requests_free(struct requests *requests)
{
	free(requests);
}

uint64_t requests_count(const struct requests *requests, enum perf_timer timer)
{
	return atomic_load_explicit(&requests->counts[timer], memory_order_relaxed);
}

uint64_t requests_by_io_uring(const struct requests *requests)
{
	return atomic_load_explicit(&requests->by_io_uring, memory_order_relaxed);
}

void requests_count_poll(struct requests *requests, bool found)
{
	atomic_fetch_add_explicit(&requests->polls[found], 1, memory_order_relaxed);
}

uint64_t requests_polls(const struct requests *requests, bool found)
{
	return atomic_load_explicit(&requests->polls[found], memory_order_relaxed);
}

struct request_span request_begin(fuse_req_t req, enum perf_timer timer, uint64_t inode,
				  uint64_t bytes)
{
	const struct mounted *mounted = mounted_of(req);
	const bool is_by_io_uring = io_uring_made(req);

	atomic_fetch_add_explicit(&mounted->requests->counts[timer], 1,
				  memory_order_relaxed);
	/* Its thread has the affinity of the CPU of the caller, which must not change. */
	if (is_by_io_uring)
		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	if (is_by_io_uring)
		atomic_fetch_add_explicit(&mounted->requests->by_io_uring, 1,
					  memory_order_relaxed);
	else
		affinity_begin(mounted->affinity, (uint32_t)fuse_req_ctx(req)->pid,
			       bytes);
	return (struct request_span){ mounted, is_by_io_uring,
				      perf_begin(mounted->perfmon, timer, inode) };
}

void request_end(struct request_span *span)
{
	perf_end(&span->perf);
	if (!span->is_by_io_uring)
		affinity_end(span->mounted->affinity);
}
