/* SPDX-License-Identifier: MIT */
/*
 * build/density: how small the bytes of a stream get, about.
 */
#ifndef DW_BUILD_DENSITY_H
#define DW_BUILD_DENSITY_H

#include "build/segment.h"

/* What DENSITY_UNIT bytes of the stream are packed into, from 1 to DENSITY_UNIT: packs
 * some of it, evenly taken, with a fast codec. */
#define DENSITY_UNIT 1024u

int dw_density(const struct segment_input *input, uint32_t *density_out,
	       dwarfs_error **err);

#endif
