/* SPDX-License-Identifier: MIT */
/*
 * write/budget/memory_estimate: upper bounds of the memory of each stage.
 *
 * They depend on input and options only, so they are the same in each run.
 */
#ifndef DW_WRITE_BUDGET_MEMORY_ESTIMATE_H
#define DW_WRITE_BUDGET_MEMORY_ESTIMATE_H

#include "write/build_run.h"
#include "write/inspect/unique_contents.h"

/* Size of the input. */
struct workload {
	uint64_t base; /* memory of the process before the run */
	uint64_t entries, inodes, directories;
	uint64_t names, name_bytes;	     /* including link targets */
	uint64_t files, contents, fragments; /* without empty files */
	uint64_t bytes;			     /* of contents */
	bool packs_again;		     /* blocks of images, too */
	uint64_t small_bytes;		     /* of files that may be kept */
	bool all_times;
	bool has_digests;     /* of contents, and anchors of blocks */
	uint64_t xattr_bytes; /* the sets of extended attributes */
};

/* Memory of the process now, rounded so that it does not vary by chance. */
uint64_t dw_estimate_base(void);

/* The one of the limits of a builder that leaves less, and the memory before the run that
 * counts for it. */
struct memory_bound {
	uint64_t limit, base;
};
struct memory_bound dw_memory_bound(const struct build_options *options,
				    uint64_t process_base, uint64_t own_base);

/* After the scan: assumes that no two files are equal. */
struct workload dw_workload_of_tree(const struct build_run *run, const struct tree *tree);

/* While the tree grows: whether it alone exceeds the limit; checked now and then. */
bool dw_estimate_exceeds_limit(const struct build_run *run, const struct tree *tree);

/* After inspection: use the unique contents. */
void dw_workload_refine(struct workload *workload, const struct contents *contents);

/* Tree, contents and base: in memory from inspection on. */
uint64_t dw_estimate_records(const struct workload *workload);

/* While readers threads read files, without kept bytes. */
uint64_t dw_estimate_reading(const struct build_options *options,
			     const struct workload *workload, uint32_t readers);

/* While fragments are ordered, with a sketch of this many shingles, and also with
 * fingerprints of file heads. */
uint64_t dw_estimate_order(const struct workload *workload, uint64_t shingles,
			   bool by_heads);

/* While tables of this many chunks are made. */
uint64_t dw_estimate_metadata(const struct workload *workload, uint64_t chunks);

/* After tables are frozen, without the frozen ones. Up to half of the memory that they were made in
 * stays resident although it is free: 20 of 40 MiB, for 300,000 tiny files. */
uint64_t dw_estimate_frozen(const struct workload *workload);

/* Memory of a chunk while blocks are filled. */
#define ESTIMATE_PER_CHUNK UINT64_C(64)

#endif
