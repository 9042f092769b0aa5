/* SPDX-License-Identifier: MIT */
/*
 * write/order/similarity: by fingerprints, equal ones by path.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/order_tree.h"

static void similarity_sorts_by_fingerprints(void **state)
{
	struct order_tree *place = order_tree_small();

	place->contents.fingerprints[0].bytes[0] = 9; /* b.txt */
	place->contents.fingerprints[2].bytes[0] = 5; /* a/x.txt */
	place->contents.fingerprints[5].bytes[0] = 5; /* c/x.txt */
	order_tree_sort(place, "similarity");
	order_tree_expect(place, "a/y.bin c/w.bin d.bin a/x.txt c/x.txt b.txt");
	place->contents.fragments[0].size = 5000;
	place->contents.fragments[5].size = 9000;
	place->options.max_similarity_bytes = 4999;
	order_tree_sort(place, "similarity");
	order_tree_expect(place, "c/x.txt b.txt a/y.bin c/w.bin d.bin a/x.txt");
	order_tree_free(place);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(similarity_sorts_by_fingerprints),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
