/* SPDX-License-Identifier: MIT */
/*
 * dwarfs/requests: what is done for each request of the kernel, whatever its kind: its time
 * is taken, and the thread that serves it follows its caller.
 */
#include "dwarfs/affinity.h"
#include "dwarfs/mount.h"

struct request_span request_begin(fuse_req_t req, enum perf_timer timer, uint64_t inode,
				  uint64_t bytes)
{
	const struct mounted *mounted = mounted_of(req);

	affinity_begin(mounted->affinity, (uint32_t)fuse_req_ctx(req)->pid, bytes);
	return (struct request_span){ mounted,
				      perf_begin(mounted->perfmon, timer, inode) };
}

void request_end(struct request_span *span)
{
	perf_end(&span->perf);
	affinity_end(span->mounted->affinity);
}
