/* SPDX-License-Identifier: MIT */
/*
 * dwarfs/perfmon: latencies of requests.
 *
 * Every timer has a histogram with four steps for each doubling of the time, counted
 * without a lock; the library has timers of its own. On request each span is also written
 * to a file, in the JSON format for trace events that browsers and Perfetto show.
 */
#include <errno.h>
#include <jansson.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "dwarfs/affinity.h"
#include "dwarfs/mount.h"

#define STEPS	4
#define BUCKETS (64 * STEPS)

/* An attribute has at most 64 KiB, and this one grows between its size query and read. */
#define MOST_TEXT 56000

struct timer {
	_Atomic uint64_t count, total_ns, most_ns;
	_Atomic uint64_t buckets[BUCKETS];
};

struct perfmon {
	unsigned parts;
	uint64_t started; /* monotonic, ns */
	struct timer timers[PERF_TIMER_COUNT];
	pthread_mutex_t lock; /* of the file */
	FILE *trace;	      /* NULL: none */
	char *trace_path;
	bool any_event;
};

static const char *const part_names[PERF_PART_COUNT] = { "fuse", "filesystem_v2",
							 "inode_reader_v2",
							 "block_cache" };

static const struct {
	const char *name;
	enum perf_part part;
} timers[PERF_TIMER_COUNT] = {
	[PERF_LOOKUP] = { "lookup", PERF_FUSE },
	[PERF_GETATTR] = { "getattr", PERF_FUSE },
	[PERF_READLINK] = { "readlink", PERF_FUSE },
	[PERF_OPEN] = { "open", PERF_FUSE },
	[PERF_READ] = { "read", PERF_FUSE },
	[PERF_LSEEK] = { "lseek", PERF_FUSE },
	[PERF_OPENDIR] = { "opendir", PERF_FUSE },
	[PERF_READDIR] = { "readdir", PERF_FUSE },
	[PERF_READDIRPLUS] = { "readdirplus", PERF_FUSE },
	[PERF_STATFS] = { "statfs", PERF_FUSE },
	[PERF_GETXATTR] = { "getxattr", PERF_FUSE },
	[PERF_LISTXATTR] = { "listxattr", PERF_FUSE },
	[PERF_RELEASE] = { "release", PERF_FUSE },
	[PERF_IOCTL] = { "ioctl", PERF_FUSE },
	[PERF_FS_FIND] = { "find", PERF_FILESYSTEM },
	[PERF_FS_STAT] = { "stat", PERF_FILESYSTEM },
	[PERF_FS_READLINK] = { "readlink", PERF_FILESYSTEM },
	[PERF_FS_LIST] = { "list", PERF_FILESYSTEM },
	[PERF_READER_OPEN] = { "open", PERF_READER },
	[PERF_READER_READ] = { "read", PERF_READER },
	[PERF_READER_SEEK] = { "seek", PERF_READER },
	[PERF_CACHE_PREFETCH] = { "prefetch", PERF_CACHE },
	[PERF_CACHE_READAHEAD] = { "readahead", PERF_CACHE },
	[PERF_CACHE_PRELOAD] = { "preload", PERF_CACHE },
	[PERF_CACHE_TRIM] = { "trim", PERF_CACHE },
};

/* -- histograms ---------------------------------------------------------------------- */

static size_t bucket_of(uint64_t ns)
{
	unsigned power;

	if (ns < STEPS)
		return (size_t)ns;
	power = 63 - (unsigned)__builtin_clzll(ns);
	return (power - 1) * STEPS + (size_t)(ns >> (power - 2) & (STEPS - 1));
}

/* The first value that is past a bucket. */
static uint64_t bucket_end(size_t bucket)
{
	size_t next = bucket + 1;

	if (next < STEPS)
		return next;
	return (uint64_t)(STEPS + next % STEPS) << (next / STEPS - 1);
}

static void add_time(struct timer *timer, uint64_t ns)
{
	uint64_t most = atomic_load_explicit(&timer->most_ns, memory_order_relaxed);

	atomic_fetch_add_explicit(&timer->count, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&timer->total_ns, ns, memory_order_relaxed);
	atomic_fetch_add_explicit(&timer->buckets[bucket_of(ns)], 1,
				  memory_order_relaxed);
	while (ns > most && !atomic_compare_exchange_weak(&timer->most_ns, &most, ns))
		;
}

/* The upper bound of a percentile. */
static uint64_t percentile(const uint64_t *buckets, uint64_t count, unsigned percent)
{
	uint64_t seen = 0;

	for (size_t i = 0; i < BUCKETS; i++) {
		seen += buckets[i];
		if (seen > 0 && seen * 100 >= count * percent)
			return bucket_end(i);
	}
	return 0;
}

/* -- the trace ----------------------------------------------------------------------- */

static void write_span(struct perfmon *perfmon, const struct perf_span *span,
		       uint64_t end)
{
	pthread_mutex_lock(&perfmon->lock);
	fprintf(perfmon->trace,
		"%s{\"name\":\"%s\",\"cat\":\"%s\",\"ph\":\"X\",\"ts\":%.3f,"
		"\"dur\":%.3f,\"pid\":%ld,\"tid\":%ld,\"args\":{\"inode\":%llu}}",
		perfmon->any_event ? ",\n" : "", timers[span->timer].name,
		part_names[timers[span->timer].part],
		(double)(span->start - perfmon->started) / 1e3,
		(double)(end - span->start) / 1e3, (long)getpid(),
		(long)syscall(SYS_gettid), (unsigned long long)span->inode);
	perfmon->any_event = true;
	pthread_mutex_unlock(&perfmon->lock);
}

struct perf_span perf_begin(struct perfmon *perfmon, enum perf_timer timer,
			    uint64_t inode)
{
	bool on = perfmon && perfmon->parts >> timers[timer].part & 1;

	return (struct perf_span){ perfmon, timer, inode, on ? tool_now_ns() : 0 };
}

void perf_end(struct perf_span *span)
{
	uint64_t end;

	if (span->start == 0)
		return;
	end = tool_now_ns();
	add_time(&span->perfmon->timers[span->timer], end - span->start);
	if (span->perfmon->trace)
		write_span(span->perfmon, span, end);
}

/* -- life ---------------------------------------------------------------------------- */

int perfmon_new(unsigned parts, const char *trace, struct perfmon **perfmon_out)
{
	struct perfmon *perfmon = calloc(1, sizeof(*perfmon));

	if (!perfmon)
		return tool_error("out of memory");
	pthread_mutex_init(&perfmon->lock, NULL);
	perfmon->parts = parts;
	perfmon->started = tool_now_ns();
	if (trace) {
		perfmon->trace_path = strdup(trace);
		perfmon->trace = fopen(trace, "we");
		if (!perfmon->trace || !perfmon->trace_path) {
			tool_error("-o perfmon_trace: cannot write '%s': %s", trace,
				   strerror(errno));
			perfmon_free(perfmon);
			return 1;
		}
		fputs("{\"traceEvents\":[\n", perfmon->trace);
	}
	*perfmon_out = perfmon;
	return 0;
}

void perfmon_free(struct perfmon *perfmon)
{
	if (!perfmon)
		return;
	if (perfmon->trace) {
		bool bad;

		fputs("\n]}\n", perfmon->trace);
		bad = ferror(perfmon->trace);
		if (fclose(perfmon->trace) != 0 || bad)
			tool_error("writing '%s' failed", perfmon->trace_path);
	}
	pthread_mutex_destroy(&perfmon->lock);
	free(perfmon->trace_path);
	free(perfmon);
}

/* -- as text ------------------------------------------------------------------------- */

static json_t *describe_timer(struct timer *timer)
{
	uint64_t buckets[BUCKETS], count = 0;
	json_t *histogram = json_array();

	for (size_t i = 0; i < BUCKETS; i++) {
		buckets[i] =
			atomic_load_explicit(&timer->buckets[i], memory_order_relaxed);
		count += buckets[i];
		if (buckets[i])
			json_array_append_new(
				histogram, json_pack("[I, I]", (json_int_t)bucket_end(i),
						     (json_int_t)buckets[i]));
	}
	return json_pack(
		"{s:I, s:I, s:I, s:I, s:I, s:I, s:o}", "count", (json_int_t)count,
		"total_ns", (json_int_t)atomic_load(&timer->total_ns), "max_ns",
		(json_int_t)atomic_load(&timer->most_ns), "p50_ns",
		(json_int_t)percentile(buckets, count, 50), "p90_ns",
		(json_int_t)percentile(buckets, count, 90), "p99_ns",
		(json_int_t)percentile(buckets, count, 99), "histogram", histogram);
}

static json_t *describe_cache(const dwarfs_context *context)
{
	static const char *const names[] = {
		[DWARFS_CACHE_BUDGET] = "budget_bytes",
		[DWARFS_CACHE_USED] = "used_bytes",
		[DWARFS_CACHE_MOST_USED] = "most_used_bytes",
		[DWARFS_CACHE_BLOCKS] = "blocks",
		[DWARFS_CACHE_EXTENTS] = "extents",
		[DWARFS_CACHE_HITS] = "hits",
		[DWARFS_CACHE_MISSES] = "misses",
		[DWARFS_CACHE_EVICTIONS] = "evictions",
		[DWARFS_CACHE_DECODED_BYTES] = "decoded_bytes",
		[DWARFS_CACHE_REDECODED_BYTES] = "redecoded_bytes",
		[DWARFS_CACHE_TURN_WAITS] = "turn_waits",
		[DWARFS_CACHE_READ_BYTES] = "read_bytes",
		[DWARFS_CACHE_REFUSED] = "refused_reads",
	};
	json_t *numbers = json_object();

	for (int i = 0; i < (int)(sizeof(names) / sizeof(*names)); i++)
		json_object_set_new(
			numbers, names[i],
			json_integer((json_int_t)dwarfs_context_cache_count(context, i)));
	return numbers;
}

static json_t *describe_latency(const dwarfs_context *context, int what)
{
	json_t *histogram = json_array();
	uint64_t from, until = 1;

	for (uint32_t i = 0; until > 0; i++) {
		uint64_t times =
			dwarfs_context_latency_bucket(context, what, i, &from, &until);

		if (times)
			json_array_append_new(histogram,
					      json_pack("[I, I]", (json_int_t)until,
							(json_int_t)times));
	}
	return json_pack(
		"{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o}", "count",
		(json_int_t)dwarfs_context_latency(context, what, DWARFS_LATENCY_TIMES),
		"total_ns",
		(json_int_t)dwarfs_context_latency(context, what, DWARFS_LATENCY_SUM_NS),
		"min_ns",
		(json_int_t)dwarfs_context_latency(context, what,
						   DWARFS_LATENCY_LEAST_NS),
		"max_ns",
		(json_int_t)dwarfs_context_latency(context, what, DWARFS_LATENCY_MOST_NS),
		"p50_ns", (json_int_t)dwarfs_context_latency_quantile(context, what, 500),
		"p90_ns", (json_int_t)dwarfs_context_latency_quantile(context, what, 900),
		"p99_ns", (json_int_t)dwarfs_context_latency_quantile(context, what, 990),
		"histogram", histogram);
}

/* The timers of the library, as part of the block cache. */
static void describe_latencies(const dwarfs_context *context, json_t *all)
{
	static const char *const names[] = {
		[DWARFS_LATENCY_READ] = "read",
		[DWARFS_LATENCY_WAIT] = "wait",
		[DWARFS_LATENCY_DECODE] = "decode",
		[DWARFS_LATENCY_LOAD] = "load",
	};
	json_t *part = json_object_get(all, part_names[PERF_CACHE]);

	for (int i = 0; part && i < (int)(sizeof(names) / sizeof(*names)); i++)
		if (dwarfs_context_latency(context, i, DWARFS_LATENCY_TIMES) > 0)
			json_object_set_new(part, names[i], describe_latency(context, i));
}

/* The requests by kind, without those that were never made. */
static json_t *describe_requests(const struct requests *requests)
{
	json_t *counts = json_object();

	for (int i = 0; i < PERF_TIMER_COUNT; i++) {
		uint64_t count = requests_count(requests, (enum perf_timer)i);

		if (count > 0)
			json_object_set_new(counts, timers[i].name,
					    json_integer((json_int_t)count));
	}
	return counts;
}

/* Where requests are served. */
static json_t *describe_affinity(struct affinity *affinity)
{
	struct affinity_counts counts;

	affinity_counts(affinity, &counts);
	return json_pack("{s:i, s:I, s:I, s:I}", "cpu", counts.cpu, "queries",
			 (json_int_t)counts.queries, "moves", (json_int_t)counts.moves,
			 "concurrent_requests", (json_int_t)counts.concurrent);
}

static json_t *describe_io_uring(const struct mounted *mounted)
{
	const bool is_used = mounted->agrees_on_io_uring && !io_uring_has_failed();

	return json_pack("{s:b, s:I}", "is_used", (int)is_used, "requests",
			 (json_int_t)requests_by_io_uring(mounted->requests));
}

/* How often a thread polled for the next request. */
static json_t *describe_busy_poll(const struct mounted *mounted)
{
	return json_pack("{s:I, s:I}", "found",
			 (json_int_t)requests_polls(mounted->requests, true), "given_up",
			 (json_int_t)requests_polls(mounted->requests, false));
}

char *perfmon_describe(const struct mounted *mounted)
{
	struct perfmon *perfmon = mounted->perfmon;
	const dwarfs_context *context = dwarfs_image_context(mounted->image);
	json_t *all = json_object();
	char *text;

	json_object_set_new(all, "cache", describe_cache(context));
	json_object_set_new(all, "requests", describe_requests(mounted->requests));
	json_object_set_new(all, "affinity", describe_affinity(mounted->affinity));
	json_object_set_new(all, "busy_poll", describe_busy_poll(mounted));
	json_object_set_new(all, "io_uring", describe_io_uring(mounted));
	for (int part = 0; perfmon && part < PERF_PART_COUNT; part++)
		if (perfmon->parts >> part & 1)
			json_object_set_new(all, part_names[part], json_object());
	for (int i = 0; perfmon && i < PERF_TIMER_COUNT; i++)
		if (atomic_load(&perfmon->timers[i].count) > 0)
			json_object_set_new(
				json_object_get(all, part_names[timers[i].part]),
				timers[i].name, describe_timer(&perfmon->timers[i]));
	describe_latencies(context, all);
	text = json_dumps(all, JSON_INDENT(2));
	if (text && strlen(text) > MOST_TEXT) {
		free(text);
		text = json_dumps(all, JSON_COMPACT);
	}
	json_decref(all);
	return text;
}
