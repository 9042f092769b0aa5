/* SPDX-License-Identifier: MIT */
/*
 * write/categorize/hotness: listed files have a separate category.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/categorized.h"

static int setup(void **state)
{
	*state = categorized_new("");
	return 0;
}

static int teardown(void **state)
{
	categorized_free(*state);
	return 0;
}

static void hot_files_are_hot(void **state)
{
	struct categorized *all = *state;

	assert_int_equal(dwarfs_builder_set_categorizers(all->builder, "hotness", NULL),
			 0);
	assert_string_equal(categorize_as(all, "bin/sh", "text", 4), "");
	assert_int_equal(dwarfs_builder_add_hot_path(all->builder, "bin/sh", NULL), 0);
	assert_string_equal(categorize_as(all, "bin/sh", "text", 4), "hotness 4");
	assert_string_equal(categorize_as(all, "bin/s", "text", 4), "");
	assert_string_equal(categorize_as(all, "bin/sh", "", 0), "");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(hot_files_are_hot),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
