/* SPDX-License-Identifier: MIT */
/*
 * write/order/auto/similar_groups: group similar contents; all others keep their positions.
 *
 * Contents whose fingerprints are equal in a band, a few adjacent slots, may form a group;
 * the size of a group is limited so that it fits into a block. A group takes the position
 * of its first member, and its members keep their order. Time: n log n at most, for any
 * fingerprints.
 */
#include <string.h>

#include "base/bytes.h"
#include "write/order/order.h"
#include "write/order/sort.h"

struct grouping {
	const struct order_input *input;
	const uint32_t *numbers; /* fragments by place */
	uint32_t
		*group; /* of each place: another one of its group before it, or itself */
	uint64_t *bytes; /* of the group that begins at a place */
	uint64_t max_bytes;
	unsigned band; /* slots of one */
};

static const struct fingerprint *print_at(const struct grouping *grouping, size_t place)
{
	const struct contents *contents = grouping->input->contents;
	uint32_t number = grouping->numbers[place];

	return &contents->fingerprints[contents->fragments[number].content];
}

static uint32_t find_fragment_group(struct grouping *grouping, uint32_t place)
{
	uint32_t *group = grouping->group;

	while (group[place] != place) {
		group[place] = group[group[place]];
		place = group[place];
	}
	return place;
}

static void join_groups(struct grouping *grouping, uint32_t a, uint32_t b)
{
	uint64_t bytes;

	a = find_fragment_group(grouping, a);
	b = find_fragment_group(grouping, b);
	if (a == b)
		return;
	bytes = grouping->bytes[a] + grouping->bytes[b];
	if (bytes > grouping->max_bytes)
		return;
	if (a > b) {
		uint32_t other = a;

		a = b;
		b = other;
	}
	grouping->group[b] = a;
	grouping->bytes[a] = bytes;
}

/* Slots of a band as one number of 32 bits. */
static uint32_t band_key(const struct fingerprint *print, unsigned first, unsigned band)
{
	uint64_t key = 0;

	for (unsigned i = 0; i < band; i++)
		key = key << 16 | dw_load16(print->bytes + 2 * (first + i));
	if (band <= 2)
		return (uint32_t)key;
	return (uint32_t)((key * UINT64_C(0x9E3779B97F4A7C15)) >> 32);
}

/* Join neighbours among those that have the same key. */
static void join_band(struct grouping *grouping, unsigned first, struct dw_keyed *keyed,
		      struct dw_keyed *spare, size_t count)
{
	size_t used = 0;

	for (size_t i = 0; i < count; i++) {
		const struct fingerprint *print = print_at(grouping, i);
		uint32_t key;

		if (dw_load16(print->bytes) == 0) /* there is none */
			continue;
		key = band_key(print, first, grouping->band);
		keyed[used++] = (struct dw_keyed){ key, (uint32_t)i };
	}
	dw_sort_keyed(keyed, spare, used);
	for (size_t i = 1; i < used; i++) {
		uint32_t a = keyed[i - 1].number, b = keyed[i].number;

		if (keyed[i - 1].key == keyed[i].key &&
		    dw_minhash_common(print_at(grouping, a), print_at(grouping, b)) >=
			    grouping->band)
			join_groups(grouping, a, b);
	}
}

/* Groups in the order of their first members, and members in the order they had. */
static void emit(struct grouping *grouping, uint32_t *next, uint32_t *out, size_t count)
{
	size_t used = 0;

	for (size_t i = count; i-- > 0;) {
		uint32_t group = find_fragment_group(grouping, (uint32_t)i);

		if (group == i) /* all that follow have been linked */
			continue;
		next[i] = next[group];
		next[group] = (uint32_t)i;
	}
	for (uint32_t i = 0; i < count; i++)
		if (find_fragment_group(grouping, i) == i)
			for (uint32_t j = i; j != DW_NONE; j = next[j])
				out[used++] = grouping->numbers[j];
}

int dw_order_group_similar(const struct order_input *input, unsigned band,
			   uint64_t max_bytes, uint32_t *numbers, size_t count,
			   dwarfs_error **err)
{
	auto_free uint32_t *group = dw_calloc(count, sizeof(*group));
	auto_free uint64_t *bytes = dw_calloc(count, sizeof(*bytes));
	auto_free struct dw_keyed *keyed = dw_calloc(count, sizeof(*keyed));
	auto_free struct dw_keyed *spare = dw_calloc(count, sizeof(*spare));
	struct grouping grouping = { input, numbers, group, bytes, max_bytes, band };
	uint32_t *next, *out;

	if (!group || !bytes || !keyed || !spare)
		return dw_fail_nomem(err);
	if (!input->contents->fingerprints)
		return 0;
	for (size_t i = 0; i < count; i++) {
		group[i] = (uint32_t)i;
		bytes[i] = input->contents->fragments[numbers[i]].size;
	}
	for (unsigned i = 0; i + band <= DW_MINHASH_SLOTS; i += band)
		join_band(&grouping, i, keyed, spare, count);

	next = (uint32_t *)(void *)keyed;
	out = (uint32_t *)(void *)spare;
	memset(next, 0xff, count * sizeof(*next));
	emit(&grouping, next, out, count);
	memcpy(numbers, out, count * sizeof(*numbers));
	return 0;
}
