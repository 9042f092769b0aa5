/* SPDX-License-Identifier: MIT */
/*
 * write/segment/density: estimate how well the new bytes of a stream compress.
 */
#ifndef DW_WRITE_SEGMENT_DENSITY_H
#define DW_WRITE_SEGMENT_DENSITY_H

#include "write/build_run.h"
#include "write/inspect/unique_contents.h"

/* Compressed size of DENSITY_UNIT bytes of fragments in an order, 1 to DENSITY_UNIT, from samples
 * and a fast codec. */
#define DENSITY_UNIT 1024u

int dw_density(struct build_run *run, const struct tree *tree,
	       const struct contents *contents, const uint32_t *numbers, size_t count,
	       uint32_t *density_out, dwarfs_error **err);

/* The same of those of the fragments that are in a group, wherever they are among the others. */
int dw_group_density(struct build_run *run, const struct tree *tree,
		     const struct contents *contents, const uint32_t *numbers,
		     size_t count, uint32_t group, uint32_t *density_out,
		     dwarfs_error **err);

#endif
