/* SPDX-License-Identifier: MIT */
/*
 * base/latency: histograms of durations.
 *
 * Takes durations by event; gives counts, sums and quantiles. A histogram has eight
 * buckets for each doubling of the duration, so a quantile is exact to an eighth.
 * Counters are atomic and independent: while other threads count, the numbers of one
 * answer may differ slightly.
 */
#include <stdatomic.h>
#include <time.h>

#include "base/latency.h"

#define STEP_BITS 3
#define STEPS	  (1u << STEP_BITS)
#define BUCKETS	  ((64 - STEP_BITS + 1) * STEPS)

struct histogram {
	_Atomic uint64_t sum_ns;
	_Atomic uint64_t least_ns; /* UINT64_MAX at first */
	_Atomic uint64_t most_ns;
	_Atomic uint64_t buckets[BUCKETS];
};

struct latency {
	dwarfs_span_fn tell; /* may be NULL */
	void *user;
	struct histogram histograms[DWARFS_LATENCY_COUNT];
};

struct latency *dw_latency_new(void)
{
	struct latency *latency = dw_calloc(1, sizeof(*latency));

	for (int i = 0; latency && i < DWARFS_LATENCY_COUNT; i++)
		atomic_init(&latency->histograms[i].least_ns, UINT64_MAX);
	return latency;
}

void dw_latency_free(struct latency *latency)
{
	dw_free(latency);
}

uint64_t dw_latency_now(void)
{
	struct timespec now;
	uint64_t ns;

	clock_gettime(CLOCK_MONOTONIC, &now);
	ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	return ns ? ns : 1;
}

/* -- buckets ------------------------------------------------------------------------- */

/* Below STEPS each duration has its own bucket; above, its highest bits select one. */
static uint32_t histogram_bucket(uint64_t ns)
{
	unsigned power;

	if (ns < STEPS)
		return (uint32_t)ns;
	power = 63 - (unsigned)__builtin_clzll(ns);
	return (power - STEP_BITS + 1) * STEPS +
	       (uint32_t)(ns >> (power - STEP_BITS) & (STEPS - 1));
}

static uint64_t bucket_start(uint32_t bucket)
{
	if (bucket < STEPS)
		return bucket;
	return (uint64_t)(STEPS + bucket % STEPS) << (bucket / STEPS - 1);
}

/* The end of a bucket; the last one has no end. */
static uint64_t histogram_bucket_end(uint32_t bucket)
{
	return bucket + 1 < BUCKETS ? bucket_start(bucket + 1) : UINT64_MAX;
}

/* -- counting ------------------------------------------------------------------------ */

void dw_latency_add(struct latency *latency, int what, uint64_t ns)
{
	struct histogram *histogram = &latency->histograms[what];
	uint64_t least = atomic_load_explicit(&histogram->least_ns, memory_order_relaxed);
	uint64_t most = atomic_load_explicit(&histogram->most_ns, memory_order_relaxed);

	atomic_fetch_add_explicit(&histogram->sum_ns, ns, memory_order_relaxed);
	while (ns < least &&
	       !atomic_compare_exchange_weak(&histogram->least_ns, &least, ns))
		;
	while (ns > most && !atomic_compare_exchange_weak(&histogram->most_ns, &most, ns))
		;
	atomic_fetch_add_explicit(&histogram->buckets[histogram_bucket(ns)], 1,
				  memory_order_relaxed);
}

void dw_latency_tell(struct latency *latency, dwarfs_span_fn tell, void *user)
{
	latency->tell = tell;
	latency->user = user;
}

void dw_latency_note(struct latency *latency, int what, uint64_t began)
{
	uint64_t ns = dw_latency_now() - began;

	dw_latency_add(latency, what, ns);
	if (latency->tell)
		latency->tell(what, began, ns, latency->user);
}

/* -- queries ------------------------------------------------------------------------- */

static const struct histogram *find_histogram(const struct latency *latency, int what)
{
	if (!latency || what < 0 || what >= DWARFS_LATENCY_COUNT)
		return NULL;
	return &latency->histograms[what];
}

static uint64_t histogram_count(const struct histogram *histogram)
{
	uint64_t count = 0;

	for (uint32_t i = 0; i < BUCKETS; i++)
		count += atomic_load_explicit(&histogram->buckets[i],
					      memory_order_relaxed);
	return count;
}

uint64_t dw_latency_number(const struct latency *latency, int what, int number)
{
	const struct histogram *histogram = find_histogram(latency, what);
	uint64_t least;

	if (!histogram)
		return 0;
	switch (number) {
	case DWARFS_LATENCY_TIMES:
		return histogram_count(histogram);
	case DWARFS_LATENCY_SUM_NS:
		return atomic_load(&histogram->sum_ns);
	case DWARFS_LATENCY_LEAST_NS:
		least = atomic_load(&histogram->least_ns);
		return least == UINT64_MAX ? 0 : least;
	case DWARFS_LATENCY_MOST_NS:
		return atomic_load(&histogram->most_ns);
	default:
		return 0;
	}
}

uint64_t dw_latency_quantile(const struct latency *latency, int what, uint32_t permille)
{
	const struct histogram *histogram = find_histogram(latency, what);
	uint64_t counts[BUCKETS], count = 0, seen = 0, most, rank;

	if (!histogram)
		return 0;
	/* A copy, so that the sum and its parts are consistent. */
	for (uint32_t i = 0; i < BUCKETS; i++) {
		counts[i] = atomic_load_explicit(&histogram->buckets[i],
						 memory_order_relaxed);
		count += counts[i];
	}
	if (count == 0)
		return 0;
	permille = permille < 1000 ? permille : 1000;
	rank = count / 1000 * permille + (count % 1000 * permille + 999) / 1000;
	rank = rank > 0 ? rank : 1;
	most = atomic_load(&histogram->most_ns);
	for (uint32_t i = 0; i < BUCKETS; i++) {
		seen += counts[i];
		if (seen >= rank)
			return histogram_bucket_end(i) - 1 < most
				       ? histogram_bucket_end(i) - 1
				       : most;
	}
	return most;
}

uint64_t dw_latency_bucket(const struct latency *latency, int what, uint32_t index,
			   uint64_t *from_ns_out, uint64_t *until_ns_out)
{
	const struct histogram *histogram = find_histogram(latency, what);

	if (index >= BUCKETS) {
		*from_ns_out = *until_ns_out = 0;
		return 0;
	}
	*from_ns_out = bucket_start(index);
	*until_ns_out = histogram_bucket_end(index);
	return histogram ? atomic_load_explicit(&histogram->buckets[index],
						memory_order_relaxed)
			 : 0;
}
