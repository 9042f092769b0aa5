/* SPDX-License-Identifier: MIT */
/*
 * os/io: images at an offset of a source; sources that fail or return few bytes per read;
 * names, rounds of reads, and streams.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "os/io.h"
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
	/* Followed by other bytes; and offsets without an image. */
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
	size_t at_once; /* bytes returned per read, or 0 for all */
	int calls, closed;
	int fails_with; /* an error code, or 0 for the end of the data */
	int errnum;
	const char *message; /* of the failure; or NULL */
	uint64_t fails_from;
};

static int read_source(void *buffer, size_t bytes, uint64_t offset, size_t *bytes_out,
		       dwarfs_error **err, void *user)
{
	struct source *source = user;

	assert_true(bytes > 0 && offset + bytes <= sizeof(one_file));
	source->calls++;
	if (source->fails_from && offset + bytes > source->fails_from) {
		*bytes_out = 0;
		return source->message ? dwarfs_error_set(err, source->fails_with,
							  source->errnum, source->message)
				       : source->fails_with;
	}
	if (source->at_once && bytes > source->at_once)
		bytes = source->at_once;
	memcpy(buffer, one_file + offset, bytes);
	*bytes_out = bytes;
	return 0;
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
	struct source source = { .at_once = 1 };
	dwarfs_image *image = NULL;

	assert_int_equal(open_source(&source, &image, NULL), 0);
	assert_reads_hi(image);
	assert_int_equal(source.closed, 0);
	dwarfs_image_free(image);
	assert_int_equal(source.closed, 1);
}

static void a_failing_callback_has_the_last_word(void **state)
{
	static const struct {
		int returned, errnum;
		const char *message;
		int code;
		const char *part; /* of the message */
	} cases[] = {
		{ DWARFS_ERR_IO, ECONNRESET, "the connection", DWARFS_ERR_IO,
		  "the connection: " },
		{ DWARFS_ERR_NOT_FOUND, 0, "no such object", DWARFS_ERR_NOT_FOUND,
		  "no such object" },
		{ DWARFS_ERR_ACCESS, 0, NULL, DWARFS_ERR_ACCESS, "a callback failed" },
		{ DWARFS_ERR_CANCELLED, 0, NULL, DWARFS_ERR_CANCELLED, "cancelled" },
		{ 1, 0, NULL, DWARFS_ERR_CANCELLED, "cancelled" },
		{ INT_MAX, 0, NULL, DWARFS_ERR_CANCELLED, "cancelled" },
		{ INT_MIN, 0, NULL, DWARFS_ERR_CANCELLED, "cancelled" },
		{ 0, 0, NULL, DWARFS_ERR_IO, "ends early" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		auto_error dwarfs_error *err = NULL;
		struct source source = { .fails_with = cases[i].returned,
					 .errnum = cases[i].errnum,
					 .message = cases[i].message,
					 .fails_from = ONE_FILE_METADATA };
		dwarfs_image *image = NULL;
		uint64_t offset;

		assert_int_equal(open_source(&source, &image, &err), cases[i].code);
		assert_int_equal(dwarfs_error_code(err), cases[i].code);
		assert_int_equal(dwarfs_error_errno(err), cases[i].errnum);
		assert_non_null(strstr(dwarfs_error_message(err), cases[i].part));
		assert_true(dwarfs_error_offset(err, &offset));
		assert_null(image);
		assert_int_equal(source.closed, 1);
	}
}

static int read_too_much(void *buffer, size_t bytes, uint64_t offset, size_t *bytes_out,
			 dwarfs_error **err, void *user)
{
	*bytes_out = bytes + 1;
	return 0;
}

static void a_callback_cannot_read_more_than_requested(void **state)
{
	dwarfs_io *io = NULL;
	char byte;

	assert_int_equal(dwarfs_io_new(read_too_much, 8, NULL, NULL, &io, NULL), 0);
	assert_int_equal(dwarfs_io_read(io, &byte, 1, 0, NULL), DWARFS_ERR_IO);
	dwarfs_io_free(io);
}

/* -- names --------------------------------------------------------------------------- */

static void names_are_in_messages(void **state)
{
	auto_error dwarfs_error *err = NULL;
	struct source source = { .fails_with = DWARFS_ERR_IO,
				 .message = "lost",
				 .fails_from = 10 };
	char name[] = "https://example.org/x", bytes[20];
	dwarfs_io *io = NULL;

	assert_int_equal(
		dwarfs_io_new(read_source, sizeof(one_file), NULL, &source, &io, NULL),
		0);
	assert_null(dwarfs_io_name(io));
	assert_int_equal(dwarfs_io_read(io, bytes, 20, 0, &err), DWARFS_ERR_IO);
	assert_string_equal(dwarfs_error_message(err),
			    "cannot read the source at 0: lost");
	assert_null(dwarfs_error_path(err));
	assert_int_equal(dwarfs_io_set_name(io, name, NULL), 0);
	name[0] = '?'; /* it was copied */
	assert_string_equal(dwarfs_io_name(io), "https://example.org/x");
	assert_int_equal(dwarfs_io_read(io, bytes, 20, 1, &err), DWARFS_ERR_IO);
	assert_string_equal(dwarfs_error_message(err),
			    "cannot read 'https://example.org/x' at 1: lost");
	assert_string_equal(dwarfs_error_path(err), "https://example.org/x");
	assert_int_equal(dwarfs_io_set_name(io, NULL, NULL), 0);
	assert_null(dwarfs_io_name(io));
	assert_null(dwarfs_io_name(NULL));
	assert_int_equal(dwarfs_io_set_name(NULL, "x", NULL), DWARFS_ERR_INVALID);
	dwarfs_io_free(io);
}

/* A deleted temporary file with these bytes, at position 3. */
static int file_with(const void *data, size_t bytes, char path[])
{
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, bytes), bytes);
	assert_int_equal(lseek(fd, 3, SEEK_SET), 3);
	return fd;
}

static void the_path_is_the_name_of_a_file(void **state)
{
	char path[] = "/tmp/dwarfs-io-XXXXXX", bytes[4];
	auto_error dwarfs_error *err = NULL;
	dwarfs_io *io = NULL;
	int fd = file_with("abcdef", 6, path);

	assert_int_equal(dwarfs_io_open(path, &io, NULL), 0);
	unlink(path);
	assert_string_equal(dwarfs_io_name(io), path);
	assert_false(dwarfs_io_is_stream(io));
	assert_int_equal(ftruncate(fd, 2), 0);
	assert_int_equal(dwarfs_io_read(io, bytes, 4, 0, &err), DWARFS_ERR_IO);
	assert_non_null(strstr(dwarfs_error_message(err), path));
	assert_string_equal(dwarfs_error_path(err), path);
	close(fd);
	dwarfs_io_free(io);
}

/* -- several ranges ------------------------------------------------------------------ */

struct rounds {
	int rounds;
	size_t ranges;
	int fails_with;
};

static int read_round(const struct dwarfs_io_range *ranges, size_t count,
		      dwarfs_error **err, void *user)
{
	struct rounds *rounds = user;

	rounds->rounds++;
	rounds->ranges += count;
	if (rounds->fails_with)
		return dwarfs_error_set(err, rounds->fails_with, 0, "too many requests");
	for (size_t i = 0; i < count; i++)
		memcpy(ranges[i].buffer, one_file + ranges[i].offset, ranges[i].bytes);
	return 0;
}

static int read_single(void *buffer, size_t bytes, uint64_t offset, size_t *bytes_out,
		       dwarfs_error **err, void *user)
{
	*bytes_out = bytes;
	memcpy(buffer, one_file + offset, bytes);
	return 0;
}

static void all_ranges_are_one_round(void **state)
{
	struct rounds rounds = { 0 };
	char a[5], b[7], c[9];
	const struct dwarfs_io_range ranges[] = { { a, 5, 1 },
						  { b, 7, 100 },
						  { c, 9, 200 } };
	auto_error dwarfs_error *err = NULL;
	dwarfs_io *io = NULL;

	for (int with_callback = 0; with_callback < 2; with_callback++) {
		assert_int_equal(dwarfs_io_new(read_single, sizeof(one_file), NULL,
					       &rounds, &io, NULL),
				 0);
		dwarfs_io_set_read_many(io, with_callback ? read_round : NULL);
		memset(a, 0, 5);
		memset(b, 0, 7);
		memset(c, 0, 9);
		assert_int_equal(dw_io_read_many(io, ranges, 3, NULL), 0);
		assert_memory_equal(a, one_file + 1, 5);
		assert_memory_equal(b, one_file + 100, 7);
		assert_memory_equal(c, one_file + 200, 9);
		assert_int_equal(rounds.rounds, with_callback);
		assert_int_equal(rounds.ranges, with_callback ? 3 : 0);
		assert_int_equal(dw_io_read_many(io, ranges, 0, NULL), 0);
		assert_int_equal(rounds.rounds, with_callback);
		if (with_callback) {
			rounds.fails_with = DWARFS_ERR_LIMIT;
			assert_int_equal(dwarfs_io_set_name(io, "x:/y", NULL), 0);
			assert_int_equal(dw_io_read_many(io, ranges, 3, &err),
					 DWARFS_ERR_LIMIT);
			assert_non_null(strstr(dwarfs_error_message(err), "'x:/y'"));
			assert_non_null(
				strstr(dwarfs_error_message(err), "too many requests"));
		}
		dwarfs_io_free(io);
	}
}

/* -- streams ------------------------------------------------------------------------- */

/* All bytes of a stream, by dw_io_next(). */
static size_t read_stream(dwarfs_io *io, void *buffer, size_t room)
{
	size_t bytes = 0;
	int64_t got;

	assert_int_equal(dw_io_begin_stream(io, NULL), 0);
	while ((got = dw_io_next(io, (char *)buffer + bytes, room - bytes, 1000, NULL)) !=
	       0) {
		if (got == IO_WAIT)
			continue;
		assert_true(got > 0);
		bytes += (size_t)got;
	}
	return bytes;
}

static void expect_stream(dwarfs_io *io)
{
	auto_error dwarfs_error *err = NULL;
	char byte;

	assert_true(dwarfs_io_is_stream(io));
	assert_true(dwarfs_io_bytes(io) == UINT64_MAX);
	assert_int_equal(dwarfs_io_read(io, &byte, 1, 0, &err), DWARFS_ERR_INVALID);
	assert_non_null(strstr(dwarfs_error_message(err), "stream"));
}

static void expect_no_second_use(dwarfs_io *io)
{
	auto_error dwarfs_error *err = NULL;

	assert_int_equal(dw_io_begin_stream(io, &err), DWARFS_ERR_INVALID);
	assert_non_null(strstr(dwarfs_error_message(err), "has been read already"));
}

static void a_pipe_is_a_stream(void **state)
{
	auto_error dwarfs_error *err = NULL;
	dwarfs_io *io = NULL;
	char bytes[64];
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	assert_int_equal(dwarfs_io_from_fd(ends[0], &io, NULL), DWARFS_ERR_INVALID);
	assert_int_equal(dwarfs_io_from_stream(ends[0], &io, &err), 0);
	assert_null(err); /* not changed on success */
	close(ends[0]);	  /* it was duplicated */
	expect_stream(io);
	assert_int_equal(dw_io_next(io, bytes, 1, 0, NULL), IO_WAIT);
	assert_int_equal(write(ends[1], "through a pipe", 14), 14);
	close(ends[1]);
	assert_int_equal(read_stream(io, bytes, sizeof(bytes)), 14);
	assert_memory_equal(bytes, "through a pipe", 14);
	expect_no_second_use(io);
	dwarfs_io_free(io);
	assert_int_equal(dwarfs_io_from_stream(-1, &io, NULL), DWARFS_ERR_INVALID);
}

/* From the current position, which is not changed, any number of times. */
static void a_file_is_not_a_stream(void **state)
{
	char path[] = "/tmp/dwarfs-io-XXXXXX", bytes[8];
	int fd = file_with("abcdefgh", 8, path);
	dwarfs_io *io = NULL;

	unlink(path);
	assert_int_equal(dwarfs_io_from_stream(fd, &io, NULL), 0);
	assert_false(dwarfs_io_is_stream(io));
	assert_int_equal(dwarfs_io_bytes(io), 5);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(dwarfs_io_read(io, bytes, 5, 0, NULL), 0);
		assert_memory_equal(bytes, "defgh", 5);
	}
	assert_int_equal(dwarfs_io_read(io, bytes, 6, 0, NULL), DWARFS_ERR_RANGE);
	assert_int_equal(lseek(fd, 0, SEEK_CUR), 3);
	dwarfs_io_free(io);
	assert_int_equal(lseek(fd, 20, SEEK_SET), 20); /* past its end */
	assert_int_equal(dwarfs_io_from_stream(fd, &io, NULL), 0);
	assert_int_equal(dwarfs_io_bytes(io), 0);
	dwarfs_io_free(io);
	close(fd);
}

struct flow {
	int left, closed, fails_with;
	size_t claims; /* bytes beyond the end */
};

static int next_of_flow(void *buffer, size_t bytes, size_t *bytes_out, dwarfs_error **err,
			void *user)
{
	struct flow *flow = user;

	assert_true(bytes > 0);
	if (flow->left == 0 && flow->fails_with < 0)
		return dwarfs_error_set(err, flow->fails_with, 0, "the tap is closed");
	if (flow->left == 0 && flow->fails_with > 0)
		return flow->fails_with;
	*bytes_out = (flow->left > 0) + flow->claims;
	if (flow->left > 0)
		*(char *)buffer = (char)('a' + --flow->left);
	return 0;
}

static void close_flow(void *user)
{
	((struct flow *)user)->closed++;
}

static dwarfs_io *new_flow(struct flow *flow)
{
	dwarfs_io *io = NULL;

	assert_int_equal(dwarfs_io_new_stream(next_of_flow, close_flow, flow, &io, NULL),
			 0);
	return io;
}

static void a_callback_is_a_stream(void **state)
{
	struct flow flow = { .left = 4 };
	dwarfs_io *io = new_flow(&flow), *second;
	char bytes[8];

	expect_stream(io);
	assert_int_equal(read_stream(io, bytes, sizeof(bytes)), 4);
	assert_memory_equal(bytes, "dcba", 4);
	expect_no_second_use(io);
	second = dw_io_ref(io);
	dwarfs_io_free(io);
	assert_int_equal(flow.closed, 0);
	dwarfs_io_free(second);
	assert_int_equal(flow.closed, 1);
	assert_int_equal(dwarfs_io_new_stream(NULL, close_flow, &flow, &io, NULL),
			 DWARFS_ERR_INVALID);
	assert_int_equal(flow.closed, 1);
}

static void a_stream_can_fail(void **state)
{
	static const struct {
		struct flow flow;
		int code;
		const char *part;
	} cases[] = {
		{ { .fails_with = DWARFS_ERR_ACCESS },
		  DWARFS_ERR_ACCESS,
		  "the tap is closed" },
		{ { .fails_with = 5 }, DWARFS_ERR_CANCELLED, "cancelled" },
		{ { .claims = 9 }, DWARFS_ERR_IO, "cannot read 'tap'" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct flow flow = cases[i].flow;
		auto_error dwarfs_error *err = NULL;
		dwarfs_io *io = new_flow(&flow);
		char bytes[8];

		assert_int_equal(dwarfs_io_set_name(io, "tap", NULL), 0);
		assert_int_equal(dw_io_begin_stream(io, NULL), 0);
		assert_int_equal(dw_io_next(io, bytes, sizeof(bytes), 0, &err),
				 cases[i].code);
		assert_int_equal(dwarfs_error_code(err), cases[i].code);
		assert_non_null(strstr(dwarfs_error_message(err), "cannot read 'tap'"));
		assert_non_null(strstr(dwarfs_error_message(err), cases[i].part));
		dwarfs_io_free(io);
		assert_int_equal(flow.closed, 1);
	}
}

static void an_image_is_not_read_from_a_stream(void **state)
{
	struct flow flow = { .left = 4 };
	auto_error dwarfs_error *err = NULL;
	dwarfs_io *io = new_flow(&flow);
	dwarfs_image *image = NULL;

	assert_int_equal(dwarfs_image_open_io(NULL, io, NULL, &image, &err),
			 DWARFS_ERR_INVALID);
	assert_non_null(strstr(dwarfs_error_message(err), "stream"));
	assert_null(image);
	assert_int_equal(flow.left, 4);
	dwarfs_io_free(io);
	assert_int_equal(flow.closed, 1);
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

/* Of a file that has shrunk, the message has the real end. */
static void a_shrunk_file_ends_where_it_ends(void **state)
{
	char path[] = "/tmp/dwarfs-io-XXXXXX", bytes[10];
	auto_error dwarfs_error *err = NULL;
	int fd = mkstemp(path);
	dwarfs_io *io = NULL;

	assert_true(fd >= 0);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(ftruncate(fd, 1000), 0);
	assert_int_equal(dwarfs_io_from_fd(fd, &io, NULL), 0);
	assert_int_equal(ftruncate(fd, 300), 0);
	assert_int_equal(dwarfs_io_read(io, bytes, sizeof(bytes), 500, &err),
			 DWARFS_ERR_IO);
	assert_non_null(strstr(dwarfs_error_message(err), "ends early, at 300"));
	dwarfs_io_free(io);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(place_and_size_can_be_given),
		cmocka_unit_test(callbacks_may_give_little_at_once),
		cmocka_unit_test(a_failing_callback_has_the_last_word),
		cmocka_unit_test(a_callback_cannot_read_more_than_requested),
		cmocka_unit_test(names_are_in_messages),
		cmocka_unit_test(the_path_is_the_name_of_a_file),
		cmocka_unit_test(all_ranges_are_one_round),
		cmocka_unit_test(a_pipe_is_a_stream),
		cmocka_unit_test(a_file_is_not_a_stream),
		cmocka_unit_test(a_callback_is_a_stream),
		cmocka_unit_test(a_stream_can_fail),
		cmocka_unit_test(an_image_is_not_read_from_a_stream),
		cmocka_unit_test(ranges_of_sources_are_checked),
		cmocka_unit_test(files_that_are_not_there_are_named),
		cmocka_unit_test(a_shrunk_file_ends_where_it_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
