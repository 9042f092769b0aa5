/* SPDX-License-Identifier: MIT */
/*
 * write/input/path_list: the entries that a list names, and their parents.
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

static void add_paths(dwarfs_builder *builder, const char *const *paths)
{
	for (; *paths; paths++)
		assert_int_equal(dwarfs_builder_add_path(builder, *paths, NULL), 0);
}

static void a_list_takes_what_it_names(void **state)
{
	const struct place *place = *state;
	char absolute[128];
	const char *const paths[] = {
		"./src/gen/b.c", absolute,	    "doc//old/", "fifo",
		"link",		 "link/a.c",	    "README",	 "/elsewhere/file",
		"missing",	 "src/a.c/nothing", "../up",	 NULL
	};
	dwarfs_builder *builder = new_builder(place, 2);
	dwarfs_image *image;

	snprintf(absolute, sizeof(absolute), "%s/README", place->in);
	put_sources(place);
	assert_int_equal(mkfifo(in(place, "fifo"), 0644), 0);
	assert_int_equal(symlink("src", in(place, "link")), 0);
	add_paths(builder, paths);
	image = build_and_open(builder, place, 5);
	expect_text(image, "src/gen/b.c", "b");
	expect_text(image, "README", "readme");
	assert_true(has_entry(image, "doc/old"));
	assert_true(has_entry(image, "fifo"));
	assert_true(has_entry(image, "link"));
	assert_true(has_entry(image, "src/a.c"));
	assert_false(has_entry(image, "doc/text"));
	assert_false(has_entry(image, "src/a.o"));
	assert_non_null(strstr(all_messages(), "skipping duplicate entry 'README'"));
	assert_non_null(strstr(all_messages(),
			       "ignoring path '/elsewhere/file' not below input path"));
	assert_non_null(
		strstr(all_messages(), "ignoring path '../up' not below input path"));
	assert_non_null(strstr(all_messages(), "missing"));
	dwarfs_image_free(image);
}

static void a_list_of_nothing_is_the_root(void **state)
{
	dwarfs_builder *builder = new_builder(*state, 0);
	dwarfs_image *image;

	put_sources(*state);
	assert_int_equal(dwarfs_builder_add_path(builder, "", NULL), 0);
	image = build_and_open(builder, *state, 0);
	assert_false(has_entry(image, "README"));
	dwarfs_image_free(image);
}

static void a_list_excludes_rules(void **state)
{
	dwarfs_builder *builder = new_builder(*state, 0);

	assert_int_equal(dwarfs_builder_add_path(builder, "a", NULL), 0);
	assert_int_equal(dwarfs_builder_add_filter(builder, "- a", NULL), 0);
	assert_int_equal(build(builder, *state), DWARFS_ERR_INVALID);
	dwarfs_builder_free(builder);
}

/* Without an order, contents are stored by the inode numbers of their files. */
static void a_list_keeps_its_order(void **state)
{
	static const char *const paths[] = { "c", "d/y", "a", "d/x", "b", NULL };
	dwarfs_builder *builder = new_builder(*state, 2);
	dwarfs_image *image;
	uint32_t last = 0;

	put_dir(*state, "d");
	put_text(*state, "a", "first");
	put_text(*state, "b", "second");
	put_text(*state, "c", "third");
	put_text(*state, "d/x", "fourth");
	put_text(*state, "d/y", "fifth");
	add_paths(builder, paths);
	assert_int_equal(dwarfs_builder_set_order(builder, "none", NULL), 0);
	image = build_and_open(builder, *state, 0);
	for (int i = 0; paths[i]; i++) {
		dwarfs_entry entry;
		dwarfs_inode inode;

		assert_int_equal(dwarfs_find(image, paths[i], &entry, NULL), 0);
		assert_int_equal(dwarfs_entry_inode(image, entry, &inode, NULL), 0);
		assert_true(inode.number > last);
		last = inode.number;
	}
	dwarfs_image_free(image);
}

static void a_list_of_everything_is_a_scan(void **state)
{
	static const char *const paths[] = { "README",	 "doc",	    "doc/old",
					     "doc/text", "src",	    "src/a.c",
					     "src/a.o",	 "src/gen", "src/gen/b.c",
					     NULL };
	const struct place *place = *state;
	char other[128], command[256];

	put_sources(place);
	snprintf(other, sizeof(other), "%s/other", place->outputs);
	for (int round = 0; round < 2; round++) {
		dwarfs_builder *builder = new_builder(place, 2);

		dwarfs_builder_set_history(builder, false);
		dwarfs_builder_set_create_timestamp(builder, false);
		if (round)
			add_paths(builder, paths);
		assert_int_equal(dwarfs_builder_write_path(builder,
							   round ? other : place->image,
							   false, NULL),
				 0);
		dwarfs_builder_free(builder);
	}
	snprintf(command, sizeof(command), "cmp %s %s", place->image, other);
	assert_int_equal(system(command), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_place, remove_place)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_list_takes_what_it_names),     TEST(a_list_of_nothing_is_the_root),
		TEST(a_list_excludes_rules),	      TEST(a_list_keeps_its_order),
		TEST(a_list_of_everything_is_a_scan),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
