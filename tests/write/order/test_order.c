/* SPDX-License-Identifier: MIT */
/*
 * write/order/order: names and options of orders, and orders of many files.
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

static void expect_refused(const char *order, const char *part)
{
	struct order_spec spec;
	dwarfs_error *err = NULL;

	assert_true(dw_order_parse(order, &spec, &err) < 0);
	if (!strstr(dwarfs_error_message(err), part))
		fail_msg("%s", dwarfs_error_message(err));
	dwarfs_error_free(err);
}

static void bad_orders_are_refused(void **state)
{
	struct order_spec spec;

	expect_refused("", "invalid inode order mode");
	expect_refused("paths", "invalid inode order mode: paths");
	expect_refused("hotness", "invalid inode order mode: hotness");
	expect_refused("path:x", "takes no options");
	expect_refused("auto:", "unknown option");
	expect_refused("auto:x", "unknown option 'x'");
	expect_refused("auto:max-trials=", "not a number from 0 to 6");
	expect_refused("auto:max-trials=7", "not a number from 0 to 6");
	expect_refused("auto:max-trials=-1", "not a number from 0 to 6");
	expect_refused("auto:max-trials=10", "not a number from 0 to 6");
	expect_refused("explicit", "file=NAME is missing");
	expect_refused("explicit:file=", "file=NAME is missing");
	expect_refused("explicit:file=/no/such", "failed to open explicit order file");
	expect_refused("nilsimsa:", "unknown option");
	expect_refused("nilsimsa:max-children", "unknown option");
	expect_refused("nilsimsa:max-children=", "not a positive number");
	expect_refused("nilsimsa:max-children=0", "not a positive number");
	expect_refused("nilsimsa:max-children=-1", "not a positive number");
	expect_refused("nilsimsa:max-children=1x", "not a positive number");
	expect_refused("nilsimsa:max-children=99999999999", "not a positive number");
	expect_refused("nilsimsa:max-children=1:max-children=1", "given twice");
	assert_int_equal(dw_order_parse("nilsimsa:max-cluster-size=5", &spec, NULL), 0);
	assert_int_equal(spec.max_cluster_size, 5);
	assert_int_equal(spec.max_children, 16384);
	dw_order_spec_free(&spec);
}

/* -- many files --------------------------------------------------------------------- */

#define MANY 20000

enum pattern { ALL_EQUAL, ALL_DIFFERENT, ONE_BAND, PATTERNS };

static void set_pattern(struct fingerprint *print, enum pattern pattern, uint32_t *random)
{
	for (size_t i = 0; i < FINGERPRINT_BYTES; i++) {
		*random = *random * UINT32_C(1664525) + UINT32_C(1013904223);
		print->bytes[i] = pattern == ALL_EQUAL || (pattern == ONE_BAND && i < 8)
					  ? 1
					  : (uint8_t)(*random >> 24 | 1);
	}
}

/* A step of quadratic time would take minutes. */
static void any_fingerprints_are_sorted_quickly(void **state)
{
	static const char *const orders[] = { "similarity", "nilsimsa", NULL };
	struct order_tree *place = order_tree_new();
	struct order_input input = order_tree_input(place, NULL);
	uint8_t *seen = dw_calloc(MANY, 1);
	char *names = dw_malloc(MANY * 8 + 1);
	uint32_t random = 1;

	assert_non_null(seen);
	assert_non_null(names);
	for (size_t i = 0; i < MANY; i++)
		snprintf(names + 7 * i, 8, "f%05zu ", i);
	order_tree_fill(place, names);
	assert_int_equal(order_tree_add_contents(place), MANY);
	for (int pattern = 0; pattern < PATTERNS; pattern++) {
		for (size_t i = 0; i < MANY; i++)
			set_pattern(&place->contents.fingerprints[i],
				    (enum pattern)pattern, &random);
		for (size_t i = 0; orders[i]; i++)
			order_tree_sort(place, orders[i]);
		for (unsigned band = 2; band <= 4; band += 2)
			assert_int_equal(dw_order_group_similar(&input, band, UINT64_MAX,
								place->numbers, MANY,
								NULL),
					 0);
		memset(seen, 0, MANY);
		for (size_t i = 0; i < MANY; i++)
			seen[place->numbers[i]]++;
		for (size_t i = 0; i < MANY; i++)
			assert_int_equal(seen[i], 1);
	}
	dw_free(names);
	dw_free(seen);
	order_tree_free(place);
}

/* All in one block: as by path. */
static void the_default_of_small_trees_is_by_path(void **state)
{
	struct order_tree *place = order_tree_small();

	order_tree_sort(place, "auto");
	order_tree_expect(place, "a/x.txt a/y.bin b.txt c/w.bin c/x.txt d.bin");
	order_tree_free(place);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_default_of_small_trees_is_by_path),
		cmocka_unit_test(bad_orders_are_refused),
		cmocka_unit_test(any_fingerprints_are_sorted_quickly),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
