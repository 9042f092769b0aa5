/* SPDX-License-Identifier: MIT */
/*
 * order/auto/sibling_ranks: files side by side with the same ones of sibling directories.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "support/order_tree.h"

static void siblings_stand_version_by_version(void **state)
{
	struct order_tree *place = order_tree_new();
	struct order_input input = order_tree_input(place, NULL);
	uint32_t *ranks;
	size_t count;

	order_tree_fill(place, "1.0/ 1.1/ other/");
	order_tree_fill(place, "m n");
	order_tree_fill(place, "l m n");
	order_tree_fill(place, "m z");
	count = order_tree_add_contents(
		place); /* 1.0/m 1.0/n 1.1/l 1.1/m 1.1/n other/m other/z */
	assert_int_equal(count, 7);
	for (size_t i = 0; i < count; i++)
		order_tree_set_minhash(place, i, (uint16_t)(100 * (i + 1)));
	order_tree_set_minhash(place, 3, 100);
	order_tree_set_minhash(place, 4, 200);
	assert_int_equal(dw_order_sibling_ranks(&input, false, &ranks, NULL), 0);
	assert_int_equal(dw_order_by_rank(&input, ranks, place->numbers, count, NULL), 0);
	dw_free(ranks);
	order_tree_expect(place, "1.1/l 1.0/m 1.1/m 1.0/n 1.1/n other/m other/z");
	order_tree_free(place);
}

static void names_alone_can_decide(void **state)
{
	struct order_tree *place = order_tree_new();
	struct order_input input = order_tree_input(place, NULL);
	uint32_t *ranks;
	size_t count;

	order_tree_fill(place, "1.0/ 1.1/ other/");
	order_tree_fill(place, "a b c d");
	order_tree_fill(place, "a b c d");
	order_tree_fill(place, "w x y z");
	count = order_tree_add_contents(place);
	for (size_t i = 0; i < count; i++) /* no two contents are similar */
		order_tree_set_minhash(place, i, (uint16_t)(100 * (i + 1)));
	assert_int_equal(dw_order_sibling_ranks(&input, true, &ranks, NULL), 0);
	assert_int_equal(dw_order_by_rank(&input, ranks, place->numbers, count, NULL), 0);
	dw_free(ranks);
	order_tree_expect(place, "1.0/a 1.1/a 1.0/b 1.1/b 1.0/c 1.1/c 1.0/d 1.1/d "
				 "other/w other/x other/y other/z");
	order_tree_free(place);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(siblings_stand_version_by_version),
		cmocka_unit_test(names_alone_can_decide),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
