/* SPDX-License-Identifier: MIT */
/*
 * base/patterns: which paths match a pattern.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/patterns.h"

DW_DEFINE_AUTO(patterns, struct patterns *, dw_patterns_free)

static bool matches(const char *pattern, const char *path, bool is_dir)
{
	DW_AUTO(patterns) struct patterns *patterns = NULL;

	assert_int_equal(dw_patterns_new(&patterns, NULL), 0);
	assert_int_equal(dw_patterns_add(patterns, pattern, NULL), 0);
	assert_false(dw_patterns_are_none(patterns));
	return dw_patterns_match(patterns, path, strlen(path), is_dir);
}

static void whole_paths_are_matched(void **state)
{
	assert_true(matches("a/b", "a/b", false));
	assert_true(matches("/a/b", "a/b", false));
	assert_true(matches(".//a/b", "a/b", false));
	assert_false(matches("b", "a/b", false));
	assert_false(matches("a", "a/b", false));
	assert_false(matches("*", "a/b", false));
	assert_true(matches("**", "a/b", false));
	assert_true(matches("a/*", "a/b", false));
	assert_false(matches("a*b", "a/b", false));
	assert_true(matches("a**b", "a/b", false));
	assert_false(matches("A/b", "a/b", false));
	assert_true(matches("i:A/B", "a/b", false));
}

static void two_stars_may_stand_for_no_name(void **state)
{
	assert_true(matches("**/x", "x", false));
	assert_true(matches("**/x", "a/b/x", false));
	assert_false(matches("**/x", "ax", false));
	assert_true(matches("a/**/x", "a/x", false));
	assert_true(matches("a/**/**/x", "a/x", false));
	assert_true(matches("**/", "a/b", true));
	assert_true(matches("**/**/", "a", true));
	assert_false(matches("**/", "a", false));
	assert_true(matches("a/**/x", "a/b/c/x", false));
	assert_false(matches("a/**/x", "a/bx", false));
	assert_false(matches("a/**", "a", true));
	assert_false(matches("a**/x", "ax", false));
	assert_true(matches("a**/x", "a/x", false));
}

static void alternatives_are_tried(void **state)
{
	assert_true(matches("{a,b}/c", "b/c", false));
	assert_true(matches("a{,b}", "a", false));
	assert_true(matches("a{,b}", "ab", false));
	assert_true(matches("{a{1,2},b}", "a2", false));
	assert_false(matches("{a{1,2},b}", "b2", false));
	assert_true(matches("{[,],x}", ",", false));
	assert_true(matches("{\\},x}", "}", false));
	assert_true(matches("\\{a,b\\}", "{a,b}", false));
	assert_true(matches("a}", "a}", false));
	assert_true(matches("[{]", "{", false));
	assert_true(matches("{**/a,b}", "x/a", false));
	assert_true(matches("{**/a,b}", "a", false));
}

static void a_slash_at_the_end_is_for_directories(void **state)
{
	assert_true(matches("a/", "a", true));
	assert_false(matches("a/", "a", false));
	assert_true(matches("{a/,b}", "b", false));
	assert_false(matches("{a/,b}", "a", false));
}

static void what_makes_no_sense_changes_nothing(void **state)
{
	static const char *const bad[] = { "",	  "/",	  "i:",	    "[a",   "{a",
					   "a\\", "{a,}", "{a,[b}", "[z-a]" };
	DW_AUTO(patterns) struct patterns *patterns = NULL;
	auto_free char *long_one = dw_malloc(6000);

	assert_non_null(long_one);
	assert_int_equal(dw_patterns_new(&patterns, NULL), 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		auto_error dwarfs_error *err = NULL;

		if (strcmp(bad[i], "{a,}") == 0)
			continue; /* "a" or nothing: the second is refused below */
		assert_int_equal(dw_patterns_add(patterns, bad[i], &err),
				 DWARFS_ERR_INVALID);
		assert_non_null(strstr(dwarfs_error_message(err), bad[i]));
	}
	assert_int_equal(dw_patterns_add(patterns, "{a,}", NULL), DWARFS_ERR_INVALID);
	memset(long_one, 'x', 5999);
	long_one[5999] = '\0';
	assert_int_equal(dw_patterns_add(patterns, long_one, NULL), DWARFS_ERR_INVALID);
	/* 2^20 variants, and braces of the maximum depth. */
	strcpy(long_one, "x");
	for (int i = 0; i < 20; i++)
		strcat(long_one, "{a,b}");
	assert_int_equal(dw_patterns_add(patterns, long_one, NULL), DWARFS_ERR_INVALID);
	memset(long_one, '{', 2000);
	memset(long_one + 2000, '}', 2000);
	long_one[4000] = '\0';
	assert_int_equal(dw_patterns_add(patterns, long_one, NULL), DWARFS_ERR_INVALID);
	assert_true(dw_patterns_are_none(patterns));
	assert_false(dw_patterns_match(patterns, "a", 1, false));
}

static void several_are_tried(void **state)
{
	DW_AUTO(patterns) struct patterns *patterns = NULL;

	assert_true(dw_patterns_are_none(NULL));
	assert_false(dw_patterns_match(NULL, "a", 1, false));
	assert_int_equal(dw_patterns_new(&patterns, NULL), 0);
	assert_int_equal(dw_patterns_add(patterns, "a", NULL), 0);
	assert_int_equal(dw_patterns_add(patterns, "i:b", NULL), 0);
	assert_true(dw_patterns_match(patterns, "a", 1, false));
	assert_true(dw_patterns_match(patterns, "B", 1, false));
	assert_false(dw_patterns_match(patterns, "A", 1, false));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_paths_are_matched),
		cmocka_unit_test(two_stars_may_stand_for_no_name),
		cmocka_unit_test(alternatives_are_tried),
		cmocka_unit_test(a_slash_at_the_end_is_for_directories),
		cmocka_unit_test(what_makes_no_sense_changes_nothing),
		cmocka_unit_test(several_are_tried),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
