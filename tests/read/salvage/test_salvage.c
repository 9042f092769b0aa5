/* SPDX-License-Identifier: MIT */
/*
 * read/salvage/salvage: sections whose header, hash or payload is damaged.
 */
#include <stdlib.h>
#include <unistd.h>

#include "os/file_io.h"
#include "read/image/image.h"
#include "read/known.h"

#include <dwarfs/progress.h>
#include <dwarfs/salvage.h>

/* Each byte of each header: it is recovered from its hashes or from the adjacent
 * sizes. */
static void headers_are_corrected(void **state)
{
	for (size_t part = 0; part < 3; part++)
		for (size_t at = 0; at < DW_HEADER_BYTES; at++) {
			uint8_t copy[sizeof(one_file)];
			auto_test_image dwarfs_image *image = NULL;

			memcpy(copy, one_file, sizeof(copy));
			copy[parts[part].at - DW_HEADER_BYTES + at] ^= 0x80;
			image = open_for_salvage(copy, sizeof(copy),
						 DWARFS_SALVAGE_INTACT);
			assert_reads_hi(image);
			assert_false(dwarfs_image_block_is_lost(image, 0));
			assert_false(dwarfs_image_metadata_is_damaged(image));
		}
}

static void a_damaged_block_is_lost_or_zeros(void **state)
{
	for (int mode = DWARFS_SALVAGE_INTACT; mode <= DWARFS_SALVAGE_ZEROS; mode++) {
		uint8_t copy[sizeof(one_file)];
		auto_test_image dwarfs_image *image = NULL;
		uint64_t lost = 77;
		char text[8] = "########";
		size_t got;
		int ret;

		memcpy(copy, one_file, sizeof(copy));
		copy[parts[0].at] ^= 1;
		image = open_for_salvage(copy, sizeof(copy), mode);
		assert_false(dwarfs_image_block_is_lost(image, 0));
		assert_int_equal(
			dwarfs_file_lost_bytes(image, dwarfs_inode_at(1), &lost, NULL),
			0);
		assert_int_equal(lost, 0);
		ret = dwarfs_read(image, dwarfs_inode_at(1), text, sizeof(text), 0, &got,
				  NULL);
		if (mode == DWARFS_SALVAGE_ZEROS) {
			assert_int_equal(ret, 0);
			assert_int_equal(got, 3);
			assert_memory_equal(text, "\0\0\0#", 4);
		} else {
			assert_int_equal(ret, DWARFS_ERR_CHECKSUM);
		}
		assert_true(dwarfs_image_block_is_lost(image, 0));
		assert_false(dwarfs_image_block_is_lost(image, 1));
		assert_int_equal(
			dwarfs_file_lost_bytes(image, dwarfs_inode_at(1), &lost, NULL),
			0);
		assert_int_equal(lost, 3);
		assert_int_equal(
			dwarfs_file_lost_bytes(image, DWARFS_ROOT_INODE, &lost, NULL),
			DWARFS_ERR_IS_DIR);
	}
}

/* "a.txt" becomes "b.txt": the name is used, and the image reports that it may be
 * wrong. */
static void damaged_metadata_is_used_all_the_same(void **state)
{
	uint8_t copy[sizeof(one_file)], *name;
	auto_test_image dwarfs_image *image = NULL;
	dwarfs_image *none = NULL;
	dwarfs_entry entry;

	memcpy(copy, one_file, sizeof(copy));
	name = memmem(copy, sizeof(copy), "a.txt", 5);
	assert_non_null(name);
	*name = 'b';
	assert_int_equal(craft_try(copy, sizeof(copy), NULL, &none, NULL),
			 DWARFS_ERR_CHECKSUM);
	image = open_for_salvage(copy, sizeof(copy), DWARFS_SALVAGE_INTACT);
	assert_true(dwarfs_image_metadata_is_damaged(image));
	assert_int_equal(dwarfs_find(image, "b.txt", &entry, NULL), 0);
}

/* -- failures of the source ----------------------------------------------------------- */

/* The image, damaged or not, by a callback of which one read fails. */
struct failing {
	uint8_t bytes[sizeof(one_file)];
	uint64_t size;
	uint32_t calls, fails_at; /* UINT32_MAX: none */
	int code;
	dwarfs_task *cancels; /* at each call, or NULL */
};

static int read_failing(void *buffer, size_t bytes, uint64_t offset, size_t *bytes_out,
			dwarfs_error **err, void *user)
{
	struct failing *source = user;

	if (source->cancels)
		dwarfs_task_cancel(source->cancels);
	if (source->calls++ == source->fails_at)
		return dwarfs_error_set(err, source->code, 0, "the line is busy");
	memset(buffer, 0, bytes);
	if (offset < sizeof(source->bytes))
		memcpy(buffer, source->bytes + offset,
		       bytes < sizeof(source->bytes) - offset
			       ? bytes
			       : sizeof(source->bytes) - (size_t)offset);
	*bytes_out = bytes;
	return 0;
}

static int open_failing(struct failing *source, int mode, dwarfs_image **image_out,
			dwarfs_error **err)
{
	dwarfs_context *context = quiet_context();
	dwarfs_image_options *options = NULL;
	dwarfs_io *io = NULL;
	int ret;

	source->calls = 0;
	assert_int_equal(dwarfs_image_options_new(&options, NULL), 0);
	dwarfs_image_options_set_salvage(options, mode);
	dwarfs_image_options_set_task(options, source->cancels);
	assert_int_equal(
		dwarfs_io_new(read_failing, source->size, NULL, source, &io, NULL), 0);
	ret = dwarfs_image_open_io(context, io, options, image_out, err);
	dwarfs_io_free(io);
	dwarfs_image_options_free(options);
	dwarfs_context_free(context);
	return ret;
}

static const struct failing no_failure = { .size = sizeof(one_file),
					   .fails_at = UINT32_MAX };

static uint64_t lost_bytes(const dwarfs_image *image)
{
	uint64_t lost = 77;

	assert_int_equal(dwarfs_file_lost_bytes(image, dwarfs_inode_at(1), &lost, NULL),
			 0);
	return lost;
}

static void other_failures_of_the_source_are_no_damage(void **state)
{
	static const int codes[] = { DWARFS_ERR_NOMEM, DWARFS_ERR_IO, DWARFS_ERR_ACCESS,
				     DWARFS_ERR_CANCELLED, DWARFS_ERR_LIMIT };

	for (size_t i = 0; i < 2 * sizeof(codes) / sizeof(*codes); i++) {
		const int mode = i % 2 ? DWARFS_SALVAGE_ZEROS : DWARFS_SALVAGE_INTACT;
		struct failing source = no_failure;
		auto_test_image dwarfs_image *image = NULL;
		auto_error dwarfs_error *err = NULL;
		char text[8];
		size_t got;

		memcpy(source.bytes, one_file, sizeof(source.bytes));
		source.code = codes[i / 2];
		assert_int_equal(open_failing(&source, mode, &image, NULL), 0);
		source.fails_at = source.calls;
		assert_int_equal(
			dwarfs_read(image, dwarfs_inode_at(1), text, 8, 0, &got, &err),
			source.code);
		if (source.code != DWARFS_ERR_NOMEM)
			assert_non_null(strstr(dwarfs_error_message(err), "busy"));
		assert_int_equal(lost_bytes(image), 0);
		assert_reads_hi(image);
	}
}

static void a_source_may_say_that_bytes_are_damaged(void **state)
{
	struct failing source = no_failure;
	auto_test_image dwarfs_image *image = NULL;
	char text[8];
	size_t got;

	memcpy(source.bytes, one_file, sizeof(source.bytes));
	source.code = DWARFS_ERR_CORRUPT;
	assert_int_equal(open_failing(&source, DWARFS_SALVAGE_ZEROS, &image, NULL), 0);
	source.fails_at = source.calls + 1; /* the first one reads the header */
	assert_int_equal(dwarfs_read(image, dwarfs_inode_at(1), text, 8, 0, &got, NULL),
			 0);
	assert_int_equal(got, 3);
	assert_memory_equal(text, "\0\0\0", 3);
	assert_int_equal(lost_bytes(image), 3);
}

/* A disk fails where it is damaged: here a file that became shorter. */
static void what_a_disk_cannot_read_is_lost_until_it_can(void **state)
{
	char path[] = "salvage.XXXXXX";
	const int fd = mkstemp(path);
	dwarfs_image_options *options = NULL;
	auto_test_image dwarfs_image *image = NULL;
	char text[8];
	size_t got;

	assert_true(fd >= 0);
	assert_int_equal(dw_fd_write(fd, one_file, sizeof(one_file)), 0);
	assert_int_equal(dwarfs_image_options_new(&options, NULL), 0);
	dwarfs_image_options_set_salvage(options, DWARFS_SALVAGE_INTACT);
	assert_int_equal(dwarfs_image_open(NULL, path, options, &image, NULL), 0);
	dwarfs_image_options_free(options);
	unlink(path);
	assert_int_equal(ftruncate(fd, 64), 0);
	assert_int_equal(dwarfs_read(image, dwarfs_inode_at(1), text, 8, 0, &got, NULL),
			 DWARFS_ERR_IO);
	assert_int_equal(lost_bytes(image), 3);
	assert_int_equal(dw_fd_write_at(fd, one_file, sizeof(one_file), 0), 0);
	assert_reads_hi(image);
	assert_int_equal(lost_bytes(image), 0);
	dw_fd_close(fd);
}

/* Each read of the opening, with the index, with a damaged one, and without a good header
 * at the start. */
static void opening_fails_with_the_code_of_the_source(void **state)
{
	for (int damage = 0; damage < 4; damage++) {
		struct failing source = no_failure;
		bool is_open = false;

		memcpy(source.bytes, one_file, sizeof(source.bytes));
		source.code = DWARFS_ERR_NO_SPACE;
		if (damage > 0)
			source.bytes[sizeof(one_file) - 1] ^= 1;
		if (damage > 1)
			memset(source.bytes, 0, 8);
		if (damage > 2)
			source.bytes[64] ^= 1;
		for (source.fails_at = 0; !is_open; source.fails_at++) {
			auto_test_image dwarfs_image *image = NULL;
			auto_error dwarfs_error *err = NULL;
			int ret = open_failing(&source, DWARFS_SALVAGE_INTACT, &image,
					       &err);

			is_open = source.calls <= source.fails_at;
			assert_int_equal(ret, is_open ? 0 : source.code);
			if (!is_open)
				assert_non_null(
					strstr(dwarfs_error_message(err), "busy"));
		}
		assert_true(source.fails_at > 3);
	}
}

/* A search in 2^42 bytes. */
static void a_search_can_be_cancelled(void **state)
{
	struct failing source = no_failure;
	dwarfs_image *image = NULL;

	source.size = UINT64_C(1) << 42;
	assert_int_equal(dwarfs_task_new(&source.cancels, NULL), 0);
	assert_int_equal(open_failing(&source, DWARFS_SALVAGE_INTACT, &image, NULL),
			 DWARFS_ERR_CANCELLED);
	assert_int_equal(source.calls, 1);
	dwarfs_task_free(source.cancels);
}

static int read_nothing(void *buffer, size_t bytes, size_t *bytes_out, dwarfs_error **err,
			void *user)
{
	*bytes_out = 0;
	return 0;
}

static void streams_are_refused(void **state)
{
	dwarfs_image_options *options = NULL;
	dwarfs_image *image = NULL;
	dwarfs_io *io = NULL;

	assert_int_equal(dwarfs_image_options_new(&options, NULL), 0);
	for (int mode = DWARFS_SALVAGE_OFF; mode <= DWARFS_SALVAGE_ZEROS; mode++) {
		dwarfs_image_options_set_salvage(options, mode);
		assert_int_equal(
			dwarfs_io_new_stream(read_nothing, NULL, NULL, &io, NULL), 0);
		assert_int_equal(dwarfs_image_open_io(NULL, io, options, &image, NULL),
				 DWARFS_ERR_INVALID);
		dwarfs_io_free(io);
	}
	dwarfs_image_options_free(options);
}

static int count_block(uint32_t block, const void *data, size_t bytes,
		       const dwarfs_error *why, dwarfs_error **err, void *user)
{
	dwarfs_task_cancel(user);
	return 0;
}

/* Between two blocks. */
static void salvaging_blocks_can_be_cancelled(void **state)
{
	auto_craft struct craft craft = { 0 };
	char path[] = "blocks.XXXXXX";
	const int fd = mkstemp(path);
	dwarfs_image_options *options = NULL;
	dwarfs_task *task = NULL;

	add_part(&craft, 0);
	add_part(&craft, 0);
	add_part(&craft, 1);
	add_part(&craft, 2);
	assert_true(fd >= 0);
	assert_int_equal(dw_fd_write(fd, craft.bytes.data, craft.bytes.size), 0);
	dw_fd_close(fd);
	assert_int_equal(dwarfs_image_options_new(&options, NULL), 0);
	assert_int_equal(dwarfs_task_new(&task, NULL), 0);
	dwarfs_image_options_set_task(options, task);
	assert_int_equal(
		dwarfs_salvage_blocks(NULL, path, options, count_block, task, NULL),
		DWARFS_ERR_CANCELLED);
	unlink(path);
	dwarfs_task_free(task);
	dwarfs_image_options_free(options);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(headers_are_corrected),
		cmocka_unit_test(a_damaged_block_is_lost_or_zeros),
		cmocka_unit_test(damaged_metadata_is_used_all_the_same),
		cmocka_unit_test(other_failures_of_the_source_are_no_damage),
		cmocka_unit_test(a_source_may_say_that_bytes_are_damaged),
		cmocka_unit_test(what_a_disk_cannot_read_is_lost_until_it_can),
		cmocka_unit_test(opening_fails_with_the_code_of_the_source),
		cmocka_unit_test(a_search_can_be_cancelled),
		cmocka_unit_test(streams_are_refused),
		cmocka_unit_test(salvaging_blocks_can_be_cancelled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
