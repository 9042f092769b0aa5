/* SPDX-License-Identifier: MIT */
/*
 * read/image/image: open and describe an image whose bytes are all known, also after truncation
 * and changes.
 */
#include <dwarfs/walk.h>

#include "read/known.h"

/* -- facts of the known image -------------------------------------------------------- */

static void its_identity(void **state)
{
	auto_test_image dwarfs_image *image = open_one_file();
	int64_t seconds = 5;

	assert_non_null(dwarfs_image_context(image));
	assert_int_equal(dwarfs_image_format_minor(image), 5);
	assert_int_equal(dwarfs_image_offset(image), 0);
	assert_int_equal(dwarfs_image_bytes(image), 879);
	assert_int_equal(dwarfs_image_block_count(image), 1);
	assert_int_equal(dwarfs_image_inode_count(image), 2);
	assert_int_equal(dwarfs_image_entry_count(image), 2);
	assert_int_equal(dwarfs_image_original_bytes(image), 3);
	assert_int_equal(dwarfs_image_hardlink_bytes(image), 0);
	assert_null(dwarfs_image_created_by(image));
	assert_false(dwarfs_image_created_on(image, &seconds));
	assert_int_equal(seconds, 5);
	assert_true(dwarfs_image_has_index(image));
	assert_true(dwarfs_image_is_mtime_only(image));
	assert_true(dwarfs_image_time_resolution_ns(image) == 1000000000);
	assert_null(dwarfs_image_feature(image, 0));
	assert_null(dwarfs_image_feature(image, 1000));
	assert_null(dwarfs_image_category(image, 0));
	assert_string_equal(dwarfs_image_packing(image, 0), "mtime_only");
	for (size_t i = 0; i < 20; i++)
		dwarfs_image_packing(image, i);
	assert_null(dwarfs_image_packing(image, 20));
	assert_int_equal(dwarfs_image_block_category(image, 0), -1);
}

static void its_sections(void **state)
{
	static const uint64_t known[4][6] = {
		/* type, compression, offset, stored, unpacked, number */
		{ DWARFS_SECTION_BLOCK, 0, 0, 3, 3, 0 },
		{ DWARFS_SECTION_SCHEMA, 0, ONE_FILE_SCHEMA, 552, 552, 1 },
		{ DWARFS_SECTION_METADATA, 0, ONE_FILE_METADATA, 36, 36, 2 },
		{ DWARFS_SECTION_INDEX, 0, ONE_FILE_INDEX, 32, 32, 3 },
	};
	auto_test_image dwarfs_image *image = open_one_file();
	auto_error dwarfs_error *err = NULL;
	uint64_t value = 77;

	assert_int_equal(dwarfs_image_section_count(image), 4);
	for (uint32_t i = 0; i < 4; i++)
		for (int field = 0; field < 6; field++) {
			assert_int_equal(
				dwarfs_image_section(image, i, field, &value, NULL), 0);
			assert_true(value == known[i][field]);
		}
	value = 77;
	assert_int_equal(dwarfs_image_section(image, 4, 0, &value, &err),
			 DWARFS_ERR_RANGE);
	assert_int_equal(dwarfs_image_section(image, 0, 6, &value, &err),
			 DWARFS_ERR_RANGE);
	assert_int_equal(dwarfs_image_section(image, 0, -1, &value, &err),
			 DWARFS_ERR_RANGE);
	assert_int_equal(value, 77);
	assert_string_equal(dwarfs_section_type_name(8), "METADATA_V2");
	assert_string_equal(dwarfs_section_type_name(0xD000), "XATTRS");
	assert_string_equal(dwarfs_section_type_name(0xDFFF), "UNKNOWN");
	assert_string_equal(dwarfs_compression_name(0), "NONE");
	assert_string_equal(dwarfs_compression_name(2), "ZSTD");
	assert_string_equal(dwarfs_compression_name(77), "UNKNOWN");
}

static void its_entries(void **state)
{
	auto_test_image dwarfs_image *image = open_one_file();
	char name[DWARFS_NAME_BUFFER_BYTES];
	dwarfs_entry entry = { 9 }, first;
	dwarfs_inode inode;
	uint32_t count;
	size_t size;

	assert_int_equal(dwarfs_find(image, "", &entry, NULL), 0);
	assert_int_equal(entry.number, 0);
	assert_int_equal(dwarfs_find(image, "//./../a.txt", &entry, NULL), 0);
	assert_int_equal(entry.number, 1);
	assert_int_equal(dwarfs_find(image, "a.txt/x", &entry, NULL), DWARFS_ERR_NOT_DIR);
	assert_int_equal(dwarfs_find(image, "a.txt/..", &entry, NULL),
			 DWARFS_ERR_NOT_DIR);
	assert_int_equal(dwarfs_find(image, "a.txt/.", &entry, NULL), DWARFS_ERR_NOT_DIR);
	assert_int_equal(dwarfs_find(image, "a.tx", &entry, NULL), DWARFS_ERR_NOT_FOUND);
	assert_int_equal(dwarfs_find(image, "a.txt2", &entry, NULL),
			 DWARFS_ERR_NOT_FOUND);
	assert_int_equal(entry.number, 1);
	assert_int_equal(
		dwarfs_dir_find(image, DWARFS_ROOT_INODE, "a.txt!", 5, &entry, NULL), 0);
	assert_int_equal(
		dwarfs_dir_find(image, DWARFS_ROOT_INODE, "a.txt", 6, &entry, NULL),
		DWARFS_ERR_NOT_FOUND);
	assert_int_equal(dwarfs_dir_find(image, DWARFS_ROOT_INODE, "", 0, &entry, NULL),
			 DWARFS_ERR_NOT_FOUND);
	assert_int_equal(dwarfs_dir_find(image, dwarfs_inode_at(1), "x", 1, &entry, NULL),
			 DWARFS_ERR_NOT_DIR);
	assert_int_equal(dwarfs_dir_find(image, dwarfs_inode_at(2), "x", 1, &entry, NULL),
			 DWARFS_ERR_RANGE);

	assert_int_equal(dwarfs_dir_range(image, DWARFS_ROOT_INODE, &first, &count, NULL),
			 0);
	assert_int_equal(first.number, 1);
	assert_int_equal(count, 1);
	assert_int_equal(
		dwarfs_dir_range(image, dwarfs_inode_at(1), &first, &count, NULL),
		DWARFS_ERR_NOT_DIR);
	assert_int_equal(
		dwarfs_dir_range(image, dwarfs_inode_at(2), &first, &count, NULL),
		DWARFS_ERR_RANGE);
	assert_int_equal(dwarfs_dir_parent(image, DWARFS_ROOT_INODE, &inode, NULL), 0);
	assert_int_equal(inode.number, 0);
	assert_int_equal(dwarfs_dir_parent(image, dwarfs_inode_at(1), &inode, NULL),
			 DWARFS_ERR_NOT_DIR);
	assert_int_equal(
		dwarfs_dir_parent(image, dwarfs_inode_at(UINT32_MAX), &inode, NULL),
		DWARFS_ERR_RANGE);

	assert_int_equal(dwarfs_entry_inode(image, dwarfs_entry_at(1), &inode, NULL), 0);
	assert_int_equal(inode.number, 1);
	assert_int_equal(dwarfs_entry_inode(image, dwarfs_entry_at(2), &inode, NULL),
			 DWARFS_ERR_RANGE);
	assert_int_equal(dwarfs_entry_name(image, DWARFS_ROOT_ENTRY, name, sizeof(name),
					   &size, NULL),
			 0);
	assert_string_equal(name, "");
	assert_int_equal(size, 0);
	assert_int_equal(dwarfs_entry_name(image, dwarfs_entry_at(1), name, sizeof(name),
					   NULL, NULL),
			 0);
	assert_string_equal(name, "a.txt");
	assert_int_equal(dwarfs_entry_name(image, dwarfs_entry_at(2), name, sizeof(name),
					   NULL, NULL),
			 DWARFS_ERR_RANGE);
	for (size_t room = 0; room <= 6; room++) {
		auto_free char *small = dw_malloc(room ? room : 1);

		size = 99;
		assert_int_equal(dwarfs_entry_name(image, dwarfs_entry_at(1), small, room,
						   &size, NULL),
				 room == 6 ? 0 : DWARFS_ERR_RANGE);
		assert_int_equal(size, room == 6 ? 5 : 99);
	}
	assert_int_equal(
		dwarfs_entry_name(image, DWARFS_ROOT_ENTRY, name, 0, &size, NULL),
		DWARFS_ERR_RANGE);
	assert_int_equal(dwarfs_link_read(image, dwarfs_inode_at(1), name, sizeof(name),
					  NULL, NULL),
			 DWARFS_ERR_INVALID);
	assert_int_equal(dwarfs_link_read_raw(image, dwarfs_inode_at(2), name,
					      sizeof(name), NULL, NULL),
			 DWARFS_ERR_RANGE);
}

static void its_attributes(void **state)
{
	auto_test_image dwarfs_image *image = open_one_file();
	dwarfs_stat *stat = NULL;

	assert_int_equal(dwarfs_stat_new(&stat, NULL), 0);
	assert_int_equal(dwarfs_entry_stat(image, DWARFS_ROOT_ENTRY, stat, NULL), 0);
	assert_int_equal(dwarfs_stat_inode(stat).number, 0);
	assert_int_equal(dwarfs_stat_mode(stat), 040755);
	assert_int_equal(dwarfs_stat_bytes(stat), 1);
	assert_int_equal(dwarfs_stat_nlink(stat), 1);
	for (int time = DWARFS_ATIME; time <= DWARFS_CTIME; time++) {
		assert_true(dwarfs_stat_seconds(stat, time) == 1700000000);
		assert_int_equal(dwarfs_stat_nanoseconds(stat, time), 0);
	}
	assert_true(dwarfs_stat_seconds(stat, 99) == 1700000000);

	assert_int_equal(dwarfs_inode_stat(image, dwarfs_inode_at(1), stat, NULL), 0);
	assert_int_equal(dwarfs_stat_inode(stat).number, 1);
	assert_int_equal(dwarfs_stat_mode(stat), 0100644);
	assert_int_equal(dwarfs_stat_uid(stat), 0);
	assert_int_equal(dwarfs_stat_gid(stat), 0);
	assert_int_equal(dwarfs_stat_bytes(stat), 3);
	assert_int_equal(dwarfs_stat_allocated_bytes(stat), 3);
	assert_int_equal(dwarfs_stat_nlink(stat), 1);
	assert_int_equal(dwarfs_stat_rdev_major(stat), 0);
	assert_int_equal(dwarfs_stat_rdev_minor(stat), 0);
	assert_true(dwarfs_stat_seconds(stat, DWARFS_MTIME) == 1700000007);

	/* Unchanged on failure. */
	assert_int_equal(dwarfs_inode_stat(image, dwarfs_inode_at(2), stat, NULL),
			 DWARFS_ERR_RANGE);
	assert_int_equal(dwarfs_entry_stat(image, dwarfs_entry_at(2), stat, NULL),
			 DWARFS_ERR_RANGE);
	assert_int_equal(dwarfs_stat_inode(stat).number, 1);
	dwarfs_stat_free(stat);
	dwarfs_stat_free(NULL);
}

static void its_walk(void **state)
{
	for (int order = DWARFS_WALK_TREE; order <= DWARFS_WALK_DATA; order++) {
		dwarfs_image *image = open_one_file();
		dwarfs_walk *walk = NULL;
		dwarfs_entry entry = { 9 };

		assert_int_equal(
			dwarfs_walk_new(image, DWARFS_ROOT_ENTRY, order, &walk, NULL), 0);
		dwarfs_image_free(image); /* the walk keeps it */
		assert_int_equal(dwarfs_walk_next(walk, &entry, NULL), 1);
		assert_int_equal(entry.number, 0);
		assert_string_equal(dwarfs_walk_path(walk), "");
		assert_int_equal(dwarfs_walk_depth(walk), 0);
		assert_int_equal(dwarfs_walk_next(walk, &entry, NULL), 1);
		assert_int_equal(entry.number, 1);
		assert_string_equal(dwarfs_walk_path(walk), "a.txt");
		assert_int_equal(dwarfs_walk_depth(walk), 1);
		for (int i = 0; i < 3; i++)
			assert_int_equal(dwarfs_walk_next(walk, &entry, NULL), 0);
		dwarfs_walk_free(walk);
	}
	dwarfs_walk_free(NULL);
}

static void a_walk_needs_an_entry_and_an_order(void **state)
{
	auto_test_image dwarfs_image *image = open_one_file();
	dwarfs_walk *walk = NULL;
	dwarfs_entry entry;

	assert_int_equal(dwarfs_walk_new(image, dwarfs_entry_at(2), 0, &walk, NULL),
			 DWARFS_ERR_RANGE);
	assert_int_equal(dwarfs_walk_new(image, DWARFS_ROOT_ENTRY, 2, &walk, NULL),
			 DWARFS_ERR_RANGE);
	assert_null(walk);
	/* It may start at a file. */
	assert_int_equal(dwarfs_walk_new(image, dwarfs_entry_at(1), 0, &walk, NULL), 0);
	assert_int_equal(dwarfs_walk_next(walk, &entry, NULL), 1);
	assert_int_equal(entry.number, 1);
	assert_string_equal(dwarfs_walk_path(walk), "");
	assert_int_equal(dwarfs_walk_next(walk, &entry, NULL), 0);
	dwarfs_walk_free(walk);
	/* A skipped directory is not entered. */
	assert_int_equal(dwarfs_walk_new(image, DWARFS_ROOT_ENTRY, 0, &walk, NULL), 0);
	assert_int_equal(dwarfs_walk_next(walk, &entry, NULL), 1);
	dwarfs_walk_skip(walk);
	assert_int_equal(dwarfs_walk_next(walk, &entry, NULL), 0);
	dwarfs_walk_free(walk);
}

static void its_contents(void **state)
{
	dwarfs_image *image = open_one_file();
	dwarfs_file *file = NULL;
	uint64_t offset = 5;
	char text[8];
	size_t got = 99;

	for (uint64_t from = 0; from < 6; from++)
		for (size_t bytes = 0; bytes < 6; bytes++) {
			size_t expected = from > 3 ? 0 : 3 - (size_t)from;

			expected = expected < bytes ? expected : bytes;
			memset(text, '#', sizeof(text));
			assert_int_equal(dwarfs_read(image, dwarfs_inode_at(1), text,
						     bytes, from, &got, NULL),
					 0);
			assert_int_equal(got, expected);
			assert_memory_equal(text, &"hi\n"[from > 3 ? 3 : from], expected);
			assert_int_equal(text[expected], '#');
		}
	got = 99;
	assert_int_equal(
		dwarfs_read(image, dwarfs_inode_at(1), text, 8, UINT64_MAX, &got, NULL),
		0);
	assert_int_equal(got, 0);
	assert_int_equal(dwarfs_read(image, DWARFS_ROOT_INODE, text, 8, 0, &got, NULL),
			 DWARFS_ERR_IS_DIR);
	assert_int_equal(dwarfs_read(image, dwarfs_inode_at(2), text, 8, 0, &got, NULL),
			 DWARFS_ERR_RANGE);

	assert_int_equal(dwarfs_file_open(image, DWARFS_ROOT_INODE, &file, NULL),
			 DWARFS_ERR_IS_DIR);
	assert_int_equal(dwarfs_file_open(image, dwarfs_inode_at(2), &file, NULL),
			 DWARFS_ERR_RANGE);
	assert_null(file);
	assert_int_equal(dwarfs_file_open(image, dwarfs_inode_at(1), &file, NULL), 0);
	dwarfs_image_free(image); /* the file keeps it */
	assert_int_equal(dwarfs_file_bytes(file), 3);
	assert_int_equal(dwarfs_file_read(file, text, 8, 1, &got, NULL), 0);
	assert_int_equal(got, 2);
	assert_int_equal(dwarfs_file_seek_data(file, 2, &offset, NULL), 0);
	assert_int_equal(offset, 2);
	assert_int_equal(dwarfs_file_seek_hole(file, 2, &offset, NULL), 0);
	assert_int_equal(offset, 3);
	assert_int_equal(dwarfs_file_seek_data(file, 3, &offset, NULL),
			 DWARFS_ERR_NOT_FOUND);
	assert_int_equal(dwarfs_file_seek_hole(file, 3, &offset, NULL),
			 DWARFS_ERR_NOT_FOUND);
	assert_int_equal(dwarfs_file_seek_hole(file, UINT64_MAX, &offset, NULL),
			 DWARFS_ERR_NOT_FOUND);
	assert_int_equal(offset, 3);
	dwarfs_file_free(file);
	dwarfs_file_free(NULL);
}

static void every_truncation_is_refused(void **state)
{
	for (size_t size = 0; size < sizeof(one_file); size++) {
		auto_free uint8_t *copy = dw_malloc(size ? size : 1);
		auto_error dwarfs_error *err = NULL;
		dwarfs_image *image = NULL;
		int ret;

		memcpy(copy, one_file, size);
		ret = craft_try(copy, size, NULL, &image, &err);
		/* Without the index the image is still complete. */
		if (size == ONE_FILE_INDEX) {
			assert_int_equal(ret, 0);
			assert_false(dwarfs_image_has_index(image));
			dwarfs_image_free(image);
			continue;
		}
		assert_true(ret == DWARFS_ERR_NOT_IMAGE || ret == DWARFS_ERR_CORRUPT);
		assert_int_equal(dwarfs_error_code(err), ret);
		assert_null(image);
	}
}

/* With the original hashes, every change after the version fields is detected. */
static void every_changed_byte_is_noticed(void **state)
{
	dwarfs_context *context = quiet_context();
	auto_free uint8_t *copy = dw_malloc(sizeof(one_file));

	memcpy(copy, one_file, sizeof(one_file));
	for (size_t at = 0; at < sizeof(one_file); at++) {
		auto_test_image dwarfs_image *image = NULL;

		copy[at] ^= 0x10;
		if (craft_try(copy, sizeof(one_file), context, &image, NULL) == 0)
			assert_true(dwarfs_image_check(image, DWARFS_CHECK_INTEGRITY,
						       NULL, NULL, NULL, NULL, NULL) < 0);
		copy[at] ^= 0x10;
	}
	dwarfs_context_free(context);
}

/* With recomputed hashes: change each bit, and some whole bytes. */
static void no_changed_byte_does_harm(void **state)
{
	static const uint8_t changes[] = { 0x01, 0x02, 0x04, 0x08, 0x10,
					   0x20, 0x40, 0x80, 0xff, 0x7f };
	dwarfs_context *context = quiet_context();
	auto_free uint8_t *copy = dw_malloc(sizeof(one_file));
	int opened = 0;

	craft_expect_end(300);
	for (size_t at = 0; at < sizeof(one_file); at++)
		for (size_t i = 0; i < sizeof(changes); i++) {
			auto_test_image dwarfs_image *image = NULL;

			memcpy(copy, one_file, sizeof(one_file));
			copy[at] ^= changes[i];
			craft_rehash(copy, sizeof(one_file));
			if (craft_try(copy, sizeof(one_file), context, &image, NULL) ==
			    0) {
				exercise(image);
				opened++;
			}
		}
	craft_expect_end(0);
	assert_true(opened > 100);
	dwarfs_context_free(context);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(its_identity),
		cmocka_unit_test(its_sections),
		cmocka_unit_test(its_entries),
		cmocka_unit_test(its_attributes),
		cmocka_unit_test(its_walk),
		cmocka_unit_test(a_walk_needs_an_entry_and_an_order),
		cmocka_unit_test(its_contents),
		cmocka_unit_test(every_truncation_is_refused),
		cmocka_unit_test(every_changed_byte_is_noticed),
		cmocka_unit_test(no_changed_byte_does_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
