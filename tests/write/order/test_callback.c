/* SPDX-License-Identifier: MIT */
/*
 * write/order/callback: the ranks that a callback sets.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/order_tree.h"

static int last_first(dwarfs_order_list *list, void *user)
{
	size_t count = dwarfs_order_list_count(list);

	assert_int_equal(count, 6);
	assert_string_equal(dwarfs_order_list_path(list, 0), "a/x.txt");
	assert_string_equal(dwarfs_order_list_category(list), "<default>");
	assert_int_equal(dwarfs_order_list_size(list, 5), 1000);
	assert_null(dwarfs_order_list_path(list, 6));
	dwarfs_order_list_set_rank(list, 6, 0);
	dwarfs_order_list_set_rank(list, 5, 0);
	dwarfs_order_list_set_rank(list, 4, 7);
	dwarfs_order_list_set_rank(list, 2, 7);
	return *(int *)user;
}

static void a_callback_has_the_last_word(void **state)
{
	struct order_tree *place = order_tree_small();
	struct order_spec spec;
	struct order_input input = order_tree_input(place, &spec);
	int answer = 0;

	place->options.order_callback = last_first;
	place->options.order_callback_user = &answer;
	order_tree_sort(place, "path");
	order_tree_expect(place, "d.bin b.txt c/x.txt a/x.txt a/y.bin c/w.bin");
	answer = 1;
	assert_int_equal(dw_order_parse("path", &spec, NULL), 0);
	assert_int_equal(dw_order_sort(&input, place->numbers, 6, NULL),
			 DWARFS_ERR_CANCELLED);
	order_tree_free(place);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_callback_has_the_last_word),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
