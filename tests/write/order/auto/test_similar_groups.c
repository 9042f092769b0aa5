/* SPDX-License-Identifier: MIT */
/*
 * order/auto/similar_groups: fragments with similar fingerprints side by side.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/order_tree.h"

static void resembling_files_come_together_within_bounds(void **state)
{
	struct order_tree *place = order_tree_small();
	struct order_input input = order_tree_input(place, NULL);

	order_tree_sort(place, "path");
	for (size_t i = 0; i < place->contents.count; i++)
		order_tree_set_minhash(place, i, (uint16_t)(100 * (i + 1)));
	order_tree_set_minhash(place, 1, 300); /* d.bin as a/x.txt */
	order_tree_set_minhash(place, 4, 300); /* and c/w.bin */
	assert_int_equal(dw_order_group_similar(&input, 2, 999, place->numbers, 6, NULL),
			 0);
	order_tree_expect(place, "a/x.txt a/y.bin b.txt c/w.bin c/x.txt d.bin");
	assert_int_equal(dw_order_group_similar(&input, 2, 2000, place->numbers, 6, NULL),
			 0);
	order_tree_expect(place, "a/x.txt c/w.bin a/y.bin b.txt c/x.txt d.bin");
	order_tree_sort(place, "path");
	assert_int_equal(
		dw_order_group_similar(&input, 2, 1 << 20, place->numbers, 6, NULL), 0);
	order_tree_expect(place, "a/x.txt c/w.bin d.bin a/y.bin b.txt c/x.txt");
	order_tree_free(place);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(resembling_files_come_together_within_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
