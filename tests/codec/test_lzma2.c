/* SPDX-License-Identifier: MIT */
/*
 * codec/lzma/lzma2: gives the same result as liblzma's decoder, for many kinds of data
 * encoded with many settings, in steps of any length, and for damaged data.
 */
#include "support/codec_data.h"
#include "support/effort.h"

#include <lzma.h>
#include <stdio.h>

#include "codec/lzma/lzma2.h"

/* liblzma allocates the dictionary for each decoder, and thousands are made here. */
enum { SIZE = 100000, ROOM = SIZE + SIZE / 8, DAMAGED = 20000, DICTIONARY = 1 << 17 };

struct packed {
	uint8_t data[2 * ROOM];
	size_t size;
};

/* Periods of each length up to 300, and nearly periodic data. */
static void fill_with_periods(uint8_t *data, size_t size)
{
	uint32_t random = 4711;

	for (size_t at = 0, period = 1; at < size; period = period % 300 + 1) {
		size_t end = at + 3 * period + next_random(&random) % 400;

		for (size_t first = at; at < size && at < end; at++)
			data[at] = at < first + period || next_random(&random) % 199 == 0
					   ? (uint8_t)next_random(&random)
					   : data[at - period];
	}
}

static lzma_options_lzma options_of(uint32_t lc, uint32_t lp, uint32_t pb)
{
	lzma_options_lzma options;

	assert_false(lzma_lzma_preset(&options, 2));
	options.dict_size = DICTIONARY;
	options.lc = lc;
	options.lp = lp;
	options.pb = pb;
	return options;
}

/* Without the end marker, if other chunks follow. */
static void append(struct packed *packed, struct span in, lzma_options_lzma options)
{
	lzma_filter filters[] = { { LZMA_FILTER_LZMA2, &options },
				  { LZMA_VLI_UNKNOWN, NULL } };

	if (packed->size > 0)
		packed->size--;
	assert_int_equal(lzma_raw_buffer_encode(filters, NULL, in.data, in.size,
						packed->data, &packed->size,
						sizeof(packed->data)),
			 LZMA_OK);
}

/* In steps, from and to memory of exactly that size. */
static enum lzma2_result unpack(struct span in, uint8_t *out, size_t size, size_t step,
				size_t *at)
{
	auto_free uint8_t *copy = exactly(in.size);
	auto_lzma2 struct lzma2 *lzma2 = dw_lzma2_new();
	enum lzma2_result result = LZMA2_MORE;
	size_t done = 0;

	assert_non_null(lzma2);
	memcpy(copy, in.data, in.size);
	dw_lzma2_begin(lzma2, out, size, DICTIONARY);
	*at = 0;
	while (result == LZMA2_MORE) {
		size_t upto = size - done < step ? size : done + step;

		result = dw_lzma2_run(lzma2, (struct span){ copy, in.size }, at, upto,
				      &done);
		assert_true(result != LZMA2_MORE || done >= upto);
		assert_true(done <= size && *at <= in.size);
	}
	return result == LZMA2_END && done < size ? LZMA2_BAD : result;
}

static void check(const struct packed *packed, struct span expected, size_t step)
{
	auto_free uint8_t *out = exactly(expected.size);
	struct span in = { packed->data, packed->size };
	size_t at;

	assert_int_equal(unpack(in, out, expected.size, step, &at), LZMA2_END);
	assert_int_equal(at, packed->size);
	assert_memory_equal(out, expected.data, expected.size);
}

/* -- valid data ---------------------------------------------------------------------- */

static void check_settings(struct span data, uint32_t lc, uint32_t lp, uint32_t pb)
{
	static const size_t steps[] = { SIZE, 40000, 977 };
	auto_free struct packed *packed = dw_calloc(1, sizeof(*packed));

	append(packed, data, options_of(lc, lp, pb));
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
		check(packed, data, steps[i]);
}

static void each_setting_is_understood(void **state)
{
	auto_free uint8_t *data = exactly(SIZE);

	(void)state;
	for (int kind = 0; kind <= KIND_COUNT; kind++) {
		/* Random bytes are stored, in chunks of 64 KiB. */
		size_t size =
			is_under_valgrind() && kind != KIND_RANDOM ? SIZE / 4 : SIZE;

		if (kind == KIND_COUNT)
			fill_with_periods(data, size);
		else
			fill(data, size, (enum kind)kind);
		for (uint32_t pb = 0; pb <= 4; pb += 2)
			for (uint32_t lc = 0; lc <= 4; lc++)
				for (uint32_t lp = 0; lc + lp <= 4; lp += 2)
					check_settings((struct span){ data, size }, lc,
						       lp, pb);
	}
}

static void each_length_can_be_the_last(void **state)
{
	auto_free uint8_t *data = exactly(2000);
	auto_free struct packed *packed = dw_calloc(1, sizeof(*packed));

	(void)state;
	fill_with_periods(data, 2000);
	for (size_t size = 1; size <= 2000; size += 1 + size / 64) {
		packed->size = 0;
		append(packed, (struct span){ data, size }, options_of(3, 0, 2));
		check(packed, (struct span){ data, size }, 1);
	}
}

/* Each stream begins with an empty dictionary, and some are stored uncompressed. */
static void dictionaries_begin_anew(void **state)
{
	auto_free uint8_t *data = exactly(SIZE);
	auto_free struct packed *packed = dw_calloc(1, sizeof(*packed));
	const size_t third = SIZE / 3;

	(void)state;
	fill(data, third, KIND_TEXT);
	fill(data + third, third, KIND_RANDOM);
	memcpy(data + 2 * third, data, third);
	append(packed, (struct span){ data, third }, options_of(3, 0, 2));
	append(packed, (struct span){ data + third, third }, options_of(3, 0, 2));
	append(packed, (struct span){ data + 2 * third, third }, options_of(0, 2, 0));
	for (size_t step = 700; step < SIZE; step *= 3)
		check(packed, (struct span){ data, 3 * third }, step);
}

/* -- damaged data -------------------------------------------------------------------- */

static bool reference(struct span in, uint8_t *out, size_t size)
{
	lzma_options_lzma options = options_of(3, 0, 2);
	lzma_filter filters[] = { { LZMA_FILTER_LZMA2, &options },
				  { LZMA_VLI_UNKNOWN, NULL } };
	size_t at = 0, done = 0;

	return lzma_raw_buffer_decode(filters, NULL, in.data, &at, in.size, out, &done,
				      size) == LZMA_OK &&
	       done == size;
}

/* Either both decoders accept it with the same result, or neither does. Returns whether
 * they do. */
static bool compare(struct span in, size_t size)
{
	auto_free uint8_t *out = exactly(size), *expected = exactly(size);
	size_t at;
	bool good = reference(in, expected, size);

	assert_int_equal(unpack(in, out, size, 1000, &at) == LZMA2_END, good);
	if (good)
		assert_memory_equal(out, expected, size);
	return good;
}

static void damage_is_seen_as_by_others(void **state)
{
	auto_free uint8_t *data = exactly(DAMAGED);
	auto_free struct packed *packed = dw_calloc(1, sizeof(*packed));
	uint32_t random = 99;
	size_t good = 0;

	(void)state;
	for (int kind = 0; kind < KIND_COUNT; kind++) {
		fill(data, DAMAGED, (enum kind)kind);
		packed->size = 0;
		append(packed, (struct span){ data, DAMAGED }, options_of(3, 0, 2));
		for (int i = 0; i < 1500; i++) {
			uint32_t where = next_random(&random);
			size_t at = i % 3 ? where % packed->size : where % 16;
			uint8_t before, bits = (uint8_t)(next_random(&random) | 1);

			at = at < packed->size ? at : 0;
			before = packed->data[at];
			packed->data[at] ^= bits;
			good += compare((struct span){ packed->data, packed->size },
					DAMAGED);
			packed->data[at] = before;
		}
	}
	assert_true(good > 0); /* a byte of a stored chunk may have any value */
}

static void what_is_cut_off_is_bad(void **state)
{
	auto_free uint8_t *data = exactly(DAMAGED);
	auto_free struct packed *packed = dw_calloc(1, sizeof(*packed));

	(void)state;
	fill(data, DAMAGED, KIND_TEXT);
	append(packed, (struct span){ data, DAMAGED }, options_of(3, 0, 2));
	for (size_t size = 0; size < packed->size; size += 1 + size / 50)
		assert_false(compare((struct span){ packed->data, size }, DAMAGED));
	assert_true(compare((struct span){ packed->data, packed->size }, DAMAGED));
}

static void another_size_is_seen(void **state)
{
	auto_free uint8_t *data = exactly(SIZE), *out = exactly(SIZE + 1);
	auto_free struct packed *packed = dw_calloc(1, sizeof(*packed));
	size_t at;

	(void)state;
	for (int kind = 0; kind < KIND_COUNT; kind++) {
		struct span in = { packed->data, 0 };

		fill(data, SIZE, (enum kind)kind);
		packed->size = 0;
		append(packed, (struct span){ data, SIZE }, options_of(3, 0, 2));
		in.size = packed->size;
		assert_int_equal(unpack(in, out, SIZE - 1, 5000, &at), LZMA2_FULL);
		assert_int_equal(unpack(in, out, SIZE + 1, 5000, &at), LZMA2_BAD);
		assert_int_equal(unpack(in, out, 0, 5000, &at), LZMA2_FULL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_setting_is_understood),
		cmocka_unit_test(each_length_can_be_the_last),
		cmocka_unit_test(dictionaries_begin_anew),
		cmocka_unit_test(damage_is_seen_as_by_others),
		cmocka_unit_test(what_is_cut_off_is_bad),
		cmocka_unit_test(another_size_is_seen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
