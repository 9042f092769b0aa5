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

/* Whatever would change an image that is written already says so. */
static void a_builder_that_has_run_is_not_changed(void **state)
{
	dwarfs_builder *builder = new_builder(*state, 1);
	dwarfs_error *err = NULL;
	dwarfs_item *item = NULL;

	assert_int_equal(dwarfs_item_new(0100644, &item, NULL), 0);
	assert_int_equal(dwarfs_builder_scan(builder, &err), 0);
#define REFUSED(call)                                                                    \
	do {                                                                             \
		assert_int_equal(call, DWARFS_ERR_INVALID);                              \
		assert_non_null(err);                                                    \
		assert_non_null(                                                         \
			strstr(dwarfs_error_message(err), "the builder has run"));       \
		dwarfs_error_free(err);                                                  \
		err = NULL;                                                              \
	} while (0)
	REFUSED(dwarfs_builder_add_directory(builder, ".", &err));
	REFUSED(dwarfs_builder_add_item(builder, "a", 1, item, &err));
	REFUSED(dwarfs_builder_add_tree(builder, ".", "", 0, &err));
	REFUSED(dwarfs_builder_begin_layer(builder, &err));
	REFUSED(dwarfs_builder_check_links(builder, &err));
	REFUSED(dwarfs_builder_set_on_conflict(builder, DWARFS_CONFLICT_LAST, &err));
	REFUSED(dwarfs_builder_set_spool(builder, NULL, 1 << 20, &err));
	REFUSED(dwarfs_builder_add_filter(builder, "- x", &err));
	REFUSED(dwarfs_builder_add_path(builder, "x", &err));
	REFUSED(dwarfs_builder_set_file_hash(builder, "sha256", &err));
	REFUSED(dwarfs_builder_set_scan_workers(builder, 1, &err));
	REFUSED(dwarfs_builder_set_level(builder, 3, &err));
	REFUSED(dwarfs_builder_set_block_bits(builder, 20, &err));
	REFUSED(dwarfs_builder_set_codec(builder, DWARFS_CODEC_BLOCKS, "null", &err));
	REFUSED(dwarfs_builder_set_category_codec(builder, "<default>", "null", &err));
	REFUSED(dwarfs_builder_set_category_order(builder, "<default>", "path", &err));
	REFUSED(dwarfs_builder_set_order(builder, "path", &err));
	REFUSED(dwarfs_builder_set_window(builder, NULL, 10, &err));
	REFUSED(dwarfs_builder_set_digests(builder, DWARFS_DIGESTS_NEVER, &err));
	REFUSED(dwarfs_builder_set_window_step(builder, NULL, 1, &err));
	REFUSED(dwarfs_builder_set_lookback(builder, NULL, 1, &err));
	REFUSED(dwarfs_builder_set_memory_limit(builder, 1 << 30, &err));
	REFUSED(dwarfs_builder_set_process_memory_limit(builder, 1 << 30, &err));
	REFUSED(dwarfs_builder_set_compress_niceness(builder, 1, &err));
	REFUSED(dwarfs_builder_set_time(builder, 1, 0, &err));
	REFUSED(dwarfs_builder_set_chmod(builder, "u+w", &err));
	REFUSED(dwarfs_builder_set_umask(builder, 022, &err));
	REFUSED(dwarfs_builder_set_time_resolution(builder, 1, &err));
	REFUSED(dwarfs_builder_add_xattr_rule(builder, true, "user.*", &err));
	REFUSED(dwarfs_builder_set_pack_metadata(builder, "auto", &err));
	REFUSED(dwarfs_builder_add_history_argument(builder, "x", &err));
	REFUSED(dwarfs_builder_set_header(builder, "#!", 2, &err));
	REFUSED(dwarfs_builder_set_categorizers(builder, "pcmaudio", &err));
	REFUSED(dwarfs_builder_set_incompressible(builder, 1, 1, 1.0, 1, true, &err));
	REFUSED(dwarfs_builder_add_hot_path(builder, "x", &err));
	REFUSED(dwarfs_builder_add_category(builder, "x", &err));
	REFUSED(dwarfs_builder_set_recompress_categories(builder, "x", &err));
	REFUSED(dwarfs_builder_set_max_unused(builder, 10, &err));
#undef REFUSED
	dwarfs_item_free(item);
	dwarfs_builder_free(builder);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_place, remove_place)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(inputs_must_be_directories),
		TEST(callbacks_take_the_image),
		TEST(an_image_in_memory_can_be_opened),
		TEST(a_sink_takes_one_image),
		TEST(a_builder_that_has_run_is_not_changed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
