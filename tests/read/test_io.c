/* SPDX-License-Identifier: MIT */
/*
 * read/io: images at an offset of a source, and sources that fail or give little at once.
 */
#include <errno.h>
#include <stdio.h>

#include "read/known.h"

static int open_at(struct span bytes, uint64_t offset, uint64_t size,
		   dwarfs_image **image_out)
{
	dwarfs_image_options *options = NULL;
	dwarfs_io *io = NULL;
	int ret;

	assert_int_equal(dwarfs_image_options_new(&options, NULL), 0);
	dwarfs_image_options_set_offset(options, offset);
	dwarfs_image_options_set_bytes(options, size);
	assert_int_equal(
		dwarfs_io_from_memory(bytes.data, bytes.size, NULL, NULL, &io, NULL), 0);
	ret = dwarfs_image_open_io(NULL, io, options, image_out, NULL);
	dwarfs_io_free(io);
	dwarfs_image_options_free(options);
	return ret;
}

static void place_and_size_can_be_given(void **state)
{
	auto_buffer struct buffer bytes = { 0 };
	auto_test_image dwarfs_image *image = NULL, *none = NULL;
	struct span all;

	assert_int_equal(dw_buffer_append(&bytes, "12345", 5, NULL), 0);
	assert_int_equal(dw_buffer_append(&bytes, one_file, sizeof(one_file), NULL), 0);
	assert_int_equal(dw_buffer_append(&bytes, "678", 3, NULL), 0);
	all = dw_buffer_span(&bytes);

	assert_int_equal(open_at(all, 5, sizeof(one_file), &image), 0);
	assert_true(dwarfs_image_has_index(image));
	assert_reads_hi(image);
	dwarfs_image_free(dw_steal(image));
	assert_int_equal(open_at(all, DWARFS_OFFSET_AUTO, sizeof(one_file), &image), 0);
	assert_reads_hi(image);
	/* Garbage behind it, and places where nothing is. */
	assert_int_equal(open_at(all, 5, DWARFS_SIZE_AUTO, &none), DWARFS_ERR_CORRUPT);
	assert_int_equal(open_at(all, 4, sizeof(one_file), &none), DWARFS_ERR_NOT_IMAGE);
	assert_int_equal(open_at(all, all.size, DWARFS_SIZE_AUTO, &none),
			 DWARFS_ERR_NOT_IMAGE);
	assert_int_equal(open_at(all, all.size + 1, 0, &none), DWARFS_ERR_NOT_IMAGE);
	assert_int_equal(open_at(all, UINT64_MAX - 1, 8, &none), DWARFS_ERR_NOT_IMAGE);
	assert_int_equal(open_at(all, 5, all.size, &none), DWARFS_ERR_RANGE);
	assert_int_equal(open_at(all, 5, UINT64_MAX - 1, &none), DWARFS_ERR_RANGE);
	assert_int_equal(open_at(all, 5, 0, &none), DWARFS_ERR_NOT_IMAGE);
	dwarfs_image_options_free(NULL);
}

/* -- sources ------------------------------------------------------------------------- */

struct source {
	size_t at_once; /* bytes given at once, or 0 for all */
	int calls, closed, interrupt_every;
	int64_t fails_with;
	uint64_t fails_from;
};

static int64_t read_source(void *buffer, size_t bytes, uint64_t offset, void *user)
{
	struct source *source = user;

	assert_true(bytes > 0 && offset + bytes <= sizeof(one_file));
	source->calls++;
	if (source->interrupt_every && source->calls % source->interrupt_every == 0)
		return -EINTR;
	if (source->fails_from && offset + bytes > source->fails_from)
		return source->fails_with;
	if (source->at_once && bytes > source->at_once)
		bytes = source->at_once;
	memcpy(buffer, one_file + offset, bytes);
	return (int64_t)bytes;
}

static void close_source(void *user)
{
	struct source *source = user;

	source->closed++;
}

static int open_source(struct source *source, dwarfs_image **image_out,
		       dwarfs_error **err)
{
	dwarfs_io *io = NULL;
	int ret;

	assert_int_equal(dwarfs_io_new(read_source, sizeof(one_file), close_source,
				       source, &io, NULL),
			 0);
	assert_int_equal(dwarfs_io_bytes(io), sizeof(one_file));
	ret = dwarfs_image_open_io(NULL, io, NULL, image_out, err);
	dwarfs_io_free(io);
	return ret;
}

static void callbacks_may_give_little_at_once(void **state)
{
	struct source source = { .at_once = 1, .interrupt_every = 3 };
	dwarfs_image *image = NULL;

	assert_int_equal(open_source(&source, &image, NULL), 0);
	assert_reads_hi(image);
	assert_int_equal(source.closed, 0);
	dwarfs_image_free(image);
	assert_int_equal(source.closed, 1);
}

static void failing_callbacks_are_input_output_errors(void **state)
{
	static const struct {
		int64_t returned;
		int errnum;
	} cases[] = { { -EIO, EIO },
		      { -ENOENT, ENOENT },
		      { -EACCES, EACCES },
		      { 0, 0 },
		      { INT64_MIN, EIO } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		auto_error dwarfs_error *err = NULL;
		struct source source = { .fails_with = cases[i].returned,
					 .fails_from = ONE_FILE_METADATA };
		dwarfs_image *image = NULL;
		uint64_t offset;

		assert_int_equal(open_source(&source, &image, &err), DWARFS_ERR_IO);
		assert_int_equal(dwarfs_error_code(err), DWARFS_ERR_IO);
		assert_int_equal(dwarfs_error_errno(err), cases[i].errnum);
		assert_true(dwarfs_error_offset(err, &offset));
		assert_null(image);
		assert_int_equal(source.closed, 1);
	}
}

static void ranges_of_sources_are_checked(void **state)
{
	dwarfs_io *io = NULL;
	uint8_t bytes[8] = { 0 };

	assert_int_equal(dwarfs_io_new(NULL, 8, NULL, NULL, &io, NULL),
			 DWARFS_ERR_INVALID);
	assert_int_equal(dwarfs_io_from_memory("abcdef", 6, NULL, NULL, &io, NULL), 0);
	assert_int_equal(dwarfs_io_read(io, bytes, 6, 0, NULL), 0);
	assert_memory_equal(bytes, "abcdef", 6);
	assert_int_equal(dwarfs_io_read(io, bytes, 0, 6, NULL), 0);
	assert_int_equal(dwarfs_io_read(io, bytes, 1, 6, NULL), DWARFS_ERR_RANGE);
	assert_int_equal(dwarfs_io_read(io, bytes, 7, 0, NULL), DWARFS_ERR_RANGE);
	assert_int_equal(dwarfs_io_read(io, bytes, 2, UINT64_MAX, NULL),
			 DWARFS_ERR_RANGE);
	assert_int_equal(dwarfs_io_read(io, bytes, SIZE_MAX, 2, NULL), DWARFS_ERR_RANGE);
	dwarfs_io_free(io);
	dwarfs_io_free(NULL);
	assert_int_equal(dwarfs_io_from_fd(-1, &io, NULL), DWARFS_ERR_INVALID);
}

static void files_that_are_not_there_are_named(void **state)
{
	auto_error dwarfs_error *err = NULL;
	dwarfs_image *image = NULL;
	int ret;

	assert_int_equal(
		dwarfs_image_open(NULL, "/nonexistent/x.dwarfs", NULL, &image, &err),
		DWARFS_ERR_NOT_FOUND);
	assert_string_equal(dwarfs_error_path(err), "/nonexistent/x.dwarfs");
	assert_int_equal(dwarfs_error_errno(err), ENOENT);
	assert_int_equal(dwarfs_image_open(NULL, "/", NULL, &image, &err),
			 DWARFS_ERR_IS_DIR);
	ret = dwarfs_image_open(NULL, "/dev/null", NULL, &image, &err);
	assert_true(ret < 0);
	assert_int_equal(dwarfs_error_code(err), ret);
	assert_null(image);
	dwarfs_image_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(place_and_size_can_be_given),
		cmocka_unit_test(callbacks_may_give_little_at_once),
		cmocka_unit_test(failing_callbacks_are_input_output_errors),
		cmocka_unit_test(ranges_of_sources_are_checked),
		cmocka_unit_test(files_that_are_not_there_are_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
