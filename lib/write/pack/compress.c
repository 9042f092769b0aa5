/* SPDX-License-Identifier: MIT */
/*
 * write/pack/compress: compress blocks on the pool, and write their sections in order.
 *
 *   open     block of the caller, being filled; referenced by stored_window, too
 *   queued   block_job, submitted to the pipeline; owned by it
 *   packed   on a worker: compressed, header with number and hashes complete; a block that
 *            is copied from an image has only its header completed
 *   written  on the calling thread, in block order; the memory goes to free lists
 *
 * Block references, free lists, counts and the output belong to the calling thread; a
 * worker owns its codec and the job it runs. The pipeline has the only lock; stop and the
 * meter (packed) are atomic. The pipeline bounds the number of queued blocks, and so the
 * memory.
 */
#include "os/memory_size.h"
#include "os/pages.h"
#include "pool/pipeline.h"
#include "write/digests/digests.h"
#include "write/pack/compress.h"

/* The most bytes of copied blocks that are under way, with the one that is read next; one block
 * may be larger. With many threads and large blocks that are not compressed these would take most
 * of the memory. */
#define COPIED_BYTES ((uint64_t)32 << 20)

/* Codecs and block size of a stream. */
struct setup {
	struct packing packing;
	size_t block_bytes;
	uint32_t stream, category;
	bool frees_codec; /* after each block */
	struct setup *before;
};

struct block_job {
	struct block *block;	   /* NULL: a copy; packed is the payload as stored */
	const struct setup *setup; /* NULL: a copy */
	uint32_t category;
	bool is_sealed;		 /* the header is complete */
	bool is_shared;		 /* a copy; as of a stored_section */
	uint64_t unpacked_bytes; /* of the block */
	struct section_header header;
	struct buffer packed;
	struct anchor_list anchors; /* of the block, if digests are wanted */
	struct block_job *next_free;
};

struct compressor {
	struct section_writer *sections;
	struct block_streams *streams;
	struct pipeline pipeline;
	struct setup *setup; /* current stream; linked to those before */
	struct block_job *free_jobs;
	struct block *free_blocks; /* of any size */
	uint32_t next_number;
	uint32_t others;  /* sections before the next block that are not blocks */
	bool has_threads; /* the calling thread compresses nothing */
	/* input and stored bytes of written blocks */
	uint64_t written_input, written_bytes;
	uint64_t copied_bytes;		   /* of copies that are under way */
	uint64_t given_input, given_bytes; /* likewise, of submitted blocks */
	/* bytes compressed so far, of given_bytes */
	atomic_uint_fast64_t packed;
	atomic_bool stop; /* cancel compression in progress */
};

/* A worker: compresses blocks of one stream after the other. */
struct pack_worker {
	const struct setup *setup;
	struct block_packer *packer;
	struct xxh3 *hash;
};

/* -- on a worker --------------------------------------------------------------------- */

static void free_pack_worker(void *pointer)
{
	struct pack_worker *worker = pointer;

	if (!worker)
		return;
	dw_block_packer_free(worker->packer);
	dw_xxh3_free(worker->hash);
	dw_free(worker);
}
DW_DEFINE_AUTO(pack_worker, struct pack_worker *, free_pack_worker)

static int new_pack_worker(void *shared, void **worker_out, dwarfs_error **err)
{
	DW_AUTO(pack_worker) struct pack_worker *worker = dw_calloc(1, sizeof(*worker));
	const struct compressor *compressor = shared;
	int ret;

	if (!worker)
		return dw_fail_nomem(err);
	if ((ret = dw_xxh3_new(&worker->hash, err)) < 0)
		return ret;
	if (compressor->has_threads)
		dw_os_be_nice(compressor->sections->run->options->compress_niceness);
	*worker_out = dw_steal(worker);
	return 0;
}

static void free_packer(struct pack_worker *worker)
{
	dw_block_packer_free(dw_steal(worker->packer));
	if (worker->setup)
		dw_os_trim(); /* the next one may fit nowhere into what it leaves */
	worker->setup = NULL;
}

static int set_up_packer(struct compressor *compressor, struct pack_worker *worker,
			 const struct setup *setup, dwarfs_error **err)
{
	int ret;

	if (worker->setup == setup)
		return 0;
	free_packer(worker);
	ret = dw_block_packer_new(&setup->packing, setup->block_bytes, &compressor->stop,
				  &worker->packer, err);
	if (ret < 0)
		return ret;
	dw_block_packer_set_meter(worker->packer, &compressor->packed);
	worker->setup = setup;
	return 0;
}

static struct span stored(const struct block_job *job)
{
	if (!job->block || job->header.compression != CODEC_NONE)
		return dw_buffer_span(&job->packed);
	return (struct span){ job->block->data, job->block->size };
}

static int find_block_anchors(const struct compressor *compressor, struct block_job *job,
			      struct span data, dwarfs_error **err)
{
	const struct digests *digests = compressor->sections->run->digests;

	return digests ? dw_anchor_list_find(data.data, data.size, digests->anchors.shift,
					     &job->anchors, err)
		       : 0;
}

static int pack_block(void *shared, void *pointer, void *job_pointer, dwarfs_error **err)
{
	struct pack_worker *worker = pointer;
	struct block_job *job = job_pointer;
	struct span in;
	int ret;

	if (!job->block) {
		if (!job->is_sealed)
			dw_section_seal(&job->header, stored(job), worker->hash);
		return 0;
	}
	in = (struct span){ job->block->data, job->block->size };
	if ((ret = find_block_anchors(shared, job, in, err)) < 0)
		return ret;
	if ((ret = set_up_packer(shared, worker, job->setup, err)) < 0)
		return ret;
	job->packed.size = 0;
	ret = dw_block_packer_pack(worker->packer, in, &job->packed,
				   &job->header.compression, err);
	if (job->setup->frees_codec)
		free_packer(worker);
	if (ret < 0)
		return dw_explain(err, ret, "packing block %" PRIu32, job->block->number);
	dw_section_seal(&job->header, stored(job), worker->hash);
	return 0;
}

/* -- on the calling thread ----------------------------------------------------------- */

static void free_block(struct block *block)
{
	if (!block)
		return;
	dw_pages_free(block->data, block->room);
	dw_free(block);
}

void dw_block_reference(struct block *block)
{
	block->references++;
}

void dw_block_release(struct compressor *compressor, struct block *block)
{
	if (!block || --block->references > 0)
		return;
	block->next_free = compressor->free_blocks;
	compressor->free_blocks = block;
}

static int write_block_section(void *shared, void *job_pointer, dwarfs_error **err)
{
	struct compressor *compressor = shared;
	struct block_job *job = job_pointer;
	struct build_run *run = compressor->sections->run;
	struct category_total *total = &run->totals[job->category];
	struct span data = stored(job);
	int ret;

	dw_pipeline_taken(&compressor->pipeline);
	run->counts[DWARFS_COUNT_BLOCKS]++;
	run->counts[DWARFS_COUNT_BYTES_STORED] += job->unpacked_bytes;
	run->counts[DWARFS_COUNT_BYTES_BLOCKS] += data.size;
	total->stored += job->unpacked_bytes;
	total->packed += data.size;
	if (job->header.compression < 32)
		total->codecs |= UINT32_C(1) << job->header.compression;
	if (job->block) {
		compressor->written_input += job->block->input_bytes;
		compressor->written_bytes += job->block->size;
	} else {
		compressor->copied_bytes -= data.size;
	}
	if (job->block && run->digests &&
	    (ret = dw_block_anchors_set(&run->digests->anchors, job->block->number,
					&job->anchors, err)) < 0)
		return ret;
	return (job->is_shared ? dw_section_writer_write_shared
			       : dw_section_writer_write)(compressor->sections,
							  &job->header, data, err);
}

/* Blocks in progress count in proportion, so that progress is steady with large
 * blocks. */
static void show_packing_progress(struct dwarfs_progress *progress, void *user)
{
	struct compressor *compressor = user;
	uint64_t packed = atomic_load_explicit(&compressor->packed, memory_order_relaxed);
	uint64_t in_flight = compressor->given_bytes - compressor->written_bytes;
	uint64_t input = compressor->written_input;

	if (packed > compressor->given_bytes)
		packed = compressor->given_bytes;
	if (in_flight > 0 && packed > compressor->written_bytes)
		input += (uint64_t)((double)(compressor->given_input - input) *
				    (double)(packed - compressor->written_bytes) /
				    (double)in_flight);
	if (input > progress->bytes_done)
		progress->bytes_done = input;
	progress->work_done = packed;
	progress->work_known = compressor->given_bytes;
	progress->work_known_bytes = compressor->given_input;
}

/* Keep the job and its buffer for the next block. */
static void keep_job(void *shared, void *job_pointer)
{
	struct compressor *compressor = shared;
	struct block_job *job = job_pointer;

	if (job->block)
		dw_block_release(compressor, dw_steal(job->block));
	else
		dw_buffer_free(&job->packed); /* of the size of one payload */
	job->next_free = compressor->free_jobs;
	compressor->free_jobs = job;
}

static void free_job(struct block_job *job)
{
	dw_buffer_free(&job->packed);
	dw_anchor_list_free(&job->anchors);
	dw_free(job);
}

int dw_compressor_new(struct section_writer *sections, const struct budget *budget,
		      struct block_streams *streams, struct compressor **compressor_out,
		      dwarfs_error **err)
{
	static const struct pool_ops ops = {
		.worker_new = new_pack_worker,
		.worker_free = free_pack_worker,
		.run = pack_block,
		.done = write_block_section,
		.drop = keep_job,
	};
	auto_compressor struct compressor *compressor = dw_calloc(1, sizeof(*compressor));
	struct build_run *run = sections->run;
	uint32_t in_flight = budget->workers + budget->waiting;
	int ret;

	if (!compressor)
		return dw_fail_nomem(err);
	compressor->sections = sections;
	compressor->streams = streams;
	compressor->has_threads = budget->workers > 0;
	if ((ret = dw_pipeline_init(&compressor->pipeline, &ops, compressor,
				    budget->workers, in_flight ? in_flight : 1,
				    &run->progress, err)) < 0)
		return ret;
	dw_pool_limit_running(compressor->pipeline.pool,
			      dw_context_active_workers(run->context));
	run->progress.refresh_user = compressor;
	run->progress.refresh = show_packing_progress;
	*compressor_out = dw_steal(compressor);
	return 0;
}

static void free_free_blocks(struct compressor *compressor)
{
	while (compressor->free_blocks) {
		struct block *block = compressor->free_blocks;

		compressor->free_blocks = block->next_free;
		free_block(block);
	}
}

static void free_free_jobs(struct compressor *compressor)
{
	while (compressor->free_jobs) {
		struct block_job *job = compressor->free_jobs;

		compressor->free_jobs = job->next_free;
		free_job(job);
	}
}

void dw_compressor_free(struct compressor *compressor)
{
	if (!compressor)
		return;
	compressor->sections->run->progress.refresh = NULL;
	atomic_store(&compressor->stop, true);
	dw_pipeline_free(&compressor->pipeline);
	free_free_blocks(compressor);
	free_free_jobs(compressor);
	while (compressor->setup) {
		struct setup *setup = compressor->setup;

		compressor->setup = setup->before;
		dw_free(setup);
	}
	dw_free(compressor);
}

int dw_compressor_turn(struct compressor *compressor, uint32_t stream, uint32_t category,
		       const struct packing *packing, size_t block_bytes,
		       dwarfs_error **err)
{
	struct setup *setup = dw_calloc(1, sizeof(*setup));

	if (!setup)
		return dw_fail_nomem(err);
	*setup = (struct setup){
		.packing = *packing,
		.block_bytes = block_bytes,
		.stream = stream,
		.category = category,
		.before = compressor->setup,
	};
	compressor->setup = setup;
	return 0;
}

void dw_compressor_free_codecs(struct compressor *compressor)
{
	compressor->setup->frees_codec = true;
}

int dw_compressor_await_blocks(struct compressor *compressor, uint32_t most,
			       dwarfs_error **err)
{
	if (compressor->pipeline.in_flight <= most)
		return 0;
	return dw_pipeline_wait(&compressor->pipeline, most, err);
}

static struct block *new_pages_block(size_t block_bytes)
{
	struct block *block = dw_calloc(1, sizeof(*block));

	if (!block)
		return NULL;
	block->room = block_bytes;
	if (!(block->data = dw_pages_new(block_bytes))) {
		dw_free(block);
		return NULL;
	}
	dw_pages_use_huge_if_large(block->data, block_bytes);
	return block;
}

/* A free block that is large enough, or NULL. Those that are too small are freed. */
static struct block *take_free_block(struct compressor *compressor)
{
	struct block *block;

	while ((block = compressor->free_blocks)) {
		compressor->free_blocks = block->next_free;
		if (block->room >= compressor->setup->block_bytes)
			return block;
		free_block(block);
	}
	return NULL;
}

int dw_compressor_open(struct compressor *compressor, struct block **block_out,
		       dwarfs_error **err)
{
	struct block_streams *streams = compressor->streams;
	struct block *block;
	int ret;

	if (compressor->next_number == UINT32_MAX)
		return dw_fail(err, DWARFS_ERR_RANGE, "too many blocks for one image");
	if ((ret = dw_grow(&streams->list, &streams->room, streams->count + 1, err)) < 0)
		return ret;
	block = take_free_block(compressor);
	if (!block && !(block = new_pages_block(compressor->setup->block_bytes)))
		return dw_fail_nomem(err);
	block->number = compressor->next_number++;
	block->size = 0;
	block->input_bytes = 0;
	block->references = 1;
	streams->list[streams->count++] = compressor->setup->stream;
	*block_out = block;
	return 0;
}

/* A job of the free list, or a new one. */
static struct block_job *take_job(struct compressor *compressor)
{
	struct block_job *job = compressor->free_jobs;

	if (!job)
		return dw_calloc(1, sizeof(*job));
	compressor->free_jobs = job->next_free;
	return job;
}

/* The number of the section of a block that is submitted. */
static uint32_t section_number(struct compressor *compressor, uint32_t block)
{
	if (compressor->pipeline.in_flight == 0) /* all before it are written */
		compressor->others = (uint32_t)compressor->sections->count - block;
	return block + compressor->others;
}

int dw_compressor_await_copies(struct compressor *compressor, uint64_t bytes,
			       dwarfs_error **err)
{
	int ret = 0;

	while (ret == 0 && compressor->copied_bytes > 0 &&
	       compressor->copied_bytes + bytes > COPIED_BYTES)
		ret = dw_pipeline_wait(&compressor->pipeline,
				       compressor->pipeline.in_flight - 1, err);
	return ret;
}

int dw_compressor_copy(struct compressor *compressor, uint32_t stream, uint32_t category,
		       struct stored_section *section, uint32_t *number_out,
		       dwarfs_error **err)
{
	struct block_streams *streams = compressor->streams;
	struct section_header *header = &section->header;
	struct block_job *job;
	int ret;

	if (compressor->next_number == UINT32_MAX)
		return dw_fail(err, DWARFS_ERR_RANGE, "too many blocks for one image");
	if ((ret = dw_grow(&streams->list, &streams->room, streams->count + 1, err)) < 0)
		return ret;
	if (!(job = take_job(compressor)))
		return dw_fail_nomem(err);
	streams->list[streams->count++] = stream;
	compressor->copied_bytes += section->payload.size;
	job->setup = NULL;
	job->category = category;
	job->unpacked_bytes = section->unpacked_bytes;
	job->is_sealed = section->is_damaged;
	job->is_shared = section->is_shared;
	*number_out = compressor->next_number++;
	header->number = section_number(compressor, *number_out);
	header->minor = DW_FORMAT_MINOR_WRITTEN;
	job->header = *header;
	dw_buffer_free(&job->packed);
	job->packed = section->payload;
	section->payload = (struct buffer){ 0 };
	return dw_pipeline_submit(&compressor->pipeline, job, err);
}

int dw_compressor_close(struct compressor *compressor, struct block *block,
			dwarfs_error **err)
{
	struct block_job *job;

	if (block->size == 0) { /* the file it was opened for had no bytes */
		compressor->next_number--;
		compressor->streams->count--;
		dw_block_release(compressor, block);
		return 0;
	}
	if (!(job = take_job(compressor))) {
		dw_block_release(compressor, block);
		return dw_fail_nomem(err);
	}
	compressor->given_input += block->input_bytes;
	compressor->given_bytes += block->size;
	job->block = block;
	job->is_shared = false;
	job->setup = compressor->setup;
	job->category = compressor->setup->category;
	job->unpacked_bytes = block->size;
	job->header = (struct section_header){
		.type = DWARFS_SECTION_BLOCK,
		.number = section_number(compressor, block->number),
	};
	return dw_pipeline_submit(&compressor->pipeline, job, err);
}

int dw_compressor_flush(struct compressor *compressor, dwarfs_error **err)
{
	return dw_pipeline_wait(&compressor->pipeline, 0, err);
}

int dw_compressor_finish(struct compressor *compressor, dwarfs_error **err)
{
	return dw_pipeline_finish(&compressor->pipeline, err);
}
