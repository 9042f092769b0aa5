/* SPDX-License-Identifier: MIT */
/*
 * write/order/sort: a radix sort of four passes, except those in which all keys are
 * equal.
 */
#include <string.h>

#include "write/order/sort.h"

#define RADIX_BITS 8
#define RADIX	   (1 << RADIX_BITS)
#define PASSES	   (32 / RADIX_BITS)

static bool has_sorted_keys(const struct dw_keyed *list, size_t count)
{
	for (size_t i = 1; i < count; i++)
		if (list[i - 1].key > list[i].key)
			return false;
	return true;
}

void dw_sort_keyed(struct dw_keyed *list, struct dw_keyed *spare, size_t count)
{
	struct dw_keyed *from = list, *to = spare;

	if (has_sorted_keys(list, count))
		return;
	for (unsigned pass = 0; pass < PASSES; pass++) {
		size_t starts[RADIX + 1] = { 0 };
		unsigned shift = pass * RADIX_BITS;
		struct dw_keyed *other;

		for (size_t i = 0; i < count; i++)
			starts[(from[i].key >> shift) % RADIX + 1]++;
		if (starts[(from[0].key >> shift) % RADIX + 1] == count)
			continue;
		for (size_t i = 1; i < RADIX; i++)
			starts[i] += starts[i - 1];
		for (size_t i = 0; i < count; i++)
			to[starts[(from[i].key >> shift) % RADIX]++] = from[i];
		other = from;
		from = to;
		to = other;
	}
	if (from != list)
		memcpy(list, from, count * sizeof(*list));
}
