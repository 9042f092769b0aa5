/* SPDX-License-Identifier: MIT */
/*
 * write/tree/interned: distinct strings and distinct numbers.
 */
#include <string.h>

#include "hash/hash.h"
#include "write/tree/interned.h"

/* More would not fit the numbers of the format. */
#define MAX_ITEMS (UINT32_MAX - 1)

/* -- strings ------------------------------------------------------------------------- */

void dw_string_set_free(struct string_set *strings)
{
	dw_buffer_free(&strings->text);
	dw_free(strings->offsets);
	dw_free(strings->slots);
	*strings = (struct string_set){ 0 };
}

struct span dw_string_set_at(const struct string_set *strings, uint32_t number)
{
	uint64_t from = strings->offsets[number], to = strings->offsets[number + 1];
	const uint8_t *text = strings->text.data; /* NULL while all are empty */

	return (struct span){ text ? text + from : NULL, (size_t)(to - from) };
}

static bool same_span(struct span a, struct span b)
{
	return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

/* The slot of a string, or the empty one for it. */
static size_t find_string_slot(const struct string_set *strings, struct span string)
{
	size_t mask = strings->slot_count - 1;
	size_t slot = (size_t)dw_xxh3_64(string.data, string.size) & mask;

	while (strings->slots[slot] != 0 &&
	       !same_span(dw_string_set_at(strings, strings->slots[slot] - 1), string))
		slot = (slot + 1) & mask;
	return slot;
}

static int grow_string_slots(struct string_set *strings, dwarfs_error **err)
{
	size_t old = strings->slot_count, count = old ? old * 2 : 256;
	uint32_t *slots = dw_calloc(count, sizeof(*slots));

	if (!slots)
		return dw_fail_nomem(err);
	dw_free(strings->slots);
	strings->slots = slots;
	strings->slot_count = count;
	for (size_t i = 0; i < strings->count; i++)
		slots[find_string_slot(strings, dw_string_set_at(strings, (uint32_t)i))] =
			(uint32_t)i + 1;
	return 0;
}

int dw_string_set_add(struct string_set *strings, struct span string,
		      uint32_t *number_out, dwarfs_error **err)
{
	size_t slot;
	int ret;

	if (strings->count * 2 >= strings->slot_count &&
	    (ret = grow_string_slots(strings, err)) < 0)
		return ret;
	slot = find_string_slot(strings, string);
	if (strings->slots[slot] != 0) {
		*number_out = strings->slots[slot] - 1;
		return 0;
	}
	if (strings->count >= MAX_ITEMS || strings->text.size + string.size > UINT32_MAX)
		return dw_fail(err, DWARFS_ERR_RANGE, "too many names for one image");
	if ((ret = dw_grow(&strings->offsets, &strings->room, strings->count + 2, err)) <
	    0)
		return ret;
	strings->offsets[strings->count] = strings->text.size;
	if ((ret = dw_buffer_append(&strings->text, string.data, string.size, err)) < 0)
		return ret;
	strings->offsets[strings->count + 1] = strings->text.size;
	*number_out = (uint32_t)strings->count++;
	strings->slots[slot] = *number_out + 1;
	return 0;
}

/* -- numbers ------------------------------------------------------------------------- */

void dw_number_set_free(struct number_set *numbers)
{
	dw_string_set_free(&numbers->strings);
}

const uint32_t *dw_number_set_list(const struct number_set *numbers)
{
	return (const uint32_t *)(const void *)numbers->strings.text.data;
}

int dw_number_set_add(struct number_set *numbers, uint32_t value, uint32_t *index_out,
		      dwarfs_error **err)
{
	struct span bytes = { (const uint8_t *)&value, sizeof(value) };
	int ret;

	if (numbers->strings.count == 0 ||
	    dw_number_set_list(numbers)[numbers->last] != value) {
		ret = dw_string_set_add(&numbers->strings, bytes, &numbers->last, err);
		if (ret < 0)
			return ret;
	}
	*index_out = numbers->last;
	return 0;
}
