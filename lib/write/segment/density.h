/* SPDX-License-Identifier: MIT */
/*
 * write/segment/density: estimate how well the new bytes of a stream compress.
 */
#ifndef DW_WRITE_SEGMENT_DENSITY_H
#define DW_WRITE_SEGMENT_DENSITY_H

#include "write/segment/segment.h"

/* Compressed size of DENSITY_UNIT bytes of the stream, 1 to DENSITY_UNIT, from samples
 * and a fast codec. */
#define DENSITY_UNIT 1024u

int dw_density(const struct segment_input *input, uint32_t *density_out,
	       dwarfs_error **err);

#endif
