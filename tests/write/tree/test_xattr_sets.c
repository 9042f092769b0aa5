/* SPDX-License-Identifier: MIT */
/*
 * write/tree/xattr_sets: equal sets are stored once, impossible ones are refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "write/tree/xattr_sets.h"

static struct span span_of(const char *text)
{
	return (struct span){ (const uint8_t *)text, strlen(text) };
}

static struct xattr_pair pair_of(const char *name, const char *value)
{
	return (struct xattr_pair){ span_of(name), span_of(value) };
}

static uint32_t add(struct xattr_sets *sets, const struct xattr_pair *list, size_t count)
{
	uint32_t set = 77;

	assert_int_equal(dw_xattrs_add(sets, list, count, &set, NULL), 0);
	return set;
}

static void equal_sets_are_one(void **state)
{
	struct xattr_sets sets = { 0 };
	const struct xattr_pair one[] = { pair_of("user.a", "1"),
					  pair_of("user.b", "2") };
	const struct xattr_pair turned[] = { pair_of("user.b", "2"),
					     pair_of("user.a", "1") };
	const struct xattr_pair other[] = { pair_of("user.a", "2"),
					    pair_of("user.b", "1") };
	uint32_t set = add(&sets, one, 2);

	assert_int_equal(add(&sets, NULL, 0), DW_NO_XATTRS);
	assert_int_not_equal(set, DW_NO_XATTRS);
	assert_int_equal(add(&sets, turned, 2), set);
	assert_int_not_equal(add(&sets, other, 2), set);
	assert_int_not_equal(add(&sets, one, 1), set);
	assert_int_equal(dw_xattrs_count(&sets), 3);
	assert_int_equal(sets.names.count, 2);
	assert_int_equal(sets.values.count, 2);
	assert_true(dw_xattrs_bytes(&sets) > 0);
	dw_xattrs_free(&sets);
}

static void impossible_names_are_refused(void **state)
{
	struct xattr_sets sets = { 0 };
	char longest[257];
	struct xattr_pair twice[] = { pair_of("user.a", "1"), pair_of("user.a", "2") };
	struct xattr_pair pair = pair_of("", "");
	uint32_t set;

	assert_int_equal(dw_xattrs_add(&sets, &pair, 1, &set, NULL), DWARFS_ERR_INVALID);
	assert_int_equal(dw_xattrs_add(&sets, twice, 2, &set, NULL), DWARFS_ERR_INVALID);
	pair.name = (struct span){ (const uint8_t *)"user\0a", 6 };
	assert_int_equal(dw_xattrs_add(&sets, &pair, 1, &set, NULL), DWARFS_ERR_INVALID);
	memset(longest, 'x', sizeof(longest));
	pair.name = (struct span){ (const uint8_t *)longest, 256 };
	assert_int_equal(dw_xattrs_add(&sets, &pair, 1, &set, NULL), DWARFS_ERR_INVALID);
	pair.name.size = 255;
	assert_int_equal(dw_xattrs_add(&sets, &pair, 1, &set, NULL), 0);
	assert_int_equal(set, 1);
	dw_xattrs_free(&sets);
}

static void lists_in_one_piece(void **state)
{
	struct xattr_sets sets = { 0 };
	struct xattr_rules rules = { 0 };
	auto_buffer struct buffer list = { 0 };
	struct xattr_pair expected[100];
	char names[100][16];
	uint32_t set;

	assert_int_equal(dw_xattrs_add_list(&sets, (struct span){ 0 }, NULL, &set, NULL),
			 0);
	assert_int_equal(set, DW_NO_XATTRS);
	for (int i = 0; i < 100; i++) {
		snprintf(names[i], sizeof(names[i]), "user.%02d", i);
		expected[i] = pair_of(names[i], names[i] + (i % 5));
		assert_int_equal(dw_xattr_list_append(&list, expected[i].name,
						      expected[i].value, NULL),
				 0);
	}
	assert_int_equal(
		dw_xattrs_add_list(&sets, dw_buffer_span(&list), NULL, &set, NULL), 0);
	assert_int_equal(set, add(&sets, expected, 100));
	assert_int_equal(dw_xattr_rules_add(&rules, true, "user.0*", NULL), 0);
	assert_int_equal(
		dw_xattrs_add_list(&sets, dw_buffer_span(&list), &rules, &set, NULL), 0);
	assert_int_equal(set, add(&sets, expected, 10));
	rules.drop = true;
	assert_int_equal(
		dw_xattrs_add_list(&sets, dw_buffer_span(&list), &rules, &set, NULL), 0);
	assert_int_equal(set, DW_NO_XATTRS);
	dw_xattr_rules_free(&rules);
	dw_xattrs_free(&sets);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_sets_are_one),
		cmocka_unit_test(impossible_names_are_refused),
		cmocka_unit_test(lists_in_one_piece),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
