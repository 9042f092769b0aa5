/* SPDX-License-Identifier: MIT */
/*
 * write/order/order_options: the setters change the options of the builder.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "write/builder.h"

static int keep_all(dwarfs_order_list *list, dwarfs_error **err, void *user)
{
	return 0;
}

static void options_are_kept(void **state)
{
	dwarfs_builder *builder = NULL;
	int user;

	assert_int_equal(dwarfs_builder_new(NULL, &builder, NULL), 0);
	assert_true(builder->options.max_similarity_bytes == UINT64_MAX);
	assert_null(builder->options.order_callback);
	dwarfs_builder_set_max_similarity_bytes(builder, UINT64_C(5) << 32);
	dwarfs_builder_set_order_callback(builder, keep_all, &user);
	assert_true(builder->options.max_similarity_bytes == UINT64_C(5) << 32);
	assert_ptr_equal(builder->options.order_callback, keep_all);
	assert_ptr_equal(builder->options.order_callback_user, &user);
	dwarfs_builder_set_order_callback(builder, NULL, NULL);
	assert_null(builder->options.order_callback);
	dwarfs_builder_free(builder);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(options_are_kept) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
