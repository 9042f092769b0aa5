/* SPDX-License-Identifier: MIT */
/*
 * write/order/path: component by component, not by the path as one string.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "support/order_tree.h"

static void files_are_sorted_by_path(void **state)
{
	struct order_tree *place = order_tree_small();

	order_tree_sort(place, "path");
	order_tree_expect(place, "a/x.txt a/y.bin b.txt c/w.bin c/x.txt d.bin");
	order_tree_free(place);
}

/* In the order of bytes, "a-b" is before "a/z". */
static void a_slash_is_less_than_any_byte(void **state)
{
	struct order_tree *place = order_tree_new();

	order_tree_fill(place, "a/ a-b");
	order_tree_fill(place, "sub/ z");
	order_tree_fill(place, "y");
	order_tree_add_contents(place);
	order_tree_sort(place, "path");
	order_tree_expect(place, "a/sub/y a/z a-b");
	order_tree_free(place);
}

static void directories_know_their_numbers(void **state)
{
	struct order_tree *place = order_tree_small();
	uint32_t *numbers;

	assert_int_equal(dw_order_directories(&place->tree, &numbers, NULL), 0);
	assert_int_equal(numbers[0], 0);
	assert_int_equal(numbers[1], 1);       /* a */
	assert_int_equal(numbers[2], DW_NONE); /* b.txt */
	assert_int_equal(numbers[3], 2);       /* c */
	dw_free(numbers);
	order_tree_free(place);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_are_sorted_by_path),
		cmocka_unit_test(a_slash_is_less_than_any_byte),
		cmocka_unit_test(directories_know_their_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
