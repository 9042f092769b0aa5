/* SPDX-License-Identifier: MIT */
/*
 * write/builder: inputs and outputs of a builder.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/write_run.h"

static uint64_t finish(dwarfs_builder *builder, int count)
{
	uint64_t value = dwarfs_builder_count(builder, count);

	dwarfs_builder_free(builder);
	return value;
}

static void inputs_must_be_directories(void **state)
{
	const struct place *place = *state;
	dwarfs_builder *builder = NULL;
	dwarfs_error *err = NULL;

	put_text(place, "file", "x");
	assert_int_equal(dwarfs_builder_new(NULL, &builder, NULL), 0);
	assert_int_equal(build(builder, place), DWARFS_ERR_INVALID);
	assert_int_equal(dwarfs_builder_add_directory(builder, in(place, "file"), &err),
			 DWARFS_ERR_NOT_DIR);
	assert_non_null(strstr(dwarfs_error_message(err), "must be a directory"));
	assert_int_equal(dwarfs_builder_add_directory(builder, in(place, "none"), &err),
			 DWARFS_ERR_NOT_FOUND);
	assert_string_equal(dwarfs_error_path(err), in(place, "none"));
	dwarfs_error_free(err);
	dwarfs_builder_free(builder);
}

struct taken {
	size_t bytes, limit;
};

static int take(const void *data, size_t bytes, void *user)
{
	struct taken *taken = user;

	taken->bytes += bytes;
	return taken->limit && taken->bytes > taken->limit ? -28 /* ENOSPC */ : 0;
}

static void callbacks_take_the_image(void **state)
{
	const struct place *place = *state;
	dwarfs_builder *builder = new_builder(place, 1);
	struct taken all = { 0 }, some = { .limit = 100 };
	dwarfs_error *err = NULL;

	put_text(place, "file", "some text");
	assert_int_equal(dwarfs_builder_set_header(builder, "#!", 2, NULL), 0);
	assert_int_equal(dwarfs_builder_write_callback(builder, take, &all, NULL), 0);
	assert_int_equal(finish(builder, DWARFS_COUNT_BYTES_OUT), all.bytes);
	builder = new_builder(place, 1);
	assert_int_equal(dwarfs_builder_write_callback(builder, take, &some, &err),
			 DWARFS_ERR_NO_SPACE);
	dwarfs_error_free(err);
	dwarfs_builder_free(builder);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_place, remove_place)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(inputs_must_be_directories),
		TEST(callbacks_take_the_image),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
