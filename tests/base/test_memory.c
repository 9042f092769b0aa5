/* SPDX-License-Identifier: MIT */
/*
 * base/memory and base/bytes: growth, sizes that would wrap, numbers at any alignment.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "base/memory.h"

static void nothing_is_still_something(void **state)
{
	auto_free void *a = dw_calloc(0, 8);
	auto_free void *b = dw_calloc(8, 0);
	auto_free void *c = dw_calloc(0, 0);

	assert_non_null(a);
	assert_non_null(b);
	assert_non_null(c);
}

static void too_much_is_refused(void **state)
{
	volatile size_t half = SIZE_MAX / 2 + 1;

	assert_null(dw_calloc(half, 2));
	assert_null(dw_calloc(half, half));
}

static void arrays_keep_what_is_in_them(void **state)
{
	auto_free uint32_t *items = NULL;
	size_t capacity = 0, moves = 0;

	for (uint32_t i = 0; i < 100000; i++) {
		size_t before = capacity;

		assert_int_equal(dw_grow(&items, &capacity, (size_t)i + 1, NULL), 0);
		assert_true(capacity > i);
		moves += capacity != before;
		items[i] = i * 7;
	}
	for (uint32_t i = 0; i < 100000; i++)
		assert_int_equal(items[i], i * 7);
	assert_true(moves < 40);
}

static void growing_to_less_changes_nothing(void **state)
{
	auto_free uint8_t *items = NULL;
	size_t capacity = 0, before;
	uint8_t *old;

	assert_int_equal(dw_grow(&items, &capacity, 50, NULL), 0);
	old = items;
	before = capacity;
	assert_int_equal(dw_grow(&items, &capacity, 0, NULL), 0);
	assert_int_equal(dw_grow(&items, &capacity, 50, NULL), 0);
	assert_ptr_equal(items, old);
	assert_int_equal(capacity, before);
}

static void a_failed_growth_changes_nothing(void **state)
{
	auto_error dwarfs_error *err = NULL;
	auto_free uint64_t *items = NULL;
	size_t capacity = 0, before;

	assert_int_equal(dw_grow(&items, &capacity, 3, NULL), 0);
	items[2] = 42;
	before = capacity;
	/* The bytes wrap. */
	assert_int_equal(dw_grow(&items, &capacity, SIZE_MAX / 4, &err),
			 DWARFS_ERR_NOMEM);
	assert_int_equal(dw_grow(&items, &capacity, SIZE_MAX, &err), DWARFS_ERR_NOMEM);
	assert_int_equal(capacity, before);
	assert_int_equal(items[2], 42);
	assert_int_equal(dwarfs_error_code(err), DWARFS_ERR_NOMEM);
}

static void buffers_collect_bytes(void **state)
{
	auto_buffer struct buffer buffer = { 0 };

	assert_int_equal(dw_buffer_append(&buffer, NULL, 0, NULL), 0);
	assert_int_equal(buffer.size, 0);
	for (int i = 0; i < 1000; i++)
		assert_int_equal(dw_buffer_append(&buffer, "abc", 3, NULL), 0);
	assert_int_equal(dw_buffer_span(&buffer).size, 3000);
	assert_memory_equal(buffer.data + 2997, "abc", 3);
	assert_int_equal(dw_buffer_reserve(&buffer, SIZE_MAX - 100, NULL),
			 DWARFS_ERR_NOMEM);
	assert_int_equal(buffer.size, 3000);
	dw_buffer_free(&buffer);
	assert_null(buffer.data);
	assert_int_equal(buffer.capacity, 0);
}

static void stealing_leaves_nothing(void **state)
{
	char *text = dw_strdup("x"), *taken = dw_steal(text);

	assert_null(text);
	assert_string_equal(taken, "x");
	dw_free(taken);
}

static void arithmetic_notices_wrapping(void **state)
{
	uint64_t wide = 0;
	uint32_t narrow = 0;

	assert_true(dw_add(UINT64_MAX - 1, UINT64_C(1), &wide));
	assert_true(wide == UINT64_MAX);
	assert_false(dw_add(UINT64_MAX, UINT64_C(1), &wide));
	assert_false(dw_sub(UINT64_C(1), UINT64_C(2), &wide));
	assert_false(dw_mul(UINT64_C(1) << 32, UINT64_C(1) << 32, &wide));
	assert_false(dw_add(UINT64_C(1) << 32, UINT64_C(0), &narrow));
}

static void numbers_are_little_endian_anywhere(void **state)
{
	uint8_t bytes[16] = { 0xff, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88 };

	assert_int_equal(dw_load16(bytes + 1), 0x2211);
	assert_int_equal(dw_load32(bytes + 1), 0x44332211);
	assert_true(dw_load64(bytes + 1) == UINT64_C(0x8877665544332211));
	dw_store64(bytes + 3, UINT64_C(0x0102030405060708));
	assert_int_equal(bytes[3], 8);
	assert_int_equal(bytes[10], 1);
	dw_store32(bytes + 1, 0xA1A2A3A4);
	assert_int_equal(bytes[1], 0xA4);
	assert_int_equal(bytes[4], 0xA1);
	dw_store16(bytes + 13, 0xB1B2);
	assert_int_equal(bytes[13], 0xB2);
	assert_int_equal(bytes[14], 0xB1);
	assert_int_equal(bytes[15], 0);
}

static void big_endian_numbers_have_their_own_functions(void **state)
{
	uint8_t bytes[16] = { 0xff, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88 };

	assert_int_equal(dw_load_be16(bytes + 1), 0x1122);
	assert_int_equal(dw_load_be32(bytes + 1), 0x11223344);
	assert_true(dw_load_be64(bytes + 1) == UINT64_C(0x1122334455667788));
	dw_store_be64(bytes + 3, UINT64_C(0x0102030405060708));
	assert_int_equal(bytes[3], 1);
	assert_int_equal(bytes[10], 8);
	dw_store_be32(bytes + 1, 0xA1A2A3A4);
	assert_int_equal(bytes[1], 0xA1);
	assert_int_equal(bytes[4], 0xA4);
	dw_store_be16(bytes + 13, 0xB1B2);
	assert_int_equal(bytes[13], 0xB1);
	assert_int_equal(bytes[14], 0xB2);
	assert_int_equal(bytes[15], 0);
	assert_int_equal(dw_swap16(0x1122), 0x2211);
}

static void bit_lengths(void **state)
{
	assert_int_equal(dw_bit_length(0), 0);
	assert_int_equal(dw_bit_length(1), 1);
	assert_int_equal(dw_bit_length(255), 8);
	assert_int_equal(dw_bit_length(256), 9);
	assert_int_equal(dw_bit_length(UINT64_MAX), 64);
}

static void lists_are_reversed(void **state)
{
	uint32_t odd[] = { 1, 2, 3, 4, 5 }, even[] = { 0x01020304, 0x05060708 };

	(void)state;
	dw_reverse(odd, 5, sizeof(odd[0]));
	for (uint32_t i = 0; i < 5; i++)
		assert_int_equal(odd[i], 5 - i);
	dw_reverse(even, 2, sizeof(even[0]));
	assert_int_equal(even[0], 0x05060708);
	assert_int_equal(even[1], 0x01020304);
	dw_reverse(even, 0, sizeof(even[0]));
	assert_int_equal(even[0], 0x05060708);
}

/* The examples of the authors of the hash. */
static void hashes_are_those_of_fnv1a(void **state)
{
	(void)state;
	assert_true(dw_fnv1a(DW_FNV1A_START, "", 0) == UINT64_C(0xcbf29ce484222325));
	assert_true(dw_fnv1a(DW_FNV1A_START, "a", 1) == UINT64_C(0xaf63dc4c8601ec8c));
	assert_true(dw_fnv1a(dw_fnv1a(DW_FNV1A_START, "foo", 3), "bar", 3) ==
		    UINT64_C(0x85944171f73967e8));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_still_something),
		cmocka_unit_test(too_much_is_refused),
		cmocka_unit_test(arrays_keep_what_is_in_them),
		cmocka_unit_test(growing_to_less_changes_nothing),
		cmocka_unit_test(a_failed_growth_changes_nothing),
		cmocka_unit_test(buffers_collect_bytes),
		cmocka_unit_test(stealing_leaves_nothing),
		cmocka_unit_test(arithmetic_notices_wrapping),
		cmocka_unit_test(numbers_are_little_endian_anywhere),
		cmocka_unit_test(big_endian_numbers_have_their_own_functions),
		cmocka_unit_test(bit_lengths),
		cmocka_unit_test(lists_are_reversed),
		cmocka_unit_test(hashes_are_those_of_fnv1a),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
