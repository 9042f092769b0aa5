/* SPDX-License-Identifier: MIT */
/*
 * exercise: call every reading function on an image, through public headers only.
 */
#ifndef TESTS_BADFS_EXERCISE_H
#define TESTS_BADFS_EXERCISE_H

#include <dwarfs/dwarfs.h>

/* Errors returned, and findings of the checks. */
struct outcome {
	int open;	    /* 0 or the code of the failure */
	uint64_t structure; /* errors of each level of check, counted when it opens */
	uint64_t checksums;
	uint64_t integrity;
	uint64_t reads; /* failures while walking and reading */
};

/* Open (offset auto), check at every level, list, stat, look up, and read, within bounds.
 */
void exercise(dwarfs_io *io, struct outcome *outcome);

/* Whether any of the results reports damage. */
int outcome_is_bad(const struct outcome *outcome);

#endif
