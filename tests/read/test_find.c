/* SPDX-License-Identifier: MIT */
/*
 * read/find: entries by their paths, their directories, and targets of links.
 */
#include "read/tree.h"

static void paths_are_found(void **state)
{
	static const struct {
		const char *path;
		int expected; /* entry or error */
	} cases[] = {
		{ "", 0 },
		{ "/", 0 },
		{ "..", 0 },
		{ "../..", 0 },
		{ "dir", 1 },
		{ "/dir/", 1 },
		{ "dir/deep", 5 },
		{ "dir//./deep/file", 8 },
		{ "dir/deep/..", 1 },
		{ "dir/deep/../..", 0 },
		{ "dir/deep/../link", 6 },
		{ "dir/other", 7 },
		{ "null", 4 },
		{ "dir/link/x", DWARFS_ERR_NOT_DIR }, /* links are not followed */
		{ "file/..", DWARFS_ERR_NOT_DIR },
		{ "file/.", DWARFS_ERR_NOT_DIR },
		{ "dir/x", DWARFS_ERR_NOT_FOUND },
		{ "x/dir", DWARFS_ERR_NOT_FOUND },
		{ "...", DWARFS_ERR_NOT_FOUND },
		{ "di", DWARFS_ERR_NOT_FOUND },
		{ "dirx", DWARFS_ERR_NOT_FOUND },
	};
	auto_craft struct craft craft = { 0 };
	struct freeze_metadata metadata = tree();
	auto_test_image dwarfs_image *image = open_metadata(&craft, &metadata);

	for (size_t i = 0; i < COUNT(cases); i++) {
		auto_error dwarfs_error *err = NULL;
		dwarfs_entry entry = { 99 };
		int ret = dwarfs_find(image, cases[i].path, &entry, &err);

		if (cases[i].expected < 0) {
			assert_int_equal(ret, cases[i].expected);
			assert_string_equal(dwarfs_error_path(err), cases[i].path);
			assert_int_equal(entry.number, 99);
		} else {
			assert_int_equal(ret, 0);
			assert_int_equal(entry.number, cases[i].expected);
		}
	}
}

static void links_are_read(void **state)
{
	auto_craft struct craft craft = { 0 };
	struct freeze_metadata metadata = tree();
	auto_test_image dwarfs_image *image = open_metadata(&craft, &metadata);
	char text[DWARFS_LINK_BUFFER_BYTES];
	size_t size = 0;

	assert_int_equal(dwarfs_link_read(image, dwarfs_inode_at(3), text, sizeof(text),
					  &size, NULL),
			 0);
	assert_string_equal(text, "../file");
	assert_int_equal(size, 7);
	assert_int_equal(dwarfs_link_read_raw(image, dwarfs_inode_at(3), text,
					      sizeof(text), NULL, NULL),
			 0);
	assert_string_equal(text, "..\\file");
	assert_int_equal(dwarfs_link_read(image, dwarfs_inode_at(3), text, 8, NULL, NULL),
			 0);
	assert_int_equal(dwarfs_link_read(image, dwarfs_inode_at(3), text, 7, NULL, NULL),
			 DWARFS_ERR_RANGE);
	assert_int_equal(dwarfs_link_read(image, dwarfs_inode_at(3), text, 0, NULL, NULL),
			 DWARFS_ERR_RANGE);
	assert_int_equal(dwarfs_link_read(image, dwarfs_inode_at(4), text, sizeof(text),
					  NULL, NULL),
			 DWARFS_ERR_INVALID);
	assert_int_equal(dwarfs_link_read(image, dwarfs_inode_at(8), text, sizeof(text),
					  NULL, NULL),
			 DWARFS_ERR_RANGE);
}

static void each_entry_has_its_directory(void **state)
{
	static const uint32_t dirs[] = { 0, 0, 0, 0, 0, 1, 1, 1, 2 };
	auto_craft struct craft craft = { 0 };
	struct freeze_metadata metadata = tree();
	auto_test_image dwarfs_image *image = open_metadata(&craft, &metadata);
	dwarfs_inode dir = { 77 };

	for (uint32_t i = 0; i < COUNT(dirs); i++) {
		assert_int_equal(dwarfs_entry_dir(image, dwarfs_entry_at(i), &dir, NULL),
				 0);
		assert_int_equal(dir.number, dirs[i]);
	}
	assert_int_equal(
		dwarfs_entry_dir(image, dwarfs_entry_at(COUNT(dirs)), &dir, NULL),
		DWARFS_ERR_RANGE);
}

/* The last directory is empty, so that its range begins after the last entry. */
static void an_entry_in_no_directory_is_refused(void **state)
{
	auto_craft struct craft craft = { 0 };
	struct freeze_metadata metadata = tree();
	struct freeze_directory directories[COUNT(tree_directories)];
	auto_test_image dwarfs_image *image = NULL;
	dwarfs_inode dir;

	memcpy(directories, tree_directories, sizeof(directories));
	directories[3].first_entry = 8;
	metadata.directories.data = directories;
	image = open_metadata(&craft, &metadata);
	assert_int_equal(dwarfs_entry_dir(image, dwarfs_entry_at(7), &dir, NULL), 0);
	assert_int_equal(dwarfs_entry_dir(image, dwarfs_entry_at(8), &dir, NULL),
			 DWARFS_ERR_CORRUPT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths_are_found),
		cmocka_unit_test(links_are_read),
		cmocka_unit_test(each_entry_has_its_directory),
		cmocka_unit_test(an_entry_in_no_directory_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
