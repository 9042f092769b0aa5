/* SPDX-License-Identifier: MIT */
/*
 * order/middle_first: similar fragments from the middle one on.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/order_tree.h"

/* a/x.txt a/y.bin b.txt c/w.bin c/x.txt d.bin: as many as are given, from the first, are similar. */
static struct order_tree *set_up(size_t similar)
{
	struct order_tree *place = order_tree_small();

	order_tree_sort(place, "path");
	for (size_t i = 0; i < place->contents.count; i++) {
		uint32_t content = place->contents.fragments[place->numbers[i]].content;

		order_tree_set_minhash(place, content,
				       (uint16_t)(i < similar ? 100 : 100 * (i + 1)));
	}
	return place;
}

static void expect(size_t similar, const char *paths)
{
	struct order_tree *place = set_up(similar);
	struct order_input input = order_tree_input(place, NULL);

	assert_int_equal(dw_order_middle_first(&input, place->numbers, 6, NULL), 0);
	order_tree_expect(place, paths);
	order_tree_free(place);
}

static void the_middle_of_each_half_is_next(void **state)
{
	(void)state;
	expect(6, "c/w.bin a/y.bin d.bin a/x.txt b.txt c/x.txt");
	expect(5, "b.txt a/y.bin c/x.txt a/x.txt c/w.bin d.bin");
	expect(3, "a/y.bin a/x.txt b.txt c/w.bin c/x.txt d.bin");
}

static void two_versions_and_other_files_stay(void **state)
{
	(void)state;
	expect(0, "a/x.txt a/y.bin b.txt c/w.bin c/x.txt d.bin");
	expect(2, "a/x.txt a/y.bin b.txt c/w.bin c/x.txt d.bin");
}

static void without_fingerprints_all_stay(void **state)
{
	struct order_tree *place = set_up(6);
	struct order_input input = order_tree_input(place, NULL);
	struct contents contents = place->contents;

	(void)state;
	contents.fingerprints = NULL;
	input.contents = &contents;
	assert_int_equal(dw_order_middle_first(&input, place->numbers, 6, NULL), 0);
	order_tree_expect(place, "a/x.txt a/y.bin b.txt c/w.bin c/x.txt d.bin");
	order_tree_free(place);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_middle_of_each_half_is_next),
		cmocka_unit_test(two_versions_and_other_files_stay),
		cmocka_unit_test(without_fingerprints_all_stay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
