/* SPDX-License-Identifier: MIT */
/*
 * write/order/unordered: the order of the scan.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/order_tree.h"

static void the_scan_order_stays(void **state)
{
	struct order_tree *place = order_tree_small();

	order_tree_sort(place, "none");
	order_tree_expect(place, "b.txt d.bin a/x.txt a/y.bin c/w.bin c/x.txt");
	order_tree_sort(place, "path");
	order_tree_sort(place, "none"); /* the order of the scan */
	order_tree_expect(place, "a/x.txt a/y.bin b.txt c/w.bin c/x.txt d.bin");
	order_tree_free(place);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_scan_order_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
