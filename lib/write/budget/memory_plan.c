/* SPDX-License-Identifier: MIT */
/*
 * write/budget/memory_plan: the memory that a plan takes.
 *
 * The sum of records, kept files, chunks, the anchor index, blocks in progress and their
 * compressed bytes, and codecs. Takes the plan as it is, and changes nothing.
 */
#include "write/budget/memory_plan.h"

#define MIB ((uint64_t)1 << 20)

/* The number of chunks is at least that of chunks of this size. */
#define MOST_CHUNK_BYTES 65536
#define MAX_LEAST_CHUNKS (UINT64_C(1) << 20)

/* File pieces, their anchors, and pages of stored_window. */
#define REST_BYTES	(6 * MIB)
#define REST_PER_WORKER (MIB / 2)

size_t dw_memory_plan_block_fill(const struct memory_plan *plan, uint32_t category)
{
	size_t block = (size_t)1 << plan->block_bits;
	uint64_t bytes = plan->stream_bytes[category];

	if (plan->workload.packs_again || bytes >= block)
		return block;
	return bytes > 0 ? (size_t)bytes : 1;
}

struct packing dw_memory_plan_packing(const struct memory_plan *plan, uint32_t category)
{
	struct packing packing = dw_packing_of(plan->settings, category);

	packing.has_literal &= !plan->without_literals;
	packing.has_dense &= !plan->without_literals || packing.dense_has_numbers;
	return packing;
}

uint64_t dw_memory_plan_packing_bytes(const struct memory_plan *plan, uint32_t category)
{
	struct packing packing = dw_memory_plan_packing(plan, category);

	return plan->used[category]
		       ? dw_packing_memory(&packing,
					   dw_memory_plan_block_fill(plan, category))
		       : 0;
}

uint64_t dw_memory_plan_codec_bytes(const struct memory_plan *plan)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < plan->category_count; i++)
		most = dw_larger_of(most, dw_memory_plan_packing_bytes(plan, i));
	return most;
}

uint64_t dw_memory_plan_new_bytes(const struct memory_plan *plan)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < plan->category_count; i++)
		bytes += plan->used[i] ? dw_smaller_of(plan->stream_bytes[i],
						       plan->workload.bytes - bytes)
				       : 0;
	return bytes;
}

/* Memory of a number of blocks. Together they hold no more than all contents; the last one of
 * each stream may have memory that is not used. A copied block counts as one of them. */
static uint64_t bytes_of_blocks(const struct memory_plan *plan, uint64_t count)
{
	uint64_t block = UINT64_C(1) << plan->block_bits,
		 bytes = dw_memory_plan_new_bytes(plan);

	if (plan->workload.packs_again)
		return count * block;
	bytes += plan->has_images || bytes > block ? block : 0;
	return dw_smaller_of(count * block, bytes);
}

static uint64_t blocks_bytes(const struct memory_plan *plan)
{
	const struct budget *budget = &plan->budget;
	uint64_t packing = budget->workers > 0 ? budget->workers : 1;
	uint64_t in_flight = packing + budget->waiting;
	uint64_t kept = (budget->window_bytes >> plan->block_bits) + 1;

	/* Blocks in progress are among those in the window; one more is being filled. */
	return bytes_of_blocks(plan, dw_larger_of(kept, in_flight) + 1) +
	       bytes_of_blocks(plan, in_flight) +
	       packing * (dw_memory_plan_codec_bytes(plan) + REST_PER_WORKER);
}

uint64_t dw_memory_plan_cost(const struct memory_plan *plan)
{
	const struct budget *budget = &plan->budget;

	return dw_estimate_records(&plan->workload) + REST_BYTES + budget->kept_bytes +
	       plan->workload.fragments * 2 * sizeof(uint32_t) +
	       plan->workload.directories * 2 * sizeof(uint64_t) + /* units of locality */
	       budget->max_chunks * ESTIMATE_PER_CHUNK +
	       dw_smaller_of(plan->anchors, budget->index_bytes) + blocks_bytes(plan);
}

uint64_t dw_memory_plan_least_chunks(const struct memory_plan *plan)
{
	return plan->workload.fragments +
	       dw_smaller_of(plan->workload.bytes / MOST_CHUNK_BYTES, MAX_LEAST_CHUNKS) +
	       1024;
}
