/* SPDX-License-Identifier: MIT */
/* build: the stored bytes of files with recurring contents, which are read back
 * unchanged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/write_run.h"
#include "write/builder.h"
#include "write/segment/locality.h"

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)

static uint8_t *random_bytes(size_t size, uint32_t seed)
{
	uint8_t *data = dw_malloc(size);

	assert_non_null(data);
	for (size_t i = 0; i < size; i++) {
		seed = seed * 1664525u + 1013904223u;
		data[i] = (uint8_t)(seed >> 24);
	}
	return data;
}

/* Uncompressed blocks of this size, matches of 128 bytes or more, ordered by path. */
static dwarfs_builder *segmenting_builder(const struct place *place, uint32_t block_bits)
{
	dwarfs_builder *builder = new_builder(place, 2);

	assert_int_equal(dwarfs_builder_set_level(builder, 3, NULL), 0);
	assert_int_equal(dwarfs_builder_set_order(builder, "path", NULL), 0);
	assert_int_equal(
		dwarfs_builder_set_codec(builder, DWARFS_CODEC_BLOCKS, "null", NULL), 0);
	assert_int_equal(dwarfs_builder_set_block_bits(builder, block_bits, NULL), 0);
	return builder;
}

/* Bytes saved by deduplication. */
static uint64_t build_and_count(dwarfs_builder *builder, const struct place *place)
{
	uint64_t found;

	if (build(builder, place) < 0)
		fail_msg("%s", all_messages());
	found = dwarfs_builder_count(builder, DWARFS_COUNT_BYTES_SEGMENTS);
	dwarfs_builder_free(builder);
	return found;
}

static void repeats_are_found_across_blocks_and_pieces(void **state)
{
	const struct place *place = *state;
	size_t size = 2 * MIB + 12345;
	uint8_t *data = random_bytes(size + 1000, 1);

	for (uint32_t bits = 16; bits <= 24; bits += 4) {
		dwarfs_image *image;
		uint64_t found;

		put_file(place, "a", data, size);
		put_file(place, "b", data + 777, size);
		found = build_and_count(segmenting_builder(place, bits), place);
		assert_in_range(found, size - 40 * KIB, size);
		image = open_image(place);
		expect_bytes(image, "a", data, size);
		expect_bytes(image, "b", data + 777, size);
		dwarfs_image_free(image);
		assert_int_equal(remove(place->image), 0);
	}
	dw_free(data);
}

static void no_block_beyond_the_lookback_is_referred_to(void **state)
{
	const struct place *place = *state;
	uint8_t *data = random_bytes(4 * 64 * KIB, 2);

	put_file(place, "a", data, 30 * KIB);
	put_file(place, "b", data + 64 * KIB, 3 * 64 * KIB); /* on to block 3 */
	put_file(place, "c", data + 1, 30 * KIB - 1);
	for (uint32_t blocks = 0; blocks <= 6; blocks++) {
		dwarfs_builder *builder = segmenting_builder(place, 16);
		dwarfs_image *image;
		uint64_t found;

		assert_int_equal(dwarfs_builder_set_lookback(builder, NULL, blocks, NULL),
				 0);
		found = build_and_count(builder, place);
		assert_int_equal(found, blocks > 3 ? 30 * KIB - 1 : 0);
		image = open_image(place);
		expect_bytes(image, "c", data + 1, 30 * KIB - 1);
		dwarfs_image_free(image);
		assert_int_equal(remove(place->image), 0);
	}
	dw_free(data);
}

/* Many matches that begin before their anchor, next to new literals. */
static void bytes_are_taken_back(void **state)
{
	const struct place *place = *state;
	size_t size = 400 * KIB, part = 3001;
	uint8_t *data = random_bytes(size, 3), *mixed = random_bytes(size, 4);
	dwarfs_image *image;

	for (size_t at = 0; at + part < size; at += 2 * part)
		memcpy(mixed + at, data + (at * 7) % (size - part), part);
	put_file(place, "a", data, size);
	put_file(place, "b", mixed, size);
	put_file(place, "c", mixed + 1000, size - 2000);
	assert_in_range(build_and_count(segmenting_builder(place, 16), place),
			size / 3 + size - 20 * KIB, 2 * size);
	image = open_image(place);
	expect_bytes(image, "b", mixed, size);
	expect_bytes(image, "c", mixed + 1000, size - 2000);
	dwarfs_image_free(image);
	dw_free(data);
	dw_free(mixed);
}

static void zeros_that_are_no_hole_are_stored_once(void **state)
{
	const struct place *place = *state;
	size_t size = 20 * MIB;
	uint8_t *data = dw_calloc(1, size);
	dwarfs_builder *builder = segmenting_builder(place, 20);
	dwarfs_image *image;

	assert_non_null(data);
	data[size - 1] = 1;
	put_file(place, "a", data, size);
	dwarfs_builder_set_sparse_files(builder, false);
	assert_in_range(build_and_count(builder, place), size - MIB, size);
	image = open_image(place);
	assert_int_equal(dwarfs_image_block_count(image), 1);
	expect_bytes(image, "a", data, size);
	dwarfs_image_free(image);
	dw_free(data);
}

/*
 * A literal that continues a match is from another file than the match; both are read
 * again, as too many bytes are between them to be kept in memory.
 */
static void what_follows_a_match_is_known_by_its_own_file(void **state)
{
	const struct place *place = *state;
	size_t part = 64 * KIB, filler = 50 * MIB; /* more than is kept */
	uint8_t *m = random_bytes(part, 5), *x = random_bytes(part, 6);
	uint8_t *y = random_bytes(part, 7), *file = dw_malloc(2 * part);
	uint64_t *rest = dw_malloc(filler), seed = 88172645463325252u;
	dwarfs_builder *builder = segmenting_builder(place, 20);
	dwarfs_image *image;

	assert_true(file && rest);
	for (size_t i = 0; i < filler / sizeof(*rest); i++) {
		seed ^= seed << 13;
		seed ^= seed >> 7;
		seed ^= seed << 17;
		rest[i] = seed;
	}
	put_file(place, "a", m, part);
	memcpy(file, x, part);
	memcpy(file + part, m, part);
	put_file(place, "b", file, 2 * part); /* x is stored, m is not */
	memcpy(file + part, y, part);
	put_file(place, "c", file, 2 * part); /* x is not, y is stored after it */
	put_file(place, "d", rest, filler);
	memcpy(file, x + 1, part - 1);
	memcpy(file + part - 1, x, part);
	put_file(place, "e", file, 2 * part - 1); /* x twice, but not contiguously */
	assert_in_range(build_and_count(builder, place), 3 * part, 5 * part);
	image = open_image(place);
	expect_bytes(image, "e", file, 2 * part - 1);
	dwarfs_image_free(image);
	dw_free(m);
	dw_free(x);
	dw_free(y);
	dw_free(file);
	dw_free(rest);
}

/* A file of the data with a byte changed at each multiple of a distance. */
static void put_changed(const struct place *place, const char *name, const uint8_t *data,
			size_t size, size_t distance)
{
	uint8_t *changed = dw_malloc(size);

	assert_non_null(changed);
	memcpy(changed, data, size);
	for (size_t i = 0; i < size; i += distance)
		changed[i] ^= 1;
	put_file(place, name, changed, size);
	dw_free(changed);
}

static uint64_t count_with_limit(const struct place *place, uint64_t limit)
{
	dwarfs_builder *builder = segmenting_builder(place, 21);
	uint64_t found;

	assert_int_equal(dwarfs_builder_set_memory_limit(builder, limit, NULL), 0);
	found = build_and_count(builder, place);
	assert_int_equal(remove(place->image), 0);
	return found;
}

/* The runs in the second file are many enough to take all chunks before those in the last. */
static void chunks_are_left_for_the_end(void **state)
{
	const struct place *place = *state;
	const size_t size = 12 * MIB;
	uint8_t *data = random_bytes(size, 3);

	put_file(place, "a", data, size);
	put_changed(place, "c", data, size, 64 * KIB);
	for (size_t distance = 150; distance <= 350; distance += 100) {
		put_changed(place, "b", data, size, distance);
		for (uint64_t limit = 16; limit <= 56; limit += 8)
			assert_true(count_with_limit(place, limit * MIB) >=
				    size - 64 * KIB);
	}
	dw_free(data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			repeats_are_found_across_blocks_and_pieces, make_place,
			remove_place),
		cmocka_unit_test_setup_teardown(
			no_block_beyond_the_lookback_is_referred_to, make_place,
			remove_place),
		cmocka_unit_test_setup_teardown(bytes_are_taken_back, make_place,
						remove_place),
		cmocka_unit_test_setup_teardown(zeros_that_are_no_hole_are_stored_once,
						make_place, remove_place),
		cmocka_unit_test_setup_teardown(
			what_follows_a_match_is_known_by_its_own_file, make_place,
			remove_place),
		cmocka_unit_test_setup_teardown(chunks_are_left_for_the_end, make_place,
						remove_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
