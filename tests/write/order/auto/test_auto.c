/* SPDX-License-Identifier: MIT */
/*
 * order auto: the order chosen for a tree of several releases, the same for any number of
 * workers.
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

#define FILES	   64
#define RELEASES   6
#define FILE_BYTES 6000

/* Files differ, and each release changes one byte in 100. */
static void put_releases(const struct place *place)
{
	uint8_t data[FILE_BYTES];
	char name[32];

	for (unsigned r = 0; r < RELEASES; r++) {
		snprintf(name, sizeof(name), "%u.0", r);
		put_dir(place, name);
		for (unsigned f = 0; f < FILES; f++) {
			uint32_t random = f;

			for (size_t i = 0; i < FILE_BYTES; i++) {
				random =
					random * UINT32_C(1664525) + UINT32_C(1013904223);
				data[i] = (uint8_t)(random >> 24);
				if (i % 100 == 0)
					data[i] ^= (uint8_t)r;
			}
			snprintf(name, sizeof(name), "%u.0/file%02u", r, f);
			put_file(place, name, data, sizeof(data));
		}
	}
}

static uint8_t *build_with(const struct place *place, uint32_t workers, const char *order,
			   size_t *size_out)
{
	dwarfs_builder *builder = new_builder(place, workers);
	FILE *image;
	uint8_t *bytes;

	dwarfs_builder_set_history(builder, false);
	dwarfs_builder_set_create_timestamp(builder, false);
	assert_int_equal(dwarfs_builder_set_level(builder, 4, NULL), 0);
	assert_int_equal(dwarfs_builder_set_block_bits(builder, 17, NULL), 0);
	assert_int_equal(dwarfs_builder_set_order(builder, order, NULL), 0);
	remove(place->image);
	assert_int_equal(build(builder, place), 0);
	dwarfs_builder_free(builder);
	image = fopen(place->image, "rb");
	assert_non_null(image);
	assert_int_equal(fseek(image, 0, SEEK_END), 0);
	*size_out = (size_t)ftell(image);
	rewind(image);
	bytes = malloc(*size_out);
	assert_non_null(bytes);
	assert_int_equal(fread(bytes, 1, *size_out, image), *size_out);
	fclose(image);
	return bytes;
}

static void versions_stand_together_for_any_number_of_workers(void **state)
{
	const struct place *place = *state;
	size_t size, other, by_path;
	uint8_t *first, *again;

	put_releases(place);
	free(build_with(place, 0, "path", &by_path));
	first = build_with(place, 0, "auto", &size);
	assert_true(size < by_path / 2);
	dwarfs_image_free(open_image(place));
	for (uint32_t workers = 1; workers <= 4; workers += 3) {
		again = build_with(place, workers, "auto", &other);
		assert_int_equal(other, size);
		assert_memory_equal(first, again, size);
		free(again);
	}
	free(first);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			versions_stand_together_for_any_number_of_workers, make_place,
			remove_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
