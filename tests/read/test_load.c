/* SPDX-License-Identifier: MIT */
/*
 * read/load: whole files by their paths, and reads into several pieces of memory.
 */
#include "read/tree.h"
#include "support/task.h"

#include <dwarfs/io.h>

#include <stdio.h>

static dwarfs_image *open_tree(struct craft *craft)
{
	const struct freeze_metadata metadata = tree();

	return open_metadata(craft, &metadata);
}

static void contents_are_followed_by_a_nul(void **state)
{
	static const struct {
		const char *path, *contents;
	} cases[] = {
		{ "file", "other" },	      { "/file", "other" },
		{ "dir/deep/file", "other" }, { "dir/other", "first" },
		{ "dir/link", "other" }, /* is followed */
	};
	auto_craft struct craft craft = { 0 };
	auto_test_image dwarfs_image *image = open_tree(&craft);

	for (size_t i = 0; i < COUNT(cases); i++) {
		size_t bytes = 0;
		void *data = NULL;

		assert_int_equal(
			dwarfs_load(image, cases[i].path, 5, NULL, &data, &bytes, NULL),
			0);
		assert_int_equal(bytes, 5);
		assert_memory_equal(data, cases[i].contents, 6);
		dwarfs_memory_free(data);
	}
}

static void what_cannot_be_loaded_has_a_reason(void **state)
{
	static const struct {
		const char *path;
		size_t limit;
		int code;
	} cases[] = {
		{ "file", 4, DWARFS_ERR_LIMIT },
		{ "file", 0, DWARFS_ERR_LIMIT },
		{ "", 99, DWARFS_ERR_IS_DIR },
		{ "dir", 99, DWARFS_ERR_IS_DIR },
		{ "dir/deep", 99, DWARFS_ERR_IS_DIR },
		{ "missing", 99, DWARFS_ERR_NOT_FOUND },
		{ "dir/missing", 99, DWARFS_ERR_NOT_FOUND },
		{ "file/x", 99, DWARFS_ERR_NOT_DIR },
		{ "null", 99, DWARFS_ERR_INVALID },
		{ "fifo", 99, DWARFS_ERR_INVALID },
	};
	auto_craft struct craft craft = { 0 };
	auto_test_image dwarfs_image *image = open_tree(&craft);

	for (size_t i = 0; i < COUNT(cases); i++) {
		auto_error dwarfs_error *err = NULL;
		size_t bytes = 99;
		void *data = NULL;

		assert_int_equal(dwarfs_load(image, cases[i].path, cases[i].limit, NULL,
					     &data, &bytes, &err),
				 cases[i].code);
		assert_string_equal(dwarfs_error_path(err), cases[i].path);
		assert_non_null(strstr(dwarfs_error_message(err), cases[i].path));
		assert_null(strstr(dwarfs_error_message(err), "inode"));
		if (cases[i].code == DWARFS_ERR_NOT_FOUND) {
			char message[64];

			snprintf(message, sizeof(message), "'%s' does not exist",
				 cases[i].path);
			assert_string_equal(dwarfs_error_message(err), message);
		}
		assert_null(data); /* outputs are set on success only */
		assert_int_equal(bytes, 99);
	}
}

static void required_parameters_are_checked(void **state)
{
	auto_craft struct craft craft = { 0 };
	auto_test_image dwarfs_image *image = open_tree(&craft);
	size_t bytes;
	void *data;

	assert_int_equal(dwarfs_load(NULL, "file", 9, NULL, &data, &bytes, NULL),
			 DWARFS_ERR_INVALID);
	assert_int_equal(dwarfs_load(image, NULL, 9, NULL, &data, &bytes, NULL),
			 DWARFS_ERR_INVALID);
	assert_int_equal(dwarfs_load(image, "file", 9, NULL, NULL, &bytes, NULL),
			 DWARFS_ERR_INVALID);
	assert_int_equal(dwarfs_load(image, "file", 9, NULL, &data, NULL, NULL),
			 DWARFS_ERR_INVALID);
}

/* A file of 9 blocks, and an empty one. */
static dwarfs_image *open_large(struct craft *craft, uint8_t *block, uint32_t bytes)
{
	const uint32_t table[] = { 0, 9, 9 };
	struct craft_chunk chunks[9];

	for (uint32_t i = 0; i < 9; i++) {
		memset(block, (int)('a' + i), bytes);
		craft_section(craft, DWARFS_SECTION_BLOCK, 0, block, bytes);
		chunks[i] = (struct craft_chunk){ i, 0, bytes };
	}
	craft_files(craft, chunks, table, 2, bytes, 0);
	return craft_open(craft, NULL);
}

struct watched {
	dwarfs_task *task;
	int calls, code;
	uint64_t done, total;
	unsigned phases;
};

static int watch(const dwarfs_progress *progress, dwarfs_error **err, void *user)
{
	struct watched *watched = user;

	watched->calls++;
	watched->phases |= 1u << dwarfs_progress_phase(progress);
	watched->done = dwarfs_progress_number(progress, DWARFS_PROGRESS_DONE_BYTES);
	watched->total = dwarfs_progress_number(progress, DWARFS_PROGRESS_TOTAL_BYTES);
	if (watched->task)
		dwarfs_task_cancel(watched->task);
	return watched->code < 0 ? dwarfs_error_set(err, watched->code, 0, "no time")
				 : watched->code;
}

static void a_large_file_is_loaded_and_reported(void **state)
{
	const uint32_t block_bytes = 1u << 20;
	auto_craft struct craft craft = { 0 };
	auto_free uint8_t *block = dw_malloc(block_bytes);
	auto_test_image dwarfs_image *image = open_large(&craft, block, block_bytes);
	struct watched watched = { .calls = 0 };
	auto_test_task dwarfs_task *task = new_task(watch, &watched);
	size_t bytes = 99;
	void *data = NULL;

	assert_int_equal(
		dwarfs_load(image, "f00000", SIZE_MAX, task, &data, &bytes, NULL), 0);
	assert_int_equal(bytes, 9 * (size_t)block_bytes);
	for (size_t i = 0; i < bytes; i += 4093)
		assert_int_equal(((char *)data)[i], 'a' + (int)(i / block_bytes));
	assert_int_equal(((char *)data)[bytes], 0);
	dwarfs_memory_free(data);
	assert_true(watched.calls > 0);
	assert_int_equal(watched.phases,
			 1u << DWARFS_PHASE_READ | 1u << DWARFS_PHASE_DONE);
	assert_int_equal(watched.done, bytes);
	assert_int_equal(watched.total, bytes);

	/* An empty file. */
	data = NULL;
	assert_int_equal(dwarfs_load(image, "f00001", 0, task, &data, &bytes, NULL), 0);
	assert_int_equal(bytes, 0);
	assert_non_null(data);
	assert_int_equal(*(char *)data, 0);
	dwarfs_memory_free(data);
}

static void loading_can_be_cancelled(void **state)
{
	static const int codes[] = { 0, 1, DWARFS_ERR_LIMIT };
	const uint32_t block_bytes = 1u << 20;
	auto_craft struct craft craft = { 0 };
	auto_free uint8_t *block = dw_malloc(block_bytes);
	auto_test_image dwarfs_image *image = open_large(&craft, block, block_bytes);
	auto_test_task dwarfs_task *cancelled = new_task(NULL, NULL);
	size_t bytes = 99;
	void *data = NULL;

	dwarfs_task_cancel(cancelled);
	assert_int_equal(
		dwarfs_load(image, "f00000", SIZE_MAX, cancelled, &data, &bytes, NULL),
		DWARFS_ERR_CANCELLED);
	for (size_t i = 0; i < COUNT(codes); i++) {
		auto_error dwarfs_error *err = NULL;
		struct watched watched = { .code = codes[i] };
		auto_test_task dwarfs_task *task = new_task(watch, &watched);
		const int code = codes[i] < 0 ? codes[i] : DWARFS_ERR_CANCELLED;

		watched.task = codes[i] == 0 ? task : NULL;
		assert_int_equal(
			dwarfs_load(image, "f00000", SIZE_MAX, task, &data, &bytes, &err),
			code);
		assert_int_equal(dwarfs_error_code(err), code);
		if (codes[i] < 0)
			assert_non_null(strstr(dwarfs_error_message(err), "no time"));
	}
	assert_null(data);
	assert_int_equal(bytes, 99);
}

/* -- dwarfs_file_readv() ------------------------------------------------------------- */

static void pieces_are_filled_in_their_order(void **state)
{
	auto_craft struct craft craft = { 0 };
	auto_test_image dwarfs_image *image = open_tree(&craft);
	char a[4] = "...", b[4] = "...", c[4] = "...";
	const struct dwarfs_iovec pieces[] = {
		{ a, 2 }, { NULL, 0 }, { b, 1 }, { c, 3 }
	};
	dwarfs_file *file = NULL;
	size_t bytes = 99;

	assert_int_equal(dwarfs_file_open(image, dwarfs_inode_at(4), &file, NULL), 0);
	assert_int_equal(dwarfs_file_readv(file, pieces, 4, 0, &bytes, NULL), 0);
	assert_int_equal(bytes, 5);
	assert_string_equal(a, "ot.");
	assert_string_equal(b, "h..");
	assert_string_equal(c, "er.");
	assert_int_equal(dwarfs_file_readv(file, pieces, 3, 1, &bytes, NULL), 0);
	assert_int_equal(bytes, 3);
	assert_string_equal(a, "th.");
	assert_string_equal(b, "e..");
	/* From the end of the file, after it, and none. */
	assert_int_equal(dwarfs_file_readv(file, pieces, 4, 5, &bytes, NULL), 0);
	assert_int_equal(bytes, 0);
	assert_int_equal(dwarfs_file_readv(file, pieces, 4, UINT64_MAX - 1, &bytes, NULL),
			 0);
	assert_int_equal(bytes, 0);
	bytes = 99;
	assert_int_equal(dwarfs_file_readv(file, NULL, 0, 0, &bytes, NULL), 0);
	assert_int_equal(bytes, 0);
	assert_string_equal(a, "th.");
	assert_int_equal(dwarfs_file_readv(file, NULL, 1, 0, &bytes, NULL),
			 DWARFS_ERR_INVALID);
	assert_int_equal(dwarfs_file_readv(NULL, pieces, 1, 0, &bytes, NULL),
			 DWARFS_ERR_INVALID);
	dwarfs_file_free(file);
}

static void pieces_over_several_blocks(void **state)
{
	enum { BYTES = 1024 };
	auto_craft struct craft craft = { 0 };
	uint8_t block[BYTES], whole[9 * BYTES], parts[9 * BYTES] = { 0 };
	auto_test_image dwarfs_image *image = open_large(&craft, block, BYTES);
	struct dwarfs_iovec pieces[20];
	dwarfs_file *file = NULL;
	size_t bytes, at = 0;

	assert_int_equal(dwarfs_file_open(image, dwarfs_inode_at(1), &file, NULL), 0);
	assert_int_equal(dwarfs_file_read(file, whole, sizeof(whole), 0, &bytes, NULL),
			 0);
	assert_int_equal(bytes, sizeof(whole));
	for (size_t i = 0; i < COUNT(pieces); i++) {
		const size_t size = 37 + i * 41;

		pieces[i] = (struct dwarfs_iovec){
			parts + at, at + size < sizeof(parts) ? size : sizeof(parts) - at
		};
		at += pieces[i].bytes;
	}
	assert_int_equal(dwarfs_file_readv(file, pieces, COUNT(pieces), 5, &bytes, NULL),
			 0);
	assert_int_equal(bytes, at < sizeof(whole) - 5 ? at : sizeof(whole) - 5);
	assert_memory_equal(parts, whole + 5, bytes);
	dwarfs_file_free(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(contents_are_followed_by_a_nul),
		cmocka_unit_test(what_cannot_be_loaded_has_a_reason),
		cmocka_unit_test(required_parameters_are_checked),
		cmocka_unit_test(a_large_file_is_loaded_and_reported),
		cmocka_unit_test(loading_can_be_cancelled),
		cmocka_unit_test(pieces_are_filled_in_their_order),
		cmocka_unit_test(pieces_over_several_blocks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
