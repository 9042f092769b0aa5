/* SPDX-License-Identifier: MIT */
/*
 * read/follow: paths with symbolic links, whose root is that of the image.
 */
#include "read/tree.h"

/* The tree, with another target of /dir/link. */
static dwarfs_image *open_with_target(struct craft *craft, const char *target)
{
	struct span targets[] = { { (const uint8_t *)target, strlen(target) } };
	struct freeze_metadata metadata = tree();

	metadata.symlinks.data = targets;
	return open_metadata(craft, &metadata);
}

static void links_are_followed(void **state)
{
	static const struct {
		const char *target, *path;
		int expected; /* entry or error */
	} cases[] = {
		{ "../file", "", 0 },
		{ "../file", "dir/../file", 3 },
		{ "../file", "dir/link", 3 },
		{ "../file", "//dir//link//", 3 },
		{ "..\\file", "dir/link", 3 }, /* with the separator of the image */
		{ "../file", "dir/link/x", DWARFS_ERR_NOT_DIR },
		{ "/null", "dir/link", 4 },
		{ "/", "dir/link", 0 },
		{ "../../../null", "dir/link", 4 },
		{ "deep", "dir/link", 5 },
		{ "deep", "dir/link/file", 8 },
		{ "deep", "dir/link/../other", 7 },
		{ ".", "dir/link", 1 },
		{ "..", "dir/link/null", 4 },
		{ "../file/", "dir/link", DWARFS_ERR_NOT_DIR },
		{ "../file//", "dir/link/..", DWARFS_ERR_NOT_DIR },
		{ "../file/.", "dir/link", DWARFS_ERR_NOT_DIR },
		{ "deep/", "dir/link", 5 },
		{ "deep//", "dir/link/file", 8 },
		{ "missing", "dir/link", DWARFS_ERR_NOT_FOUND },
		{ "file", "dir/link", DWARFS_ERR_NOT_FOUND }, /* of /dir, not of / */
		{ "link", "dir/link", DWARFS_ERR_INVALID },
		{ "/dir/link", "dir/link", DWARFS_ERR_INVALID },
		{ "link/x", "dir/link", DWARFS_ERR_INVALID },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		auto_craft struct craft craft = { 0 };
		auto_test_image dwarfs_image *image =
			open_with_target(&craft, cases[i].target);
		auto_error dwarfs_error *err = NULL;
		dwarfs_entry entry = { 99 };
		int ret = dwarfs_find_followed(image, cases[i].path, &entry, &err);

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

/* The number of links that Linux follows in one path. */
static void forty_links_are_followed(void **state)
{
	auto_craft struct craft craft = { 0 };
	auto_test_image dwarfs_image *image = open_with_target(&craft, ".");
	char path[400] = "dir";
	dwarfs_entry entry;

	for (int links = 1; links <= 41; links++) {
		strcat(path, "/link");
		assert_int_equal(dwarfs_find_followed(image, path, &entry, NULL),
				 links <= 40 ? 0 : DWARFS_ERR_INVALID);
		assert_int_equal(entry.number, 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(links_are_followed),
		cmocka_unit_test(forty_links_are_followed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
