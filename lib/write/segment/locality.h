/* SPDX-License-Identifier: MIT */
/*
 * write/segment/locality: how many blocks the files of a directory are spread over.
 *
 * A unit is the smallest directory with everything below it that has at least a block of
 * bytes. Its files are mostly read together, so it may be in a limited number of blocks
 * besides those that its own bytes fill.
 */
#ifndef DW_WRITE_SEGMENT_LOCALITY_H
#define DW_WRITE_SEGMENT_LOCALITY_H

#include "write/segment/segment.h"

struct locality;

struct locality_options {
	uint32_t stream;
	size_t block_bytes;
	uint32_t foreign_blocks; /* number of them that a unit may refer to at least */
};

int dw_locality_new(const struct locality_options *options, const struct tree *tree,
		    const struct contents *contents, struct locality **locality_out,
		    dwarfs_error **err);
void dw_locality_free(struct locality *locality);
DW_DEFINE_AUTO(locality, struct locality *, dw_locality_free)

/* The unit that the contents belong to, by their first file. */
uint32_t dw_locality_unit(const struct locality *locality, uint32_t content);

/* Fragments of one unit that were stored one after the other. */
struct locality_batch {
	uint32_t unit;
	const uint32_t *numbers; /* of fragments */
	size_t count;
	const struct chunk *chunks; /* all of theirs, in the same order */
	size_t chunk_count;
	uint32_t first_block, last_block; /* that they were stored in */
	bool has_blocks;		  /* anything was stored */
};

/*
 * Say which chunks refer to blocks that the unit should not be in: marks[chunk] is 1 for
 * these, 0 for all others. Returns how many.
 */
int dw_locality_judge(struct locality *locality, const struct locality_batch *batch,
		      uint8_t *marks, size_t *marked_out, dwarfs_error **err);

/*
 * A fragment has these chunks, which do not change any more: units that have other files
 * with the same contents are in their blocks, too, and may be.
 */
int dw_locality_share(struct locality *locality, const struct fragment *fragment,
		      const struct chunk *chunks, dwarfs_error **err);

#endif
