/* SPDX-License-Identifier: MIT */
/*
 * base/latency: histograms of durations. See dwarfs_context_latency().
 */
#ifndef DW_BASE_LATENCY_H
#define DW_BASE_LATENCY_H

#include <dwarfs/context.h>

#include "base/memory.h"

struct latency;

/* An empty histogram for each event; NULL: out of memory. */
struct latency *dw_latency_new(void);
void dw_latency_free(struct latency *latency);

/* Count an event of this duration. Threads: any. */
void dw_latency_add(struct latency *latency, int what, uint64_t ns);

/* As the functions of <dwarfs/context.h>. */
uint64_t dw_latency_number(const struct latency *latency, int what, int number);
uint64_t dw_latency_quantile(const struct latency *latency, int what, uint32_t permille);
uint64_t dw_latency_bucket(const struct latency *latency, int what, uint32_t index,
			   uint64_t *from_ns_out, uint64_t *until_ns_out);

/* Set a callback for each event; before the first one. */
void dw_latency_tell(struct latency *latency, dwarfs_span_fn tell, void *user);

/* Count an event that began at this time and ends now. */
void dw_latency_note(struct latency *latency, int what, uint64_t began);

/* The monotonic clock; never 0. */
uint64_t dw_latency_now(void);

/* The start of an event: 0 if latencies are not measured. latency may be NULL. */
static inline uint64_t dw_latency_begin(const struct latency *latency)
{
	return latency ? dw_latency_now() : 0;
}

static inline void dw_latency_end(struct latency *latency, int what, uint64_t began)
{
	if (began)
		dw_latency_note(latency, what, began);
}

/* Measures from here to the end of the enclosing block. */
struct latency_span {
	struct latency *latency;
	int what;
	uint64_t began;
};
static inline void dw_latency_span_end(struct latency_span *span)
{
	dw_latency_end(span->latency, span->what, span->began);
}
#define DW_LATENCY_SPAN(latency, what)                                                   \
	__attribute__((cleanup(dw_latency_span_end),                                     \
		       unused)) struct latency_span latency_span = {                     \
		(latency), (what), dw_latency_begin(latency)                             \
	}

#endif
