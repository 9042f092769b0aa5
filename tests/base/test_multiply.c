/* SPDX-License-Identifier: MIT */
/* Products of 128 bits: the same on every machine. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/multiply.h"

static const struct {
	uint64_t a, b, folded;
} products[] = {
	{ 0, UINT64_MAX, 0 },
	{ 1, UINT64_C(0x123456789abcdef0), UINT64_C(0x123456789abcdef0) },
	{ UINT64_C(1) << 63, 2, 1 },
	/* (2^64 - 1)^2 = (2^64 - 2) * 2^64 + 1 */
	{ UINT64_MAX, UINT64_MAX, UINT64_MAX },
	/* (2^32 - 1)^2 = 2^64 - 2^33 + 1 */
	{ UINT32_MAX, UINT32_MAX, UINT64_C(0xfffffffe00000001) },
	/* 2^96 - 2^64 - 2^32 + 1: a carry out of the middle */
	{ UINT64_MAX, UINT32_MAX, UINT64_C(0xfffffffe) ^ UINT64_C(0xffffffff00000001) },
};

static void known_products(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(products) / sizeof(products[0]); i++) {
		assert_int_equal(dw_multiply_fold(products[i].a, products[i].b),
				 products[i].folded);
		assert_int_equal(dw_multiply_fold_portable(products[i].a, products[i].b),
				 products[i].folded);
	}
}

static uint64_t next(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return *state ^ *state >> 29;
}

static void both_forms_agree(void **state)
{
	uint64_t random = 7;

	(void)state;
	for (int i = 0; i < 100000; i++) {
		uint64_t a = next(&random) >> i % 64, b = next(&random) >> i / 64 % 64;

		assert_int_equal(dw_multiply_fold(a, b), dw_multiply_fold_portable(a, b));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_products),
		cmocka_unit_test(both_forms_agree),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
