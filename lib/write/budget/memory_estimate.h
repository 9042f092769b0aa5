/* SPDX-License-Identifier: MIT */
/*
 * write/budget/memory_estimate: what the stages of a run take in memory.
 *
 * All of it follows from the input and from what was asked for, so that it is the same
 * each time; numbers are upper bounds.
 */
#ifndef DW_WRITE_BUDGET_MEMORY_ESTIMATE_H
#define DW_WRITE_BUDGET_MEMORY_ESTIMATE_H

#include "write/builder.h"
#include "write/inspect/unique_contents.h"

/* What there is to deal with. */
struct workload {
	uint64_t base; /* bytes that the process has before the run */
	uint64_t entries, inodes, directories;
	uint64_t names, name_bytes;	     /* of links, too */
	uint64_t files, contents, fragments; /* without empty ones */
	uint64_t bytes;			     /* of contents */
	uint64_t small_bytes;		     /* of files that may be kept */
	bool all_times;
	uint64_t xattr_bytes; /* the sets of extended attributes */
};

/* The bytes that the process has now, coarse enough not to differ by chance. */
uint64_t dw_estimate_base(void);

/* Before files were read: no two of them may be equal. */
struct workload dw_workload_of_tree(const struct build_run *run, const struct tree *tree);

/* While a tree grows: look now and then whether it alone is too large for the limit. */
bool dw_estimate_exceeds_limit(const struct build_run *run, const struct tree *tree);

/* Once it is known which are. */
void dw_workload_refine(struct workload *workload, const struct contents *contents);

/* Tree and contents, base included: what is there from reading files on. */
uint64_t dw_estimate_records(const struct workload *workload);

/* The process while so many threads read files, without what is kept of these. */
uint64_t dw_estimate_reading(const struct build_options *options,
			     const struct workload *workload, uint32_t readers);

/* While fragments are put in order, by a sketch of so many shingles, and also by
 * fingerprints of their heads. */
uint64_t dw_estimate_order(const struct workload *workload, uint64_t shingles,
			   bool by_heads);

/* While tables are made of so many chunks. */
uint64_t dw_estimate_metadata(const struct workload *workload, uint64_t chunks);

/* What a chunk takes while blocks are made. */
#define ESTIMATE_PER_CHUNK UINT64_C(64)

#endif
