/* SPDX-License-Identifier: MIT */
/*
 * write/input/list_path: paths of a list below the root, in different spellings of both.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/write_run.h"
#include "write/input/list_path.h"

/* The prefix may be any path of the root, which was given by a relative path. */
static void absolute_paths_may_have_a_relative_root(void **state)
{
	const struct place *place = *state;
	dwarfs_builder *builder = NULL;
	dwarfs_image *image;
	char text[128];
	int before = open(".", O_RDONLY | O_DIRECTORY);

	put_sources(place);
	snprintf(text, sizeof(text), "%s/other", place->root);
	assert_int_equal(symlink("in", text), 0);
	assert_int_equal(chdir(place->root), 0);
	assert_int_equal(dwarfs_builder_new(NULL, &builder, NULL), 0);
	assert_int_equal(dwarfs_builder_add_directory(builder, "in", NULL), 0);
	assert_int_equal(fchdir(before), 0);
	close(before);
	assert_int_equal(dwarfs_builder_add_path(builder, in(place, "README"), NULL), 0);
	snprintf(text, sizeof(text), "%s/./other//src/a.c", place->root);
	assert_int_equal(dwarfs_builder_add_path(builder, text, NULL), 0);
	snprintf(text, sizeof(text), "%s/in/../other", place->root);
	assert_int_equal(dwarfs_builder_add_path(builder, text, NULL), 0);
	snprintf(text, sizeof(text), "%s/in/../in2", place->root);
	assert_int_equal(dwarfs_builder_add_path(builder, text, NULL), 0);
	image = build_and_open(builder, place, 1); /* in2 */
	assert_true(has_entry(image, "README"));
	assert_true(has_entry(image, "src/a.c"));
	assert_false(has_entry(image, "src/gen"));
	dwarfs_image_free(image);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_place, remove_place)

static void expect_below(struct list_root *root, const char *path, const char *rest)
{
	const char *at = path;

	assert_int_equal(dw_list_path_below(root, &at, NULL), rest != NULL);
	if (rest)
		assert_string_equal(at, rest);
}

static void names_are_cut_at_slashes_and_dots(void **state)
{
	static const char *const names[] = { "a", ".b", "..", "c." };
	const char *path = "//./a/.//.b/../c./.";

	for (size_t i = 0; i < 4; i++) {
		struct span name = dw_list_next_name(&path);

		assert_int_equal(name.size, strlen(names[i]));
		assert_memory_equal(name.data, names[i], name.size);
	}
	assert_int_equal(dw_list_next_name(&path).size, 0);
	assert_int_equal(*path, '\0');
}

static void roots_are_found_by_name(void **state)
{
	struct list_root root = { .fd = -1, .path = "/no/./such//place" };

	expect_below(&root, "a/b", "a/b");
	expect_below(&root, "a/../b", NULL);
	expect_below(&root, "/no/such/place/a", "/a");
	expect_below(&root, "/no/such/place", "");
	expect_below(&root, "/no/such/place/a/../b", NULL);
	expect_below(&root, "/no/such/places/a", NULL);
	expect_below(&root, "/no/such", NULL);
	dw_list_root_free(&root);
}

static void roots_are_found_by_the_directory_itself(void **state)
{
	const struct place *place = *state;
	struct list_root root = { .fd = open(place->in, O_RDONLY | O_DIRECTORY),
				  .path = "relative" };
	char link[128], path[160];

	assert_true(root.fd >= 0);
	snprintf(link, sizeof(link), "%s/link", place->root);
	assert_int_equal(symlink(place->in, link), 0);
	snprintf(path, sizeof(path), "%s/x", place->in);
	expect_below(&root, path, "/x");
	snprintf(path, sizeof(path), "%s/x/y", link);
	expect_below(&root, path, "/x/y");
	snprintf(path, sizeof(path), "%s/../in/x", place->in);
	expect_below(&root, path, "/x");
	snprintf(path, sizeof(path), "%s/x/../../out", place->in);
	expect_below(&root, path, NULL);
	expect_below(&root, place->outputs, NULL);
	dw_list_root_free(&root);
	close(root.fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(names_are_cut_at_slashes_and_dots),
		TEST(roots_are_found_by_name),
		TEST(roots_are_found_by_the_directory_itself),
		TEST(absolute_paths_may_have_a_relative_root),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
