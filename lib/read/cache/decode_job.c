/* SPDX-License-Identifier: MIT */
/*
 * read/cache/decode_job: which thread decodes a unit, and which threads wait for it.
 *
 * A unit (a block or a part of one) is decoded only as far as it is read, by the first
 * thread that misses; threads that miss meanwhile add their ranges to its job and wait
 * until these are decoded. Jobs are limited by the budget of the cache. A unit that does
 * not fit into the budget alone is decoded by an exclusive job, while no other job runs;
 * its waiters get their bytes from the TRANSIENT unit, which is freed after that. Extents
 * are kept of the bytes after these ranges, which will probably be read next, and of
 * files that the caller names.
 */
#include "read/cache/internal.h"

#define WINDOW_SHARE 4	/* a window kept after a read: 1/4 of the budget */
#define RECENT_UNITS 16 /* jobs after which a large unit counts little */

static int fail_range(const struct unit *unit, uint64_t size, dwarfs_error **err)
{
	if (unit->part)
		size += unit->part->from;
	return dw_fail(err, DWARFS_ERR_CORRUPT,
		       "metadata: a chunk extends past the %" PRIu64
		       " bytes of block %" PRIu32,
		       size, unit->block);
}

/* -- requests ------------------------------------------------------------------------ */

static int add_request(struct decode_job *job, struct range range, bool must_keep,
		       dwarfs_error **err)
{
	int ret = dw_grow(&job->requests, &job->request_capacity, job->request_count + 1,
			  err);

	if (ret < 0)
		return ret;
	job->requests[job->request_count++] = (struct request){ range, must_keep };
	if (job->wanted_end < range.from + range.size)
		job->wanted_end = range.from + range.size;
	if (must_keep && job->required_end < job->wanted_end)
		job->required_end = job->wanted_end;
	return 0;
}

/*
 * Add a range that is read, with a window after it, which is kept if the unit cannot be.
 * The window is larger the more bytes have to be decoded before the range (1.5 times of
 * them, which at most about doubles the job), smaller the more readers there are
 * (window_shift), and ends where no bytes are needed.
 */
static int add_reader(const struct cache *cache, struct decode_job *job,
		      struct range range, uint64_t end, dwarfs_error **err)
{
	uint64_t before =
		range.from > job->first_ready ? range.from - job->first_ready : 0;
	uint64_t least = cache->budget / WINDOW_SHARE >> cache->window_shift;
	uint64_t most = cache->budget >> cache->window_shift;
	uint64_t window = before + before / 2;

	if (window < least)
		window = least;
	if (window > most)
		window = most;
	if (window > end - range.from)
		window = end - range.from;
	if (window > range.size)
		range.size = window;
	return add_request(job, range, false, err);
}

static int add_required(struct decode_job *job, const struct range_list *ranges,
			dwarfs_error **err)
{
	int ret = 0;

	for (size_t i = 0; i < ranges->count && ret == 0; i++)
		ret = add_request(job, ranges->list[i], true, err);
	return ret;
}

/* -- units that cannot be kept ------------------------------------------------------- */

/* Release the job's pin, and the unit as well unless it is being read. */
static void unpin_or_drop(struct cache *cache, struct resident *resident, bool drop)
{
	if (drop && dw_cache_detach(resident, 1))
		dw_cache_free_resident(cache, resident);
	else
		dw_cache_unpin(resident->slot);
}

/* Detach the unit from its slot; waiters of the job may still read it. Ends the job's
 * pin. */
static void make_transient(struct cache *cache, struct decode_job *job,
			   struct resident *resident)
{
	struct slot *slot = resident->slot;
	cache->transient_at = slot->evicted_at = cache->decode_clock;
	slot->exceeds_budget = job->complete_bytes > cache->budget;
	if (resident->holds > 0) {
		unpin_or_drop(cache, resident, false);
		return;
	}
	/* No new readers can pin it, and the present ones will be done soon. */
	atomic_fetch_add(&cache->memory_waiters, 1);
	atomic_fetch_and(&slot->state, ~IS_RESIDENT);
	while (atomic_load(&slot->state) != PIN)
		dw_cache_wait_for_memory(cache);
	atomic_fetch_sub(&cache->memory_waiters, 1);
	dw_cache_unpin(slot);
	if (resident->decoder) {
		dw_decoder_free(dw_steal(resident->decoder));
		dw_stored_free(&resident->stored);
	}
	dw_cache_charge(cache, resident,
			dw_cache_bytes_until(resident, atomic_load(&resident->ready)));
	dw_cache_dequeue(resident);
	cache->detached_pinned++;
	job->transient = resident;
}

void dw_cache_put_transient(struct cache *cache, struct resident *resident)
{
	if (--resident->transient_readers > 0)
		return;
	cache->detached_pinned--;
	dw_cache_free_resident(cache, resident);
	pthread_cond_broadcast(&cache->memory_freed);
}

/* Get bytes of a TRANSIENT unit, or release it. */
static void take_transient(struct cache *cache, struct resident *resident,
			   struct range range, struct cached *cached_out)
{
	if (range.size == 0 || range.from + range.size > atomic_load(&resident->ready)) {
		dw_cache_put_transient(cache, resident);
		return;
	}
	dw_cache_count_extent_read(cache, resident->slot, range);
	*cached_out = (struct cached){
		.data = resident->bytes + range.from,
		.size = (size_t)range.size,
		.transient = resident,
	};
}

/* -- admission ----------------------------------------------------------------------- */

/* Wait until no job runs exclusively or waits to. */
static void admit(struct cache *cache, struct decode_job *job)
{
	job->is_waiting = true;
	cache->blocked_jobs++;
	while (cache->exclusive_runs || cache->exclusive_first)
		pthread_cond_wait(&cache->may_start, &cache->lock);
	cache->blocked_jobs--;
	job->is_waiting = false;
	cache->running_jobs++;
}

/* When no job runs: start the first one that waits to run exclusively. */
static void start_next_exclusive(struct cache *cache)
{
	struct decode_job *next = cache->exclusive_first;

	if (next && cache->running_jobs == 0) {
		cache->exclusive_first = next->next_exclusive;
		cache->running_jobs = 1;
		next->is_exclusive = cache->exclusive_runs = true;
		pthread_cond_broadcast(&next->progressed);
	} else if (!next && !cache->exclusive_runs && cache->blocked_jobs > 0) {
		pthread_cond_broadcast(&cache->may_start);
	}
}

static void retire(struct cache *cache, struct decode_job *job)
{
	cache->running_jobs--;
	if (job->is_exclusive)
		job->is_exclusive = cache->exclusive_runs = false;
	start_next_exclusive(cache);
	pthread_cond_broadcast(&cache->memory_freed);
}

static void admit_exclusively(struct cache *cache, struct decode_job *job)
{
	job->is_waiting = true;
	job->next_exclusive = NULL;
	if (cache->exclusive_first)
		cache->exclusive_last->next_exclusive = job;
	else
		cache->exclusive_first = job;
	cache->exclusive_last = job;
	retire(cache, job);
	while (!job->is_exclusive)
		pthread_cond_wait(&job->progressed, &cache->lock);
	job->is_waiting = false;
}

/* -- a job from start to end --------------------------------------------------------- */

/* Decode, and start again as an exclusive job if there is not enough memory otherwise. */
static int decode_admitted(struct cache *cache, const struct unit *unit,
			   struct decode_job *job, struct resident **resident_out,
			   dwarfs_error **err)
{
	struct resident *resident;
	int ret;

	admit(cache, job);
	resident = dw_cache_pin(unit->slot);
	while ((ret = dw_cache_run_steps(cache, unit, job, &resident, err)) ==
	       OVER_BUDGET) {
		if (resident)
			unpin_or_drop(cache, dw_steal(resident), true);
		admit_exclusively(cache, job);
		resident = dw_cache_pin(unit->slot);
	}
	job->has_parts = ret == HAS_PARTS;
	*resident_out = resident;
	return ret < 0 ? dw_name_source(unit->image, ret, err) : 0;
}

/* Whether extents contain all ranges with must_keep. */
static bool has_all(const struct decode_job *job, const struct resident *resident)
{
	for (size_t i = 0; i < job->request_count; i++)
		if (job->requests[i].must_keep &&
		    !dw_cache_has_extents(resident->slot, job->requests[i].range))
			return false;
	return true;
}

/* Note the memory of a job. One large unit among many smaller ones does not reduce the
 * space of extents for long. */
static void note_unit(struct cache *cache, uint64_t bytes)
{
	if (cache->largest_unit < bytes)
		cache->largest_unit = bytes;
	cache->recent_unit -= cache->recent_unit / RECENT_UNITS;
	if (cache->recent_unit < bytes)
		cache->recent_unit = bytes;
}

/* Decide whether the decoded unit is kept. */
static void keep_or_drop(struct cache *cache, struct decode_job *job,
			 struct resident *resident)
{
	uint64_t limit = cache->budget;

	note_unit(cache, job->complete_bytes);
	dw_cache_release_decoder(cache, resident);
	/* The unit's own bytes do not count: it will be freed. */
	if (job->complete_bytes > cache->budget)
		limit += resident->charged;
	if (job->code < 0) {
		unpin_or_drop(cache, resident, true);
		return;
	}
	if (resident->charged <= cache->budget)
		dw_cache_evict_to(cache, cache->budget);
	if (cache->used > cache->budget ||
	    (job->is_redecode && job->complete_bytes > cache->budget)) {
		cache->transient_at = cache->decode_clock;
		/* A unit without a queue is not evicted while extents are copied. */
		if (resident->holds == 0)
			dw_cache_dequeue(resident);
		dw_cache_keep_requests(cache, resident, job->requests, job->request_count,
				       true, limit);
		make_transient(cache, job, resident);
		return;
	}
	resident->slot->exceeds_budget = false;
	/* Extents of the other requested ranges are made when it is evicted again. */
	resident->is_redecode |= job->is_redecode;
	dw_cache_keep_requests(cache, resident, job->requests, job->request_count, false,
			       cache->budget);
	unpin_or_drop(cache, resident,
		      job->extents_only && job->created_resident && job->waiters == 0 &&
			      has_all(job, resident));
}

static struct decode_job *make_job(struct range range, const struct range_list *ranges)
{
	struct decode_job *job = dw_calloc(1, sizeof(*job));

	if (!job || pthread_cond_init(&job->progressed, NULL) != 0) {
		dw_free(job);
		return NULL;
	}
	job->required_end = range.from + range.size;
	job->extents_only = ranges && range.size == 0;
	job->wake_at = UINT64_MAX;
	return job;
}

/* Called after the end of a job, by its thread and by each that waited: the last one frees it. */
static void leave_job(struct cache *cache, struct slot *slot, struct decode_job *job)
{
	if (job->waiters > 0)
		return;
	if (job->is_pinned) {
		dw_cache_unpin(slot);
		pthread_cond_broadcast(&cache->memory_freed);
	}
	pthread_cond_destroy(&job->progressed);
	dwarfs_error_free(job->problem);
	dw_free(job->requests);
	dw_free(job);
}

/* Wake the waiters. The unit stays until all have got their bytes, so none of them has to
 * decode it again; this thread does not wait for that. */
static void end_job(struct cache *cache, struct slot *slot, struct decode_job *job)
{
	job->has_ended = true;
	if (job->transient)
		job->transient->transient_readers = 1 + job->waiters;
	slot->job = NULL;
	retire(cache, job);
	if (job->waiters == 0)
		return;
	job->is_pinned = dw_cache_pin(slot) != NULL;
	pthread_cond_broadcast(&job->progressed);
}

/* The requests at the start of a job, when nothing is decoded yet. */
static int set_first_requests(const struct cache *cache, struct decode_job *job,
			      struct range range, const struct range_list *ranges,
			      dwarfs_error **err)
{
	uint64_t end = UINT64_MAX;
	int ret;

	if (ranges && !ranges->is_dense) {
		ret = add_request(job, range, false, err);
		return ret < 0 ? ret : add_required(job, ranges, err);
	}
	if (ranges) {
		const struct range *last = &ranges->list[ranges->count - 1];

		end = last->from + last->size;
		if (end < range.from + range.size)
			end = range.from + range.size;
	}
	return add_reader(cache, job, range, end, err);
}

static int decode_unit(struct cache *cache, const struct unit *unit, struct range range,
		       const struct range_list *ranges, struct cached *cached_out,
		       dwarfs_error **err)
{
	DW_LATENCY_SPAN(unit->image->latency, DWARFS_LATENCY_DECODE);
	struct decode_job *job = make_job(range, ranges);
	struct resident *resident;
	uint64_t size = UINT64_MAX;
	int ret;

	if (!job)
		return dw_fail_nomem(err);
	resident = dw_cache_pin(unit->slot);
	job->is_redecode = !resident && ((ranges && ranges->is_dense) ||
					 dw_cache_was_just_evicted(cache, unit->slot));
	if (resident) {
		job->first_ready = atomic_load(&resident->ready);
		dw_cache_unpin(unit->slot);
	}
	unit->slot->job = job;
	job->code = set_first_requests(cache, job, range, ranges, &job->problem);
	resident = NULL;
	dw_cache_wake_served(cache);
	if (job->code == 0)
		job->code = decode_admitted(cache, unit, job, &resident, &job->problem);
	else
		admit(cache, job);
	/* A block with parts is counted when its part is decoded. */
	cache->misses += !job->has_parts && (range.size > 0 || ranges);
	if (resident) {
		size = resident->size;
		keep_or_drop(cache, job, resident);
		if (!job->transient)
			dw_cache_count_extent_read(cache, unit->slot, range);
	}
	/* Before the unit can be evicted. */
	if (job->code == 0 && resident && !job->transient && range.size > 0 &&
	    range.from + range.size <= size)
		dw_cache_find(cache, unit->slot, range, cached_out);
	end_job(cache, unit->slot, job);
	if (job->transient)
		take_transient(cache, job->transient, range, cached_out);
	ret = job->code;
	if (ret < 0)
		ret = dw_error_copy(err, ret, job->problem);
	leave_job(cache, unit->slot, job);
	if (ret < 0)
		return ret;
	return range.from + range.size > size ? fail_range(unit, size, err) : 0;
}

int dw_cache_decode(struct cache *cache, const struct unit *unit, struct range range,
		    const struct range_list *ranges, struct cached *cached_out,
		    dwarfs_error **err)
{
	return decode_unit(cache, unit, range, ranges, cached_out, err);
}

/* -- waiting ------------------------------------------------------------------------- */

bool dw_cache_is_ready(struct slot *slot, struct range range)
{
	struct resident *resident = dw_cache_pin(slot);
	bool is_there =
		resident && range.from + range.size <= atomic_load(&resident->ready);

	if (resident)
		dw_cache_unpin(slot);
	return is_there;
}

/* Wait until a range is decoded or, if it is empty, for the end of the job. */
static int wait_for_job(struct cache *cache, const struct unit *unit, struct range range,
			struct cached *cached_out, dwarfs_error **err)
{
	DW_LATENCY_SPAN(unit->image->latency, DWARFS_LATENCY_WAIT);
	struct decode_job *job = unit->slot->job;
	const uint64_t end = range.size > 0 ? range.from + range.size : UINT64_MAX;
	int ret = 0;

	job->waiters++;
	while (!job->has_ended &&
	       (range.size == 0 || !dw_cache_is_ready(unit->slot, range))) {
		if (job->wake_at > end)
			job->wake_at = end;
		pthread_cond_wait(&job->progressed, &cache->lock);
	}
	job->waiters--;
	if (!job->has_ended)
		return 0;
	if (job->code < 0)
		ret = dw_error_copy(err, job->code, job->problem);
	if (job->transient)
		take_transient(cache, job->transient, range, cached_out);
	leave_job(cache, unit->slot, job);
	return ret;
}

int dw_cache_wait(struct cache *cache, const struct unit *unit, struct range range,
		  struct cached *cached_out, dwarfs_error **err)
{
	int ret = add_reader(cache, unit->slot->job, range, UINT64_MAX, err);

	return ret < 0 ? ret : wait_for_job(cache, unit, range, cached_out, err);
}

int dw_cache_decode_extents(struct cache *cache, const struct unit *unit,
			    const struct range_list *ranges, dwarfs_error **err)
{
	struct decode_job *job = unit->slot->job;
	struct range none = { 0, 0 };
	struct cached unused;
	int ret;

	if (!job)
		return decode_unit(cache, unit, none, ranges, &unused, err);
	ret = add_required(job, ranges, err);
	return ret < 0 ? ret : wait_for_job(cache, unit, none, &unused, err);
}
