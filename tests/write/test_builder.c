/* SPDX-License-Identifier: MIT */
/*
 * write/builder: inputs and outputs of a builder.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
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
	int closed;
};

static int take(const void *data, size_t bytes, dwarfs_error **err, void *user)
{
	struct taken *taken = user;

	taken->bytes += bytes;
	return taken->limit && taken->bytes > taken->limit
		       ? dwarfs_error_set(err, DWARFS_ERR_NO_SPACE, ENOSPC, "bucket full")
		       : 0;
}

static void close_taken(void *user)
{
	((struct taken *)user)->closed++;
}

static dwarfs_sink *sink_to(struct taken *taken)
{
	dwarfs_sink *sink = NULL;

	assert_int_equal(dwarfs_sink_new(take, close_taken, taken, &sink, NULL), 0);
	return sink;
}

static void callbacks_take_the_image(void **state)
{
	const struct place *place = *state;
	dwarfs_builder *builder = new_builder(place, 1);
	struct taken all = { 0 }, some = { .limit = 100 };
	dwarfs_sink *sink = sink_to(&all);
	dwarfs_error *err = NULL;

	put_text(place, "file", "some text");
	assert_int_equal(dwarfs_builder_set_header(builder, "#!", 2, NULL), 0);
	assert_int_equal(dwarfs_builder_write(builder, sink, NULL), 0);
	assert_int_equal(finish(builder, DWARFS_COUNT_BYTES_OUT), all.bytes);
	assert_int_equal(all.closed, 0);
	dwarfs_sink_free(sink);
	assert_int_equal(all.closed, 1);
	builder = new_builder(place, 1);
	sink = sink_to(&some);
	assert_int_equal(dwarfs_builder_write(builder, sink, &err), DWARFS_ERR_NO_SPACE);
	assert_int_equal(dwarfs_error_errno(err), ENOSPC);
	assert_non_null(strstr(dwarfs_error_message(err), "bucket full"));
	dwarfs_sink_free(sink);
	assert_int_equal(some.closed, 1);
	dwarfs_error_free(err);
	dwarfs_builder_free(builder);
}

static void an_image_in_memory_can_be_opened(void **state)
{
	const struct place *place = *state;
	dwarfs_builder *builder = new_builder(place, 1);
	dwarfs_sink *sink = NULL;
	dwarfs_image *image = NULL;
	dwarfs_io *io = NULL;
	void *data = NULL;
	size_t bytes = 0;

	put_text(place, "file", "some text");
	assert_int_equal(dwarfs_sink_to_memory(SIZE_MAX, &sink, NULL), 0);
	assert_int_equal(dwarfs_builder_write(builder, sink, NULL), 0);
	assert_int_equal(dwarfs_sink_take(sink, &data, &bytes, NULL), 0);
	dwarfs_sink_free(sink);
	assert_int_equal(finish(builder, DWARFS_COUNT_BYTES_OUT), bytes);
	assert_int_equal(
		dwarfs_io_from_memory(data, bytes, dwarfs_memory_free, data, &io, NULL),
		0);
	assert_int_equal(dwarfs_image_open_io(NULL, io, NULL, &image, NULL), 0);
	dwarfs_io_free(io);
	expect_text(image, "file", "some text");
	dwarfs_image_free(image);
}

/* The first image is unchanged. */
static void a_sink_takes_one_image(void **state)
{
	const struct place *place = *state;
	struct taken all = { 0 };
	dwarfs_sink *sink = sink_to(&all);
	dwarfs_builder *builder = new_builder(place, 1);
	dwarfs_error *err = NULL;
	size_t bytes;

	put_text(place, "file", "some text");
	assert_int_equal(dwarfs_builder_write(builder, sink, NULL), 0);
	dwarfs_builder_free(builder);
	bytes = all.bytes;
	builder = new_builder(place, 1);
	assert_int_equal(dwarfs_builder_write(builder, sink, &err), DWARFS_ERR_INVALID);
	assert_non_null(strstr(dwarfs_error_message(err), "already"));
	dwarfs_error_free(err);
	dwarfs_builder_free(builder);
	dwarfs_sink_free(sink);
	assert_int_equal(all.bytes, bytes);
	assert_int_equal(all.closed, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_place, remove_place)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(inputs_must_be_directories),
		TEST(callbacks_take_the_image),
		TEST(an_image_in_memory_can_be_opened),
		TEST(a_sink_takes_one_image),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
