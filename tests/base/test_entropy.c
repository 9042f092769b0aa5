/* SPDX-License-Identifier: MIT */
/*
 * base/entropy: against values that are known exactly.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/entropy.h"

enum { SLICE = 128 << 10 };

/* Bytes with the numbers 0 to count - 1, equally often. */
static uint64_t entropy_of_even(uint8_t *data, size_t size, unsigned count)
{
	for (size_t i = 0; i < size; i++)
		data[i] = (uint8_t)(i % count);
	return dw_entropy_bytes((struct span){ data, size });
}

static void known_values(void **state)
{
	static uint8_t data[3 * SLICE];

	assert_int_equal(dw_entropy_bytes((struct span){ data, 0 }), 0);
	assert_int_equal(entropy_of_even(data, 1, 1), 0);
	assert_int_equal(entropy_of_even(data, SLICE, 1), 0);
	assert_int_equal(entropy_of_even(data, SLICE, 2), SLICE / 8);
	assert_int_equal(entropy_of_even(data, SLICE, 4), SLICE / 4);
	assert_int_equal(entropy_of_even(data, SLICE, 64), SLICE / 8 * 6);
	assert_int_equal(entropy_of_even(data, SLICE, 256), SLICE);
	/* log2(10) is 3.321928 */
	assert_in_range(entropy_of_even(data, 3 * SLICE, 10), 3 * SLICE * 0.41514,
			3 * SLICE * 0.41534);

	/* 1/8 of ones and 7/8 of zeros: 0.543564 bits each */
	for (size_t i = 0; i < SLICE; i++)
		data[i] = i % 8 == 0;
	assert_in_range(dw_entropy_bytes((struct span){ data, SLICE }), SLICE * 0.06790,
			SLICE * 0.06799);
}

static void few_bytes_have_the_same_entropy(void **state)
{
	uint8_t data[DW_ENTROPY_FEW];
	uint32_t random = 1;
	struct entropy_table table;

	dw_entropy_table_init(&table);
	assert_int_equal(dw_entropy_of_few(&table, (struct span){ data, 0 }), 0);
	for (unsigned values = 1; values <= 256; values++)
		for (size_t size = 1; size <= sizeof(data); size += size / 4 + 1) {
			const struct span in = { data, size };
			uint64_t entropy;

			for (size_t i = 0; i < size; i++) {
				random = random * 1664525u + 1013904223u;
				data[i] = (uint8_t)((random >> 24) % values);
			}
			entropy = dw_entropy_bytes(in);
			assert_in_range(dw_entropy_of_few(&table, in), entropy,
					entropy + 1);
		}
	memset(data, 0, sizeof(data));
	assert_int_equal(dw_entropy_of_few(&table, (struct span){ data, sizeof(data) }),
			 0);
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)i;
	assert_int_equal(dw_entropy_of_few(&table, (struct span){ data, sizeof(data) }),
			 sizeof(data));
}

/* Frequencies are those of a slice: data that changes has less entropy. */
static void each_slice_counts_alone(void **state)
{
	static uint8_t data[SLICE + 8];

	memset(data + SLICE, 1, 8);
	assert_int_equal(dw_entropy_bytes((struct span){ data, sizeof(data) }), 0);
	data[SLICE] = 2; /* 1 of 8: 0.54 bits each */
	assert_int_equal(dw_entropy_bytes((struct span){ data + SLICE, 8 }), 0);
	for (size_t i = 0; i < 8; i++)
		data[SLICE + i] = (uint8_t)i;
	assert_int_equal(dw_entropy_bytes((struct span){ data, sizeof(data) }), 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_values),
		cmocka_unit_test(few_bytes_have_the_same_entropy),
		cmocka_unit_test(each_slice_counts_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
