/* SPDX-License-Identifier: MIT */
/*
 * write/order/explicit: in the order of a list of paths.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "support/order_tree.h"

static void explicit_order_follows_the_list(void **state)
{
	char name[] = "/tmp/dwarfs-order-XXXXXX", order[64];
	const char text[] = "c/x.txt\n./d.bin\n\nno/such\n/somewhere/a/y.bin\nc/x.txt\n";
	struct order_tree *place = order_tree_small();
	int fd = mkstemp(name);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	snprintf(order, sizeof(order), "explicit:file=%s", name);
	order_tree_sort(place, order);
	order_tree_expect(place, "c/x.txt d.bin a/y.bin a/x.txt b.txt c/w.bin");
	unlink(name);
	order_tree_free(place);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(explicit_order_follows_the_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
