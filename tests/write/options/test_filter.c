/* SPDX-License-Identifier: MIT */
/*
 * write/options/filter, base/pattern: which paths rules match, which rule decides, and
 * invalid rules.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/pattern.h"
#include "write/options/filter.h"

/* -- patterns ------------------------------------------------------------------------ */

static bool matches_as(const char *text, const char *path, bool ignore_case)
{
	struct pattern *pattern = NULL;
	bool matches;

	assert_int_equal(dw_pattern_new(text, strlen(text), ignore_case, &pattern, NULL),
			 0);
	matches = dw_pattern_matches(pattern, path, strlen(path));
	dw_pattern_free(pattern);
	return matches;
}

static bool matches(const char *text, const char *path)
{
	return matches_as(text, path, false);
}

static void names_match_anywhere(void **state)
{
	assert_true(matches("name", "name"));
	assert_true(matches("name", "a/b/name"));
	assert_false(matches("name", "a/name/b"));
	assert_false(matches("name", "a/surname"));
	assert_false(matches("name", "names"));
	assert_true(matches("b/name", "a/b/name"));
	assert_true(matches("b/name", "b/name"));
	assert_false(matches("b/name", "a/bb/name"));
}

static void anchored_ones_match_the_whole_path(void **state)
{
	assert_true(matches("/a/name", "a/name"));
	assert_false(matches("/name", "a/name"));
	assert_false(matches("/a", "a/name"));
	assert_true(matches("/", ""));
	assert_true(matches("/**", "a/name"));
}

static void a_star_stays_in_a_name(void **state)
{
	assert_true(matches("*", "name"));
	assert_true(matches("/a/*", "a/name"));
	assert_false(matches("/a/*", "a/b/name"));
	assert_true(matches("/*/name", "a/name"));
	assert_true(matches("*.c", "x/.c"));
	assert_true(matches("a*b*c", "aXbbYc"));
	assert_false(matches("a*b*c", "aXbbY"));
	assert_true(matches("*a*", "banana"));
	assert_true(matches("a*", "a"));
}

static void two_stars_cross_slashes(void **state)
{
	assert_true(matches("/a/**/name", "a/b/c/name"));
	assert_false(matches("/a/**/name", "a/name"));
	assert_true(matches("/a/**", "a/b/c"));
	assert_true(matches("b/**.c", "a/b/x/y.c"));
	assert_false(matches("b/**.c", "a/bb/x/y.c"));
	assert_true(matches("**", "a/b"));
	assert_true(matches("a***c", "a/b/c"));
}

static void a_question_mark_is_a_character(void **state)
{
	assert_true(matches("?", "a"));
	assert_false(matches("?", "ab"));
	assert_false(matches("/a?b", "a/b"));
	assert_true(matches("?", "\xC3\xA9"));
	assert_false(matches("??", "\xC3\xA9"));
	assert_true(matches("a?c", "a\xE2\x82\xAC"
				   "c"));
	/* Not UTF-8: each byte is a character. */
	assert_true(matches("??", "\xA9\xA9"));
	assert_false(matches("?", "\xA9\xA9"));
	assert_true(matches("?", "\xE9"));
}

static void sets_take_one_of_them(void **state)
{
	assert_true(matches("[abc]", "b"));
	assert_false(matches("[abc]", "d"));
	assert_true(matches("x[0-9]y", "x5y"));
	assert_false(matches("x[!0-9]y", "x5y"));
	assert_true(matches("x[!0-9]y", "xzy"));
	assert_true(matches("x[^0-9]y", "x\xC3\xA9y"));
	assert_true(matches("[]]", "]"));
	assert_true(matches("[a-]", "-"));
	assert_true(matches("[\\]a]", "a"));
	assert_false(matches("a[!x]b", "a/b"));
	assert_false(matches("/a[/]b", "a/b"));
	assert_false(matches("x[^0-9]y", "x5y"));
	assert_true(matches("[a^]", "^"));
}

static void sets_know_classes(void **state)
{
	assert_true(matches("x[[:digit:]]y", "x5y"));
	assert_false(matches("x[[:digit:]]y", "xay"));
	assert_true(matches("[[:alpha:]_0-3]", "_"));
	assert_true(matches("[[:alpha:]_0-3]", "2"));
	assert_false(matches("[[:alpha:]_0-3]", "4"));
	assert_false(matches("[![:space:]]", " "));
	assert_true(matches("[![:space:]]", "\xC3\xA9"));
	assert_true(matches("[]:]", ":"));
	assert_true(matches("[:a]", ":"));
	assert_true(matches("[\\[:]", "["));
	assert_false(matches("[[:upper:]]", "a"));
	assert_true(matches_as("[[:upper:]]", "a", true));
}

static void a_backslash_takes_the_next_one_as_it_is(void **state)
{
	assert_true(matches("\\*", "*"));
	assert_false(matches("\\*", "a"));
	assert_true(matches("a\\[b", "a[b"));
	assert_true(matches("\\\\", "\\"));
}

static void case_is_ignored_where_asked_for(void **state)
{
	assert_true(matches_as("*.JPG", "a.jpg", true));
	assert_true(matches_as("[a-c]x", "BX", true));
	assert_false(matches_as("*.JPG", "a.jpg", false));
}

/* Longer than a word of states. */
static void long_patterns_match(void **state)
{
	char text[400], path[400];

	memset(text, 'a', 300);
	strcpy(text + 300, "*b");
	memset(path, 'a', 310);
	strcpy(path + 310, "b");
	assert_true(matches(text, path));
	path[299] = 'c';
	assert_false(matches(text, path));
}

/* Backtracking would take exponential time. */
static void many_stars_take_no_time(void **state)
{
	char text[101], path[4001];
	clock_t begin = clock();

	for (int i = 0; i < 100; i += 2)
		memcpy(text + i, "a*", 2);
	text[99] = 'b';
	text[100] = '\0';
	memset(path, 'a', 4000);
	path[4000] = '\0';
	assert_false(matches(text, path));
	assert_true(clock() - begin < CLOCKS_PER_SEC);
}

/* Compared with a simple recursive matcher, on small random texts. */
static bool slow(const char *p, const char *t)
{
	if (*p == '\0')
		return *t == '\0';
	if (p[0] == '*' && p[1] == '*') {
		for (;; t++) {
			if (slow(p + 2, t))
				return true;
			if (*t == '\0')
				return false;
		}
	}
	if (*p == '*') {
		for (;; t++) {
			if (slow(p + 1, t))
				return true;
			if (*t == '\0' || *t == '/')
				return false;
		}
	}
	if (*t == '\0' || (*p == '?' ? *t == '/' : *p != *t))
		return false;
	return slow(p + 1, t + 1);
}

static bool slow_anywhere(const char *p, const char *t)
{
	if (*p == '/')
		return slow(p + 1, t);
	for (const char *at = t;; at++) {
		if (slow(p, at))
			return true;
		/* There is no name after the slash of a directory. */
		if (!(at = strchr(at, '/')) || !at[1])
			return false;
	}
}

static bool matches_directory(const char *text, const char *path)
{
	struct pattern *pattern = NULL;
	bool matches;

	assert_int_equal(dw_pattern_new(text, strlen(text), false, &pattern, NULL), 0);
	matches = dw_pattern_matches_entry(pattern, path, strlen(path), true);
	dw_pattern_free(pattern);
	return matches;
}

static bool ends_in_one_star(const char *text)
{
	size_t length = strlen(text);

	return text[length - 1] == '*' && (length == 1 || text[length - 2] != '*');
}

/* The path without doubled slashes and those at its ends, as paths of entries are. */
static void clean(char *path)
{
	char *to = path;

	for (const char *from = path; *from; from++)
		if (*from != '/' || (to > path && to[-1] != '/'))
			*to++ = *from;
	while (to > path && to[-1] == '/')
		to--;
	*to = '\0';
}

static void random_patterns_match_as_they_should(void **state)
{
	static const char pattern_letters[] = "ab/*?*", path_letters[] = "ab/";
	unsigned seed = 1, matched = 0, directories = 0;
	bool as_directory;

	for (int i = 0; i < 200000; i++) {
		char text[10] = "", path[12] = "";
		int length = 1 + i % 8;

		for (int c = 0; c < length; c++) {
			seed = seed * 1664525 + 1013904223;
			text[c] = pattern_letters[(seed >> 16) % 6];
			seed = seed * 1664525 + 1013904223;
			path[c] = path_letters[(seed >> 16) % 3];
		}
		/* Three stars match as two; the simple matcher takes them as two and
		 * one. */
		clean(path);
		if (strstr(text, "***") || !*path)
			continue;
		if (matches(text, path) != slow_anywhere(text, path))
			fail_msg("'%s' against '%s'", text, path);
		matched += slow_anywhere(text, path);
		as_directory = matches_directory(text, path);
		strcat(path, "/");
		if (as_directory !=
		    (!ends_in_one_star(text) && slow_anywhere(text, path)))
			fail_msg("'%s' against directory '%s'", text, path);
		directories += as_directory;
	}
	assert_true(directories > 1000);
	assert_true(matched > 5000);
}

/* -- rules --------------------------------------------------------------------------- */

static struct filter *filter_of(const char *const *rules)
{
	struct filter *filter = NULL;

	assert_int_equal(dw_filter_new(&filter, NULL), 0);
	for (; *rules; rules++)
		assert_int_equal(dw_filter_add(filter, *rules, NULL), 0);
	return filter;
}

static bool takes(const struct filter *filter, const char *path)
{
	return dw_filter_includes(filter, path, strlen(path), false);
}

static bool takes_dir(const struct filter *filter, const char *path)
{
	return dw_filter_includes(filter, path, strlen(path), true);
}

static void the_first_rule_decides(void **state)
{
	static const char *const rules[] = { "+ File/[EM]*.pm", "- uni/**.pl", "+ *.pl",
					     "- *", NULL };
	struct filter *filter = filter_of(rules);

	assert_true(takes(filter, "lib/File/Empty.pm"));
	assert_false(takes(filter, "lib/File/Stat.pm"));
	assert_true(takes(filter, "a.pl"));
	assert_false(takes(filter, "lib/uni/x/a.pl"));
	assert_false(takes(filter, "README"));
	assert_true(takes_dir(filter, "lib"));
	dw_filter_free(filter);
}

static void without_rules_all_is_taken(void **state)
{
	static const char *const rules[] = { NULL };
	struct filter *filter = filter_of(rules);

	assert_true(takes(filter, "a"));
	assert_true(takes_dir(filter, "a"));
	dw_filter_free(filter);
}

static void a_slash_at_the_end_means_directories(void **state)
{
	static const char *const rules[] = { "- /dir/", "- name", NULL };
	struct filter *filter = filter_of(rules);

	assert_false(takes_dir(filter, "dir"));
	assert_true(takes_dir(filter, "sub/dir"));
	assert_true(takes(filter, "dir"));
	assert_true(takes_dir(filter, "name"));
	assert_false(takes(filter, "name"));
	dw_filter_free(filter);
}

static void two_stars_at_the_end_match_directories(void **state)
{
	static const char *const all[] = { "- **", NULL };
	static const char *const below[] = { "- /a/**", NULL };
	static const char *const keep[] = { "+ /src/**", "- */", NULL };
	static const char *const directories[] = { "- a/**/", NULL };
	struct filter *filter = filter_of(all);

	assert_false(takes_dir(filter, "a"));
	assert_false(takes(filter, "a/b"));
	dw_filter_free(filter);
	filter = filter_of(below);
	assert_false(takes_dir(filter, "a"));
	assert_false(takes_dir(filter, "a/b"));
	assert_true(takes(filter, "a"));
	assert_true(takes_dir(filter, "b/a/c"));
	dw_filter_free(filter);
	filter = filter_of(keep);
	assert_true(takes_dir(filter, "src"));
	assert_true(takes_dir(filter, "src/a/b"));
	assert_false(takes_dir(filter, "doc"));
	assert_true(takes(filter, "doc"));
	dw_filter_free(filter);
	filter = filter_of(directories);
	assert_true(takes_dir(filter, "a"));
	assert_true(takes_dir(filter, "x/a"));
	assert_false(takes_dir(filter, "a/b"));
	assert_false(takes_dir(filter, "x/a/b/c"));
	assert_true(takes(filter, "a/b"));
	dw_filter_free(filter);
}

static void one_star_matches_no_directory(void **state)
{
	static const char *const rules[] = { "- *", "- /a/*", NULL };
	static const char *const all[] = { "- */", NULL };
	struct filter *filter = filter_of(rules);

	assert_true(takes_dir(filter, "a"));
	assert_true(takes_dir(filter, "a/b"));
	assert_false(takes(filter, "a/b"));
	dw_filter_free(filter);
	filter = filter_of(all);
	assert_false(takes_dir(filter, "a"));
	assert_true(takes(filter, "a"));
	dw_filter_free(filter);
}

static void braces_are_alternatives(void **state)
{
	static const char *const rules[] = { "- *.{c,h}", "-i /{Doc/,x{1}}",
					     "- {[,],\\{}z", NULL };
	struct filter *filter = filter_of(rules);

	assert_false(takes(filter, "a/b.c"));
	assert_false(takes(filter, "b.h"));
	assert_true(takes(filter, "b.{c,h}"));
	assert_true(takes(filter, "b.o"));
	assert_false(takes_dir(filter, "doc"));
	assert_true(takes(filter, "doc"));
	assert_false(takes(filter, "X1"));
	assert_true(takes(filter, "x{1}"));
	assert_false(takes(filter, ",z"));
	assert_false(takes(filter, "{z"));
	dw_filter_free(filter);
}

static void letters_behind_the_sign_are_options(void **state)
{
	static const char *const rules[] = { "-i *.BAK", "-\t  x y", NULL };
	struct filter *filter = filter_of(rules);

	assert_false(takes(filter, "a.bak"));
	assert_false(takes(filter, "x y"));
	dw_filter_free(filter);
}

static void expect_error(const char *rule, const char *message)
{
	struct filter *filter = NULL;
	dwarfs_error *err = NULL;

	assert_int_equal(dw_filter_new(&filter, NULL), 0);
	assert_true(dw_filter_add(filter, rule, &err) < 0);
	if (!strstr(dwarfs_error_message(err), message))
		fail_msg("'%s' instead of '%s'", dwarfs_error_message(err), message);
	dwarfs_error_free(err);
	assert_true(takes(filter, "anything"));
	dw_filter_free(filter);
}

static void nonsense_is_refused(void **state)
{
	expect_error("", "empty filter rule");
	expect_error("  ", "empty filter rule");
	expect_error("name", "rules must start with + or -");
	expect_error("+", "no pattern in filter rule");
	expect_error("-  ", "no pattern in filter rule");
	expect_error("-x name", "unknown option 'x' in filter rule");
	expect_error(".", "rules must start with + or -");
	expect_error(". ", "no file in filter rule");
	expect_error("- [ab", "unmatched [");
	expect_error("- [b-a]", "a range that ends before it begins");
	expect_error("- a\\", "nothing after \\");
	expect_error("- *.{c,h", "unmatched {");
	expect_error("- [[:letter:]]", "unknown character class [:letter:]");
	expect_error("- [[:alpha]", "[: without :]");
	expect_error("- [[.a.]]", "[. or [=");
	expect_error(
		"- {a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}",
		"more than 4096 alternatives");
	expect_error(". /nonexistent/rules", "cannot open filter file");
	expect_error(". /", "cannot read filter rules");
}

/* -- files of rules ------------------------------------------------------------------ */

static char folder[64];

static const char *file_of(const char *name, const char *text)
{
	static char paths[4][128];
	static unsigned next;
	char *path = paths[next++ % 4];
	FILE *file;

	snprintf(path, sizeof(paths[0]), "%s/%s", folder, name);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
	return path;
}

static int make_folder(void **state)
{
	strcpy(folder, "/tmp/dwarfs-test-XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	char command[96];

	snprintf(command, sizeof(command), "rm -rf %s", folder);
	return system(command);
}

static void files_are_merged_where_they_stand(void **state)
{
	char text[256];
	struct filter *filter = NULL;

	snprintf(text, sizeof(text), "# keep these\n+ *.c\r\n\n \t \n. %s\n- *",
		 file_of("inner", "+ *.h\n"));
	assert_int_equal(dw_filter_new(&filter, NULL), 0);
	assert_int_equal(dw_filter_add(filter, "- secret.c", NULL), 0);
	snprintf(text, sizeof(text), ". %s", file_of("outer", text));
	assert_int_equal(dw_filter_add(filter, text, NULL), 0);
	assert_true(takes(filter, "a.c"));
	assert_true(takes(filter, "a.h"));
	assert_false(takes(filter, "secret.c"));
	assert_false(takes(filter, "a.o"));
	dw_filter_free(filter);
}

static void recursion_is_an_error(void **state)
{
	char rule[256], text[256];

	snprintf(text, sizeof(text), "- *\n. %s/b\n", folder);
	snprintf(rule, sizeof(rule), ". %s", file_of("a", text));
	snprintf(text, sizeof(text), ". %s/a\n", folder);
	file_of("b", text);
	expect_error(rule, "recursion in filter rules");
}

static void errors_say_which_line(void **state)
{
	char rule[256];

	snprintf(rule, sizeof(rule), ". %s", file_of("bad", "+ a\n\noops\n"));
	expect_error(rule, "line 3");
	/* The same file twice in sequence is not a recursion. */
	snprintf(rule, sizeof(rule), ". %s", file_of("good", "- a\n"));
	{
		const char *const rules[] = { rule, rule, NULL };

		dw_filter_free(filter_of(rules));
	}
}

#define TEST(name)	 cmocka_unit_test(name)
#define TEST_FILES(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(names_match_anywhere),
		TEST(anchored_ones_match_the_whole_path),
		TEST(a_star_stays_in_a_name),
		TEST(two_stars_cross_slashes),
		TEST(a_question_mark_is_a_character),
		TEST(sets_take_one_of_them),
		TEST(sets_know_classes),
		TEST(a_backslash_takes_the_next_one_as_it_is),
		TEST(case_is_ignored_where_asked_for),
		TEST(long_patterns_match),
		TEST(many_stars_take_no_time),
		TEST(random_patterns_match_as_they_should),
		TEST(the_first_rule_decides),
		TEST(without_rules_all_is_taken),
		TEST(a_slash_at_the_end_means_directories),
		TEST(two_stars_at_the_end_match_directories),
		TEST(one_star_matches_no_directory),
		TEST(braces_are_alternatives),
		TEST(letters_behind_the_sign_are_options),
		TEST(nonsense_is_refused),
		TEST_FILES(files_are_merged_where_they_stand),
		TEST_FILES(recursion_is_an_error),
		TEST_FILES(errors_say_which_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
