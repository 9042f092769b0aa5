/* SPDX-License-Identifier: MIT */
/*
 * write/order/fingerprint: independent of the sizes of the pieces, similar for similar contents.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "write/order/order.h"

static void fingerprints_do_not_depend_on_pieces(void **state)
{
	static const size_t sizes[] = {
		0, 3, 31, 32, 100, 511, 513, 16384, 16415, 70000
	};
	struct fingerprinter *maker;
	uint8_t *data = dw_malloc(70000);
	uint32_t random = 7;

	assert_non_null(data);
	for (size_t i = 0; i < 70000; i++) {
		random = random * UINT32_C(1664525) + UINT32_C(1013904223);
		data[i] = (uint8_t)(random >> 24);
	}
	assert_int_equal(dw_fingerprinter_new(&maker, NULL), 0);
	for (int kind = FINGERPRINT_NONE; kind <= FINGERPRINT_NILSIMSA; kind++) {
		for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
			struct fingerprint whole, pieces;

			dw_fingerprint_begin(maker, (enum fingerprint_kind)kind);
			dw_fingerprint_update(maker, data, sizes[s]);
			dw_fingerprint_finish(maker, &whole);
			dw_fingerprint_begin(maker, (enum fingerprint_kind)kind);
			for (size_t at = 0, step = 1; at < sizes[s]; at += step) {
				step = (step * 7 + at) % 1013;
				if (step > sizes[s] - at)
					step = sizes[s] - at;
				dw_fingerprint_update(maker, data + at, step);
				step = step ? step : 0;
				if (step == 0)
					dw_fingerprint_update(maker, data + at, step = 1);
			}
			dw_fingerprint_finish(maker, &pieces);
			assert_memory_equal(&whole, &pieces, sizeof(whole));
		}
	}
	dw_fingerprinter_free(maker);
	dw_free(data);
}

static struct fingerprint print_of(struct fingerprinter *maker, int kind,
				   const uint8_t *data, size_t size, size_t step)
{
	struct fingerprint print;

	dw_fingerprint_begin(maker, (enum fingerprint_kind)kind);
	for (size_t at = 0; at < size; at += step)
		dw_fingerprint_update(maker, data + at,
				      step < size - at ? step : size - at);
	dw_fingerprint_finish(maker, &print);
	return print;
}

/*
 * Runs are counted at once in 4096 bytes, but not in pieces of one. The second run is about as long
 * as the third, so a difference of one changes which is the fuller bin of the histogram, and about a
 * thirty-second of all, so it changes which counters are above the mean. It begins two bytes before
 * such 4096 bytes.
 */
static void runs_count_as_their_bytes(void **state)
{
	enum {
		FIRST = 31 * 4096 + 2,
		THIRD = 4231,
		AROUND = 20,
		SIZE = FIRST + 3 * THIRD
	};
	struct fingerprinter *maker;
	uint8_t *data = dw_malloc(SIZE);

	assert_non_null(data);
	assert_int_equal(dw_fingerprinter_new(&maker, NULL), 0);
	memset(data, 0, FIRST);
	for (size_t second = THIRD - AROUND; second < THIRD + AROUND; second++) {
		const size_t size = FIRST + second + THIRD;

		memset(data + FIRST, 'x', second);
		memset(data + FIRST + second, '7', THIRD);
		for (int kind = FINGERPRINT_SIMILARITY; kind <= FINGERPRINT_NILSIMSA;
		     kind++) {
			struct fingerprint whole =
				print_of(maker, kind, data, size, size);
			struct fingerprint bytes = print_of(maker, kind, data, size, 1);

			assert_memory_equal(&whole, &bytes, sizeof(whole));
		}
	}
	dw_fingerprinter_free(maker);
	dw_free(data);
}

static void alike_contents_have_alike_minhashes(void **state)
{
	struct fingerprinter *maker;
	struct fingerprint a, b, c;
	uint8_t data[8000];
	uint32_t random = 9;

	assert_int_equal(dw_fingerprinter_new(&maker, NULL), 0);
	for (size_t i = 0; i < sizeof(data); i++) {
		random = random * UINT32_C(1664525) + UINT32_C(1013904223);
		data[i] = (uint8_t)(random >> 24);
	}
	dw_fingerprint_begin(maker, FINGERPRINT_MINHASH);
	dw_fingerprint_update(maker, data, 7000);
	dw_fingerprint_finish(maker, &a);
	dw_fingerprint_begin(maker, FINGERPRINT_MINHASH);
	dw_fingerprint_update(maker, data + 300, 6500);
	dw_fingerprint_finish(maker, &b);
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] ^= 0x55;
	dw_fingerprint_begin(maker, FINGERPRINT_MINHASH);
	dw_fingerprint_update(maker, data, 7000);
	dw_fingerprint_finish(maker, &c);
	assert_true(dw_minhash_common(&a, &b) >= 10);
	assert_true(dw_minhash_common(&a, &c) <= 2);
	assert_int_equal(dw_minhash_common(&a, &a), DW_MINHASH_SLOTS);
	memset(&c, 0, sizeof(c));
	assert_int_equal(dw_minhash_common(&c, &c), 0);
	dw_fingerprinter_free(maker);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fingerprints_do_not_depend_on_pieces),
		cmocka_unit_test(runs_count_as_their_bytes),
		cmocka_unit_test(alike_contents_have_alike_minhashes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
