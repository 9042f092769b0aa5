/* SPDX-License-Identifier: MIT */
/*
 * base/entropy: the size of data if each byte were coded by its frequency alone.
 */
#include "base/bytes.h"
#include "base/entropy.h"

#define SLICE_BYTES   ((size_t)128 << 10)
#define FRACTION_BITS 12

/* log2 of a number from 1 on, times 2^FRACTION_BITS, rounded down: the number is scaled to 1..2
 * and squared; each time it becomes 2 or more, the next bit of the fraction is 1. */
static uint64_t scaled_log2(uint64_t number)
{
	unsigned whole = dw_bit_length(number) - 1;
	uint64_t scaled = number << (31 - whole), log = whole;

	for (int i = 0; i < FRACTION_BITS; i++) {
		scaled = scaled * scaled >> 31;
		log = log << 1 | scaled >> 32;
		scaled >>= scaled >> 32;
	}
	return log;
}

uint64_t dw_entropy_bits(const uint32_t counts[256])
{
	uint64_t all = 0, sum = 0;

	for (size_t i = 0; i < 256; i++)
		all += counts[i];
	for (size_t i = 0; i < 256; i++)
		if (counts[i])
			sum += counts[i] * (scaled_log2(all) - scaled_log2(counts[i]));
	return sum >> FRACTION_BITS;
}

static uint64_t slice_bits(const uint8_t *data, size_t size)
{
	uint32_t counts[256] = { 0 };

	for (size_t i = 0; i < size; i++)
		counts[data[i]]++;
	return dw_entropy_bits(counts);
}

uint64_t dw_entropy_bytes(struct span in)
{
	uint64_t bits = 0;

	for (size_t from = 0; from < in.size; from += SLICE_BYTES)
		bits += slice_bits(in.data + from, in.size - from < SLICE_BYTES
							   ? in.size - from
							   : SLICE_BYTES);
	return bits / 8;
}

void dw_entropy_table_init(struct entropy_table *table)
{
	table->terms[0] = 0;
	for (uint32_t i = 1; i <= DW_ENTROPY_FEW; i++)
		table->terms[i] = (uint32_t)(i * scaled_log2(i));
}

uint64_t dw_entropy_of_few(const struct entropy_table *table, struct span in)
{
	uint16_t counts[256] = { 0 };
	uint32_t sum = 0;

	for (size_t i = 0; i < in.size; i++)
		counts[in.data[i]]++;
	for (size_t i = 0; i < 256; i++)
		sum += table->terms[counts[i]];
	return (table->terms[in.size] - sum) >> (FRACTION_BITS + 3);
}
