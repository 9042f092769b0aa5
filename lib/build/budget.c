/* SPDX-License-Identifier: MIT */
/*
 * build/budget: how much memory the making of blocks may take, and how to keep to it.
 *
 * Adds up what is known to be needed: what the process has already, blocks on their way,
 * what they are packed into, compressors, the index of anchors. All of these are bounded,
 * so that the sum is one for the peak.
 */
#include "build/budget.h"
#include "build/builder.h"
#include "build/segment.h"
#include "os/memory.h"

#define MIB ((uint64_t)1 << 20)

/* Blocks that wait for a worker, so that none is idle while the next one is read. Small
 * blocks are packed so fast that more of them are needed. */
#define WAITING_BYTES  (4 * MIB)
#define MAX_WAITING    64

#define INDEX_BYTES    (256 * MIB)
#define HISTORY_BYTES  (48 * MIB)
#define MIN_INDEX      (1 * MIB)
#define MIN_BLOCK_BITS 16

/* Pieces of files, pages of old bytes, stacks and what allocators waste. */
#define REST_BYTES	  (12 * MIB)
#define REST_PER_WORKER	  (1 * MIB)
#define DEFAULT_SHARE	  4 /* of the machine: one part in */

struct plan {
	struct budget budget;
	uint32_t block_bits;
	struct stream_settings *settings; /* by category */
	uint64_t anchors;		  /* bytes of a full index */
};

static uint32_t waiting_blocks(uint32_t block_bits)
{
	uint64_t waiting = 1 + (WAITING_BYTES >> block_bits);

	return waiting < MAX_WAITING ? (uint32_t)waiting : MAX_WAITING;
}

/* What the largest compressor of any stream takes. */
static uint64_t codec_bytes(const struct plan *plan, const struct contents *contents)
{
	uint64_t most = 0;

	for (size_t i = 0; i < contents->streams.count; i++) {
		uint32_t category = contents->streams.list[i].category;
		uint64_t bytes = dw_codec_memory(&plan->settings[category].codec,
						 (size_t)1 << plan->block_bits);

		most = bytes > most ? bytes : most;
	}
	return most;
}

static uint64_t cost(const struct plan *plan, const struct contents *contents)
{
	const struct budget *budget = &plan->budget;
	uint64_t block = UINT64_C(1) << plan->block_bits;
	uint64_t packing = budget->workers > 0 ? budget->workers : 1;
	uint64_t under_way = packing + budget->waiting;
	uint64_t kept = budget->history_bytes / block + 1;
	uint64_t index = plan->anchors < budget->index_bytes ? plan->anchors
							     : budget->index_bytes;

	/* Blocks under way are among those that are kept; one is being filled. */
	return ((kept > under_way ? kept : under_way) + 1) * block + under_way * block +
	       packing * (codec_bytes(plan, contents) + REST_PER_WORKER) + index +
	       REST_BYTES;
}

/* -- making do with less --------------------------------------------------------------- */

static bool drop_worker(struct plan *plan, const struct contents *contents)
{
	if (plan->budget.workers <= 1)
		return false;
	plan->budget.workers--;
	return true;
}

static bool shrink_index(struct plan *plan, const struct contents *contents)
{
	struct budget *budget = &plan->budget;
	uint64_t index = plan->anchors < budget->index_bytes ? plan->anchors
							     : budget->index_bytes;

	if (index <= MIN_INDEX && budget->history_bytes == 0)
		return false;
	if (index > MIN_INDEX)
		budget->index_bytes = index / 2 > MIN_INDEX ? index / 2 : MIN_INDEX;
	budget->history_bytes /= 2;
	if (budget->history_bytes < MIB)
		budget->history_bytes = 0;
	return true;
}

static bool shrink_codecs(struct plan *plan, const struct contents *contents)
{
	size_t block_bytes = (size_t)1 << plan->block_bits;
	uint64_t most = codec_bytes(plan, contents);
	bool any = false;

	if (plan->budget.waiting > 1) {
		plan->budget.waiting = 1;
		return true;
	}
	for (size_t i = 0; i < contents->streams.count; i++) {
		uint32_t category = contents->streams.list[i].category;
		struct codec_spec *codec = &plan->settings[category].codec;

		if (dw_codec_memory(codec, block_bytes) == most)
			any |= dw_codec_shrink(codec, block_bytes);
	}
	return any;
}

static bool shrink_blocks(struct plan *plan, const struct contents *contents)
{
	if (plan->block_bits <= MIN_BLOCK_BITS)
		return false;
	plan->block_bits--;
	return true;
}

/* In the order in which they are taken; only the first leaves the image as it is. */
static const struct step {
	bool (*take)(struct plan *plan, const struct contents *contents);
	const char *text;
} steps[] = {
	{ drop_worker, "fewer workers" },
	{ shrink_index, "a coarser index of repeated bytes" },
	{ shrink_codecs, "compressors with less memory" },
	{ shrink_blocks, "smaller blocks" },
};

static void tell(dwarfs_context *context, const struct plan *plan, uint64_t limit,
		 int level, const char *what)
{
	dw_log(context, level,
	       "memory limit of %" PRIu64 " MiB: %s (%" PRIu32
	       " workers, blocks of %" PRIu64 " KiB)",
	       limit / MIB, what, plan->budget.workers,
	       (UINT64_C(1) << plan->block_bits) / 1024);
}

/* Take steps until the limit holds; 0, or what is needed all the same. */
static uint64_t fit(struct plan *plan, const struct contents *contents,
		    dwarfs_context *context, uint64_t limit, uint64_t base, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		bool taken = false;

		while (base + cost(plan, contents) > limit &&
		       steps[i].take(plan, contents))
			taken = true;
		if (taken)
			tell(context, plan, limit,
			     count == 1 ? DWARFS_LOG_VERBOSE : DWARFS_LOG_WARN,
			     steps[i].text);
	}
	return base + cost(plan, contents) > limit ? base + cost(plan, contents) : 0;
}

/* An entry of eight bytes for each anchor, at a load of 0.6. */
static uint64_t index_bytes(const struct plan *plan, const struct contents *contents)
{
	uint64_t bytes = 0, total = 0;
	unsigned densest = 64;

	for (size_t i = 0; i < contents->fragment_count; i++)
		total += contents->fragments[i].size;
	for (size_t i = 0; i < contents->streams.count; i++) {
		uint32_t category = contents->streams.list[i].category;
		const struct stream_settings *settings = &plan->settings[category];
		unsigned shift;

		if (settings->window_bits == 0 || settings->lookback == 0)
			continue;
		shift = dw_anchor_shift(settings);
		densest = shift < densest ? shift : densest;
	}
	if (densest < 64)
		bytes = (total >> densest) * 13;
	return bytes;
}

int dw_budget_plan(dwarfs_builder *builder, const struct contents *contents,
		   struct budget *budget_out, dwarfs_error **err)
{
	uint64_t limit = builder->options.memory_limit, base = dw_os_resident_bytes(),
		 least;
	struct plan plan = {
		.budget = {
			.workers = dw_context_workers(builder->context),
			.waiting = waiting_blocks(builder->options.block_bits),
			.index_bytes = INDEX_BYTES,
			.history_bytes = HISTORY_BYTES,
		},
		.block_bits = builder->options.block_bits,
		.settings = builder->settings,
	};

	plan.anchors = index_bytes(&plan, contents);
	if (limit == 0) {
		limit = dw_os_machine_bytes() / DEFAULT_SHARE;
		if (limit != 0)
			fit(&plan, contents, builder->context, limit, base, 1);
	} else {
		least = fit(&plan, contents, builder->context, limit, base,
			    sizeof(steps) / sizeof(steps[0]));
		if (least > 0)
			return dw_fail(err, DWARFS_ERR_LIMIT,
				       "memory limit of %" PRIu64
				       " MiB is too low: %" PRIu64 " MiB would do",
				       limit / MIB, (least + MIB - 1) / MIB);
	}
	builder->options.block_bits = plan.block_bits;
	*budget_out = plan.budget;
	return 0;
}
