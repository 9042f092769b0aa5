/* SPDX-License-Identifier: MIT */
/*
 * write/budget/budget: how much memory a run may take, and how to keep to it.
 */
#ifndef DW_WRITE_BUDGET_BUDGET_H
#define DW_WRITE_BUDGET_BUDGET_H

#include "write/builder.h"
#include "write/inspect/unique_contents.h"

struct workload;

/* What the stages of a run take. */
struct budget {
	/* From dw_budget_begin() on. */
	uint32_t readers;    /* threads that look at files */
	uint64_t kept_bytes; /* of small files, so that they need not be read again */

	/* From dw_budget_plan() on. */
	size_t shingles;      /* to choose an order by, at most; 0: choose none */
	bool orders_by_heads; /* among orders that need fingerprints of their own, too */
	uint32_t workers;
	uint32_t waiting;      /* blocks that may wait for a worker */
	uint64_t index_bytes;  /* for anchors, at most */
	uint64_t window_bytes; /* of stored bytes that are kept to be compared with */
	uint64_t max_chunks; /* when there are so many, no more matches are looked for */
	uint64_t metadata_bytes; /* for chunks and packed tables; UINT64_MAX: no limit */
};

/*
 * Once the tree is known: how files are looked at. DWARFS_ERR_LIMIT, with the least
 * amount that would do, when the limit that was given is too low for this input.
 */
int dw_budget_begin(dwarfs_builder *builder, const struct workload *workload,
		    uint32_t readers, struct budget *budget_out, dwarfs_error **err);

/*
 * Plan for the streams of these contents. A limit that was given makes do with fewer
 * workers, then fewer blocks that wait, then a coarser index, then compressors that take
 * less, then smaller blocks, and the log says so. The default limit takes workers only,
 * as the rest would change the image.
 *
 * May change the block size in options, and the codecs in settings.
 */
int dw_budget_plan(dwarfs_builder *builder, const struct workload *workload,
		   const struct contents *contents, struct budget *budget,
		   dwarfs_error **err);

/* Shrink a codec until there is room to pack so much metadata besides so many chunks; false
 * when there is none. */
bool dw_budget_metadata_codec(const struct budget *budget, uint64_t chunks,
			      uint64_t bytes, struct codec_spec *codec);

#endif
