/* SPDX-License-Identifier: MIT */
/*
 * write/order/revpath: by name, then by the names of the directories from the lowest on.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/order_tree.h"

static void files_are_sorted_by_name_first(void **state)
{
	struct order_tree *place = order_tree_small();

	order_tree_sort(place, "revpath");
	order_tree_expect(place, "b.txt d.bin c/w.bin a/x.txt c/x.txt a/y.bin");
	order_tree_free(place);
}

static void equal_names_are_sorted_by_their_directories(void **state)
{
	struct order_tree *place = order_tree_new();

	order_tree_fill(place, "a/ b/ x");
	order_tree_fill(place, "n/ x");
	order_tree_fill(place, "m/ x");
	order_tree_fill(place, "x");
	order_tree_fill(place, "x");
	order_tree_add_contents(place);
	order_tree_sort(place, "revpath");
	order_tree_expect(place, "x a/x b/x b/m/x a/n/x");
	order_tree_free(place);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_are_sorted_by_name_first),
		cmocka_unit_test(equal_names_are_sorted_by_their_directories),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
