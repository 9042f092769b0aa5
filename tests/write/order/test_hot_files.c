/* SPDX-License-Identifier: MIT */
/*
 * write/order/hot_files: the order of the list of hot paths.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/order_tree.h"
#include "write/builder.h"

static void listed_files_are_first_in_the_order_of_the_list(void **state)
{
	static const char *const hot[] = { "c/x.txt", "a/y.bin", "d.bin" };
	struct order_tree *place = order_tree_small();
	struct order_spec spec = { .ops = &dw_order_hotness };
	struct order_input input = order_tree_input(place, &spec);
	dwarfs_builder *builder = NULL;

	assert_int_equal(dwarfs_builder_new(NULL, &builder, NULL), 0);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(dwarfs_builder_add_hot_path(builder, hot[i], NULL), 0);
	place->run.options = &builder->options;
	assert_int_equal(dw_order_sort(&input, place->numbers, 6, NULL), 0);
	order_tree_expect(place, "c/x.txt a/y.bin d.bin b.txt a/x.txt c/w.bin");
	dwarfs_builder_free(builder);
	order_tree_free(place);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(listed_files_are_first_in_the_order_of_the_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
