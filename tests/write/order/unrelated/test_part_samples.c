/* SPDX-License-Identifier: MIT */
/*
 * order/unrelated/part_samples: short runs of bytes in samples of directories.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "support/order_tree.h"
#include "write/order/unrelated/part_samples.h"

#define FILES 6 /* of order_tree_small() */
#define SIZE  8192
#define PARTS 3

static void fill(uint8_t *data, size_t size, uint32_t seed)
{
	for (size_t i = 0; i < size; i++) {
		seed = seed * UINT32_C(1664525) + UINT32_C(1013904223);
		data[i] = (uint8_t)(seed >> 24);
	}
}

/* Two files in each part. */
static void take(struct order_tree *place, struct part_sample *samples)
{
	static const uint32_t part_of[FILES] = { 0, 0, 1, 1, 2, 2 };
	static const uint64_t bytes[PARTS] = { 2 * SIZE, 2 * SIZE, 2 * SIZE };
	struct order_input input = order_tree_input(place, NULL);

	memset(samples, 0, PARTS * sizeof(*samples));
	assert_int_equal(dw_part_samples_take(&input, place->numbers, part_of, FILES,
					      bytes, samples, PARTS, NULL),
			 0);
}

static void equal_bytes_have_the_same_runs(void **state)
{
	static uint8_t data[FILES * SIZE];
	struct part_sample samples[PARTS];
	struct order_tree *place;

	(void)state;
	fill(data, sizeof(data), 1);
	memcpy(data + 2 * SIZE + 100, data, SIZE - 100); /* not at the same place */
	place = order_tree_with_bytes(data, SIZE);
	take(place, samples);
	/* One run in 16 of two files, each of which is read whole. */
	assert_in_range(samples[0].count, 2 * SIZE / 20, 2 * SIZE / 13);
	for (size_t i = 1; i < samples[0].count; i++)
		assert_true(samples[0].runs[i - 1] < samples[0].runs[i]);
	assert_int_equal(dw_part_samples_common(&samples[0], &samples[0]),
			 samples[0].count);
	assert_in_range(dw_part_samples_common(&samples[0], &samples[1]), SIZE / 20,
			SIZE / 13);
	assert_int_equal(dw_part_samples_common(&samples[0], &samples[1]),
			 dw_part_samples_common(&samples[1], &samples[0]));
	assert_int_equal(dw_part_samples_common(&samples[0], &samples[2]), 0);
	dw_part_samples_free(samples, PARTS);
	order_tree_free(place);
}

static void runs_that_are_repeated_count_once(void **state)
{
	static uint8_t data[FILES * SIZE];
	struct part_sample samples[PARTS];
	struct order_tree *place;

	(void)state;
	for (size_t i = 0; i < sizeof(data); i += 64)
		fill(data + i, 64, 1);
	place = order_tree_with_bytes(data, SIZE);
	take(place, samples);
	assert_in_range(samples[0].count, 1, 64);
	assert_int_equal(dw_part_samples_common(&samples[0], &samples[2]),
			 samples[0].count);
	dw_part_samples_free(samples, PARTS);
	order_tree_free(place);
}

/* Pieces are at even distances: of a large part they do not overlap. */
static void a_large_part_is_sampled_in_pieces(void **state)
{
	static uint8_t data[FILES * SIZE];
	static const uint32_t part_of[FILES] = { 0 };
	const uint64_t bytes = (uint64_t)PART_SAMPLES * 2 * SIZE;
	struct part_sample sample = { 0 };
	struct order_input input;
	struct order_tree *place;

	(void)state;
	fill(data, sizeof(data), 1);
	place = order_tree_with_bytes(data, SIZE);
	input = order_tree_input(place, NULL);
	assert_int_equal(dw_part_samples_take(&input, place->numbers, part_of, FILES,
					      &bytes, &sample, 1, NULL),
			 0);
	/* 4 KiB in each 16 KiB of the 48 that there are. */
	assert_in_range(sample.count, 3 * PART_SAMPLE_BYTES / 20,
			3 * PART_SAMPLE_BYTES / 13);
	dw_part_samples_free(&sample, 1);
	order_tree_free(place);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_bytes_have_the_same_runs),
		cmocka_unit_test(runs_that_are_repeated_count_once),
		cmocka_unit_test(a_large_part_is_sampled_in_pieces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
