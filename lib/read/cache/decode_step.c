/* SPDX-License-Identifier: MIT */
/*
 * read/cache/decode_step: read, verify and decode a unit, step by step.
 *
 * Takes a job with its requests; gives a resident with more bytes ready. Each step is
 * charged to the budget before it runs; if it does not fit, the outcome is OVER_BUDGET
 * and the caller decides. Hashes are verified here, before decoding (verify()) or, in
 * images opened with DWARFS_VERIFY_LAZY, after it (decode_step(), and distrust() on a
 * mismatch).
 */
#include <string.h>

#include "hash/hash.h"
#include "os/pages.h"
#include "read/cache/internal.h"

#define STEP_BYTES    ((size_t)128 << 10) /* decoded before waiters are notified */
#define FIRST_BYTES   ((size_t)16 << 10)  /* decoded at least by the first step */
#define BEYOND_BYTES  ((size_t)128 << 10) /* a decoder may exceed its target by this */
#define RESERVE_BYTES ((size_t)1 << 20)	  /* charged at a time */

static uint32_t section_of(const struct unit *unit)
{
	return unit->image->blocks[unit->block];
}

/* Also for a part: the hash is that of the whole block. */
static struct slot *slot_of_block(const struct unit *unit)
{
	return &unit->image->slots[unit->block];
}

static int explain_block(const struct unit *unit, int ret, dwarfs_error **err)
{
	return dw_explain(err, ret, "section %" PRIu32 " (BLOCK)", section_of(unit));
}

/* -- stored bytes -------------------------------------------------------------------- */

/* The stored bytes of a part, with padding. */
static struct range stored_range(const struct codec_part *part)
{
	return (struct range){ part->stored_from,
			       (part->stored_size + 3) & ~UINT64_C(3) };
}

/* After the hash of a block matched: compute the hash of each part. Several threads
 * may do so at the same time. */
static int note_part_hashes(const struct unit *unit, struct parts *parts,
			    const struct stored *stored, dwarfs_error **err)
{
	struct span payload = dw_stored_payload(stored);
	auto_free struct verified_block *verified_block = NULL;
	struct verified_block *none = NULL;

	if (stored->is_proved || payload.size < HEAD_BYTES ||
	    atomic_load(&parts->verified_block))
		return 0;
	verified_block =
		dw_calloc(1, sizeof(*verified_block) +
				     parts->count * sizeof(verified_block->xxh3[0]));
	if (!verified_block)
		return dw_fail_nomem(err);
	verified_block->header = stored->header;
	memcpy(verified_block->head, payload.data, HEAD_BYTES);
	for (size_t i = 0; i < parts->count && dw_verifies_blocks(unit->image); i++) {
		struct range range = stored_range(&parts->list[i]);
		uint64_t rest;

		/* The section is not the one in which the parts were found. */
		if (range.from > payload.size)
			return dw_fail(err, DWARFS_ERR_CORRUPT, "its size has changed");
		rest = payload.size - range.from;
		verified_block->xxh3[i] =
			dw_xxh3_64(payload.data + range.from,
				   (size_t)(range.size < rest ? range.size : rest));
	}
	if (atomic_compare_exchange_strong(&parts->verified_block, &none, verified_block))
		verified_block = NULL;
	return 0;
}

static struct verified_block *verified_block_of(const struct unit *unit)
{
	struct parts *parts = atomic_load(&slot_of_block(unit)->parts);

	return unit->part ? atomic_load(&parts->verified_block) : NULL;
}

/* Verify the hash of a part or of the block. Without the lock. */
static int verify(const struct unit *unit, struct resident *resident, dwarfs_error **err)
{
	const struct stored *stored = &resident->stored;
	struct parts *parts = atomic_load(&slot_of_block(unit)->parts);
	const struct verified_block *verified_block;
	int ret;

	if (resident->is_part_read) {
		verified_block = atomic_load(&parts->verified_block);
		return dw_verifies_blocks(unit->image)
			       ? dw_verify_part(
					 unit->image, section_of(unit), stored,
					 verified_block->xxh3[unit->part - parts->list],
					 err)
			       : 0;
	}
	ret = dw_verify_block(unit->image, section_of(unit), stored, err);
	return ret == 0 && parts ? note_part_hashes(unit, parts, stored, err) : ret;
}

/* -- opening a unit ------------------------------------------------------------------ */

/* Find the parts of a block, if it has any. */
static int find_parts(uint32_t codec, struct span payload, uint64_t size,
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

void dw_cache_free_parts(struct parts *parts)
{
	if (!parts)
		return;
	dw_free(atomic_load(&parts->verified_block));
	dw_free(parts->slots);
	dw_free(parts->list);
	dw_free(parts);
}

static int new_pages(struct resident *resident, dwarfs_error **err)
{
	resident->page_bytes = resident->size ? (size_t)resident->size : 1;
	resident->pages = dw_pages_new(resident->page_bytes);
	resident->bytes = resident->pages;
	return resident->pages ? 0 : dw_fail_nomem(err);
}

/* Without the lock. */
static int start_part(const struct unit *unit, struct resident *resident,
		      dwarfs_error **err)
{
	uint32_t codec = resident->stored.header.compression;
	int ret;

	resident->size = unit->part->size;
	if (!dw_codec_may_have_parts(codec))
		return dw_fail(err, DWARFS_ERR_CORRUPT, "its compression has changed");
	if ((ret = new_pages(resident, err)) < 0)
		return ret;
	return dw_decoder_new_part(codec, dw_stored_payload(&resident->stored),
				   unit->part, resident->pages, &resident->decoder, err);
}

/* Without the lock. */
static int start_decoding(const struct unit *unit, struct resident *resident,
			  struct parts **parts_out, dwarfs_error **err)
{
	struct stored *stored = &resident->stored;
	struct span payload = dw_stored_payload(stored);
	uint32_t codec = stored->header.compression;
	uint64_t most = unit->image->view->block_size;
	int ret = 0;

	if (unit->part)
		return start_part(unit, resident, err);
	ret = dw_codec_unpacked_size(codec, payload, &resident->size, err);
	if (ret == 0 && resident->size > most)
		ret = dw_fail(err, DWARFS_ERR_CORRUPT,
			      "it announces %" PRIu64 " bytes where at most %" PRIu64
			      " are possible",
			      resident->size, most);
	if (ret == 0 && codec == CODEC_NONE) {
		resident->bytes = payload.data;
		return 0;
	}
	if (ret == 0 && !unit->slot->has_no_parts)
		ret = find_parts(codec, payload, resident->size, parts_out, err);
	if (ret == 0 && *parts_out && !resident->verifies_late)
		ret = note_part_hashes(unit, *parts_out, stored, err);
	if (ret < 0 || *parts_out)
		return ret;
	if ((ret = new_pages(resident, err)) < 0)
		return ret;
	return dw_decoder_new(codec, payload, resident->pages, (size_t)resident->size,
			      &resident->decoder, err);
}

/* Memory of a resident once it is decoded up to `ready`. */
uint64_t dw_cache_bytes_until(const struct resident *resident, uint64_t ready)
{
	uint64_t bytes = resident->pages ? ready : 0;

	if (resident->decoder)
		bytes += dw_decoder_memory(resident->decoder, (size_t)ready);
	if (resident->stored.bytes)
		bytes += resident->stored.taken.size;
	return bytes;
}

/* The same after the job: a completely decoded unit needs no decoder. */
static uint64_t bytes_after(const struct resident *resident, uint64_t ready)
{
	if (resident->pages && ready >= resident->size)
		return resident->size;
	return dw_cache_bytes_until(resident, ready);
}

/* Charge the budget in advance; false if the bytes do not fit. */
static bool charge_ahead(struct cache *cache, struct decode_job *job,
			 struct resident *resident, uint64_t bytes)
{
	if (bytes > resident->charged) {
		if (!dw_cache_reserve(cache, job, resident->charged,
				      bytes - resident->charged))
			return false;
		dw_cache_charge(cache, resident, bytes);
	}
	return true;
}

/* Whether the hash may be verified after decoding. */
static bool may_verify_late(const struct unit *unit, const struct resident *resident)
{
	return unit->image->is_lazy && !slot_of_block(unit)->is_damaged &&
	       resident->stored.header.compression != CODEC_NONE;
}

/* Read the stored bytes and verify them, unless that is done late. Without the lock. */
static int load_stored(const struct unit *unit, struct resident *resident,
		       dwarfs_error **err)
{
	DW_LATENCY_SPAN(unit->image->latency, DWARFS_LATENCY_LOAD);
	const struct verified_block *verified_block = verified_block_of(unit);
	uint32_t section = section_of(unit);
	int ret;

	resident->is_part_read = verified_block != NULL;
	if (verified_block)
		ret = dw_stored_read_part(
			unit->image, section, &verified_block->header,
			(struct span){ verified_block->head, HEAD_BYTES },
			stored_range(unit->part), &resident->stored, err);
	else
		ret = dw_stored_read(unit->image, section, &resident->stored, err);
	resident->verifies_late =
		ret == 0 && !verified_block && may_verify_late(unit, resident);
	if (ret == 0 && !resident->verifies_late)
		ret = verify(unit, resident, err);
	return ret;
}

/* How many stored bytes will be read. Without the lock. */
static int measure_stored(const struct unit *unit, uint64_t *bytes_out,
			  dwarfs_error **err)
{
	struct section_header header;
	int ret;

	if (verified_block_of(unit)) {
		*bytes_out = stored_range(unit->part).size;
		return 0;
	}
	ret = dw_locate_header(unit->image, section_of(unit), &header, err);
	if (ret == 0)
		*bytes_out = header.length;
	return ret;
}

/* Read the stored bytes of a unit and create its decoder; an outcome. The lock is held
 * on entry and exit, and given up meanwhile. */
static int open_unit(struct cache *cache, const struct unit *unit, struct decode_job *job,
		     struct resident *resident, dwarfs_error **err)
{
	uint64_t most = 2 * unit->image->view->block_size + 65536, stored = 0;
	struct parts *parts = NULL;
	int ret;

	pthread_mutex_unlock(&cache->lock);
	ret = measure_stored(unit, &stored, err);
	pthread_mutex_lock(&cache->lock);
	if (ret < 0)
		return ret;
	if (stored <= most && !charge_ahead(cache, job, resident, stored))
		return OVER_BUDGET;
	pthread_mutex_unlock(&cache->lock);
	if ((ret = load_stored(unit, resident, err)) == 0 &&
	    (ret = start_decoding(unit, resident, &parts, err)) < 0)
		explain_block(unit, ret, err);
	pthread_mutex_lock(&cache->lock);
	if (ret < 0) {
		dw_cache_free_parts(parts);
		return ret;
	}
	if (parts) {
		atomic_store(&unit->slot->parts, parts);
		return HAS_PARTS;
	}
	/* Charge the decoder, which exists even if no step follows. */
	if (resident->decoder &&
	    !charge_ahead(cache, job, resident, dw_cache_bytes_until(resident, 0)))
		return OVER_BUDGET;
	unit->slot->has_no_parts = true;
	if (!resident->decoder)
		atomic_store(&resident->ready, (size_t)resident->size);
	return DONE;
}

/* -- decoding ------------------------------------------------------------------------ */

/* Make the unverified bytes of a slot unreadable. */
static void distrust_slot(struct cache *cache, struct slot *slot)
{
	if (atomic_load(&slot->state) & IS_RESIDENT && slot->resident->verifies_late &&
	    slot->resident->decoder)
		atomic_store(&slot->resident->ready, 0);
	while (slot->extents)
		dw_cache_drop_extent(cache, slot->extents);
}

/* The hash of a block does not match, or decoding failed: later reads verify first,
 * and so does a job that continues with an existing resident. */
static void distrust(struct cache *cache, const struct unit *unit)
{
	struct slot *slot = slot_of_block(unit);
	const struct parts *parts = atomic_load(&slot->parts);

	slot->is_damaged = true;
	distrust_slot(cache, slot);
	for (size_t i = 0; parts && i < parts->count; i++)
		distrust_slot(cache, &parts->slots[i]);
}

/* Where a step ends. A reader that needs little of a large unit does not wait for much
 * more: a step decodes at most as many bytes beyond the target as are ready, so that
 * sequential readers soon get full steps. */
static size_t end_of_step(const struct resident *resident, size_t ready, uint64_t upto)
{
	size_t more = ready < FIRST_BYTES ? FIRST_BYTES : ready;
	uint64_t end = ready + (uint64_t)more;

	if (end < upto || resident->size <= STEP_BYTES)
		end = resident->size <= STEP_BYTES ? resident->size : upto;
	if (end > (uint64_t)ready + STEP_BYTES)
		end = (uint64_t)ready + STEP_BYTES;
	return (size_t)(end < resident->size ? end : resident->size);
}

/* Decode one step; an outcome. The lock is given up meanwhile. */
static int decode_step(struct cache *cache, const struct unit *unit,
		       struct decode_job *job, struct resident *resident, uint64_t upto,
		       dwarfs_error **err)
{
	size_t ready = atomic_load(&resident->ready), done;
	size_t target = end_of_step(resident, ready, upto);
	/* Some codecs decode to the end of their own block. */
	uint64_t least = target + (uint64_t)BEYOND_BYTES < resident->size
				 ? target + (uint64_t)BEYOND_BYTES
				 : resident->size;
	uint64_t ahead = ready + RESERVE_BYTES;
	bool was_damaged = resident->verifies_late && slot_of_block(unit)->is_damaged;
	int ret = 0;

	if (ahead > upto)
		ahead = upto;
	if (ahead < least)
		ahead = least;
	/* Charge only this step when there is no space for more. */
	if (cache->used + dw_cache_bytes_until(resident, ahead) - resident->charged >
	    cache->budget)
		ahead = least;
	if (!charge_ahead(cache, job, resident, dw_cache_bytes_until(resident, ahead)))
		return OVER_BUDGET;
	pthread_mutex_unlock(&cache->lock);
	if (dw_pages_are_system(resident->pages))
		dw_pages_prepare(resident->pages + ready, target - ready);
	if (!was_damaged)
		ret = dw_decoder_run(resident->decoder, target, err);
	done = dw_decoder_done(resident->decoder);
	if (ret == 0 && resident->verifies_late &&
	    (was_damaged || done == resident->size))
		ret = verify(unit, resident, err);
	if (ret == 0 && was_damaged)
		ret = dw_decoder_run(resident->decoder, target, err);
	pthread_mutex_lock(&cache->lock);
	if (ret < 0 && ret != DWARFS_ERR_NOMEM && resident->verifies_late) {
		/* Other threads shall not get unverified bytes, and a job that
		 * continues with this resident fails in the same way. */
		distrust(cache, unit);
		atomic_store(&resident->ready, 0);
	}
	if (ret < 0)
		return explain_block(unit, ret, err);
	/* Another part of the block failed meanwhile: the next step verifies. */
	if (resident->verifies_late && !was_damaged && slot_of_block(unit)->is_damaged)
		return DONE;
	dw_cache_count_decoded(cache, unit->slot, ready, done);
	atomic_store(&resident->ready, done);
	return DONE;
}

/* Free the decoder of a completely decoded unit, and charge what it takes now. */
void dw_cache_release_decoder(struct cache *cache, struct resident *resident)
{
	uint64_t ready = atomic_load(&resident->ready);

	if (resident->decoder && ready == resident->size) {
		dw_decoder_free(dw_steal(resident->decoder));
		dw_stored_free(&resident->stored);
	}
	resident->max_bytes = dw_cache_bytes_until(resident, resident->size);
	dw_cache_charge(cache, resident, bytes_after(resident, ready));
}

/* How far to decode: to the end of required ranges, and of all requested ranges if the
 * unit cannot be kept. */
static uint64_t decode_target(const struct cache *cache, const struct decode_job *job,
			      const struct resident *resident)
{
	uint64_t end = job->required_end;
	if (job->wanted_end > end &&
	    (job->is_redecode ||
	     bytes_after(resident, end) > dw_cache_job_limit(cache, job)))
		end = job->wanted_end;
	/* Little is left: decode to the end if that fits into the budget. */
	if (cache->finish_percent < 100 &&
	    resident->size <= dw_cache_job_limit(cache, job) &&
	    end > resident->size / 100 * cache->finish_percent)
		end = resident->size;
	return end < resident->size ? end : resident->size;
}

/* Estimate the memory of the job. Before the first step a decoder can only guess, so
 * only that step counts. */
static void estimate(struct decode_job *job, struct resident *resident, uint64_t target)
{
	bool begins = resident->decoder && atomic_load(&resident->ready) == 0;

	if (begins && target > STEP_BYTES)
		target = STEP_BYTES;
	job->needed_bytes = dw_cache_bytes_until(resident, target);
	resident->max_bytes = dw_cache_bytes_until(resident, resident->size);
	job->complete_bytes = begins ? job->needed_bytes : resident->max_bytes;
}

/* Wake the waiters if one of them has its bytes; the others wait again, see wait_for_job(). */
static void notify_waiters(struct decode_job *job, const struct resident *resident)
{
	if (job->waiters == 0 || atomic_load(&resident->ready) < job->wake_at)
		return;
	job->wake_at = UINT64_MAX;
	pthread_cond_broadcast(&job->progressed);
}

/* Decode up to the target; an outcome. The lock is held on entry and exit. */
int dw_cache_run_steps(struct cache *cache, const struct unit *unit,
		       struct decode_job *job, struct resident **resident,
		       dwarfs_error **err)
{
	uint64_t target;
	int ret = DONE;

	if (!*resident) {
		*resident = dw_calloc(1, sizeof(**resident));
		if (!*resident)
			return dw_fail_nomem(err);
		(*resident)->slot = unit->slot;
		ret = open_unit(cache, unit, job, *resident, err);
		if (ret != DONE) {
			dw_cache_free_resident(cache, dw_steal(*resident));
			return ret;
		}
		dw_cache_attach(cache, *resident);
		job->created_resident = true;
	}
	estimate(job, *resident, 0);
	while (ret == DONE && (target = decode_target(cache, job, *resident)) >
				      atomic_load(&(*resident)->ready)) {
		estimate(job, *resident, target);
		ret = decode_step(cache, unit, job, *resident, target, err);
		estimate(job, *resident, target);
		notify_waiters(job, *resident);
	}
	return ret;
}
