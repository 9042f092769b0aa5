/* SPDX-License-Identifier: MIT */
/*
 * write/pack/entropy: the size of data if each byte were coded by its frequency alone.
 */
#ifndef DW_WRITE_PACK_ENTROPY_H
#define DW_WRITE_PACK_ENTROPY_H

#include <stdint.h>

#include "base/memory.h"

/* The sum of the entropies of slices of 128 KiB, the size of a block of zstd, in bytes; within
 * 1/4096 bit for each byte of the data. */
uint64_t dw_entropy_bytes(struct span in);

/* Data of this entropy have repeats if their compressed size is less than this. */
static inline uint64_t dw_size_with_repeats(uint64_t entropy)
{
	return entropy - entropy / 128;
}

#endif
