/* SPDX-License-Identifier: MIT */
/*
 * read/cache_work: who decodes a unit of the cache, how far, and who waits for that.
 *
 * A unit, that is a block or a part of one, is decoded only as far as somebody reads, by
 * whoever comes first; others wait for their own place in it. Each step is charged before
 * it is taken. Where a unit alone does not fit into the budget, one at a time is decoded
 * all the same, while no other work is under way; who waits for it gets his bytes, and
 * then it is gone (it passes). What stands behind these bytes is likely to be read next,
 * and so are the files that somebody named: of that, extents are kept.
 */
#include <string.h>

#include "os/pages.h"
#include "read/cache_inner.h"

#define STEP_BYTES    ((size_t)128 << 10) /* decoded before others are told */
#define RESERVE_BYTES ((size_t)1 << 20)	  /* at a time */
#define MAX_OTHERS    16
#define WINDOW_SHARE  4 /* of the budget, behind what is read: one part in */

/* How a step of the work ends, when it does not fail. */
enum outcome {
	DONE,
	NO_ROOM, /* now; it has to be tried again when nobody else works */
	DIVIDED, /* the block has parts */
};

static int fail_range(const struct unit *unit, uint64_t size, dwarfs_error **err)
{
	if (unit->part)
		size += unit->part->from;
	return dw_fail(err, DWARFS_ERR_CORRUPT,
		       "metadata: a chunk ends behind the %" PRIu64
		       " bytes of block %" PRIu32,
		       size, unit->block);
}

static uint32_t section_of(const struct unit *unit)
{
	return unit->image->blocks[unit->block];
}

/* Also where the unit is a part: the hash is one of the whole block. */
static struct slot *slot_of_block(const struct unit *unit)
{
	return &unit->image->slots[unit->block];
}

static int explain(const struct unit *unit, int ret, dwarfs_error **err)
{
	return dw_explain(err, ret, "section %" PRIu32 " (BLOCK)", section_of(unit));
}

/* -- what is wanted ------------------------------------------------------------------ */

static int add_want(struct work *work, struct range range, bool in_any_case,
		    dwarfs_error **err)
{
	int ret = dw_grow(&work->wants, &work->want_room, work->want_count + 1, err);

	if (ret < 0)
		return ret;
	work->wants[work->want_count++] = (struct want){ range, in_any_case };
	if (work->upto < range.from + range.size)
		work->upto = range.from + range.size;
	if (in_any_case && work->end < work->upto)
		work->end = work->upto;
	return 0;
}

/*
 * A range that somebody reads, with what stands behind it: that is kept if the unit
 * cannot be, so there is more of it where much has to be decoded before it, which at
 * most doubles or so what there is to do. Of a unit that comes back there is less, since
 * it might stay this time.
 */
static int add_reader(const struct cache *cache, struct work *work, struct range range,
		      dwarfs_error **err)
{
	uint64_t before = range.from > work->began ? range.from - work->began : 0;
	uint64_t least = cache->budget / WINDOW_SHARE >> cache->narrow;
	uint64_t most = cache->budget >> cache->narrow;
	uint64_t window = before + before / 2;

	if (window < least)
		window = least;
	if (window > most)
		window = most;
	if (window > range.size)
		range.size = window;
	return add_want(work, range, false, err);
}

/* When a unit has to be decoded again, others who go through it will need it soon: have
 * all of them go on at once. */
static int add_others(struct work *work, const struct slot *slot, dwarfs_error **err)
{
	uint64_t places[MAX_OTHERS], from = work->wants[0].range.from;
	uint64_t window = work->wants[0].range.size;
	size_t count = dw_cache_next_reads(slot, places, MAX_OTHERS);
	int ret = 0;

	for (size_t i = 0; i < count && ret == 0; i++)
		if (places[i] < from || places[i] - from >= window)
			ret = add_want(work, (struct range){ places[i], window }, false,
				       err);
	return ret;
}

static int add_wants(struct work *work, const struct wants *wants, dwarfs_error **err)
{
	int ret = 0;

	for (size_t i = 0; i < wants->count && ret == 0; i++)
		ret = add_want(work, wants->list[i], true, err);
	return ret;
}

/* -- opening a unit ------------------------------------------------------------------ */

/* How many rounds it stays, by what it costs to decode. */
static uint8_t worth_of(uint32_t codec)
{
	switch (codec) {
	case CODEC_LZMA:
		return 2;
	case CODEC_BROTLI:
	case CODEC_FLAC:
	case CODEC_RICEPP:
		return 1;
	default:
		return 0;
	}
}

/* The parts of a block, when it has some. */
static int divide(uint32_t codec, struct span payload, uint64_t size,
		  struct parts **parts_out, dwarfs_error **err)
{
	auto_free struct codec_part *list = NULL;
	auto_free struct parts *parts = NULL;
	size_t count;
	int ret = dw_codec_parts(codec, payload, &list, &count, err);

	if (ret < 0 || count < 2 || list[count - 1].from + list[count - 1].size != size)
		return ret;
	if (!(parts = dw_calloc(1, sizeof(*parts))) ||
	    !(parts->slots = dw_calloc(count, sizeof(*parts->slots))))
		return dw_fail_nomem(err);
	parts->count = count;
	parts->list = dw_steal(list);
	*parts_out = dw_steal(parts);
	return 0;
}

/* Without the lock. */
static int start_decoding(const struct unit *unit, struct resident *resident,
			  struct parts **parts_out, dwarfs_error **err)
{
	struct stored *stored = &resident->stored;
	struct span payload = dw_stored_payload(stored);
	uint32_t codec = stored->header.compression;
	uint64_t most = unit->image->view->block_size;
	int ret = dw_codec_unpacked_size(codec, payload, &resident->size, err);

	if (ret == 0 && resident->size > most)
		ret = dw_fail(err, DWARFS_ERR_CORRUPT,
			      "it announces %" PRIu64 " bytes where at most %" PRIu64
			      " are possible",
			      resident->size, most);
	if (ret == 0 && codec == CODEC_NONE) {
		resident->bytes = payload.data;
		return 0;
	}
	if (ret == 0 && !unit->part && !unit->slot->is_whole)
		ret = divide(codec, payload, resident->size, parts_out, err);
	if (ret < 0 || *parts_out)
		return ret;
	if (unit->part)
		resident->size = unit->part->size;
	resident->page_bytes = resident->size ? (size_t)resident->size : 1;
	resident->pages = dw_pages_new(resident->page_bytes);
	if (!resident->pages)
		return dw_fail_nomem(err);
	resident->bytes = resident->pages;
	if (unit->part)
		return dw_decoder_new_part(codec, payload, unit->part, resident->pages,
					   &resident->decoder, err);
	return dw_decoder_new(codec, payload, resident->pages, (size_t)resident->size,
			      &resident->decoder, err);
}

/* What a resident takes while it is decoded so far. */
static uint64_t bytes_until(const struct resident *resident, uint64_t ready)
{
	uint64_t bytes = resident->pages ? ready : 0;

	if (resident->decoder)
		bytes += dw_decoder_memory(resident->decoder, (size_t)ready);
	if (resident->stored.bytes)
		bytes += resident->stored.header.length;
	return bytes;
}

/* And afterwards: when all is there, what only the decoder needs can go. */
static uint64_t bytes_after(const struct resident *resident, uint64_t ready)
{
	if (resident->pages && ready >= resident->size)
		return resident->size;
	return bytes_until(resident, ready);
}

/* Charge for it before it is taken; false: there is no room. */
static bool claim(struct cache *cache, struct work *work, struct resident *resident,
		  uint64_t bytes)
{
	if (bytes > resident->charged) {
		if (!dw_cache_reserve(cache, work, resident->charged,
				      bytes - resident->charged))
			return false;
		dw_cache_charge(cache, resident, bytes);
	}
	return true;
}

/* Whether the hash may be looked at when all is decoded, and not before. */
static bool may_verify_late(const struct unit *unit, const struct resident *resident)
{
	return unit->image->is_lazy && !slot_of_block(unit)->is_damaged &&
	       resident->stored.header.compression != CODEC_NONE;
}

/* Without the lock. */
static int load(const struct unit *unit, struct resident *resident, dwarfs_error **err)
{
	DW_LATENCY_SPAN(unit->image->latency, DWARFS_LATENCY_LOAD);
	uint32_t section = section_of(unit);
	int ret = dw_stored_read(unit->image, section, &resident->stored, err);

	resident->is_trusted = ret == 0 && may_verify_late(unit, resident);
	if (ret == 0 && !resident->is_trusted)
		ret = dw_verify_xxh3(unit->image, section, &resident->stored, err);
	return ret;
}

/* Read what is stored of a unit and get ready to decode it; an outcome. The lock is held
 * but for the time that takes. */
static int open_unit(struct cache *cache, const struct unit *unit, struct work *work,
		     struct resident *resident, dwarfs_error **err)
{
	uint64_t block_size = unit->image->view->block_size;
	struct section_header header;
	struct parts *parts = NULL;
	int ret;

	pthread_mutex_unlock(&cache->lock);
	ret = dw_locate_header(unit->image, section_of(unit), &header, err);
	pthread_mutex_lock(&cache->lock);
	if (ret < 0)
		return ret;
	if (header.length <= 2 * block_size + 65536 &&
	    !claim(cache, work, resident, header.length))
		return NO_ROOM;
	pthread_mutex_unlock(&cache->lock);
	if ((ret = load(unit, resident, err)) == 0 &&
	    (ret = start_decoding(unit, resident, &parts, err)) < 0)
		explain(unit, ret, err);
	pthread_mutex_lock(&cache->lock);
	if (ret < 0)
		return ret;
	if (parts) {
		atomic_store(&unit->slot->parts, parts);
		return DIVIDED;
	}
	/* The decoder is there from now on, whether it gets to do anything or not. */
	if (resident->decoder && !claim(cache, work, resident, bytes_until(resident, 0)))
		return NO_ROOM;
	unit->slot->is_whole = true;
	resident->worth = worth_of(resident->stored.header.compression);
	if (!resident->decoder)
		atomic_store(&resident->ready, (size_t)resident->size);
	return DONE;
}

/* -- decoding ------------------------------------------------------------------------ */

/* Nothing of a slot is read any more, unless it was found to be good. */
static void distrust_slot(struct cache *cache, struct slot *slot)
{
	if (atomic_load(&slot->state) & IS_RESIDENT && slot->resident->is_trusted &&
	    slot->resident->decoder)
		atomic_store(&slot->resident->ready, 0);
	while (slot->extents)
		dw_cache_drop_extent(cache, slot->extents);
}

/* The hash does not match, or else something is wrong with a unit: the next ones look at
 * the hash first, and so does who goes on with what is there. */
static void distrust(struct cache *cache, const struct unit *unit)
{
	struct slot *slot = slot_of_block(unit);
	const struct parts *parts = atomic_load(&slot->parts);

	slot->is_damaged = true;
	distrust_slot(cache, slot);
	for (size_t i = 0; parts && i < parts->count; i++)
		distrust_slot(cache, &parts->slots[i]);
}

/* Decode a little more; an outcome. The lock is held but for the time that takes. */
static int decode_step(struct cache *cache, const struct unit *unit, struct work *work,
		       struct resident *resident, uint64_t upto, dwarfs_error **err)
{
	size_t ready = atomic_load(&resident->ready), target = ready + STEP_BYTES, done;
	uint64_t ahead = ready + RESERVE_BYTES;
	bool was_damaged = resident->is_trusted && slot_of_block(unit)->is_damaged;
	int ret = 0;

	if (target > resident->size)
		target = (size_t)resident->size;
	if (ahead > upto)
		ahead = upto > target ? upto : target;
	/* Step by step when there is no room for more at once. */
	if (cache->used + bytes_until(resident, ahead) - resident->charged >
	    cache->budget)
		ahead = target;
	if (!claim(cache, work, resident, bytes_until(resident, ahead)))
		return NO_ROOM;
	pthread_mutex_unlock(&cache->lock);
	dw_pages_prepare(resident->pages + ready, target - ready);
	if (!was_damaged)
		ret = dw_decoder_run(resident->decoder, target, err);
	done = dw_decoder_done(resident->decoder);
	if (ret == 0 && resident->is_trusted && (was_damaged || done == resident->size))
		ret = dw_verify_xxh3(unit->image, section_of(unit), &resident->stored,
				     err);
	if (ret == 0 && was_damaged)
		ret = dw_decoder_run(resident->decoder, target, err);
	pthread_mutex_lock(&cache->lock);
	if (ret < 0 && ret != DWARFS_ERR_NOMEM && resident->is_trusted) {
		/* While somebody still reads from it nobody else shall, and who goes on
		 * with it fails the same way. */
		distrust(cache, unit);
		atomic_store(&resident->ready, 0);
	}
	if (ret < 0)
		return explain(unit, ret, err);
	/* Another part was found to be wrong meanwhile: the next step says more. */
	if (resident->is_trusted && !was_damaged && slot_of_block(unit)->is_damaged)
		return DONE;
	cache->decoded_bytes += done - ready;
	cache->clock += done - ready;
	atomic_store(&resident->ready, done);
	return DONE;
}

/* All is there, or nobody will go on: what only the decoder needed can go. */
static void settle(struct cache *cache, struct resident *resident)
{
	uint64_t ready = atomic_load(&resident->ready);

	if (resident->decoder && ready == resident->size) {
		dw_decoder_free(dw_steal(resident->decoder));
		dw_stored_free(&resident->stored);
	}
	resident->most = bytes_until(resident, resident->size);
	dw_cache_charge(cache, resident, bytes_after(resident, ready));
}

/* How far to go: for what is wanted in any case, and for all else when the unit is lost
 * afterwards. */
static uint64_t target_of(const struct cache *cache, const struct work *work,
			  const struct resident *resident)
{
	uint64_t end = work->end;
	if (work->upto > end && (work->comes_back || bytes_after(resident, end) >
							     dw_cache_limit(cache, work)))
		end = work->upto;
	/* Little is left, and nothing but the budget speaks against it. */
	if (cache->finish_percent < 100 &&
	    resident->size <= dw_cache_limit(cache, work) &&
	    end > resident->size / 100 * cache->finish_percent)
		end = resident->size;
	return end < resident->size ? end : resident->size;
}

/* What the unit will take. Before the first step its decoder can only guess, and no more
 * than that step counts. */
static void foresee(struct work *work, struct resident *resident, uint64_t target)
{
	bool begins = resident->decoder && atomic_load(&resident->ready) == 0;

	if (begins && target > STEP_BYTES)
		target = STEP_BYTES;
	work->need = bytes_until(resident, target);
	resident->most = bytes_until(resident, resident->size);
	work->whole = begins ? work->need : resident->most;
}

/* The unit goes on to what is wanted; an outcome. The lock is held on entry and exit. */
static int go_on(struct cache *cache, const struct unit *unit, struct work *work,
		 struct resident **resident, dwarfs_error **err)
{
	uint64_t target;
	int ret = DONE;

	if (!*resident) {
		*resident = dw_calloc(1, sizeof(**resident));
		if (!*resident)
			return dw_fail_nomem(err);
		(*resident)->slot = unit->slot;
		ret = open_unit(cache, unit, work, *resident, err);
		if (ret != DONE) {
			dw_cache_free_resident(cache, dw_steal(*resident));
			return ret;
		}
		dw_cache_attach(cache, *resident);
		work->made = true;
	}
	foresee(work, *resident, 0);
	while (ret == DONE && (target = target_of(cache, work, *resident)) >
				      atomic_load(&(*resident)->ready)) {
		foresee(work, *resident, target);
		ret = decode_step(cache, unit, work, *resident, target, err);
		foresee(work, *resident, target);
		if (work->waiters > 0)
			pthread_cond_broadcast(&work->moved);
	}
	return ret;
}

/* -- units that cannot stay ---------------------------------------------------------- */

/* Drop the worker's pin, and the unit with it unless somebody reads from it. */
static void release(struct cache *cache, struct resident *resident, bool drop)
{
	if (drop && dw_cache_detach(resident, 1))
		dw_cache_free_resident(cache, resident);
	else
		dw_cache_unpin(resident->slot);
}

/* The unit leaves its slot; who waits for the work may still read from it. Ends the
 * worker's pin in any case. */
static void pass(struct cache *cache, struct work *work, struct resident *resident)
{
	struct slot *slot = resident->slot;
	cache->passed_at = slot->left_at = cache->clock;
	slot->is_large = work->whole > cache->budget;
	if (resident->lent > 0) {
		release(cache, resident, false);
		return;
	}
	/* Nobody comes any more, and who reads from it will be done in a moment. */
	atomic_fetch_add(&cache->thirsty, 1);
	atomic_fetch_and(&slot->state, ~IS_RESIDENT);
	while (atomic_load(&slot->state) != PIN)
		dw_cache_wait_a_little(cache);
	atomic_fetch_sub(&cache->thirsty, 1);
	dw_cache_unpin(slot);
	if (resident->decoder) {
		dw_decoder_free(dw_steal(resident->decoder));
		dw_stored_free(&resident->stored);
	}
	dw_cache_charge(cache, resident,
			bytes_until(resident, atomic_load(&resident->ready)));
	dw_cache_dequeue(resident);
	cache->loose++;
	work->passing = resident;
}

void dw_cache_put_passing(struct cache *cache, struct resident *resident)
{
	if (--resident->passed > 0)
		return;
	cache->loose--;
	dw_cache_free_resident(cache, resident);
	pthread_cond_broadcast(&cache->changed);
}

/* The bytes of a unit that passes, or one reader less of it. */
static void take_passing(struct cache *cache, struct resident *resident,
			 struct range range, struct cached *cached_out)
{
	if (range.size == 0 || range.from + range.size > atomic_load(&resident->ready)) {
		dw_cache_put_passing(cache, resident);
		return;
	}
	dw_cache_credit(cache, resident->slot, range);
	*cached_out = (struct cached){
		.data = resident->bytes + range.from,
		.size = (size_t)range.size,
		.passing = resident,
	};
}

/* -- whose turn it is ---------------------------------------------------------------- */

/* Nobody begins while a work is alone, or some wait for that. */
static void enter(struct cache *cache, struct work *work)
{
	work->idle = true;
	cache->gated++;
	while (cache->alone || cache->line_first)
		pthread_cond_wait(&cache->gate, &cache->lock);
	cache->gated--;
	work->idle = false;
	cache->running++;
}

/* All others have left: it is the turn of the first in line. */
static void call_next(struct cache *cache)
{
	struct work *next = cache->line_first;

	if (next && cache->running == 0) {
		cache->line_first = next->next_in_line;
		cache->running = 1;
		next->alone = cache->alone = true;
		pthread_cond_broadcast(&next->moved);
	} else if (!next && !cache->alone && cache->gated > 0) {
		pthread_cond_broadcast(&cache->gate);
	}
}

static void leave(struct cache *cache, struct work *work)
{
	cache->running--;
	if (work->alone)
		work->alone = cache->alone = false;
	call_next(cache);
	pthread_cond_broadcast(&cache->changed);
}

static void enter_alone(struct cache *cache, struct work *work)
{
	work->idle = true;
	work->next_in_line = NULL;
	if (cache->line_first)
		cache->line_last->next_in_line = work;
	else
		cache->line_first = work;
	cache->line_last = work;
	leave(cache, work);
	while (!work->alone)
		pthread_cond_wait(&work->moved, &cache->lock);
	work->idle = false;
}

/* -- a work from its beginning to its end -------------------------------------------- */

/* Decode, and begin again alone when there is no memory otherwise. */
static int decode(struct cache *cache, const struct unit *unit, struct work *work,
		  struct resident **resident_out, dwarfs_error **err)
{
	struct resident *resident;
	int ret;

	enter(cache, work);
	resident = dw_cache_pin(unit->slot);
	while ((ret = go_on(cache, unit, work, &resident, err)) == NO_ROOM) {
		if (resident)
			release(cache, dw_steal(resident), true);
		enter_alone(cache, work);
		resident = dw_cache_pin(unit->slot);
	}
	work->divided = ret == DIVIDED;
	*resident_out = resident;
	return ret < 0 ? ret : 0;
}

/* Whether there are extents for all that is wanted in any case. */
static bool has_all(const struct work *work, const struct resident *resident)
{
	for (size_t i = 0; i < work->want_count; i++)
		if (work->wants[i].in_any_case &&
		    !dw_cache_has_extents(resident->slot, work->wants[i].range))
			return false;
	return true;
}

/* What is decoded stays, or not. */
static void finish(struct cache *cache, struct work *work, struct resident *resident)
{
	uint64_t limit = cache->budget;

	if (cache->largest_work < work->whole)
		cache->largest_work = work->whole;
	settle(cache, resident);
	/* What it has itself does not count then. */
	if (work->whole > cache->budget)
		limit += resident->charged;
	if (work->code < 0) {
		release(cache, resident, true);
		return;
	}
	if (resident->charged <= cache->budget)
		dw_cache_evict_to(cache, cache->budget);
	if (cache->used > cache->budget ||
	    (work->comes_back && work->whole > cache->budget)) {
		cache->passed_at = cache->clock;
		/* It takes no room from what is kept. */
		if (resident->lent == 0)
			dw_cache_dequeue(resident);
		dw_cache_keep_wants(cache, resident, work->wants, work->want_count, true,
				    limit);
		pass(cache, work, resident);
		return;
	}
	dw_cache_keep_wants(cache, resident, work->wants, work->want_count,
			    work->comes_back, cache->budget);
	release(cache, resident,
		work->harvests && work->made && work->waiters == 0 &&
			has_all(work, resident));
}

/* Those who wait take what they need of it, before its memory goes. */
static void end_work(struct cache *cache, struct slot *slot, struct work *work)
{
	work->ended = true;
	if (work->passing)
		work->passing->passed = 1 + work->waiters;
	slot->work = NULL;
	leave(cache, work);
	pthread_cond_broadcast(&work->moved);
	while (work->waiters > 0)
		pthread_cond_wait(&work->moved, &cache->lock);
	pthread_cond_destroy(&work->moved);
	free(work->wants);
}

static int run(struct cache *cache, const struct unit *unit, struct range range,
	       const struct wants *wants, struct cached *cached_out, dwarfs_error **err)
{
	DW_LATENCY_SPAN(unit->image->latency, DWARFS_LATENCY_DECODE);
	struct work work = {
		.end = range.from + range.size,
		.harvests = wants && range.size == 0,
	};
	auto_error dwarfs_error *problem = NULL;
	struct resident *resident = dw_cache_pin(unit->slot);
	uint64_t size = UINT64_MAX;

	work.comes_back = !resident && dw_cache_comes_back(cache, unit->slot);
	if (resident) {
		work.began = atomic_load(&resident->ready);
		dw_cache_unpin(unit->slot);
	}
	if (pthread_cond_init(&work.moved, NULL) != 0)
		return dw_fail_nomem(err);
	unit->slot->work = &work;
	if (!wants)
		work.code = add_reader(cache, &work, range, &problem);
	else if ((work.code = add_want(&work, range, false, &problem)) == 0)
		work.code = add_wants(&work, wants, &problem);
	if (work.code == 0 && work.comes_back && !wants)
		work.code = add_others(&work, unit->slot, &problem);
	resident = NULL;
	if (work.code == 0)
		work.code = decode(cache, unit, &work, &resident, &problem);
	else
		enter(cache, &work);
	/* What is decoded for it is one of the parts then, and counts there. */
	cache->misses += !work.divided && (range.size > 0 || wants);
	if (resident) {
		size = resident->size;
		finish(cache, &work, resident);
		if (!work.passing)
			dw_cache_credit(cache, unit->slot, range);
	}
	/* Now, as others may be waited for. */
	if (work.code == 0 && resident && !work.passing && range.size > 0 &&
	    range.from + range.size <= size)
		dw_cache_take(cache, unit->slot, range, cached_out);
	work.problem = problem;
	end_work(cache, unit->slot, &work);
	if (work.passing)
		take_passing(cache, work.passing, range, cached_out);
	if (work.code < 0) {
		if (err) {
			dwarfs_error_free(*err);
			*err = dw_steal(problem);
		}
		return work.code;
	}
	return range.from + range.size > size ? fail_range(unit, size, err) : 0;
}

int dw_cache_decode(struct cache *cache, const struct unit *unit, struct range range,
		    const struct wants *wants, struct cached *cached_out,
		    dwarfs_error **err)
{
	return run(cache, unit, range, wants, cached_out, err);
}

/* -- waiting ------------------------------------------------------------------------- */

bool dw_cache_has_come(struct slot *slot, struct range range)
{
	struct resident *resident = dw_cache_pin(slot);
	bool is_there =
		resident && range.from + range.size <= atomic_load(&resident->ready);

	if (resident)
		dw_cache_unpin(slot);
	return is_there;
}

/* Wait until a range is there, or, with none, to the end of the work. */
static int wait_for(struct cache *cache, const struct unit *unit, struct range range,
		    struct cached *cached_out, dwarfs_error **err)
{
	DW_LATENCY_SPAN(unit->image->latency, DWARFS_LATENCY_WAIT);
	struct work *work = unit->slot->work;
	int ret = 0;

	work->waiters++;
	while (!work->ended && (range.size == 0 || !dw_cache_has_come(unit->slot, range)))
		pthread_cond_wait(&work->moved, &cache->lock);
	if (work->ended && work->code < 0)
		ret = dw_error_copy(err, work->code, work->problem);
	if (work->ended && work->passing)
		take_passing(cache, work->passing, range, cached_out);
	if (--work->waiters == 0)
		pthread_cond_broadcast(&work->moved);
	return ret;
}

int dw_cache_wait(struct cache *cache, const struct unit *unit, struct range range,
		  struct cached *cached_out, dwarfs_error **err)
{
	int ret = add_reader(cache, unit->slot->work, range, err);

	return ret < 0 ? ret : wait_for(cache, unit, range, cached_out, err);
}

int dw_cache_decode_parts(struct cache *cache, const struct unit *unit,
			  const struct wants *wants, dwarfs_error **err)
{
	struct work *work = unit->slot->work;
	struct range none = { 0, 0 };
	struct cached unused;
	int ret;

	if (!work)
		return run(cache, unit, none, wants, &unused, err);
	ret = add_wants(work, wants, err);
	return ret < 0 ? ret : wait_for(cache, unit, none, &unused, err);
}
