/* SPDX-License-Identifier: MIT */
/*
 * write/segment/gatherer: chunks in too many blocks of others are stored again.
 */
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

/* Uncompressed blocks of this size, matches of 512 bytes or more, ordered by path. */
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

#define SOURCES 12

/* Twelve folders with two blocks each, and one with parts of all of them, twice. */
static void put_spread(const struct place *place, uint8_t *data, size_t each,
		       uint8_t *mixed, size_t part)
{
	char name[32];

	for (size_t i = 0; i < SOURCES; i++) {
		snprintf(name, sizeof(name), "d%02zu", i);
		put_dir(place, name);
		snprintf(name, sizeof(name), "d%02zu/f", i);
		put_file(place, name, data + i * each, each);
		for (size_t j = 0; j < 3; j++)
			memcpy(mixed + (3 * i + j) * part, data + i * each + j * 2 * part,
			       part);
	}
	put_dir(place, "z");
	put_file(place, "z/one", mixed, 3 * SOURCES * part);
	put_file(place, "z/two", mixed + 1, 3 * SOURCES * part - 1);
}

static void a_directory_is_in_few_foreign_blocks(void **state)
{
	const struct place *place = *state;
	size_t each = 128 * KIB, part = 6000, size = 3 * SOURCES * part;
	uint8_t *data = random_bytes(SOURCES * each, 9), *mixed = dw_malloc(size);
	uint64_t found[2];

	assert_non_null(mixed);
	put_spread(place, data, each, mixed, part);
	for (size_t limited = 0; limited < 2; limited++) {
		dwarfs_builder *builder = segmenting_builder(place, 16);
		dwarfs_image *image;

		builder->options.near_bytes = limited ? 64 * KIB : UINT64_MAX;
		builder->options.foreign_bytes = 0;
		found[limited] = build_and_count(builder, place);
		image = open_image(place);
		expect_bytes(image, "z/one", mixed, size);
		expect_bytes(image, "z/two", mixed + 1, size - 1);
		expect_bytes(image, "d11/f", data + 11 * each, each);
		dwarfs_image_free(image);
		assert_int_equal(remove(place->image), 0);
	}
	assert_in_range(found[0], 2 * size - 2 * KIB * SOURCES, 2 * size);
	/* Most of it is stored in the directory's own blocks, once. */
	assert_in_range(found[1], size, 2 * size - 3 * 3 * part);
	dw_free(data);
	dw_free(mixed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_directory_is_in_few_foreign_blocks,
						make_place, remove_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
