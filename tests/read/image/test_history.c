/* SPDX-License-Identifier: MIT */
/*
 * read/image/history: a section that is larger than any history is refused without being read.
 */
#include <stdlib.h>

#include "support/craft.h"

#include <dwarfs/image.h>
#include <dwarfs/io.h>

static uint64_t bytes_read;

static int read_counted(void *buffer, size_t bytes, uint64_t offset, size_t *bytes_out,
			dwarfs_error **err, void *user)
{
	const struct craft *craft = user;

	memcpy(buffer, craft->bytes.data + offset, bytes);
	bytes_read += bytes;
	*bytes_out = bytes;
	return 0;
}

/* Read the history of an image whose HISTORY section has these bytes. */
static int read_history_of(size_t section_bytes, uint64_t *read_out)
{
	const uint32_t table[] = { 0, 0 };
	auto_craft struct craft craft = { 0 };
	auto_free uint8_t *zeros = dw_calloc(section_bytes, 1);
	auto_test_image dwarfs_image *image = NULL;
	dwarfs_history *history = NULL;
	dwarfs_io *io;
	int ret;

	craft_files(&craft, NULL, table, 1, 4096, 0);
	craft_section(&craft, DWARFS_SECTION_HISTORY, 0, zeros, section_bytes);
	assert_int_equal(
		dwarfs_io_new(read_counted, craft.bytes.size, NULL, &craft, &io, NULL),
		0);
	assert_int_equal(dwarfs_image_open_io(NULL, io, NULL, &image, NULL), 0);
	bytes_read = 0;
	ret = dwarfs_history_new(image, &history, NULL);
	*read_out = bytes_read;
	dwarfs_history_free(history);
	dwarfs_io_free(io);
	return ret;
}

static void too_long_sections_are_not_read(void **state)
{
	uint64_t read;

	assert_int_equal(read_history_of(16u << 20, &read), DWARFS_ERR_CORRUPT);
	assert_true(read < 4096);
	(void)state;
}

static void sections_that_may_be_valid_are_read(void **state)
{
	uint64_t read;

	read_history_of(1u << 20, &read);
	assert_true(read >= 1u << 20);
	(void)state;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(too_long_sections_are_not_read),
		cmocka_unit_test(sections_that_may_be_valid_are_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
