/* SPDX-License-Identifier: MIT */
/*
 * order/unrelated/unrelated: groups of directories that have nothing in common.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/order_tree.h"
#include "write/order/unrelated/unrelated.h"

#define MIB ((uint64_t)1 << 20)

static void set_size(struct order_tree *place, uint32_t content, uint64_t size)
{
	place->contents.fragments[content].size = size;
}

/* Bytes at the beginning of a file, which samples have; each file has others. */
#define BYTES 2048

/* Files of this size, by path. */
static struct order_tree *finish(struct order_tree *place, uint64_t size)
{
	size_t count = order_tree_add_contents(place);
	uint8_t *data = malloc(count * BYTES);
	uint32_t random = 1;

	assert_non_null(data);
	for (size_t i = 0; i < count * BYTES; i++) {
		random = random * UINT32_C(1664525) + UINT32_C(1013904223);
		data[i] = (uint8_t)(random >> 24);
	}
	order_tree_keep(place, data, BYTES);
	free(data);
	for (uint32_t i = 0; i < count; i++)
		set_size(place, i, size);
	order_tree_sort(place, "path");
	return place;
}

/* Check the files, and how many of them are in each group. */
static void expect_within(struct order_tree *place, uint64_t reach_bytes,
			  const char *paths, const char *sizes)
{
	struct order_input input = order_tree_input(place, NULL);
	size_t *ends = NULL, group_count = 0, at = 0;
	char text[256] = "";

	input.reach_bytes = reach_bytes;
	assert_int_equal(dw_order_unrelated(&input, place->numbers, place->contents.count,
					    &ends, &group_count, NULL),
			 0);
	if (paths)
		order_tree_expect(place, paths);
	for (size_t i = 0; i < group_count; i++) {
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%zu",
			 i ? " " : "", ends[i] - at);
		for (; at < ends[i]; at++)
			assert_int_equal(
				place->contents.fragments[place->numbers[at]].group, i);
	}
	assert_string_equal(text, sizes);
	assert_int_equal(at, place->contents.count);
	dw_free(ends);
}

static void expect(struct order_tree *place, const char *paths, const char *sizes)
{
	expect_within(place, MIB, paths, sizes);
	order_tree_free(place);
}

/* Three directories, each with two files of other names. */
static struct order_tree *three_directories(uint64_t size)
{
	struct order_tree *place = order_tree_new();

	order_tree_fill(place, "a/ b/ c/");
	order_tree_fill(place, "one two");
	order_tree_fill(place, "four three");
	order_tree_fill(place, "five six");
	return finish(place, size);
}

#define BY_PATH "a/one a/two b/four b/three c/five c/six"

static void directories_without_anything_in_common(void **state)
{
	(void)state;
	expect(three_directories(8 * MIB), BY_PATH, "2 2 2");
}

static void small_ones_are_one_group_or_part_of_the_largest(void **state)
{
	struct order_tree *place = three_directories(8 * MIB - 1);

	(void)state;
	expect(place, BY_PATH, "6");
	place = three_directories(8 * MIB);
	set_size(place, place->numbers[0], 1);
	set_size(place, place->numbers[4], 1);
	expect(place, "a/one a/two c/five c/six b/four b/three", "4 2");
	place = three_directories(8 * MIB);
	set_size(place, place->numbers[0], 1);
	set_size(place, place->numbers[2], 9 * MIB);
	set_size(place, place->numbers[4], 9 * MIB);
	expect(place, "a/one a/two b/four b/three c/five c/six", "4 2");
}

/* Of a codec that reaches farther, the groups are larger. */
static void the_reach_of_the_codec_counts(void **state)
{
	struct order_tree *place = three_directories(16 * MIB);

	(void)state;
	expect_within(place, 16 * MIB, BY_PATH, "2 2 2");
	expect_within(place, 16 * MIB + 1, BY_PATH, "6");
	order_tree_free(place);
}

static void names_that_differ_in_digits_relate(void **state)
{
	struct order_tree *place = order_tree_new();

	(void)state;
	order_tree_fill(place, "a/ b/ c/");
	order_tree_fill(place, "day-1.log two");
	order_tree_fill(place, "four three");
	order_tree_fill(place, "day-31.log six");
	expect(finish(place, 9 * MIB),
	       "a/day-1.log a/two c/day-31.log c/six b/four b/three", "4 2");
}

/* All names are equal but for digits: each file counts, not one of each directory. */
static void all_files_with_equal_names_count(void **state)
{
	enum { FILES = 40 };
	struct order_tree *place = order_tree_new();
	char names[FILES * 4 + 1] = "";

	(void)state;
	for (unsigned i = 0; i < FILES; i++)
		snprintf(names + strlen(names), 5, "%sp%02u", i ? " " : "", i);
	order_tree_fill(place, "a/ b/");
	order_tree_fill(place, names);
	order_tree_fill(place, names);
	finish(place, MIB);
	expect(place, NULL, "80");
}

static void a_little_in_common_does_not_relate(void **state)
{
	struct order_tree *place = order_tree_new();

	(void)state;
	order_tree_fill(place, "a/ b/");
	order_tree_fill(place, "licence one");
	order_tree_fill(place, "licence two");
	finish(place, 15 * MIB);
	set_size(place, place->numbers[0], MIB - 1);
	expect_within(place, MIB, NULL, "4");
	set_size(place, place->numbers[1], 16 * MIB);
	set_size(place, place->numbers[3], 16 * MIB);
	expect(place, "a/licence a/one b/licence b/two", "2 2");
}

static void similar_contents_relate(void **state)
{
	struct order_tree *place = three_directories(9 * MIB);

	(void)state;
	for (size_t i = 0; i < 6; i++)
		order_tree_set_minhash(place, place->numbers[i],
				       i == 1 || i == 5 ? 9999 : (uint16_t)(100 * i + 1));
	expect(place, "a/one a/two c/five c/six b/four b/three", "4 2");
}

/* The beginnings of two files, of which one has another name, and nothing else. */
static void similar_samples_relate(void **state)
{
	enum { FILES = 4, COMMON = BYTES / 8 };
	struct order_tree *place = order_tree_new();
	uint8_t data[FILES * BYTES];
	uint32_t random = 1;

	(void)state;
	for (size_t i = 0; i < sizeof(data); i++) {
		random = random * UINT32_C(1664525) + UINT32_C(1013904223);
		data[i] = (uint8_t)(random >> 24);
	}
	memcpy(data + 2 * BYTES + 500, data + 700, COMMON);
	order_tree_fill(place, "a/ b/ c/ d/");
	order_tree_fill(place, "one");
	order_tree_fill(place, "two");
	order_tree_fill(place, "three");
	order_tree_fill(place, "four");
	order_tree_add_contents(place);
	order_tree_keep(place, data, BYTES);
	for (uint32_t i = 0; i < FILES; i++)
		set_size(place, i, 16 * MIB);
	order_tree_sort(place, "path");
	expect(place, "a/one c/three b/two d/four", "2 1 1");
}

static void without_fingerprints_names_decide(void **state)
{
	struct order_tree *place = three_directories(9 * MIB);
	struct fingerprint *prints = place->contents.fingerprints;

	(void)state;
	place->contents.fingerprints = NULL;
	expect_within(place, MIB, BY_PATH, "2 2 2");
	place->contents.fingerprints = prints;
	order_tree_free(place);
}

static void files_beside_directories_are_together(void **state)
{
	struct order_tree *place = order_tree_new();

	(void)state;
	order_tree_fill(place, "a/ b x/ y");
	order_tree_fill(place, "one");
	order_tree_fill(place, "two");
	expect(finish(place, 16 * MIB), "a/one b y x/two", "1 2 1");
}

static void a_directory_that_has_all_is_entered(void **state)
{
	struct order_tree *place = order_tree_new();

	(void)state;
	order_tree_fill(place, "top/");
	order_tree_fill(place, "mid/");
	order_tree_fill(place, "a/ b/");
	order_tree_fill(place, "one");
	order_tree_fill(place, "two");
	expect(finish(place, 16 * MIB), "top/mid/a/one top/mid/b/two", "1 1");
}

/* More directories than are compared: the smallest ones are one group. */
static void many_directories(void **state)
{
	enum { SMALL = 51, DIRECTORIES = UNRELATED_MAX_PARTS - 1 + SMALL };
	struct order_tree *place = order_tree_new();
	struct order_input input = order_tree_input(place, NULL);
	char names[DIRECTORIES * 5 + 1] = "";
	size_t *ends = NULL, group_count = 0;

	(void)state;
	for (unsigned i = 0; i < DIRECTORIES; i++)
		snprintf(names + strlen(names), 6, "%s%03u/", i ? " " : "", i);
	order_tree_fill(place, names);
	for (unsigned i = 0; i < DIRECTORIES; i++) {
		char name[3] = { (char)('a' + i / 26), (char)('a' + i % 26), 0 };

		order_tree_fill(place, name);
	}
	finish(place, 16 * MIB);
	for (size_t i = 0; i < SMALL; i++)
		set_size(place, place->numbers[i], 16 * MIB - 1);
	assert_int_equal(dw_order_unrelated(&input, place->numbers, place->contents.count,
					    &ends, &group_count, NULL),
			 0);
	assert_int_equal(group_count, UNRELATED_MAX_PARTS);
	assert_int_equal(ends[0], SMALL);
	assert_int_equal(ends[group_count - 1], DIRECTORIES);
	dw_free(ends);
	order_tree_free(place);
}

/* Files beside the directories do not count among the largest ones. */
static void many_files_beside_directories(void **state)
{
	enum { FILES = UNRELATED_MAX_PARTS + 10 };
	struct order_tree *place = order_tree_new();
	char names[(FILES + 2) * 5 + 1] = "0a/ 0b/";
	struct order_input input;
	size_t *ends = NULL, group_count = 0;

	(void)state;
	for (unsigned i = 0; i < FILES; i++)
		snprintf(names + strlen(names), 6, " %04u", 1000 + i);
	order_tree_fill(place, names);
	order_tree_fill(place, "one");
	order_tree_fill(place, "two");
	finish(place, 17 * MIB);
	set_size(place, place->numbers[0], 16 * MIB);
	set_size(place, place->numbers[1], 16 * MIB);
	input = order_tree_input(place, NULL);
	assert_int_equal(dw_order_unrelated(&input, place->numbers, place->contents.count,
					    &ends, &group_count, NULL),
			 0);
	assert_int_equal(group_count, 3);
	dw_free(ends);
	order_tree_free(place);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(directories_without_anything_in_common),
		cmocka_unit_test(small_ones_are_one_group_or_part_of_the_largest),
		cmocka_unit_test(the_reach_of_the_codec_counts),
		cmocka_unit_test(names_that_differ_in_digits_relate),
		cmocka_unit_test(all_files_with_equal_names_count),
		cmocka_unit_test(a_little_in_common_does_not_relate),
		cmocka_unit_test(similar_contents_relate),
		cmocka_unit_test(similar_samples_relate),
		cmocka_unit_test(without_fingerprints_names_decide),
		cmocka_unit_test(files_beside_directories_are_together),
		cmocka_unit_test(a_directory_that_has_all_is_entered),
		cmocka_unit_test(many_directories),
		cmocka_unit_test(many_files_beside_directories),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
