/* SPDX-License-Identifier: MIT */
/*
 * write/budget/memory_plan: a plan for the stream of blocks, and the memory that it takes.
 */
#ifndef DW_WRITE_BUDGET_MEMORY_PLAN_H
#define DW_WRITE_BUDGET_MEMORY_PLAN_H

#include "write/budget/budget.h"
#include "write/budget/memory_estimate.h"
#include "write/pack/block_packer.h"

struct memory_plan {
	struct budget budget;
	const struct build_options *options;
	struct workload workload;
	uint32_t block_bits;
	struct stream_settings *settings; /* by category */
	const uint8_t *used;		  /* categories in use */
	const uint64_t *stream_bytes;	  /* of the contents in each category, at most */
	size_t category_count;
	bool has_images; /* of which blocks may be kept */
	/* has_literal of the settings does not count, nor has_dense of level 5, which is worth less
	 * than blocks of the usual size */
	bool without_literals;
	uint64_t anchors; /* bytes of a full index */
};

static inline uint64_t dw_smaller_of(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t dw_larger_of(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* The most that a block of a category holds. */
size_t dw_memory_plan_block_fill(const struct memory_plan *plan, uint32_t category);

/* The codecs of a category, and their memory; 0 if it is not in use. */
struct packing dw_memory_plan_packing(const struct memory_plan *plan, uint32_t category);
uint64_t dw_memory_plan_packing_bytes(const struct memory_plan *plan, uint32_t category);

/* Memory of the largest codec in use. */
uint64_t dw_memory_plan_codec_bytes(const struct memory_plan *plan);

/* Bytes that are not in blocks of images, at most. */
uint64_t dw_memory_plan_new_bytes(const struct memory_plan *plan);

/* The least number of chunks that a plan may have. */
uint64_t dw_memory_plan_least_chunks(const struct memory_plan *plan);

/* Memory while blocks are filled and compressed. */
uint64_t dw_memory_plan_cost(const struct memory_plan *plan);

#endif
