/* SPDX-License-Identifier: MIT */
/*
 * write/budget/budget: plan the memory of the stages within a limit.
 */
#ifndef DW_WRITE_BUDGET_BUDGET_H
#define DW_WRITE_BUDGET_BUDGET_H

#include "write/build_run.h"
#include "write/inspect/unique_contents.h"

struct workload;

/* Codecs besides that of a trial of orders, as far as there is memory. */
struct trial_codecs {
	bool has_dense;	  /* lzma for dense blocks, whose result is compared */
	bool has_numbers; /* lzma for numbers */
};

/* Memory and threads of the stages. */
struct budget {
	/* From dw_budget_begin() on. */
	uint32_t readers;    /* threads that read files */
	uint64_t kept_bytes; /* of small files, so that they need not be read again */

	/* From dw_budget_plan() on. */
	size_t shingles;	/* of the sketch, at most; 0: no choice among orders */
	bool orders_by_heads;	/* include orders that need other fingerprints */
	bool tries_orders;	/* pack a stream in several orders, to compare them */
	uint32_t trial_workers; /* for that */
	struct trial_codecs trial_codecs;
	uint32_t workers;
	uint32_t waiting;	 /* queued blocks */
	uint64_t index_bytes;	 /* of the anchor index, at most */
	uint64_t window_bytes;	 /* of stored blocks in memory, for matching */
	uint64_t max_chunks;	 /* no more matching from this number on */
	uint64_t metadata_bytes; /* for chunks and packed tables; UINT64_MAX: no limit */
};

/*
 * Plan reading, after the scan. DWARFS_ERR_LIMIT if the given limit is too low for the
 * input, with the least sufficient one.
 */
int dw_budget_begin(dwarfs_builder *builder, const struct workload *workload,
		    uint32_t readers, struct budget *budget_out, dwarfs_error **err);

/*
 * Plan the streams of these contents. A given limit is met by fewer workers, fewer queued
 * blocks, a coarser index, codecs with less memory, and smaller blocks, in this order,
 * which is logged. The default limit reduces workers only, as other steps change the
 * image.
 *
 * May change the block size in the options and the codecs in the settings.
 */
int dw_budget_plan(dwarfs_builder *builder, const struct workload *workload,
		   const struct contents *contents, struct budget *budget,
		   dwarfs_error **err);

/* Shrink a codec until compressing the metadata fits besides the chunks; false if
 * impossible. */
bool dw_budget_metadata_codec(const struct budget *budget, uint64_t chunks,
			      uint64_t bytes, struct codec_spec *codec);

#endif
