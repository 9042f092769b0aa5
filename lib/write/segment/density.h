/* SPDX-License-Identifier: MIT */
/*
 * write/segment/density: how small the bytes of a stream get, about.
 */
#ifndef DW_WRITE_SEGMENT_DENSITY_H
#define DW_WRITE_SEGMENT_DENSITY_H

#include "write/segment/segment.h"

/* What DENSITY_UNIT bytes of the stream are packed into, from 1 to DENSITY_UNIT: packs
 * some of it, evenly taken, with a fast codec. */
#define DENSITY_UNIT 1024u

int dw_density(const struct segment_input *input, uint32_t *density_out,
	       dwarfs_error **err);

#endif
