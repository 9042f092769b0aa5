/* SPDX-License-Identifier: MIT */
/*
 * write/tree/prune: empty directories are removed without traces.
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

static void empty_directories_go_all_the_way_up(void **state)
{
	dwarfs_builder *builder = new_builder(*state, 2);
	dwarfs_image *image;

	put_sources(*state);
	assert_int_equal(dwarfs_builder_add_filter(builder, "+ *.c", NULL), 0);
	assert_int_equal(dwarfs_builder_add_filter(builder, "- *", NULL), 0);
	dwarfs_builder_set_remove_empty_directories(builder, true);
	assert_int_equal(build(builder, *state), 0);
	assert_int_equal(dwarfs_builder_count(builder, DWARFS_COUNT_DIRECTORIES), 3);
	dwarfs_builder_free(builder);
	image = open_image(*state);
	expect_text(image, "src/a.c", "a");
	expect_text(image, "src/gen/b.c", "b");
	assert_false(has_entry(image, "doc"));
	dwarfs_image_free(image);
}

static void the_root_stays_though_it_is_empty(void **state)
{
	dwarfs_builder *builder = new_builder(*state, 0);
	dwarfs_image *image;

	put_dir(*state, "a");
	put_dir(*state, "a/b");
	dwarfs_builder_set_remove_empty_directories(builder, true);
	image = build_and_open(builder, *state, 0);
	assert_true(has_entry(image, ""));
	assert_false(has_entry(image, "a"));
	dwarfs_image_free(image);
}

/* As if they had never been added. */
static void a_pruned_image_is_that_of_a_clean_tree(void **state)
{
	const struct place *place = *state;
	char clean[128], command[256];
	dwarfs_builder *builder;
	FILE *pipe;

	put_dir(place, "kept");
	put_text(place, "kept/z", "z");
	assert_int_equal(link(in(place, "kept/z"), in(place, "kept/hard")), 0);
	assert_int_equal(symlink("kept/z", in(place, "link")), 0);
	put_dir(place, "kept/sub");
	put_text(place, "kept/sub/file", "file");
	snprintf(clean, sizeof(clean), "%s/clean", place->outputs);
	for (int round = 0; round < 2; round++) {
		builder = new_builder(place, 2);
		dwarfs_builder_set_remove_empty_directories(builder, round == 1);
		dwarfs_builder_set_history(builder, false);
		dwarfs_builder_set_create_timestamp(builder, false);
		assert_int_equal(dwarfs_builder_set_time(builder, 1, 0, NULL), 0);
		assert_int_equal(dwarfs_builder_write_path(builder,
							   round ? place->image : clean,
							   false, NULL),
				 0);
		dwarfs_builder_free(builder);
		put_dir(place, round ? "x" : "a");
		put_dir(place, round ? "y" : "a/b");
		if (round == 0) {
			put_dir(place, "kept/empty");
			put_dir(place, "zz");
		}
	}
	snprintf(command, sizeof(command), "cmp %s %s", place->image, clean);
	pipe = popen(command, "r");
	assert_non_null(pipe);
	assert_int_equal(pclose(pipe), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_place, remove_place)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(empty_directories_go_all_the_way_up),
		TEST(the_root_stays_though_it_is_empty),
		TEST(a_pruned_image_is_that_of_a_clean_tree),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
