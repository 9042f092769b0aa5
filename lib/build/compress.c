/* SPDX-License-Identifier: MIT */
/*
 * build/compress: blocks -> packed, on the pool, written in order.
 *
 * A worker packs a block and computes the hashes of its section; the thread of the run
 * writes it. Memory for blocks is used again and again, and bounded by the number of
 * blocks that may be under way.
 */
#include "build/compress.h"
#include "build/flow.h"

/* Blocks that wait for a worker, so that none is idle while the next one is read. Small
 * blocks are packed so fast that more of them are needed. */
#define WAITING_BYTES  ((uint64_t)4 << 20)
#define WAITING_BLOCKS 1

struct block_job {
	struct block block; /* first: the caller sees only this */
	struct section_header header;
	struct buffer packed;
	struct block_job *next_free;
};

struct compressor {
	struct sections *sections;
	struct codec_spec codec;
	size_t block_bytes;
	struct flow flow;
	struct block_job *open; /* being filled, or NULL */
	struct block_job *free_jobs;
	uint32_t next_number;
	atomic_bool stop; /* what is being packed is not wanted any more */
};

struct pack_worker {
	struct codec *codec;
	struct xxh3 *hash;
};

/* -- on a worker --------------------------------------------------------------------- */

static void free_worker(void *pointer)
{
	struct pack_worker *worker = pointer;

	if (!worker)
		return;
	dw_codec_free(worker->codec);
	dw_xxh3_free(worker->hash);
	free(worker);
}
DW_DEFINE_AUTO(pack_worker, struct pack_worker *, free_worker)

static int new_worker(void *shared, void **worker_out, dwarfs_error **err)
{
	DW_AUTO(pack_worker) struct pack_worker *worker = dw_calloc(1, sizeof(*worker));
	const struct compressor *compressor = shared;
	int ret;

	if (!worker)
		return dw_fail_nomem(err);
	if ((ret = dw_codec_new(&compressor->codec, compressor->block_bytes,
				&worker->codec, err)) < 0 ||
	    (ret = dw_xxh3_new(&worker->hash, err)) < 0)
		return ret;
	dw_codec_set_stop(worker->codec, &compressor->stop);
	*worker_out = dw_steal(worker);
	return 0;
}

static struct span stored(const struct block_job *job)
{
	if (job->header.compression != CODEC_NONE)
		return dw_buffer_span(&job->packed);
	return (struct span){ job->block.data, job->block.size };
}

static int pack(void *shared, void *pointer, void *job_pointer, dwarfs_error **err)
{
	struct pack_worker *worker = pointer;
	struct block_job *job = job_pointer;
	struct span in = { job->block.data, job->block.size };
	int ret;

	job->packed.size = 0;
	ret = dw_codec_pack(worker->codec, in, &job->packed, &job->header.compression,
			    err);
	if (ret < 0)
		return dw_explain(err, ret, "packing block %" PRIu32, job->block.number);
	dw_section_seal(&job->header, stored(job), worker->hash);
	return 0;
}

/* -- on the thread of the run -------------------------------------------------------- */

static int write_block(void *shared, void *job_pointer, dwarfs_error **err)
{
	struct compressor *compressor = shared;
	struct block_job *job = job_pointer;
	uint64_t *counts = compressor->sections->run->counts;
	struct span data = stored(job);

	dw_flow_taken(&compressor->flow);
	/* Bytes are done when their block is, which is what takes the time. */
	compressor->sections->run->progress.bytes_done += job->block.size;
	counts[DWARFS_COUNT_BLOCKS]++;
	counts[DWARFS_COUNT_BYTES_STORED] += job->block.size;
	counts[DWARFS_COUNT_BYTES_BLOCKS] += data.size;
	return dw_sections_write(compressor->sections, &job->header, data, err);
}

static void free_job(struct block_job *job)
{
	if (!job)
		return;
	free(job->block.data);
	dw_buffer_free(&job->packed);
	free(job);
}

/* Data and packed bytes stay, for the next block. */
static void keep_job(void *shared, void *job_pointer)
{
	struct compressor *compressor = shared;
	struct block_job *job = job_pointer;

	job->next_free = compressor->free_jobs;
	compressor->free_jobs = job;
}

int dw_compressor_new(struct sections *sections, const struct codec_spec *codec,
		      struct compressor **compressor_out, dwarfs_error **err)
{
	static const struct pool_ops ops = {
		.worker_new = new_worker,
		.worker_free = free_worker,
		.run = pack,
		.done = write_block,
		.drop = keep_job,
	};
	auto_compressor struct compressor *compressor = dw_calloc(1, sizeof(*compressor));
	struct build_run *run = sections->run;
	uint32_t workers = dw_context_workers(run->context), waiting;
	int ret;

	if (!compressor)
		return dw_fail_nomem(err);
	compressor->sections = sections;
	compressor->codec = *codec;
	compressor->block_bytes = (size_t)1 << run->options->block_bits;
	waiting = WAITING_BLOCKS + (uint32_t)(WAITING_BYTES / compressor->block_bytes);
	if (waiting > 64)
		waiting = 64;
	if ((ret = dw_flow_init(&compressor->flow, &ops, compressor, workers,
				workers + waiting, &run->progress, err)) < 0)
		return ret;
	*compressor_out = dw_steal(compressor);
	return 0;
}

void dw_compressor_free(struct compressor *compressor)
{
	if (!compressor)
		return;
	atomic_store(&compressor->stop, true);
	dw_flow_free(&compressor->flow);
	free_job(compressor->open);
	while (compressor->free_jobs) {
		struct block_job *job = compressor->free_jobs;

		compressor->free_jobs = job->next_free;
		free_job(job);
	}
	free(compressor);
}

static struct block_job *new_job(size_t block_bytes)
{
	struct block_job *job = dw_calloc(1, sizeof(*job));

	if (job && !(job->block.data = malloc(block_bytes))) {
		free(job);
		return NULL;
	}
	return job;
}

int dw_compressor_open(struct compressor *compressor, struct block **block_out,
		       dwarfs_error **err)
{
	struct block_job *job = compressor->free_jobs;

	if (compressor->next_number == UINT32_MAX)
		return dw_fail(err, DWARFS_ERR_RANGE, "too many blocks for one image");
	if (job)
		compressor->free_jobs = job->next_free;
	else
		job = new_job(compressor->block_bytes);
	if (!job)
		return dw_fail_nomem(err);
	job->block.number = compressor->next_number++;
	job->block.size = 0;
	job->header = (struct section_header){
		.type = DWARFS_SECTION_BLOCK,
		.number = job->block.number, /* blocks are the first sections */
	};
	compressor->open = job;
	*block_out = &job->block;
	return 0;
}

int dw_compressor_close(struct compressor *compressor, struct block *block,
			dwarfs_error **err)
{
	struct block_job *job = dw_steal(compressor->open);

	if (block->size == 0) { /* nothing came of the file it was opened for */
		compressor->next_number--;
		keep_job(compressor, job);
		return 0;
	}
	return dw_flow_submit(&compressor->flow, job, err);
}

int dw_compressor_finish(struct compressor *compressor, dwarfs_error **err)
{
	return dw_flow_finish(&compressor->flow, err);
}
