/* SPDX-License-Identifier: MIT */
/*
 * Options of categorizers, lists of hot paths, and contents that do not compress.
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
#include "write/builder.h"

#define MIB ((size_t)1 << 20)

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

static void assert_refused(int ret, int code, dwarfs_error *err, const char *message)
{
	assert_int_equal(ret, code);
	assert_string_equal(dwarfs_error_message(err), message);
	dwarfs_error_free(err);
}

/* -- options ------------------------------------------------------------------------ */

#define CATEGORIZERS "fits, pcmaudio, binary, incompressible, hotness"

static void categorizers_are_taken_by_name(void **state)
{
	struct categorized *all = *state;
	const struct categorize_options *options = &all->builder->options.categorize;
	dwarfs_error *err = NULL;
	int ret;

	assert_int_equal(options->count, 0);
	assert_int_equal(
		dwarfs_builder_set_categorizers(all->builder, "hotness,fits", NULL), 0);
	assert_int_equal(options->count, 2);
	assert_int_equal(options->list[0], CATEGORIZER_HOTNESS);
	assert_int_equal(options->list[1], CATEGORIZER_FITS);
	ret = dwarfs_builder_set_categorizers(all->builder, "fits,fit", &err);
	assert_refused(ret, DWARFS_ERR_INVALID, err,
		       "unknown categorizer: fit: use " CATEGORIZERS);
	err = NULL;
	ret = dwarfs_builder_set_categorizers(all->builder, "binary,fits,", &err);
	assert_refused(ret, DWARFS_ERR_INVALID, err,
		       "unknown categorizer: : use " CATEGORIZERS);
	err = NULL;
	ret = dwarfs_builder_set_categorizers(all->builder, "binary,fits,binary", &err);
	assert_refused(ret, DWARFS_ERR_INVALID, err,
		       "categorizer 'binary' is given twice");
	assert_int_equal(options->count, 2); /* as before */
	assert_int_equal(dwarfs_builder_set_categorizers(all->builder, "", NULL), 0);
	assert_int_equal(options->count, 0);
}

static void values_out_of_range_are_refused(void **state)
{
	dwarfs_builder *builder = ((struct categorized *)*state)->builder;
	static const struct {
		uint64_t block;
		double ratio;
		int level;
	} cases[] = {
		{ 1023, 0.99, -1 },	  { (1 << 30) + 1, 0.99, -1 },
		{ MIB, 0, -1 },		  { MIB, 1.01, -1 },
		{ MIB, -1, -1 },	  { MIB, 0.99, 23 },
		{ MIB, 0.99, -131073 },	  { MIB, __builtin_nan(""), -1 },
		{ UINT64_MAX, 0.99, -1 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(dwarfs_builder_set_incompressible(
					 builder, 0, cases[i].block, cases[i].ratio,
					 cases[i].level, false, NULL),
				 DWARFS_ERR_RANGE);
	assert_true(builder->options.categorize.ratio == 0.99);
	assert_int_equal(builder->options.categorize.probe_bytes, MIB);
	assert_int_equal(builder->options.categorize.min_input_bytes, 256);
}

static void categories_have_names(void **state)
{
	struct categorized *all = *state;
	const struct categorize_options *options = &all->builder->options.categorize;
	dwarfs_error *err = NULL;
	int ret;

	for (uint32_t i = 0; i < CATEGORY_COUNT; i++) {
		const char *name = dw_category_name(options, i);

		assert_non_null(name);
		assert_int_equal(dw_category_find(options, name, strlen(name)), i);
	}
	assert_null(dw_category_name(options, CATEGORY_COUNT));
	assert_int_equal(dw_category_find(options, "photos", 6), DW_ANY_CATEGORY);
	assert_int_equal(dwarfs_builder_add_category(all->builder, "photos", NULL), 0);
	assert_int_equal(dwarfs_builder_add_category(all->builder, "photos/raw", NULL),
			 0);
	assert_int_equal(dw_category_find(options, "photos", 6), CATEGORY_COUNT);
	assert_int_equal(dw_category_find(options, "photos/raw", 10), CATEGORY_COUNT + 1);
	assert_int_equal(dw_category_find(options, "photos/raw", 9), DW_ANY_CATEGORY);
	assert_string_equal(dw_category_name(options, CATEGORY_COUNT + 1), "photos/raw");
	assert_null(dw_category_name(options, CATEGORY_COUNT + 2));
	assert_null(dw_category_name(options, DW_ANY_CATEGORY));

	ret = dwarfs_builder_add_category(all->builder, "photos", &err);
	assert_refused(ret, DWARFS_ERR_INVALID, err,
		       "a category named 'photos' exists already");
	err = NULL;
	ret = dwarfs_builder_add_category(all->builder, "fits/image", &err);
	assert_refused(ret, DWARFS_ERR_INVALID, err,
		       "a category named 'fits/image' exists already");
	assert_int_equal(dwarfs_builder_add_category(all->builder, "", NULL),
			 DWARFS_ERR_INVALID);
	assert_int_equal(dwarfs_builder_add_category(all->builder, "a::b", NULL),
			 DWARFS_ERR_INVALID);
	assert_int_equal(dwarfs_builder_add_category(all->builder, "a,b", NULL),
			 DWARFS_ERR_INVALID);
	assert_int_equal(dwarfs_builder_add_category(all->builder, "a\nb", NULL),
			 DWARFS_ERR_INVALID);
}

/* -- hotness ------------------------------------------------------------------------ */

static void hot_paths_have_ranks(void **state)
{
	struct categorized *all = *state;
	const struct categorize_options *options = &all->builder->options.categorize;
	dwarfs_error *err = NULL;
	char path[32];
	int ret;

	assert_int_equal(dw_hotness_rank(options, "bin/sh"), UINT32_MAX);
	assert_int_equal(dwarfs_builder_add_hot_path(all->builder, "bin/sh", NULL), 0);
	assert_int_equal(dwarfs_builder_add_hot_path(all->builder, "/etc/rc", NULL), 0);
	assert_int_equal(dwarfs_builder_add_hot_path(all->builder, "./.profile", NULL),
			 0);
	for (unsigned i = 0; i < 1000; i++) {
		snprintf(path, sizeof(path), "file %u", i);
		assert_int_equal(dwarfs_builder_add_hot_path(all->builder, path, NULL),
				 0);
	}
	assert_int_equal(dw_hotness_rank(options, "bin/sh"), 0);
	assert_int_equal(dw_hotness_rank(options, "etc/rc"), 1);
	assert_int_equal(dw_hotness_rank(options, ".profile"), 2);
	assert_int_equal(dw_hotness_rank(options, "profile"), UINT32_MAX);
	for (unsigned i = 0; i < 1000; i++) {
		snprintf(path, sizeof(path), "file %u", i);
		assert_int_equal(dw_hotness_rank(options, path), 3 + i);
	}
	assert_int_equal(dw_hotness_rank(options, "file"), UINT32_MAX);

	ret = dwarfs_builder_add_hot_path(all->builder, "./bin/sh", &err);
	assert_refused(ret, DWARFS_ERR_INVALID, err,
		       "duplicate path in hotness list: ./bin/sh");
	assert_int_equal(dwarfs_builder_add_hot_path(all->builder, "", NULL),
			 DWARFS_ERR_INVALID);
	assert_int_equal(dwarfs_builder_add_hot_path(all->builder, "./", NULL),
			 DWARFS_ERR_INVALID);
}

static void the_first_categorizer_decides(void **state)
{
	static const uint8_t elf[52] = { 127, 'E',	'L',	  'F',	    1,	      1,
					 1,   [16] = 2, [18] = 3, [20] = 1, [40] = 52 };
	struct categorized *all = *state;

	assert_int_equal(dwarfs_builder_add_hot_path(all->builder, "bin/sh", NULL), 0);
	assert_int_equal(
		dwarfs_builder_set_categorizers(all->builder, "binary,hotness", NULL), 0);
	assert_string_equal(categorize_as(all, "bin/sh", elf, sizeof(elf)),
			    "binary/elf 52");
	assert_int_equal(
		dwarfs_builder_set_categorizers(all->builder, "hotness,binary", NULL), 0);
	assert_string_equal(categorize_as(all, "bin/sh", elf, sizeof(elf)), "hotness 52");
	assert_string_equal(categorize_as(all, "bin/bash", elf, sizeof(elf)),
			    "binary/elf 52");
}

/* -- fragments of a stream ---------------------------------------------------------- */

static void fragments_are_gathered_by_stream(void **state)
{
	struct fragment fragments[] = {
		{ .size = 1, .stream = 0 }, { .size = 0, .stream = 1 },
		{ .size = 2, .stream = 1 }, { .size = 3, .stream = 0 },
		{ .size = 4, .stream = 1 },
	};
	struct contents contents = { .fragments = fragments, .fragment_count = 5 };
	struct fragment_list list = { 0 };

	assert_int_equal(dw_fragments_of(&contents, 1, 0, &list, NULL), 0);
	assert_int_equal(list.count, 2);
	assert_int_equal(list.numbers[0], 2);
	assert_int_equal(list.numbers[1], 4);
	dw_fragment_list_free(&list);
	assert_int_equal(dw_fragments_of(&contents, 1, 3, &list, NULL), 0);
	assert_int_equal(list.count, 1);
	assert_int_equal(list.numbers[0], 4);
	dw_fragment_list_free(&list);
	assert_int_equal(dw_fragments_of(&contents, 2, 0, &list, NULL), 0);
	assert_int_equal(list.count, 0);
	dw_fragment_list_free(&list);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(categorizers_are_taken_by_name),
		TEST(values_out_of_range_are_refused),
		TEST(categories_have_names),
		TEST(hot_paths_have_ranks),
		TEST(the_first_categorizer_decides),
		TEST(fragments_are_gathered_by_stream),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
