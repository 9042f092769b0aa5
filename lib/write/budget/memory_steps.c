/* SPDX-License-Identifier: MIT */
/*
 * write/budget/memory_steps: the steps by which a plan takes less memory.
 *
 * Each lowers one term of the cost of memory_plan. They are taken in the order of their
 * lists until the plan fits its limit.
 */
#include "write/budget/memory_steps.h"

#define MIB	       ((uint64_t)1 << 20)
#define MIN_INDEX      (1 * MIB)
#define MIN_BLOCK_BITS 16

static bool wait_less(struct memory_plan *plan)
{
	struct budget *budget = &plan->budget;

	if (budget->waiting == 0)
		return false;
	budget->waiting = budget->waiting > 1 ? 1 : 0;
	return true;
}

static bool use_fewer_workers(struct memory_plan *plan)
{
	if (plan->budget.workers <= 1)
		return false;
	plan->budget.workers--;
	return true;
}

/* Few data are for this codec and that of numbers: all others would lose by each of the other
 * steps. */
static bool do_without_literals(struct memory_plan *plan)
{
	bool had = !plan->without_literals;

	plan->without_literals = true;
	return had;
}

static bool shrink_index(struct memory_plan *plan)
{
	struct budget *budget = &plan->budget;
	uint64_t index = dw_smaller_of(plan->anchors, budget->index_bytes);

	if (index <= MIN_INDEX && budget->window_bytes == 0)
		return false;
	if (index > MIN_INDEX)
		budget->index_bytes = dw_larger_of(index / 2, MIN_INDEX);
	budget->window_bytes /= 2;
	if (budget->window_bytes < MIB)
		budget->window_bytes = 0;
	return true;
}

bool dw_memory_plan_shrink_chunks(struct memory_plan *plan)
{
	struct budget *budget = &plan->budget;

	if (budget->max_chunks <= dw_memory_plan_least_chunks(plan))
		return false;
	budget->max_chunks =
		dw_larger_of(budget->max_chunks / 2, dw_memory_plan_least_chunks(plan));
	return true;
}

/* Shrink the codec of a stream that needs the most memory, or do without a fallback that cannot
 * be shrunk. */
static bool shrink_packing(struct stream_settings *settings,
			   const struct packing *packing, size_t block_bytes)
{
	if (packing->has_fallback) {
		settings->falls_back = dw_codec_shrink(&settings->fallback, block_bytes);
		return true;
	}
	if (settings->has_dense && dw_codec_memory(&settings->dense, block_bytes) >
					   dw_codec_memory(&settings->codec, block_bytes))
		return dw_codec_shrink(&settings->dense, block_bytes);
	return dw_codec_shrink(&settings->codec, block_bytes);
}

static bool shrink_codecs(struct memory_plan *plan)
{
	uint64_t most = dw_memory_plan_codec_bytes(plan);
	bool any = false;

	for (uint32_t i = 0; i < plan->category_count; i++) {
		struct packing packing = dw_memory_plan_packing(plan, i);

		if (plan->used[i] && dw_memory_plan_packing_bytes(plan, i) == most)
			any |= shrink_packing(&plan->settings[i], &packing,
					      dw_memory_plan_block_fill(plan, i));
	}
	return any;
}

static bool shrink_blocks(struct memory_plan *plan)
{
	if (plan->block_bits <= MIN_BLOCK_BITS ||
	    plan->block_bits <= plan->options->least_block_bits)
		return false;
	plan->block_bits--;
	return true;
}

struct step {
	bool (*take)(struct memory_plan *plan);
	const char *text;
};

/* In this order. These steps do not change the image: */
static const struct step of_speed[] = {
	{ use_fewer_workers, "fewer workers" },
	{ wait_less, "fewer blocks that wait" },
	{ NULL, NULL },
};

/* The only step for the default limit. */
static const struct step of_workers[] = {
	{ use_fewer_workers, "fewer workers" },
	{ NULL, NULL },
};

static const struct step of_size[] = {
	{ do_without_literals, NULL }, /* logged when the others were taken */
	{ shrink_index, "a coarser index of repeated bytes" },
	{ shrink_codecs, "compressors with less memory" },
	{ shrink_blocks, "smaller blocks" },
	{ dw_memory_plan_shrink_chunks, "fewer repeated bytes" },
	{ NULL, NULL },
};

static void log_step(dwarfs_context *context, const struct memory_plan *plan,
		     uint64_t limit, int level, const char *what)
{
	dw_log(context, level,
	       "memory limit of %" PRIu64 " MiB: %s (%" PRIu32
	       " workers, blocks of %" PRIu64 " KiB)",
	       limit / MIB, what, plan->budget.workers,
	       (UINT64_C(1) << plan->block_bits) / 1024);
}

void dw_memory_plan_fit(struct memory_plan *plan, dwarfs_context *context, uint64_t limit,
			enum memory_steps which, int log_level)
{
	static const struct step *const lists[] = {
		[STEPS_OF_SPEED] = of_speed,
		[STEPS_OF_WORKERS] = of_workers,
		[STEPS_OF_SIZE] = of_size,
	};
	const struct step *steps = lists[which];

	for (; steps->take; steps++) {
		bool taken = false;

		while (dw_memory_plan_cost(plan) > limit && steps->take(plan))
			taken = true;
		if (taken && context && steps->text)
			log_step(context, plan, limit, log_level, steps->text);
	}
}

void dw_memory_plan_drop_literals(struct memory_plan *plan, dwarfs_context *context,
				  uint64_t limit)
{
	bool any = false;

	if (!plan->without_literals)
		return;
	plan->without_literals = false;
	if (dw_memory_plan_cost(plan) <= limit)
		return;
	for (size_t i = 0; i < plan->category_count; i++) {
		any |= plan->used[i] && plan->settings[i].has_literal;
		plan->settings[i].has_literal = false;
		plan->settings[i].has_dense &= plan->settings[i].dense_has_numbers;
	}
	if (any)
		log_step(context, plan, limit, DWARFS_LOG_WARN,
			 "no codec for blocks with few repeats");
}
