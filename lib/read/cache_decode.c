/* SPDX-License-Identifier: MIT */
/*
 * read/cache_decode: how a unit of the cache is opened and decoded, step by step.
 *
 * Takes what a work says is wanted. Each step is charged before it is taken; where there
 * is no room for it the work says so, and its caller decides.
 */
#include <string.h>

#include "os/pages.h"
#include "read/cache_inner.h"

#define STEP_BYTES    ((size_t)128 << 10) /* decoded before others are told */
#define RESERVE_BYTES ((size_t)1 << 20)	  /* at a time */

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
uint64_t dw_cache_bytes_until(const struct resident *resident, uint64_t ready)
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
	return dw_cache_bytes_until(resident, ready);
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
		ret = dw_verify_block(unit->image, section, &resident->stored, err);
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
	if (resident->decoder &&
	    !claim(cache, work, resident, dw_cache_bytes_until(resident, 0)))
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
	if (cache->used + dw_cache_bytes_until(resident, ahead) - resident->charged >
	    cache->budget)
		ahead = target;
	if (!claim(cache, work, resident, dw_cache_bytes_until(resident, ahead)))
		return NO_ROOM;
	pthread_mutex_unlock(&cache->lock);
	dw_pages_prepare(resident->pages + ready, target - ready);
	if (!was_damaged)
		ret = dw_decoder_run(resident->decoder, target, err);
	done = dw_decoder_done(resident->decoder);
	if (ret == 0 && resident->is_trusted && (was_damaged || done == resident->size))
		ret = dw_verify_block(unit->image, section_of(unit), &resident->stored,
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
void dw_cache_settle(struct cache *cache, struct resident *resident)
{
	uint64_t ready = atomic_load(&resident->ready);

	if (resident->decoder && ready == resident->size) {
		dw_decoder_free(dw_steal(resident->decoder));
		dw_stored_free(&resident->stored);
	}
	resident->most = dw_cache_bytes_until(resident, resident->size);
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
	work->need = dw_cache_bytes_until(resident, target);
	resident->most = dw_cache_bytes_until(resident, resident->size);
	work->whole = begins ? work->need : resident->most;
}

/* The unit goes on to what is wanted; an outcome. The lock is held on entry and exit. */
int dw_cache_go_on(struct cache *cache, const struct unit *unit, struct work *work,
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
