/* SPDX-License-Identifier: MIT */
/*
 * compare/differ: the differences between two listings.
 */
#ifndef DW_COMPARE_DIFFER_H
#define DW_COMPARE_DIFFER_H

#include <dwarfs/compare.h>

#include "base/progress.h"
#include "compare/side_listing.h"

struct differ {
	const struct side_listing *sides[2];
	uint32_t ignored; /* bits of kinds */
	uint64_t resolution_ns;
	dwarfs_difference_fn call; /* may be NULL */
	void *user;
	struct dwarfs_progress *progress;
	uint64_t counts[DWARFS_DIFFERENCE_KINDS];

	/* private: the path that is compared, its text, and the depth of a duplicate path that
	 * it is below */
	const struct side_listing *current_side;
	uint32_t current_path, twice_depth;
	struct buffer path;
	bool is_twice;
};

/* Mark the files that both have with the same size, and return their total size; store
 * the first entry of each file, for hard links. */
void dw_differ_want(struct side_listing *a, struct side_listing *b, uint64_t *files_out,
		    uint64_t *bytes_out);

/* Report all differences, up to the first that the callback fails for. */
int dw_differ_run(struct differ *differ, dwarfs_error **err);

#endif
