/* SPDX-License-Identifier: MIT */
/*
 * write/order/sort: by key, stable, with keys that differ in any of their bytes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "write/order/sort.h"

#define COUNT 3000u

static void check(uint32_t (*key_of)(uint32_t number), size_t count)
{
	static struct dw_keyed list[COUNT], spare[COUNT];
	static uint8_t seen[COUNT];

	memset(seen, 0, sizeof(seen));
	for (uint32_t i = 0; i < count; i++)
		list[i] = (struct dw_keyed){ key_of(i), i };
	dw_sort_keyed(list, spare, count);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(list[i].key, key_of(list[i].number));
		assert_int_equal(seen[list[i].number]++, 0);
		if (i == 0)
			continue;
		assert_true(list[i - 1].key <= list[i].key);
		if (list[i - 1].key == list[i].key)
			assert_true(list[i - 1].number < list[i].number);
	}
}

static uint32_t scattered(uint32_t number)
{
	return number * 2654435761u;
}

static uint32_t high_byte(uint32_t number)
{
	return (number * 7u % 5u) << 24;
}

static uint32_t low_byte(uint32_t number)
{
	return number * 31u % 7u;
}

static uint32_t middle_bytes(uint32_t number)
{
	return (number * 31u % 700u) << 8;
}

static uint32_t equal(uint32_t number)
{
	(void)number;
	return UINT32_MAX;
}

static void any_keys_are_sorted(void **state)
{
	static const size_t counts[] = { 0, 1, 2, 3, 255, 256, 257, COUNT };

	(void)state;
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		check(scattered, counts[i]);
		check(high_byte, counts[i]);
		check(middle_bytes, counts[i]);
		check(low_byte, counts[i]);
		check(equal, counts[i]);
	}
}

static void keyed_numbers_are_sorted_stably(void **state)
{
	struct dw_keyed list[1000], spare[1000];
	uint32_t random = 5;

	for (uint32_t i = 0; i < 1000; i++) {
		random = random * UINT32_C(1664525) + UINT32_C(1013904223);
		list[i] = (struct dw_keyed){ random >> 27 << (random & 8 ? 20 : 3), i };
	}
	dw_sort_keyed(list, spare, 1000);
	for (size_t i = 1; i < 1000; i++) {
		assert_true(list[i - 1].key <= list[i].key);
		if (list[i - 1].key == list[i].key)
			assert_true(list[i - 1].number < list[i].number);
	}
	dw_sort_keyed(list, spare, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_keys_are_sorted),
		cmocka_unit_test(keyed_numbers_are_sorted_stably),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
