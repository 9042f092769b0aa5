/* SPDX-License-Identifier: MIT */
/*
 * write/tree/interned: equal values get one number, in order of their first use, also when
 * the table has grown many times.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <stdio.h>

#include "write/tree/interned.h"

static struct span span_of(const char *text)
{
	return (struct span){ (const uint8_t *)text, strlen(text) };
}

static void strings_are_numbered_by_first_use(void **state)
{
	struct string_set strings = { 0 };
	uint32_t number = 9;
	char text[32];

	(void)state;
	for (int round = 0; round < 2; round++)
		for (uint32_t i = 0; i < 5000; i++) {
			snprintf(text, sizeof(text), "%u", i * 7919 % 5000);
			assert_int_equal(
				dw_string_set_add(&strings, span_of(text), &number, NULL),
				0);
			assert_int_equal(number, i);
		}
	assert_int_equal(strings.count, 5000);
	snprintf(text, sizeof(text), "%u", 4999u * 7919 % 5000);
	assert_int_equal(dw_string_set_at(&strings, 4999).size, strlen(text));
	assert_memory_equal(dw_string_set_at(&strings, 4999).data, text, strlen(text));
	dw_string_set_free(&strings);
}

static void a_prefix_is_another_string(void **state)
{
	struct string_set strings = { 0 };
	uint32_t empty, a, ab, with_nul;

	(void)state;
	assert_int_equal(dw_string_set_add(&strings, span_of("ab"), &ab, NULL), 0);
	assert_int_equal(dw_string_set_add(&strings, span_of("a"), &a, NULL), 0);
	assert_int_equal(dw_string_set_add(&strings, span_of(""), &empty, NULL), 0);
	assert_int_equal(dw_string_set_add(&strings,
					   (struct span){ (const uint8_t *)"a\0", 2 },
					   &with_nul, NULL),
			 0);
	assert_int_equal(ab, 0);
	assert_int_equal(a, 1);
	assert_int_equal(empty, 2);
	assert_int_equal(with_nul, 3);
	assert_int_equal(dw_string_set_at(&strings, empty).size, 0);
	assert_int_equal(dw_string_set_at(&strings, with_nul).size, 2);
	dw_string_set_free(&strings);
}

static void numbers_are_kept_once(void **state)
{
	static const uint32_t values[] = { 5, 5, 0, UINT32_MAX, 5, 0, UINT32_MAX, 6 };
	static const uint32_t wanted[] = { 0, 0, 1, 2, 0, 1, 2, 3 };
	struct number_set numbers = { 0 };
	uint32_t index;

	(void)state;
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		assert_int_equal(dw_number_set_add(&numbers, values[i], &index, NULL), 0);
		assert_int_equal(index, wanted[i]);
	}
	assert_int_equal(numbers.strings.count, 4);
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		assert_int_equal(dw_number_set_list(&numbers)[wanted[i]], values[i]);
	dw_number_set_free(&numbers);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(strings_are_numbered_by_first_use),
		cmocka_unit_test(a_prefix_is_another_string),
		cmocka_unit_test(numbers_are_kept_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
