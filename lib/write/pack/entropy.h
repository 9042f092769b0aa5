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

#endif
