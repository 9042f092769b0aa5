/* SPDX-License-Identifier: MIT */
/*
 * write/pack/repeats: how many runs of bytes occur more than once in data.
 *
 * A run is tested if some bits of its hash are 0, so that all equal runs are tested or
 * none. A table contains other bits of the hashes of the runs that were tested last; at
 * most half of its entries are used.
 */
#include "write/pack/repeats.h"
#include "base/bytes.h"

#define MAX_TABLE_BITS 20
#define HASH_PRIME     UINT64_C(0x9e3779b97f4a7c15)

static unsigned table_bits(size_t data_bytes)
{
	unsigned bits = dw_bit_length(data_bytes) + 1;

	return bits < MAX_TABLE_BITS ? bits : MAX_TABLE_BITS;
}

uint64_t dw_repeats_memory(size_t data_bytes)
{
	return sizeof(uint32_t) << table_bits(data_bytes);
}

static uint64_t mix(uint64_t value)
{
	value *= HASH_PRIME;
	return value ^ value >> 32;
}

/* Of all bytes of a run: the parts overlap if it is not a multiple of 8 bytes. */
static uint64_t hash_of(const uint8_t *run, size_t run_bytes)
{
	uint64_t hash;

	if (run_bytes < 8)
		return mix(mix(dw_load32(run) | (uint64_t)dw_load32(run + run_bytes - 4)
							<< 32));
	hash = mix(dw_load64(run));
	if (run_bytes > 16)
		hash = mix(hash + dw_load64(run + 8));
	return mix(hash + dw_load64(run + run_bytes - 8));
}

int dw_repeats_count(struct span in, size_t run_bytes, struct repeats *repeats_out,
		     dwarfs_error **err)
{
	const unsigned bits = table_bits(in.size), length = dw_bit_length(in.size);
	const unsigned skipped = length > bits - 1 ? length - (bits - 1) : 0;
	const uint64_t mask = (UINT64_C(1) << skipped) - 1;
	auto_free uint32_t *table = dw_calloc((size_t)1 << bits, sizeof(*table));

	*repeats_out = (struct repeats){ 0 };
	if (!table)
		return dw_fail_nomem(err);
	for (size_t i = 0; i + run_bytes <= in.size; i++) {
		uint64_t hash = hash_of(in.data + i, run_bytes);
		uint32_t check = (uint32_t)(hash >> 8) | 1; /* 0: free */
		uint32_t *slot = &table[hash >> (64 - bits)];

		if (hash & mask)
			continue;
		repeats_out->tested++;
		repeats_out->found += *slot == check;
		*slot = check;
	}
	return 0;
}
