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

static int last_first(dwarfs_order_list *list, dwarfs_error **err, void *user)
{
	size_t count = dwarfs_order_list_count(list);

	assert_int_equal(count, 6);
	assert_string_equal(dwarfs_order_list_path(list, 0), "a/x.txt");
	assert_string_equal(dwarfs_order_list_category(list), "<default>");
	assert_int_equal(dwarfs_order_list_bytes(list, 5), 1000);
	assert_null(dwarfs_order_list_path(list, 6));
	dwarfs_order_list_set_rank(list, 6, 0);
	dwarfs_order_list_set_rank(list, 5, 0);
	dwarfs_order_list_set_rank(list, 4, 7);
	dwarfs_order_list_set_rank(list, 2, 7);
	if (*(int *)user < 0)
		return dwarfs_error_set(err, *(int *)user, 0, "no order is known");
	return *(int *)user;
}

static void a_callback_has_the_last_word(void **state)
{
	struct order_tree *place = order_tree_small();
	struct order_spec spec;
	struct order_input input = order_tree_input(place, &spec);
	auto_error dwarfs_error *err = NULL;
	int answer = 0;

	place->options.order_callback = last_first;
	place->options.order_callback_user = &answer;
	order_tree_sort(place, "path");
	order_tree_expect(place, "d.bin b.txt c/x.txt a/x.txt a/y.bin c/w.bin");
	answer = 1;
	assert_int_equal(dw_order_parse("path", &spec, NULL), 0);
	assert_int_equal(dw_order_sort(&input, place->numbers, 6, NULL),
			 DWARFS_ERR_CANCELLED);
	answer = DWARFS_ERR_NOT_FOUND;
	assert_int_equal(dw_order_sort(&input, place->numbers, 6, &err),
			 DWARFS_ERR_NOT_FOUND);
	assert_string_equal(dwarfs_error_message(err), "no order is known");
	order_tree_free(place);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_callback_has_the_last_word),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
