/* SPDX-License-Identifier: MIT */
/*
 * write/order/auto/trial: which of several orders packs best, found by packing.
 *
 * The forecast of auction.c counts which repeated runs segmenter and codec find. It does not
 * count how far away they are, nor how alike the literals of one Huffman table are, and for
 * each order it is some percent wrong. So the best orders by forecast are packed, with chunks
 * that end at triggers for what the segmenter finds, and zstd 7 or 9 for the codec. Five
 * releases of plotly in the orders path, siblings, revpath, nilsimsa and similarity take 4.94,
 * 3.74, 4.15, 3.91 and 3.91 MB with zstd 9 here, and 4.15, 3.51, 3.63, 3.65 and 3.93 MB at
 * level 7.
 */
#include <inttypes.h>
#include <string.h>

#include "base/context.h"
#include "codec/encode/encode.h"
#include "hash/hash.h"
#include "pool/pipeline.h"
#include "write/budget/budget.h"
#include "write/order/auto/read_ahead.h"
#include "write/order/auto/trial.h"
#include "write/segment/anchors.h"
#include "write/segment/density.h"
#include "write/segment/minima.h"

#define MAX_BLOCK_BYTES ((uint64_t)64 << 20)
#define RUN_BYTES	((uint64_t)2 << 20) /* of memory */
#define WORTH_IT	0.998 /* of the size of a candidate that is preferred */

/* Chunks are of 2^CHUNK_SHIFT bytes on average. Those in a row that occurred before are a
 * segment, which takes about so many bytes of the metadata. */
#define CHUNK_SHIFT	  8
#define BYTES_PER_SEGMENT 7

/* The table of chunks: it is at most half full, unless data is made for that. */
#define LEAST_SLOTS ((size_t)1024)
#define MAX_PROBES  16

struct chunk_slot {
	uint32_t tag;	/* bits of the hash; 0 is a free slot */
	uint32_t block; /* where the chunk was kept last */
};

/* Chunks in a row that occurred before, all of them in the block being filled or all in
 * others: a segment if they are long enough, otherwise kept. */
struct run {
	bool is_near;
	bool is_segment;
	struct buffer bytes; /* until it is a segment */
	struct chunk_slot **slots;
	size_t count, room;
};

struct trial_job {
	struct buffer in;
	size_t candidate;
	uint64_t packed_bytes;
	struct trial_job *next_free;
};

struct trial {
	struct reading reading;
	struct pipeline pipeline;
	struct codec_spec codec;
	size_t block_bytes;
	struct trial_job *free_jobs;
	struct trial_job *job; /* the block that is being filled, or NULL */
	uint64_t packed_bytes[TRIAL_MAX_CANDIDATES]; /* of each candidate */

	/* If the segmenter looks for what occurred before: */
	struct match_minima minima;
	uint32_t *triggers; /* in a piece */
	struct chunk_slot *table;
	size_t slots; /* a power of two */

	/* Of the candidate that is being packed. */
	size_t candidate;
	struct run run;
	uint64_t segments;
	uint32_t block; /* the one that is being filled */
};

/* -- memory -------------------------------------------------------------------------- */

static size_t count_slots(uint64_t bytes)
{
	size_t slots = LEAST_SLOTS;

	while (slots < bytes >> (CHUNK_SHIFT - 1))
		slots *= 2;
	return slots;
}

static size_t trial_block_bytes(uint64_t bytes, uint64_t block_bytes)
{
	if (block_bytes > MAX_BLOCK_BYTES)
		block_bytes = MAX_BLOCK_BYTES;
	return (size_t)(bytes < block_bytes ? bytes : block_bytes);
}

/* Blocks that wait or are packed, for this number of workers. */
static uint32_t jobs_under_way(uint32_t workers)
{
	return workers + 1;
}

uint64_t dw_trial_memory(uint64_t bytes, uint64_t block_bytes, uint32_t workers)
{
	uint64_t most = bytes < TRIAL_MAX_BYTES ? bytes : TRIAL_MAX_BYTES;
	size_t size = trial_block_bytes(most, block_bytes);
	uint32_t codecs = workers ? workers : 1;
	struct codec_spec spec;

	if (size == 0 || dw_codec_parse(TRIAL_CODEC_FINE, &spec, NULL) < 0)
		return 0;
	return 2 * READING_PIECE_BYTES + count_slots(most) * sizeof(struct chunk_slot) +
	       RUN_BYTES + (jobs_under_way(workers) + 1) * (uint64_t)size +
	       codecs * (size + dw_codec_memory(&spec, size));
}

static void free_job(struct trial_job *job)
{
	if (!job)
		return;
	dw_buffer_free(&job->in);
	dw_free(job);
}

static void free_trial(struct trial *trial)
{
	dw_pipeline_free(&trial->pipeline); /* gives its jobs back */
	while (trial->free_jobs) {
		struct trial_job *job = trial->free_jobs;

		trial->free_jobs = job->next_free;
		free_job(job);
	}
	free_job(trial->job);
	dw_reading_free(&trial->reading);
	dw_buffer_free(&trial->run.bytes);
	dw_free(trial->run.slots);
	dw_free(trial->triggers);
	dw_free(trial->table);
}

/* -- packing, on a worker ------------------------------------------------------------ */

struct trial_worker {
	struct codec *codec;
	struct buffer out;
};

static void free_worker(void *pointer)
{
	struct trial_worker *worker = pointer;

	if (!worker)
		return;
	dw_codec_free(worker->codec);
	dw_buffer_free(&worker->out);
	dw_free(worker);
}
DW_DEFINE_AUTO(trial_worker, struct trial_worker *, free_worker)

static int new_worker(void *shared, void **worker_out, dwarfs_error **err)
{
	struct trial *trial = shared;
	DW_AUTO(trial_worker) struct trial_worker *worker = dw_calloc(1, sizeof(*worker));
	int ret;

	if (!worker)
		return dw_fail_nomem(err);
	if ((ret = dw_buffer_reserve(&worker->out, trial->block_bytes, err)) < 0 ||
	    (ret = dw_codec_new(&trial->codec, trial->block_bytes, &worker->codec, err)) <
		    0)
		return ret;
	dw_codec_set_stop(worker->codec, &trial->pipeline.stop);
	*worker_out = dw_steal(worker);
	return 0;
}

static int pack_job(void *shared, void *pointer, void *data, dwarfs_error **err)
{
	struct trial_worker *worker = pointer;
	struct trial_job *job = data;
	uint32_t id;
	int ret;

	(void)shared;
	worker->out.size = 0;
	ret = dw_codec_pack(worker->codec, dw_buffer_span(&job->in), &worker->out, &id,
			    err);
	if (ret < 0)
		return ret;
	job->packed_bytes = id == CODEC_NONE ? job->in.size : worker->out.size;
	return 0;
}

static int count_job(void *shared, void *data, dwarfs_error **err)
{
	struct trial *trial = shared;
	const struct trial_job *job = data;

	(void)err;
	dw_pipeline_taken(&trial->pipeline);
	trial->packed_bytes[job->candidate] += job->packed_bytes;
	return 0;
}

static void keep_job(void *shared, void *data)
{
	struct trial *trial = shared;
	struct trial_job *job = data;

	job->next_free = trial->free_jobs;
	trial->free_jobs = job;
}

/* -- blocks -------------------------------------------------------------------------- */

static int begin_block(struct trial *trial, dwarfs_error **err)
{
	struct trial_job *job = trial->free_jobs;
	int ret;

	if (job) {
		trial->free_jobs = job->next_free;
	} else {
		if (!(job = dw_calloc(1, sizeof(*job))))
			return dw_fail_nomem(err);
		if ((ret = dw_buffer_reserve(&job->in, trial->block_bytes, err)) < 0) {
			free_job(job);
			return ret;
		}
	}
	job->in.size = 0;
	job->candidate = trial->candidate;
	trial->job = job;
	return 0;
}

static int end_block(struct trial *trial, dwarfs_error **err)
{
	if (!trial->job)
		return 0;
	trial->block++;
	return dw_pipeline_submit(&trial->pipeline, dw_steal(trial->job), err);
}

static int keep(struct trial *trial, const uint8_t *data, size_t size, dwarfs_error **err)
{
	while (size > 0) {
		struct buffer *in;
		size_t room, now;
		int ret = trial->job ? 0 : begin_block(trial, err);

		if (ret < 0)
			return ret;
		in = &trial->job->in;
		room = trial->block_bytes - in->size;
		now = size < room ? size : room;
		memcpy(in->data + in->size, data, now);
		in->size += now;
		data += now;
		size -= now;
		if (now == room && (ret = end_block(trial, err)) < 0)
			return ret;
	}
	return 0;
}

/* -- segments ------------------------------------------------------------------------ */

/* The slot of a chunk, new or not; NULL where there is no room. Different chunks are taken for
 * one if 31 bits of their hashes are equal, and others decide about their slots: one in 2^40
 * or so. */
static struct chunk_slot *find_slot(struct trial *trial, const uint8_t *data, size_t size,
				    bool *is_new_out)
{
	uint64_t hash = dw_xxh3_64(data, size);
	uint32_t tag = (uint32_t)(hash >> 32) | 1;
	size_t at = hash & (trial->slots - 1);

	*is_new_out = true;
	for (unsigned i = 0; i < MAX_PROBES; i++) {
		struct chunk_slot *slot = &trial->table[at];

		if (slot->tag == tag || slot->tag == 0) {
			*is_new_out = slot->tag == 0;
			slot->tag = tag;
			return slot;
		}
		at = (at + 1) & (trial->slots - 1);
	}
	return NULL;
}

/* Too short for a segment, unless it is one. */
static int end_run(struct trial *trial, dwarfs_error **err)
{
	struct run *run = &trial->run;
	int ret = 0;

	if (!run->is_segment) {
		ret = keep(trial, run->bytes.data, run->bytes.size, err);
		for (size_t i = 0; i < run->count; i++)
			run->slots[i]->block = trial->block;
	}
	run->is_segment = false;
	run->bytes.size = run->count = 0;
	return ret;
}

static int extend_run(struct trial *trial, struct chunk_slot *slot, const uint8_t *data,
		      size_t size, dwarfs_error **err)
{
	struct run *run = &trial->run;
	bool is_near = slot->block == trial->block;
	int ret = 0;

	if (is_near != run->is_near && (ret = end_run(trial, err)) < 0)
		return ret;
	run->is_near = is_near;
	if (run->is_segment)
		return 0;
	if ((ret = dw_buffer_append(&run->bytes, data, size, err)) < 0 ||
	    (ret = dw_grow(&run->slots, &run->room, run->count + 1, err)) < 0)
		return ret;
	run->slots[run->count++] = slot;
	if (run->bytes.size >= (is_near ? trial->minima.near : trial->minima.far)) {
		trial->segments++;
		run->is_segment = true;
	}
	return 0;
}

static int take_chunk(struct trial *trial, const uint8_t *data, size_t size,
		      dwarfs_error **err)
{
	bool is_new;
	struct chunk_slot *slot = find_slot(trial, data, size, &is_new);
	int ret;

	if (!is_new)
		return extend_run(trial, slot, data, size, err);
	if ((ret = end_run(trial, err)) < 0 || (ret = keep(trial, data, size, err)) < 0)
		return ret;
	if (slot)
		slot->block = trial->block;
	return 0;
}

static int take_piece(struct trial *trial, const uint8_t *data, size_t size,
		      dwarfs_error **err)
{
	size_t count, from = 0;

	if (!trial->table)
		return keep(trial, data, size, err);
	count = dw_triggers_find(data, size, CHUNK_SHIFT, trial->triggers);
	for (size_t i = 0; i <= count; i++) {
		size_t to = i < count ? trial->triggers[i] : size;
		int ret = to > from ? take_chunk(trial, data + from, to - from, err) : 0;

		if (ret < 0)
			return ret;
		from = to;
	}
	return 0;
}

/* -- trials -------------------------------------------------------------------------- */

/* No chunk spans two fragments. */
static int take_fragment(struct trial *trial, uint32_t number, dwarfs_error **err)
{
	size_t size;
	int ret;

	dw_reading_begin(&trial->reading, number);
	while ((ret = dw_reading_next(&trial->reading, &size, err)) == 0 && size > 0)
		if ((ret = take_piece(trial, trial->reading.bytes, size, err)) < 0)
			return ret;
	if (ret < 0)
		return ret;
	return end_run(trial, err);
}

/* The minima that the segmenter would have in an order. */
static int set_minima(struct trial *trial, const uint32_t *numbers, size_t count,
		      dwarfs_error **err)
{
	const struct order_input *input = trial->reading.input;
	uint32_t density;
	int ret = dw_density(input->run, input->tree, input->contents, numbers, count,
			     &density, err);

	if (ret == 0)
		trial->minima = dw_match_minima(input->settings, density, 1, false);
	return ret;
}

/* Begin to pack all fragments in an order. Files that cannot be read end early. */
static int pack(struct trial *trial, const uint32_t *numbers, size_t count,
		dwarfs_error **err)
{
	int ret;

	trial->segments = 0;
	trial->block = 0;
	if (trial->table) {
		memset(trial->table, 0, trial->slots * sizeof(*trial->table));
		if ((ret = set_minima(trial, numbers, count, err)) < 0)
			return ret;
	}
	for (size_t i = 0; i < count; i++)
		if ((ret = take_fragment(trial, numbers[i], err)) < 0)
			return ret;
	if ((ret = end_block(trial, err)) < 0)
		return ret;
	trial->packed_bytes[trial->candidate] += trial->segments * BYTES_PER_SEGMENT;
	return 0;
}

static int begin_segments(struct trial *trial, uint64_t total, dwarfs_error **err)
{
	size_t room = dw_anchors_room(READING_PIECE_BYTES);

	trial->slots = count_slots(total);
	trial->table = dw_calloc(trial->slots, sizeof(*trial->table));
	trial->triggers = dw_calloc(room, sizeof(*trial->triggers));
	return trial->table && trial->triggers ? 0 : dw_fail_nomem(err);
}

/* False if there is nothing to try, or too much, or the codec is not built in. */
static int begin(struct trial *trial, const struct order_input *input, const char *codec,
		 const uint32_t *numbers, size_t count, bool *begun_out,
		 dwarfs_error **err)
{
	static const struct pool_ops ops = {
		.worker_new = new_worker,
		.worker_free = free_worker,
		.run = pack_job,
		.done = count_job,
		.drop = keep_job,
	};
	uint32_t workers = input->run->budget->trial_workers;
	uint64_t most = input->run->budget->trial_block_bytes, total;
	int ret;

	*begun_out = false;
	if ((ret = dw_reading_init(&trial->reading, input, err)) < 0)
		return ret;
	total = dw_reading_total(&trial->reading, numbers, count);
	if (total == 0 || total > TRIAL_MAX_BYTES ||
	    dw_codec_parse(codec, &trial->codec, NULL) < 0)
		return 0;
	trial->block_bytes = trial_block_bytes(
		total, most < input->block_bytes ? most : input->block_bytes);
	if (input->finds_segments && (ret = begin_segments(trial, total, err)) < 0)
		return ret;
	*begun_out = true;
	return dw_pipeline_init(&trial->pipeline, &ops, trial, workers,
				jobs_under_way(workers), &input->run->progress, err);
}

/* The size of a candidate by its trial, and by its forecast if there is one. */
static double judge(const struct trial *trial, const struct candidate *candidates,
		    size_t number)
{
	double score = candidates[number].score / (candidates[0].score + 1);

	return (double)trial->packed_bytes[number] * (score > 0 ? score : 1);
}

int dw_trial(const struct order_input *input, const char *codec,
	     const struct candidate *candidates, size_t candidate_count, size_t count,
	     size_t *winner_inout, dwarfs_error **err)
{
	__attribute__((cleanup(free_trial))) struct trial trial = { 0 };
	size_t winner = 0;
	bool begun;
	int ret = begin(&trial, input, codec, candidates[0].numbers, count, &begun, err);

	if (ret < 0 || !begun)
		return ret;
	for (; trial.candidate < candidate_count; trial.candidate++)
		if ((ret = pack(&trial, candidates[trial.candidate].numbers, count,
				err)) < 0)
			return ret;
	if ((ret = dw_pipeline_finish(&trial.pipeline, err)) < 0)
		return ret;
	for (size_t i = 0; i < candidate_count; i++) {
		dw_log(input->run->context, DWARFS_LOG_VERBOSE,
		       "order %s: %" PRIu64 " bytes with %s", candidates[i].name,
		       trial.packed_bytes[i], codec);
		if (i > 0 && judge(&trial, candidates, i) <
				     judge(&trial, candidates, winner) * WORTH_IT)
			winner = i;
	}
	*winner_inout = winner;
	return 0;
}
