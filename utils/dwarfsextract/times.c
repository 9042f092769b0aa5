/* SPDX-License-Identifier: MIT */
/*
 * dwarfsextract/times: latencies of an extraction.
 *
 * The phases of the extraction are timed here, reads and decompression by the library. On
 * request each event is also written to a file, in the JSON trace event format of
 * browsers and Perfetto.
 */
#include "dwarfsextract/dwarfsextract.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum part { PART_FILESYSTEM, PART_READER, PART_CACHE, PART_COUNT };

static const char *const part_names[PART_COUNT] = { "filesystem_v2", "inode_reader_v2",
						    "block_cache" };

static const struct {
	const char *name;
	enum part part;
} latencies[DWARFS_LATENCY_COUNT] = {
	[DWARFS_LATENCY_READ] = { "read", PART_READER },
	[DWARFS_LATENCY_WAIT] = { "wait", PART_CACHE },
	[DWARFS_LATENCY_DECODE] = { "decode", PART_CACHE },
	[DWARFS_LATENCY_LOAD] = { "load", PART_CACHE },
};

struct times {
	unsigned parts;
	uint64_t started; /* monotonic, ns */
	int phase;	  /* the current one, or -1 */
	uint64_t phase_started;
	uint64_t phases[DWARFS_PHASE_DONE + 1]; /* ns */
	pthread_mutex_t lock;			/* of the file */
	FILE *trace;				/* NULL: none */
	const char *path;
	bool any_event;
};

int times_parse(const char *text, unsigned *parts_out)
{
	unsigned parts = 0;

	while (*text) {
		size_t length = strcspn(text, "+");
		unsigned part = 0;

		while (part < PART_COUNT && (strlen(part_names[part]) != length ||
					     strncmp(part_names[part], text, length)))
			part++;
		if (part == PART_COUNT)
			return tool_error("invalid part '%.*s' for --perfmon: "
					  "filesystem_v2, inode_reader_v2 or block_cache",
					  (int)length, text);
		parts |= 1u << part;
		text += length + (text[length] == '+');
	}
	*parts_out = parts;
	return 0;
}

int times_new(const struct settings *settings, struct times **times_out)
{
	struct times *times;

	*times_out = NULL;
	if (!settings->times)
		return 0;
	times = calloc(1, sizeof(*times));
	if (!times)
		return tool_error("out of memory");
	pthread_mutex_init(&times->lock, NULL);
	times->parts = settings->times;
	times->started = tool_now_ns();
	times->phase = -1;
	times->path = settings->trace;
	if (times->path && !(times->trace = fopen(times->path, "we"))) {
		tool_error("cannot write '%s': %s", times->path, strerror(errno));
		times_free(times);
		return 1;
	}
	if (times->trace)
		fputs("{\"traceEvents\":[\n", times->trace);
	*times_out = times;
	return 0;
}

void times_free(struct times *times)
{
	if (!times)
		return;
	if (times->trace)
		fclose(times->trace);
	pthread_mutex_destroy(&times->lock);
	free(times);
}

/* -- the trace ----------------------------------------------------------------------- */

static void write_trace_event(struct times *times, const char *name, enum part part,
			      uint64_t start, uint64_t ns)
{
	if (!times->trace || !(times->parts >> part & 1))
		return;
	pthread_mutex_lock(&times->lock);
	fprintf(times->trace,
		"%s{\"name\":\"%s\",\"cat\":\"%s\",\"ph\":\"X\",\"ts\":%.3f,"
		"\"dur\":%.3f,\"pid\":%ld,\"tid\":%ld}",
		times->any_event ? ",\n" : "", name, part_names[part],
		(double)(start - times->started) / 1e3, (double)ns / 1e3, (long)getpid(),
		(long)syscall(SYS_gettid));
	times->any_event = true;
	pthread_mutex_unlock(&times->lock);
}

static void take_span(enum dwarfs_latency what, uint64_t start_ns, uint64_t ns,
		      void *user)
{
	if (what < DWARFS_LATENCY_COUNT)
		write_trace_event(user, latencies[what].name, latencies[what].part,
				  start_ns, ns);
}

int times_watch(struct times *times, dwarfs_context *context, dwarfs_error **err)
{
	return times ? dwarfs_context_set_span(context, times->trace ? take_span : NULL,
					       times, err)
		     : 0;
}

void times_see(struct times *times, int phase)
{
	uint64_t now;

	if (!times || phase == times->phase)
		return;
	now = tool_now_ns();
	if (times->phase >= 0) {
		times->phases[times->phase] += now - times->phase_started;
		write_trace_event(times, dwarfs_phase_name(times->phase), PART_FILESYSTEM,
				  times->phase_started, now - times->phase_started);
	}
	times->phase = phase <= DWARFS_PHASE_DONE ? phase : -1;
	times->phase_started = now;
}

/* -- the end ------------------------------------------------------------------------- */

static void print_latency(const dwarfs_context *context, int what)
{
	char sum[TOOL_TEXT_ROOM], half[TOOL_TEXT_ROOM], most[TOOL_TEXT_ROOM];
	uint64_t count = dwarfs_context_latency(context, what, DWARFS_LATENCY_TIMES);

	/* Files that are extracted to a directory are not read one by one. */
	if (count == 0 && what == DWARFS_LATENCY_READ)
		fprintf(stderr, "[%s.%s] 0 times\n", part_names[latencies[what].part],
			latencies[what].name);
	if (count == 0)
		return;
	tool_format_duration(dwarfs_context_latency(context, what, DWARFS_LATENCY_SUM_NS),
			     sum);
	tool_format_duration(dwarfs_context_latency_quantile(context, what, 500), half);
	tool_format_duration(
		dwarfs_context_latency(context, what, DWARFS_LATENCY_MOST_NS), most);
	fprintf(stderr, "[%s.%s] %llu times, %s in all, median %s, most %s\n",
		part_names[latencies[what].part], latencies[what].name,
		(unsigned long long)count, sum, half, most);
}

static int end_trace(struct times *times)
{
	bool bad;

	if (!times->trace)
		return 0;
	fputs("\n]}\n", times->trace);
	bad = ferror(times->trace);
	bad = fclose(times->trace) != 0 || bad;
	times->trace = NULL;
	return bad ? tool_error("writing '%s' failed", times->path) : 0;
}

int times_tell(struct times *times, const dwarfs_context *context)
{
	char text[TOOL_TEXT_ROOM];

	if (!times)
		return 0;
	times_see(times, DWARFS_PHASE_DONE);
	for (int phase = 0;
	     times->parts >> PART_FILESYSTEM & 1 && phase < DWARFS_PHASE_DONE; phase++)
		if (times->phases[phase])
			fprintf(stderr, "[%s.%s] %s\n", part_names[PART_FILESYSTEM],
				dwarfs_phase_name(phase),
				tool_format_duration(times->phases[phase], text));
	for (int what = 0; what < DWARFS_LATENCY_COUNT; what++)
		if (times->parts >> latencies[what].part & 1)
			print_latency(context, what);
	return end_trace(times);
}
