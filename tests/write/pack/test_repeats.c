/* SPDX-License-Identifier: MIT */
/*
 * write/pack/repeats: runs that occur more than once, at all lengths and distances.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "write/pack/repeats.h"

enum { SIZE = 4 << 20 };

static uint8_t data[SIZE];

static void fill_with_noise(void)
{
	uint64_t random = 1;

	for (size_t i = 0; i < SIZE; i++) {
		random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
		data[i] = (uint8_t)(random >> 56);
	}
}

static struct repeats count(size_t size, size_t run_bytes)
{
	struct repeats repeats;

	assert_int_equal(
		dw_repeats_count((struct span){ data, size }, run_bytes, &repeats, NULL),
		0);
	return repeats;
}

/* Permille of the runs that occurred before. */
static uint64_t rate(size_t size, size_t run_bytes)
{
	struct repeats repeats = count(size, run_bytes);

	assert_true(repeats.tested > 0);
	return repeats.found * 1000 / repeats.tested;
}

static void noise_has_none(void **state)
{
	fill_with_noise();
	for (size_t run = 5; run <= DW_MAX_REPEAT; run++)
		assert_int_equal(rate(SIZE, run), 0);
	assert_in_range(rate(SIZE, 4), 0, 2); /* by chance */
}

/* About as many runs are tested in data of any size from 512 KiB on. */
static void the_number_tested_is_bounded(void **state)
{
	fill_with_noise();
	for (size_t size = SIZE / 8; size <= SIZE; size *= 2)
		assert_in_range(count(size, 8).tested, SIZE / 20, SIZE / 7);
	assert_int_equal(count(1000, 8).tested, 993);
	assert_int_equal(count(8, 8).tested, 1);
	assert_int_equal(count(7, 8).tested, 0);
	assert_int_equal(count(0, 8).tested, 0);
}

/* The second half repeats runs of the first one, in another order. */
static void repeats_are_found_at_any_distance(void **state)
{
	for (size_t run = 5; run <= DW_MAX_REPEAT; run++) {
		fill_with_noise();
		for (size_t at = 0; at + 32 <= SIZE / 2; at += 32)
			memcpy(data + SIZE / 2 + at, data + at * 7 % (SIZE / 2), run);
		/* One in 64 is a repeat. */
		assert_in_range(rate(SIZE, run), 8, 17);
		assert_in_range(rate(SIZE, run - 1), run == 5 ? 8 : 18, 34);
		if (run < DW_MAX_REPEAT)
			assert_int_equal(rate(SIZE, run + 1), 0);
	}
}

static void all_bytes_of_a_run_count(void **state)
{
	uint64_t found = 0;

	for (size_t run = 5; run <= DW_MAX_REPEAT; run++) {
		for (size_t i = 0; i < run; i++)
			data[i] = data[run + i] = (uint8_t)(i + 1);
		found += count(2 * run, run).found;
		for (size_t other = 0; other < run; other++) {
			data[run + other] = 99;
			assert_int_equal(count(2 * run, run).found, 0);
			data[run + other] = (uint8_t)(other + 1);
		}
	}
	/* The table is small; it does not have all of them any more. */
	assert_in_range(found, 12, 20);
}

static void a_single_byte_is_all_repeats(void **state)
{
	memset(data, 0, SIZE);
	assert_true(count(1000, 8).found == 992);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(noise_has_none),
		cmocka_unit_test(the_number_tested_is_bounded),
		cmocka_unit_test(repeats_are_found_at_any_distance),
		cmocka_unit_test(all_bytes_of_a_run_count),
		cmocka_unit_test(a_single_byte_is_all_repeats),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
