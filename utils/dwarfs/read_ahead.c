/* SPDX-License-Identifier: MIT */
/*
 * dwarfs/read_ahead: threads that decompress ahead of reads, and evict unread blocks.
 *
 * Their work, by priority: data ahead of a sequential reader, the next files of a
 * directory that is read in order, and blocks to preload after mounting. Replies do not
 * depend on it, so failures and excess work are dropped silently: a later read reports
 * the error.
 */
#include <errno.h>
#include <inttypes.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "dwarfs/mount.h"

#define MAX_THREADS  2 /* each also uses the workers of the context */
#define QUEUE_ROOM   64
#define MOST_NAMES   ((uint32_t)1 << 20)
#define BATCH_FILES  256
#define MOST_LOOKED  16384 /* entries, for as many files */
#define PIECE_BYTES  ((uint64_t)256 << 10)
#define MOST_AHEAD   ((uint64_t)4 << 20) /* of a reader of one file */
#define BUDGET_SHARE 4			 /* of the cache: one part in */
#define MOST_WASTE                                                                       \
	4		/* bytes decompressed may exceed the bytes needed by this factor
			       */
#define LEAST_REST 4096 /* files without a look ahead, when it was more */
#define MOST_REST  ((uint32_t)1 << 20)

/* A part of a file, or, with bytes 0, files for a stream. */
struct job {
	dwarfs_inode inode;
	uint64_t offset, bytes;
	size_t stream;
	uint32_t turn;
};

struct ahead {
	struct mounted *mounted;
	dwarfs_context *context;
	uint64_t share; /* of the cache that may be filled with guesses */
	pthread_t threads[MAX_THREADS];
	uint32_t wanted_threads, thread_count;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	atomic_bool ending;
	struct job jobs[QUEUE_ROOM];
	uint32_t first_job, job_count;
	struct order order;
	bool all_fits; /* if the cache holds the whole image, no block is evicted */
	bool busy[ORDER_STREAMS]; /* a job for it is waiting or running */
	uint32_t resting, rest;	  /* files to skip before trying again */
	/* By the inode's rest: inode, and above it the entry that names it. */
	_Atomic uint64_t *names;
	uint32_t name_count;
	uint32_t next_block; /* to load; the count of blocks: none */
	int64_t category;    /* -1: all */
	uint64_t tidy_at_ms; /* 0: never */
};

static uint64_t now_ms(void)
{
	return tool_now_ns() / 1000000;
}

/* -- notifications of reads ---------------------------------------------------------- */

/* Under the lock. */
static bool add_job(struct ahead *ahead, const struct job *job)
{
	if (ahead->job_count == QUEUE_ROOM)
		return false;
	ahead->jobs[(ahead->first_job + ahead->job_count++) % QUEUE_ROOM] = *job;
	pthread_cond_signal(&ahead->changed);
	return true;
}

uint64_t ahead_window(const struct ahead *ahead)
{
	if (ahead->wanted_threads == 0)
		return 0;
	return ahead->share < MOST_AHEAD ? ahead->share : MOST_AHEAD;
}

void ahead_want(struct ahead *ahead, dwarfs_inode inode, uint64_t offset, uint64_t bytes)
{
	struct job job = { .inode = inode, .offset = offset, .bytes = bytes };

	if (job.bytes > ahead->share)
		job.bytes = ahead->share;
	if (ahead->wanted_threads == 0 || job.bytes == 0)
		return;
	pthread_mutex_lock(&ahead->lock);
	add_job(ahead, &job);
	pthread_mutex_unlock(&ahead->lock);
}

void ahead_note_entry(struct ahead *ahead, dwarfs_inode inode, dwarfs_entry entry)
{
	if (ahead->names)
		atomic_store_explicit(&ahead->names[inode.number % ahead->name_count],
				      (uint64_t)entry.number << 32 | inode.number,
				      memory_order_relaxed);
}

void ahead_note_start(struct ahead *ahead, dwarfs_inode inode)
{
	struct job job = { 0 };
	uint64_t known;
	bool wants_more;

	if (!ahead->names)
		return;
	known = atomic_load_explicit(&ahead->names[inode.number % ahead->name_count],
				     memory_order_relaxed);
	if ((uint32_t)known != inode.number)
		return;
	pthread_mutex_lock(&ahead->lock);
	job.stream = order_note(&ahead->order, (uint32_t)(known >> 32), &wants_more);
	job.turn = ahead->order.streams[job.stream].turn;
	if (ahead->resting > 0)
		ahead->resting--;
	else if (wants_more && !ahead->busy[job.stream])
		ahead->busy[job.stream] = add_job(ahead, &job);
	pthread_mutex_unlock(&ahead->lock);
}

/* Decode a part of a file, or as much of it as there is; the lock is not held. */
static void warm_range(struct ahead *ahead, dwarfs_inode inode, uint64_t offset,
		       uint64_t bytes)
{
	uint64_t done = 0;

	while (done < bytes && !atomic_load(&ahead->ending)) {
		uint64_t left = bytes - done;
		size_t part = (size_t)(left < PIECE_BYTES ? left : PIECE_BYTES);

		if (files_warm(ahead->mounted, inode, offset + done, part) != 0)
			return;
		done += part;
	}
}

/* -- files of a directory ------------------------------------------------------------ */

/* Regular files of the entries from *entry on, up to a number of bytes in all, and up to
 * another number from the entry end on. */
static size_t list_files(const dwarfs_image *image, uint32_t *entry, uint64_t window,
			 uint32_t end, uint64_t beyond, dwarfs_inode inodes[BATCH_FILES])
{
	auto_handle(dwarfs_stat) *stat = NULL;
	uint32_t entries = dwarfs_image_entry_count(image);
	uint64_t bytes = 0;
	size_t count = 0;

	if (dwarfs_stat_new(&stat, NULL) < 0)
		return 0;
	if (entries - *entry > MOST_LOOKED)
		entries = *entry + MOST_LOOKED;
	for (; *entry < entries && count < BATCH_FILES; (*entry)++) {
		if (*entry >= end && window - bytes > beyond) {
			window = bytes + beyond;
			end = UINT32_MAX;
		}
		if (dwarfs_entry_stat(image, dwarfs_entry_at(*entry), stat, NULL) < 0 ||
		    !S_ISREG(dwarfs_stat_mode(stat)))
			continue;
		if (dwarfs_stat_allocated_bytes(stat) > window - bytes)
			break;
		bytes += dwarfs_stat_allocated_bytes(stat);
		inodes[count++] = dwarfs_stat_inode(stat);
	}
	return count;
}

/* The number after that of the last entry of the directory that contains an entry. */
static uint32_t end_of_dir(const dwarfs_image *image, uint32_t entry)
{
	dwarfs_entry first;
	dwarfs_inode dir;
	uint32_t count;

	if (dwarfs_entry_dir(image, dwarfs_entry_at(entry), &dir, NULL) < 0 ||
	    dwarfs_dir_range(image, dir, &first, &count, NULL) < 0)
		return entry + 1;
	return first.number + count;
}

/* Whether the reader still reads in the direction of the job, and prefetching pays off.
 */
static bool is_current(struct ahead *ahead, const struct job *job)
{
	bool current;

	pthread_mutex_lock(&ahead->lock);
	current = ahead->order.streams[job->stream].turn == job->turn &&
		  ahead->resting == 0;
	pthread_mutex_unlock(&ahead->lock);
	return current && !atomic_load(&ahead->ending);
}

static uint64_t decoded_bytes(const struct ahead *ahead)
{
	return dwarfs_context_cache_count(ahead->context, DWARFS_CACHE_DECODED_BYTES);
}

/*
 * Prefetch some files into the cache. If they need small parts of many blocks that are
 * not kept, prefetching costs more than it saves: the cache itself keeps the parts that a
 * directory needs of a block that it decompresses again.
 */
static void prefetch(struct ahead *ahead, const dwarfs_inode *inodes, size_t count,
		     uint64_t window)
{
	const dwarfs_image *image = ahead->mounted->image;
	uint64_t before = decoded_bytes(ahead);
	uint64_t most = MOST_WASTE * window + dwarfs_image_block_bytes(image);

	PERF_SPAN(ahead->mounted->perfmon, PERF_CACHE_PREFETCH, inodes[0].number);
	dwarfs_prefetch(image, inodes, count, NULL);
	if (decoded_bytes(ahead) - before <= most)
		return;
	pthread_mutex_lock(&ahead->lock);
	ahead->resting = ahead->rest;
	if (ahead->rest < MOST_REST)
		ahead->rest *= 2;
	pthread_mutex_unlock(&ahead->lock);
}

/* Decompress the next data; the lock is not held. */
static void run_stream(struct ahead *ahead, const struct job *job)
{
	const dwarfs_image *image = ahead->mounted->image;
	struct stream *stream = &ahead->order.streams[job->stream];
	dwarfs_inode inodes[BATCH_FILES];
	uint32_t from, to, last, end;
	uint64_t window, beyond;
	size_t count;

	pthread_mutex_lock(&ahead->lock);
	from = to = stream->ahead;
	last = stream->last;
	window = stream->window;
	beyond = order_beyond(stream);
	pthread_mutex_unlock(&ahead->lock);
	end = end_of_dir(image, last);
	count = list_files(image, &to, window, end, beyond, inodes);
	pthread_mutex_lock(&ahead->lock);
	if (stream->turn == job->turn) {
		stream->dir_end = end;
		/* Data that does not fit now may fit next time. */
		stream->mark = from - (from - stream->last) / 2;
		if (stream->ahead < to)
			stream->ahead = to;
		stream->window = window < ahead->share / 4 ? window * 4 : ahead->share;
	}
	pthread_mutex_unlock(&ahead->lock);
	if (!ahead->all_fits && count > 0 && is_current(ahead, job))
		prefetch(ahead, inodes, count, window);
	for (size_t i = 0; ahead->all_fits && i < count && is_current(ahead, job); i++) {
		PERF_SPAN(ahead->mounted->perfmon, PERF_CACHE_PREFETCH, inodes[i].number);
		warm_range(ahead, inodes[i], 0, window);
	}
}

/* -- the rest of the work; the lock is not held ------------------------------------- */

static void run_range(struct ahead *ahead, const struct job *job)
{
	PERF_SPAN(ahead->mounted->perfmon, PERF_CACHE_READAHEAD, job->inode.number);

	warm_range(ahead, job->inode, job->offset, job->bytes);
}

/* Load a block if it is one of those to be loaded; false: no more of them fit. */
static bool load_wanted_block(struct ahead *ahead, uint32_t block)
{
	const dwarfs_image *image = ahead->mounted->image;
	uint64_t used, budget;

	if (ahead->category >= 0 &&
	    dwarfs_image_block_category(image, block) != ahead->category)
		return true;
	used = dwarfs_context_cache_count(ahead->context, DWARFS_CACHE_USED);
	budget = dwarfs_context_cache_count(ahead->context, DWARFS_CACHE_BUDGET);
	if (used > budget || budget - used < dwarfs_image_block_bytes(image)) {
		tool_log(DWARFS_LOG_INFO,
			 "preloading ends at block %" PRIu32 ": the cache is full",
			 block);
		return false;
	}
	PERF_SPAN(ahead->mounted->perfmon, PERF_CACHE_PRELOAD, block);
	dwarfs_image_preload_block(image, block, NULL);
	return true;
}

static bool is_swapped(void)
{
	auto_free char *line = NULL;
	FILE *status = fopen("/proc/self/status", "re");
	unsigned long kilobytes = 0;
	size_t room = 0;

	while (status && kilobytes == 0 && getline(&line, &room, status) > 0)
		(void)!sscanf(line, "VmSwap: %lu", &kilobytes);
	if (status)
		fclose(status);
	return kilobytes > 0;
}

static void tidy(struct ahead *ahead)
{
	const struct settings *settings = ahead->mounted->settings;
	uint64_t age = settings->tidy_age_ms;

	PERF_SPAN(ahead->mounted->perfmon, PERF_CACHE_TRIM, 0);
	if (settings->tidy == TIDY_SWAP) {
		/* Memory that is swapped out was not read for some time. */
		if (!is_swapped())
			return;
		age = settings->tidy_interval_ms;
	}
	dwarfs_context_trim(ahead->context, age);
	files_trim(ahead->mounted->files);
#ifdef __GLIBC__
	malloc_trim(0);
#endif
}

/* -- threads ------------------------------------------------------------------------- */

/* Wait for something to do; under the lock. */
static void wait_for_work(struct ahead *ahead)
{
	struct timespec until = {
		.tv_sec = (time_t)(ahead->tidy_at_ms / 1000),
		.tv_nsec = (long)(ahead->tidy_at_ms % 1000) * 1000000,
	};

	if (ahead->tidy_at_ms > 0)
		pthread_cond_timedwait(&ahead->changed, &ahead->lock, &until);
	else
		pthread_cond_wait(&ahead->changed, &ahead->lock);
}

/* The lock is held on entry and exit. */
static void run_job(struct ahead *ahead)
{
	struct job job = ahead->jobs[ahead->first_job];

	ahead->first_job = (ahead->first_job + 1) % QUEUE_ROOM;
	ahead->job_count--;
	pthread_mutex_unlock(&ahead->lock);
	if (job.bytes > 0)
		run_range(ahead, &job);
	else if (is_current(ahead, &job))
		run_stream(ahead, &job);
	pthread_mutex_lock(&ahead->lock);
	if (job.bytes == 0)
		ahead->busy[job.stream] = false;
}

/* As run_job(). */
static void load_next(struct ahead *ahead)
{
	uint32_t block = ahead->next_block++;
	bool more;

	pthread_mutex_unlock(&ahead->lock);
	more = load_wanted_block(ahead, block);
	pthread_mutex_lock(&ahead->lock);
	if (!more)
		ahead->next_block = dwarfs_image_block_count(ahead->mounted->image);
}

/* As run_job(). */
static void tidy_now(struct ahead *ahead)
{
	ahead->tidy_at_ms = now_ms() + ahead->mounted->settings->tidy_interval_ms;
	pthread_mutex_unlock(&ahead->lock);
	tidy(ahead);
	pthread_mutex_lock(&ahead->lock);
}

static void *run_thread(void *user)
{
	struct ahead *ahead = user;

	pthread_mutex_lock(&ahead->lock);
	while (!atomic_load(&ahead->ending)) {
		if (ahead->tidy_at_ms > 0 && now_ms() >= ahead->tidy_at_ms)
			tidy_now(ahead);
		else if (ahead->job_count > 0)
			run_job(ahead);
		else if (ahead->next_block <
			 dwarfs_image_block_count(ahead->mounted->image))
			load_next(ahead);
		else
			wait_for_work(ahead);
	}
	pthread_mutex_unlock(&ahead->lock);
	return NULL;
}

/* -- life ---------------------------------------------------------------------------- */

/* The blocks to preload, and how many of them fit. */
static int plan_loading(struct ahead *ahead)
{
	const dwarfs_image *image = ahead->mounted->image;
	const char *category = ahead->mounted->settings->preload_category;
	const char *name = "";

	ahead->next_block = dwarfs_image_block_count(image);
	ahead->category = -1;
	if (ahead->mounted->settings->preload_all)
		ahead->next_block = 0;
	if (!category)
		return 0;
	for (size_t i = 0; ahead->category < 0 && name; i++) {
		name = dwarfs_image_category(image, i);
		if (name && strcmp(name, category) == 0)
			ahead->category = (int64_t)i;
	}
	if (ahead->category < 0)
		return tool_error("invalid value '%s' for -o preload_category: the image "
				  "has no such category",
				  category);
	ahead->next_block = 0;
	return 0;
}

/* Of the system: calloc() would clear memory that was used before, up to 8 MiB until the mount is
 * there. */
static _Atomic uint64_t *new_names(uint32_t count)
{
	void *names = mmap(NULL, count * sizeof(uint64_t), PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return names == MAP_FAILED ? NULL : names;
}

static void free_names(struct ahead *ahead)
{
	if (ahead->names)
		munmap((void *)ahead->names, ahead->name_count * sizeof(uint64_t));
}

int ahead_new(struct mounted *mounted, struct ahead **ahead_out)
{
	const struct settings *settings = mounted->settings;
	struct ahead *ahead = calloc(1, sizeof(*ahead));
	pthread_condattr_t clock;
	uint64_t cache_bytes;

	if (!ahead)
		return tool_error("out of memory");
	ahead->mounted = mounted;
	ahead->context = dwarfs_image_context(mounted->image);
	cache_bytes = dwarfs_context_cache_count(ahead->context, DWARFS_CACHE_BUDGET);
	ahead->share = cache_bytes / BUDGET_SHARE;
	ahead->rest = LEAST_REST;
	pthread_mutex_init(&ahead->lock, NULL);
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&ahead->changed, &clock);
	pthread_condattr_destroy(&clock);
	order_init(&ahead->order, ahead->share, (uint32_t)settings->workers);
	ahead->all_fits = dwarfs_image_block_bytes(mounted->image) *
				  dwarfs_image_block_count(mounted->image) <=
			  cache_bytes / 4 * 3;
	if (plan_loading(ahead) != 0) {
		ahead_free(ahead);
		return 1;
	}
	ahead->wanted_threads =
		settings->workers < MAX_THREADS ? settings->workers : MAX_THREADS;
	if (ahead->wanted_threads > 0 && settings->sequence > 0 && ahead->share > 0) {
		ahead->name_count = dwarfs_image_inode_count(mounted->image);
		if (ahead->name_count > MOST_NAMES)
			ahead->name_count = MOST_NAMES;
		ahead->names = new_names(ahead->name_count);
		if (!ahead->names) {
			ahead_free(ahead);
			return tool_error("out of memory");
		}
		/* Else inode 0 would be known from the beginning. */
		ahead->names[0] = UINT32_MAX;
	}
	*ahead_out = ahead;
	return 0;
}

/* Without a thread, accept no more work. */
static void do_without(struct ahead *ahead)
{
	ahead->wanted_threads = 0;
	free_names(ahead);
	ahead->names = NULL;
	ahead->tidy_at_ms = 0;
	ahead->next_block = dwarfs_image_block_count(ahead->mounted->image);
}

void ahead_start(struct ahead *ahead)
{
	const struct settings *settings = ahead->mounted->settings;
	uint32_t count = ahead->wanted_threads;
	sigset_t all, before;

	if (settings->tidy != TIDY_NONE)
		ahead->tidy_at_ms = now_ms() + settings->tidy_interval_ms;
	if (count == 0 &&
	    (ahead->tidy_at_ms > 0 ||
	     ahead->next_block < dwarfs_image_block_count(ahead->mounted->image)))
		count = 1;
	/* Signals are for the thread that waits for the end. */
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	while (ahead->thread_count < count &&
	       pthread_create(&ahead->threads[ahead->thread_count], NULL, run_thread,
			      ahead) == 0)
		ahead->thread_count++;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (ahead->thread_count == count)
		return;
	tool_log(DWARFS_LOG_WARN, "the system gives %" PRIu32 " of %" PRIu32 " threads%s",
		 ahead->thread_count, count,
		 ahead->thread_count > 0
			 ? ""
			 : ": nothing is decoded ahead, preloaded or tidied");
	if (ahead->thread_count == 0)
		do_without(ahead);
}

void ahead_free(struct ahead *ahead)
{
	if (!ahead)
		return;
	pthread_mutex_lock(&ahead->lock);
	atomic_store(&ahead->ending, true);
	pthread_cond_broadcast(&ahead->changed);
	pthread_mutex_unlock(&ahead->lock);
	for (uint32_t i = 0; i < ahead->thread_count; i++)
		pthread_join(ahead->threads[i], NULL);
	pthread_cond_destroy(&ahead->changed);
	pthread_mutex_destroy(&ahead->lock);
	free_names(ahead);
	free(ahead);
}
