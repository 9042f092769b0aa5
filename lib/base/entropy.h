/* SPDX-License-Identifier: MIT */
/*
 * base/entropy: the size of data if each byte were coded by its frequency alone.
 */
#ifndef DW_BASE_ENTROPY_H
#define DW_BASE_ENTROPY_H

#include <stdint.h>

#include "base/memory.h"

/* The entropy, in bits, of data with these numbers of bytes of each value, less than 2^31 in all.
 * Exact to 1/4096 bit for each byte. */
uint64_t dw_entropy_bits(const uint32_t counts[256]);

/* The sum of the entropies of slices of 128 KiB, the size of a block of zstd, in bytes; within
 * 1/4096 bit for each byte of the data. */
uint64_t dw_entropy_bytes(struct span in);

/* For many small runs: n log2 n of each n, times 4096. */
#define DW_ENTROPY_FEW 1024
struct entropy_table {
	uint32_t terms[DW_ENTROPY_FEW + 1];
};

void dw_entropy_table_init(struct entropy_table *table);

/* The entropy of at most DW_ENTROPY_FEW bytes, in bytes, rounded down. */
uint64_t dw_entropy_of_few(const struct entropy_table *table, struct span in);

#endif
