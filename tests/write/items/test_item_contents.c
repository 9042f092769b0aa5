/* SPDX-License-Identifier: MIT */
/*
 * write/items/item_contents: contents from memory, descriptors and callbacks in the
 * spool.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "write/items/item_contents.h"

static struct spool *new_spool(void)
{
	struct spool *spool = NULL;

	assert_int_equal(dw_spool_new("/tmp", 1 << 20, &spool, NULL), 0);
	dw_spool_begin(spool);
	return spool;
}

static void expect(struct spool_copy *copy, const void *data, size_t size)
{
	uint8_t bytes[64];
	uint32_t number;

	assert_int_equal(copy->bytes, size);
	assert_int_equal(dw_spool_end(copy->spool, copy->bytes, &number, NULL), 0);
	assert_int_equal(dw_spool_finish(copy->spool, NULL), 0);
	assert_int_equal(dw_spool_size(copy->spool, number), size);
	assert_int_equal(dw_spool_read_at(copy->spool, number, bytes, sizeof(bytes), 0),
			 size);
	assert_memory_equal(bytes, data, size);
	dw_spool_free(copy->spool);
}

static void memory_is_copied(void **state)
{
	struct spool_copy copy = { .spool = new_spool() };
	struct span memory = { (const uint8_t *)"some bytes", 10 };

	assert_int_equal(dw_item_contents_memory(&copy, memory, NULL), 0);
	expect(&copy, "some bytes", 10);
}

static int copy_io(struct spool_copy *copy,
		   int (*open)(int, dwarfs_io **, dwarfs_error **), int fd)
{
	dwarfs_io *io = NULL;
	int ret;

	assert_int_equal(open(fd, &io, NULL), 0);
	ret = dw_item_contents_io(copy, io, NULL);
	dwarfs_io_free(io);
	return ret;
}

/* A whole file or the rest of it; the file position does not change. */
static void a_file_is_copied_from_its_beginning(void **state)
{
	struct spool_copy copy = { .spool = new_spool() };
	char name[] = "/tmp/dwarfs-test-XXXXXX";
	int fd = mkstemp(name);

	assert_true(fd >= 0);
	unlink(name);
	assert_int_equal(write(fd, "0123456789", 10), 10);
	assert_int_equal(lseek(fd, 3, SEEK_SET), 3);
	assert_int_equal(copy_io(&copy, dwarfs_io_from_fd, fd), 0);
	assert_int_equal(lseek(fd, 0, SEEK_CUR), 3);
	expect(&copy, "0123456789", 10);
	copy = (struct spool_copy){ .spool = new_spool() };
	assert_int_equal(copy_io(&copy, dwarfs_io_from_stream, fd), 0);
	assert_int_equal(lseek(fd, 0, SEEK_CUR), 3);
	close(fd);
	expect(&copy, "3456789", 7);
}

static void a_pipe_is_copied_to_its_end(void **state)
{
	struct spool_copy copy = { .spool = new_spool() };
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], "through", 7), 7);
	close(ends[1]);
	assert_int_equal(copy_io(&copy, dwarfs_io_from_stream, ends[0]), 0);
	close(ends[0]);
	expect(&copy, "through", 7);
}

/* Pieces that a callback gives, one with each call. */
struct pieces {
	struct {
		const char *text;
		uint64_t offset;
	} list[4];
	size_t at;
	int end; /* of the callback, after the last one */
};

static int next_piece(const void **data_out, size_t *bytes_out, uint64_t *offset_out,
		      dwarfs_error **err, void *user)
{
	struct pieces *pieces = user;

	if (!pieces->list[pieces->at].text)
		return pieces->end;
	*data_out = pieces->list[pieces->at].text;
	*bytes_out = strlen(pieces->list[pieces->at].text);
	*offset_out = pieces->list[pieces->at++].offset;
	return 1;
}

static int copy_pieces(struct spool_copy *copy, uint64_t bytes, struct pieces pieces)
{
	dwarfs_item *item = NULL;
	int ret;

	assert_int_equal(dwarfs_item_new(0100644, &item, NULL), 0);
	assert_int_equal(dwarfs_item_set_reader(item, bytes, next_piece, &pieces, NULL),
			 0);
	ret = dw_item_contents_reader(copy, item, NULL);
	dwarfs_item_free(item);
	return ret;
}

static void gaps_between_pieces_are_zeros(void **state)
{
	struct spool_copy copy = { .spool = new_spool() };

	assert_int_equal(
		copy_pieces(&copy, 9,
			    (struct pieces){
				    .list = { { "ab", 0 }, { "", 2 }, { "c", 4 } } }),
		0);
	expect(&copy, "ab\0\0c\0\0\0\0", 9);
	copy = (struct spool_copy){ .spool = new_spool() };
	assert_int_equal(
		copy_pieces(&copy, UINT64_MAX,
			    (struct pieces){ .list = { { "ab", 0 }, { "c", 4 } } }),
		0);
	expect(&copy, "ab\0\0c", 5);
}

static void impossible_pieces_are_refused(void **state)
{
	struct spool_copy copy = { .spool = new_spool() };

	assert_int_equal(
		copy_pieces(&copy, UINT64_MAX,
			    (struct pieces){ .list = { { "ab", 0 }, { "c", 1 } } }),
		DWARFS_ERR_INVALID);
	copy.bytes = 0;
	dw_spool_begin(copy.spool);
	assert_int_equal(
		copy_pieces(&copy, 3, (struct pieces){ .list = { { "abcd", 0 } } }),
		DWARFS_ERR_INVALID);
	copy.bytes = 0;
	dw_spool_begin(copy.spool);
	assert_int_equal(
		copy_pieces(&copy, 3, (struct pieces){ .end = DWARFS_ERR_LIMIT }),
		DWARFS_ERR_LIMIT);
	dw_spool_free(copy.spool);
}

static int next_of_stream(void *buffer, size_t bytes, size_t *bytes_out,
			  dwarfs_error **err, void *user)
{
	int *left = user;

	if (*left < 0)
		return dwarfs_error_set(err, DWARFS_ERR_ACCESS, 0, "the stream broke");
	*bytes_out = *left > 0 && bytes > 0;
	if (*left > 0)
		*(char *)buffer = (char)('a' + --*left);
	return 0;
}

static void a_stream_is_copied_once(void **state)
{
	struct spool_copy copy = { .spool = new_spool() };
	dwarfs_error *err = NULL;
	dwarfs_io *io = NULL;
	int left = 3;

	assert_int_equal(dwarfs_io_new_stream(next_of_stream, NULL, &left, &io, NULL), 0);
	assert_int_equal(dw_item_contents_io(&copy, io, NULL), 0);
	expect(&copy, "cba", 3);
	copy = (struct spool_copy){ .spool = new_spool() };
	assert_int_equal(dw_item_contents_io(&copy, io, NULL), DWARFS_ERR_INVALID);
	dwarfs_io_free(io);
	left = -1;
	assert_int_equal(dwarfs_io_new_stream(next_of_stream, NULL, &left, &io, NULL), 0);
	assert_int_equal(dw_item_contents_io(&copy, io, &err), DWARFS_ERR_ACCESS);
	assert_non_null(strstr(dwarfs_error_message(err), "the stream broke"));
	dwarfs_error_free(err);
	dwarfs_io_free(io);
	dw_spool_free(copy.spool);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_is_copied),
		cmocka_unit_test(a_file_is_copied_from_its_beginning),
		cmocka_unit_test(a_pipe_is_copied_to_its_end),
		cmocka_unit_test(gaps_between_pieces_are_zeros),
		cmocka_unit_test(impossible_pieces_are_refused),
		cmocka_unit_test(a_stream_is_copied_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
