/* SPDX-License-Identifier: MIT */
/*
 * write/budget/budget: plan the memory of the stages within a limit.
 *
 * The peak is the sum of what each stage needs, of which memory_plan has that of blocks.
 * Each is bounded. A limit is met by the steps of memory_steps; steps that change the
 * image are planned for one worker, so that the same limit gives the same image for any
 * number of workers.
 */
#include "write/budget/budget.h"
#include "write/budget/memory_steps.h"
#include "write/builder.h"
#include "write/categorize/categorize.h"
#include "write/input/source.h"
#include "write/items/assembly.h"
#include "write/options/input_options.h"
#include "write/order/auto/sketch.h"
#include "write/order/auto/trial.h"
#include "write/segment/segmenter.h"

#define MIB ((uint64_t)1 << 20)

/* Blocks queued for workers, so that none is idle while the next block is filled. Small
 * blocks need more of them. Large ones need none: one more is filled while each worker
 * packs one, and the codecs that such blocks are for take longer than that. */
#define WAITING_BYTES	 (4 * MIB)
#define MAX_WAITING_BITS 24
#define MAX_WAITING	 64

#define INDEX_BYTES	 (256 * MIB)
#define KEPT_INDEX_BYTES (40 * MIB) /* more, for blocks that are kept */
#define WINDOW_BYTES	 (48 * MIB)
#define MIN_SHINGLES	 ((size_t)1 << 16)

/* For each fragment, while orders are compared: its number in up to nine lists, and for a trial
 * by path and its number in that order. */
#define BYTES_OF_ORDERS 44

/* The number of chunks is planned for this average size within a share of the limit; what is left
 * of the limit allows smaller ones. When chunks are few, only longer matches are taken: at level 3,
 * near-equal sources of a compiler take 20.0 MB with a limit of 200 MiB and 22.8 with 120 MiB instead of
 * 17.8 MB. With a quarter of the limit for chunks instead of an eighth, wheels and a root file system
 * took 1.1 and 1.2 % more with 64 MiB, as the index is coarser; with half of it 1.1 and 2.9 %. */
#define CHUNK_BYTES	  1024
#define CHUNK_BYTES_FAST  512 /* with lz4, where shorter matches are worth a chunk */
#define CHUNK_SHARE	  4
#define LEAST_CHUNK_BYTES 32

#define DEFAULT_SHARE 4 /* of the memory that the process may use: one part in */

static uint32_t waiting_blocks(uint32_t block_bits)
{
	uint64_t waiting = 1 + (WAITING_BYTES >> block_bits);

	if (block_bits > MAX_WAITING_BITS)
		return 0;
	return waiting < MAX_WAITING ? (uint32_t)waiting : MAX_WAITING;
}

/* The plan for one worker, which decides all that changes the image. */
static struct memory_plan lean_plan(const struct memory_plan *plan)
{
	struct memory_plan lean = *plan;

	lean.budget.workers = lean.budget.workers < 1 ? 0 : 1;
	lean.budget.waiting = 0;
	return lean;
}

/* The least memory that any plan needs. */
static uint64_t least_bytes(const struct memory_plan *plan, dwarfs_error **err)
{
	auto_free struct stream_settings *settings =
		dw_calloc(plan->category_count, sizeof(*settings));
	struct memory_plan least = lean_plan(plan);
	uint64_t bytes;

	if (!settings) {
		dw_fail_nomem(err);
		return 0;
	}
	for (size_t i = 0; i < plan->category_count; i++)
		settings[i] = plan->settings[i];
	least.settings = settings;
	least.budget.kept_bytes = 0;
	dw_memory_plan_fit(&least, NULL, 0, STEPS_OF_SIZE, 0);
	bytes = dw_larger_of(dw_memory_plan_cost(&least),
			     dw_estimate_reading(plan->options, &plan->workload, 1));
	bytes = dw_larger_of(bytes, dw_estimate_order(&plan->workload, 0, false));
	return dw_larger_of(
		bytes,
		dw_estimate_metadata(&plan->workload, dw_memory_plan_least_chunks(plan)));
}

static int fail_limit(uint64_t limit, uint64_t least, dwarfs_error **err)
{
	return dw_fail(err, DWARFS_ERR_LIMIT,
		       "memory limit of %" PRIu64 " %s is too low for this input: at "
		       "least %" PRIu64 " MiB are needed",
		       limit < MIB ? limit / 1024 : limit / MIB,
		       limit < MIB ? "KiB" : "MiB", (least + MIB - 1) / MIB);
}

/* -- plans --------------------------------------------------------------------------- */

/* Bytes of the blocks that are kept, at most. */
static uint64_t bytes_of_kept_blocks(const struct assembly *assembly)
{
	uint64_t total = 0;

	for (size_t i = 0; assembly && i < assembly->image_count; i++) {
		const struct source_image *image = assembly->images[i];

		if (image->keeps_blocks && !image->changes_block_size)
			total += (uint64_t)image->block_count << image->block_bits;
	}
	return total;
}

/* The largest number of anchors that any stream has in `bytes` bytes; 0 without matching. */
static uint64_t count_anchors(const struct memory_plan *plan, uint64_t bytes)
{
	unsigned densest = 64;

	for (size_t i = 0; i < plan->category_count; i++) {
		const struct stream_settings *settings = &plan->settings[i];
		unsigned shift;

		if (!plan->used[i] || settings->window_bits == 0 ||
		    settings->lookback == 0)
			continue;
		shift = dw_anchor_shift(settings);
		densest = shift < densest ? shift : densest;
	}
	return densest < 64 ? bytes >> densest : 0;
}

/* Eight bytes for each anchor, at a load of 0.6. */
static uint64_t index_bytes(uint64_t anchors)
{
	return anchors ? anchors * 13 + 8192 : 0;
}

/* Anchors of new data, and of blocks that are kept. If they do not all fit, the index keeps
 * fewer of both. */
static void plan_index(struct memory_plan *plan, uint64_t kept_block_bytes)
{
	uint64_t bytes = dw_memory_plan_new_bytes(plan);
	uint64_t anchors = count_anchors(plan, bytes + kept_block_bytes);

	if (plan->has_images && anchors > 0) {
		anchors = dw_larger_of(anchors, DW_ANCHORS_AFTER_KEPT);
		plan->budget.index_bytes = dw_smaller_of(
			INDEX_BYTES,
			index_bytes(count_anchors(plan, bytes)) + KEPT_INDEX_BYTES);
	}
	plan->anchors = index_bytes(anchors);
}

static uint64_t chunk_bytes(const struct memory_plan *plan)
{
	for (size_t i = 0; i < plan->category_count; i++)
		if (plan->used[i] && plan->settings[i].window_bits > 0 &&
		    !dw_codec_finds_matches(&plan->settings[i].codec))
			return CHUNK_BYTES_FAST;
	return CHUNK_BYTES;
}

static struct memory_plan begin_plan(dwarfs_builder *builder,
				     const struct workload *workload, const uint8_t *used,
				     const uint64_t *stream_bytes)
{
	uint64_t limit = builder->options.memory_limit, chunks;
	struct memory_plan plan = {
		.budget = {
			.workers = dw_context_workers(builder->context),
			.waiting = waiting_blocks(builder->options.block_bits),
			.index_bytes = INDEX_BYTES,
			.window_bytes = WINDOW_BYTES,
		},
		.options = &builder->options,
		.workload = *workload,
		.block_bits = builder->options.block_bits,
		.settings = builder->settings,
		.used = used,
		.stream_bytes = stream_bytes,
		.has_images = builder->assembly && builder->assembly->image_count > 0,
		.category_count = builder->total_count,
	};

	plan_index(&plan, bytes_of_kept_blocks(builder->assembly));
	chunks = workload->fragments + workload->bytes / chunk_bytes(&plan);
	if (limit != 0)
		chunks = dw_smaller_of(chunks, limit / CHUNK_SHARE / ESTIMATE_PER_CHUNK);
	plan.budget.max_chunks = dw_larger_of(chunks, dw_memory_plan_least_chunks(&plan));
	return plan;
}

/* How many bytes of files to keep, with least bytes needed for the rest. */
static uint64_t bytes_to_keep(const struct workload *workload, uint64_t limit,
			      uint64_t least)
{
	uint64_t bytes = dw_smaller_of(KEPT_TOTAL_BYTES, limit / KEPT_SHARE);

	/* A slab need not be full. */
	bytes = dw_smaller_of(bytes, workload->small_bytes + workload->small_bytes / 8 +
					     8 * KEPT_SLAB_BYTES);
	bytes = dw_smaller_of(bytes, limit - least);
	return bytes / KEPT_SLAB_BYTES * KEPT_SLAB_BYTES;
}

/* What a reader takes that compares files with an image: a block as stored and decompressed,
 * which the cache cannot drop, and the window of its decoder, which is at most as large. */
static uint64_t comparing_bytes(const struct assembly *assembly)
{
	uint64_t most = 0;

	for (size_t i = 0; assembly && i < assembly->image_count; i++)
		most = dw_larger_of(most, UINT64_C(1) << assembly->images[i]->block_bits);
	return 3 * most;
}

int dw_budget_begin(dwarfs_builder *builder, const struct workload *workload,
		    uint32_t readers, struct budget *budget_out, dwarfs_error **err)
{
	uint64_t limit = builder->options.memory_limit, least;
	uint64_t comparing = comparing_bytes(builder->assembly);
	const struct categorize_options *categorize = &builder->options.categorize;
	bool any = categorize->count > 0 || categorize->callback;
	auto_free uint8_t *used = dw_calloc(builder->total_count, 1);
	auto_free uint64_t *stream_bytes =
		dw_calloc(builder->total_count, sizeof(*stream_bytes));
	struct memory_plan plan;

	*budget_out = (struct budget){
		.readers = readers,
		.kept_bytes = KEPT_TOTAL_BYTES,
		.shingles = SKETCH_MAX_SHINGLES,
		.orders_by_heads = true,
		.tries_orders = true,
		.trial_codecs = { .has_dense = true, .has_numbers = true },
		.max_chunks = UINT64_MAX,
		.metadata_bytes = UINT64_MAX,
	};
	if (limit == 0)
		return 0;
	if (!used || !stream_bytes)
		return dw_fail_nomem(err);
	for (size_t i = 0; i < builder->total_count; i++) {
		used[i] = any || i == CATEGORY_DEFAULT;
		stream_bytes[i] = workload->bytes;
	}
	plan = begin_plan(builder, workload, used, stream_bytes);
	if ((least = least_bytes(&plan, err)) == 0)
		return DWARFS_ERR_NOMEM;
	if (least > limit)
		return fail_limit(limit, least, err);
	budget_out->kept_bytes = bytes_to_keep(workload, limit, least);
	while (budget_out->readers > 1 &&
	       dw_estimate_reading(&builder->options, workload, budget_out->readers) +
			       budget_out->readers * comparing + budget_out->kept_bytes >
		       limit)
		budget_out->readers--;
	return 0;
}

static bool chooses_order(const struct memory_plan *plan, size_t category)
{
	return plan->used[category] &&
	       plan->settings[category].order.ops == &dw_order_auto;
}

static bool chooses_orders(const struct memory_plan *plan)
{
	for (size_t i = 0; i < plan->category_count; i++)
		if (chooses_order(plan, i))
			return true;
	return false;
}

/* Fast codecs are tried themselves, and need no other one. */
static bool tries_another_codec(const struct memory_plan *plan)
{
	for (size_t i = 0; i < plan->category_count; i++)
		if (chooses_order(plan, i) &&
		    dw_codec_speed(&plan->settings[i].codec) != CODEC_FAST)
			return true;
	return false;
}

/* Those that there is memory for, and that the streams have. */
static struct trial_codecs trial_codecs(const struct memory_plan *plan)
{
	struct trial_codecs codecs = { 0 };

	for (size_t i = 0; i < plan->category_count; i++) {
		const struct stream_settings *settings = &plan->settings[i];

		if (!chooses_order(plan, i) || !settings->has_dense)
			continue;
		codecs.has_dense |= plan->budget.trial_codecs.has_dense;
		codecs.has_numbers |= settings->dense_has_numbers &&
				      plan->budget.trial_codecs.has_numbers;
	}
	return codecs;
}

/* Memory while an order is tried with this number of workers: as while blocks are written, by a
 * codec that may take more. */
static uint64_t cost_of_trials(const struct memory_plan *plan, uint32_t workers)
{
	struct memory_plan trial = *plan;
	uint64_t codec = dw_memory_plan_codec_bytes(plan);
	uint64_t own = tries_another_codec(plan)
			       ? dw_trial_codec_memory(trial_codecs(plan),
						       (size_t)1 << plan->block_bits)
			       : 0;

	trial.budget.workers = workers;
	trial.budget.waiting = 0;
	return dw_memory_plan_cost(&trial) + plan->workload.fragments * BYTES_OF_ORDERS +
	       dw_larger_of(workers, 1) * (own > codec ? own - codec : 0);
}

/* Whether orders are tried, and by which codecs, does not depend on the number of workers. */
static void plan_trials(struct memory_plan *plan, uint64_t limit)
{
	static const struct trial_codecs kinds[] = { { .has_dense = true,
						       .has_numbers = true },
						     { .has_numbers = true },
						     { .has_dense = false } };
	struct budget *budget = &plan->budget;

	budget->tries_orders = false;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]) && !budget->tries_orders;
	     i++) {
		budget->trial_codecs = kinds[i];
		budget->tries_orders = cost_of_trials(plan, 1) <= limit;
	}
	while (budget->trial_workers > 1 &&
	       cost_of_trials(plan, budget->trial_workers) > limit)
		budget->trial_workers--;
}

/* Fit the choice of an order: first without some orders, then with a smaller sketch. */
static void plan_orders(struct memory_plan *plan, dwarfs_context *context, uint64_t limit)
{
	struct budget *budget = &plan->budget;
	uint64_t room = limit > budget->kept_bytes ? limit - budget->kept_bytes : 0;

	if (!chooses_orders(plan))
		return;
	plan_trials(plan, limit);
	while (budget->shingles > 0 &&
	       dw_estimate_order(&plan->workload, budget->shingles,
				 budget->orders_by_heads) > room) {
		if (budget->orders_by_heads)
			budget->orders_by_heads = false;
		else
			budget->shingles = budget->shingles > MIN_SHINGLES
						   ? budget->shingles / 2
						   : 0;
	}
	if (!budget->orders_by_heads)
		dw_log(context, DWARFS_LOG_VERBOSE,
		       "memory limit of %" PRIu64
		       " MiB: %zu shingles, and no fingerprints, to choose an order",
		       limit / MIB, budget->shingles);
	if (!budget->tries_orders)
		dw_log(context, DWARFS_LOG_VERBOSE,
		       "memory limit of %" PRIu64 " MiB: no order is tried by packing",
		       limit / MIB);
}

static void plan_chunks(struct memory_plan *plan, uint64_t limit)
{
	while (dw_estimate_metadata(&plan->workload, plan->budget.max_chunks) > limit &&
	       dw_memory_plan_shrink_chunks(plan))
		continue;
}

/* Allow more chunks, with half of the memory left: the rest is for workers. */
static void raise_chunks(struct memory_plan *plan, uint64_t limit)
{
	struct budget *budget = &plan->budget;
	uint64_t most =
		plan->workload.fragments + plan->workload.bytes / LEAST_CHUNK_BYTES;
	uint64_t blocks = dw_memory_plan_cost(plan);
	uint64_t metadata = dw_estimate_metadata(&plan->workload, budget->max_chunks);
	uint64_t each =
		dw_estimate_metadata(&plan->workload, budget->max_chunks + 1) - metadata;
	uint64_t room;

	if (blocks >= limit || metadata >= limit || budget->max_chunks >= most)
		return;
	room = dw_smaller_of((limit - blocks) / ESTIMATE_PER_CHUNK,
			     (limit - metadata) / each);
	budget->max_chunks = dw_smaller_of(most, budget->max_chunks + room / 2);
}

/* Plan all that changes the image, for one worker. */
static void plan_size(struct memory_plan *plan, dwarfs_context *context, uint64_t limit)
{
	struct memory_plan lean = lean_plan(plan);

	dw_memory_plan_fit(&lean, context, limit, STEPS_OF_SIZE, DWARFS_LOG_WARN);
	dw_memory_plan_drop_literals(&lean, context, limit);
	raise_chunks(&lean, limit);
	lean.budget.workers = plan->budget.workers;
	lean.budget.waiting = plan->budget.waiting;
	*plan = lean;
}

static int plan_for_limit(struct memory_plan *plan, dwarfs_context *context,
			  uint64_t limit, dwarfs_error **err)
{
	uint64_t needed;

	plan_chunks(plan, limit);
	plan_size(plan, context, limit);
	dw_memory_plan_fit(plan, context, limit, STEPS_OF_SPEED, DWARFS_LOG_VERBOSE);
	needed = dw_larger_of(
		dw_memory_plan_cost(plan),
		dw_estimate_metadata(&plan->workload, plan->budget.max_chunks));
	if (needed > limit) {
		/* A higher limit also keeps more files. */
		needed -= plan->budget.kept_bytes;
		needed += needed / (KEPT_SHARE - 1) + KEPT_SLAB_BYTES;
		return fail_limit(limit, dw_larger_of(needed, limit + MIB), err);
	}
	plan->budget.trial_workers = plan->budget.workers;
	plan_orders(plan, context, limit);
	plan->budget.metadata_bytes = limit - dw_estimate_frozen(&plan->workload);
	return 0;
}

/* The categories of the contents, and how many bytes each has. */
static void note_streams(const struct contents *contents, uint8_t *used,
			 uint64_t *stream_bytes)
{
	const struct stream *streams = contents->streams.list;

	for (size_t i = 0; i < contents->streams.count; i++)
		used[streams[i].category] = true;
	for (size_t i = 0; i < contents->fragment_count; i++) {
		const struct fragment *fragment = &contents->fragments[i];

		if (fragment->stream != DW_NONE) /* else it is in a block of an image */
			stream_bytes[streams[fragment->stream].category] +=
				fragment->size;
	}
}

int dw_budget_plan(dwarfs_builder *builder, const struct workload *workload,
		   const struct contents *contents, struct budget *budget,
		   dwarfs_error **err)
{
	uint64_t limit = builder->options.memory_limit;
	auto_free uint8_t *used = dw_calloc(builder->total_count, 1);
	auto_free uint64_t *stream_bytes =
		dw_calloc(builder->total_count, sizeof(*stream_bytes));
	struct memory_plan plan;
	int ret;

	if (!used || !stream_bytes)
		return dw_fail_nomem(err);
	note_streams(contents, used, stream_bytes);
	plan = begin_plan(builder, workload, used, stream_bytes);
	plan.budget.readers = budget->readers;
	plan.budget.kept_bytes = budget->kept_bytes;
	plan.budget.shingles = budget->shingles;
	plan.budget.orders_by_heads = budget->orders_by_heads;
	plan.budget.tries_orders = budget->tries_orders;
	plan.budget.trial_codecs = budget->trial_codecs;
	plan.budget.metadata_bytes = budget->metadata_bytes;
	if (limit == 0) {
		limit = dwarfs_usable_memory() / DEFAULT_SHARE;
		dw_memory_plan_fit(&plan, builder->context, limit, STEPS_OF_WORKERS,
				   DWARFS_LOG_VERBOSE);
		plan.budget.max_chunks = UINT64_MAX;
		plan.budget.trial_workers = plan.budget.workers;
	} else if ((ret = plan_for_limit(&plan, builder->context, limit, err)) < 0) {
		return ret;
	}
	builder->options.block_bits = plan.block_bits;
	*budget = plan.budget;
	return 0;
}

bool dw_budget_metadata_codec(const struct budget *budget, uint64_t chunks,
			      uint64_t bytes, struct codec_spec *codec)
{
	uint64_t taken = chunks * sizeof(struct chunk);
	uint64_t room =
		budget->metadata_bytes - dw_smaller_of(taken, budget->metadata_bytes);

	if (budget->metadata_bytes == UINT64_MAX)
		return true;
	/* The tables, uncompressed and compressed. */
	while (2 * bytes + dw_codec_memory(codec, (size_t)bytes) > room)
		if (!dw_codec_shrink(codec, (size_t)bytes))
			return false;
	return true;
}
