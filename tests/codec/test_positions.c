/* SPDX-License-Identifier: MIT */
/*
 * codec/encode/positions: the size of pixels, samples and numbers is found; other data have no
 * distance.
 */
#include "support/codec_data.h"

#include "base/bytes.h"
#include "codec/encode/positions.h"

enum { SIZE = 100000 };

/* Values of this size that change little from one to the one before it in the same channel. */
static void fill_with_samples(uint8_t *data, size_t size, unsigned bytes,
			      unsigned channels)
{
	uint64_t values[16] = { 0 };
	uint32_t random = 3;
	size_t at = 0;

	for (unsigned channel = 0; channel < channels; channel++)
		values[channel] = (uint64_t)channel << (8 * bytes - 4);
	for (unsigned channel = 0; at + bytes <= size;
	     channel = (channel + 1) % channels) {
		values[channel] += next_random(&random) % 7;
		values[channel] -= next_random(&random) % 7;
		for (unsigned i = 0; i < bytes; i++)
			data[at++] = (uint8_t)(values[channel] >> 8 * i);
	}
}

static void distances_are_found(void **state)
{
	static const struct {
		unsigned bytes, channels;
	} each[] = { { 1, 1 }, { 1, 3 }, { 1, 4 }, { 2, 1 },
		     { 2, 2 }, { 2, 3 }, { 4, 1 }, { 8, 1 } };
	auto_free uint8_t *data = exactly(SIZE);

	(void)state;
	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		memset(data, 0, SIZE);
		fill_with_samples(data, SIZE, each[i].bytes, each[i].channels);
		assert_int_equal(dw_similar_distance((struct span){ data, SIZE }),
				 each[i].bytes * each[i].channels);
	}
}

/* A record: a counter, a value that changes slowly, and noise. */
static void records_are_found(void **state)
{
	static const size_t sizes[] = { 11, 36, 255, 256 };
	auto_free uint8_t *data = exactly(SIZE);
	uint32_t random = 9;

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		memset(data, 0, SIZE);
		for (size_t at = 0; at + sizes[i] <= SIZE; at += sizes[i]) {
			for (size_t j = 0; j < sizes[i]; j++)
				data[at + j] = (uint8_t)(j * j * 37 + j);
			dw_store32(data + at, (uint32_t)(at / sizes[i] * 3));
			dw_store32(data + at + 4, next_random(&random));
		}
		assert_int_equal(dw_similar_distance((struct span){ data, SIZE }),
				 sizes[i]);
	}
}

/* Of each 8 bytes half are noise: no distance, but an alignment. */
static void alignment_is_found(void **state)
{
	auto_free uint8_t *data = exactly(SIZE);

	(void)state;
	fill(data, SIZE, KIND_RANDOM);
	for (size_t at = 0; at + 8 <= SIZE; at += 8)
		for (size_t i = 4; i < 8; i++)
			data[at + i] = (uint8_t)(60 + i * 8 + data[at + i] % 8);
	assert_true(dw_has_alignment((struct span){ data, SIZE }));
	assert_false(dw_has_alignment((struct span){ data, 65535 }));
	for (int kind = 0; kind < KIND_COUNT; kind++) {
		fill(data, SIZE, (enum kind)kind);
		assert_false(dw_has_alignment((struct span){ data, SIZE }));
	}
}

static void other_data_have_none(void **state)
{
	auto_free uint8_t *data = exactly(SIZE);

	(void)state;
	for (int kind = 0; kind < KIND_COUNT; kind++) {
		if (kind == KIND_RUNS)
			continue; /* each byte resembles the one before it */
		fill(data, SIZE, (enum kind)kind);
		assert_int_equal(dw_similar_distance((struct span){ data, SIZE }), 0);
	}
}

static void little_data_have_none(void **state)
{
	enum { LEAST = 65536 };
	auto_free uint8_t *least = exactly(LEAST), *less = exactly(LEAST - 1);

	(void)state;
	fill_with_samples(least, LEAST, 1, 1);
	memcpy(less, least, LEAST - 1);
	assert_int_equal(dw_similar_distance((struct span){ least, LEAST }), 1);
	assert_int_equal(dw_similar_distance((struct span){ less, LEAST - 1 }), 0);
	assert_int_equal(dw_similar_distance((struct span){ NULL, 0 }), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(distances_are_found),
		cmocka_unit_test(records_are_found),
		cmocka_unit_test(alignment_is_found),
		cmocka_unit_test(other_data_have_none),
		cmocka_unit_test(little_data_have_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
