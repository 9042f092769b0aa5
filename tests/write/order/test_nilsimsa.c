/* SPDX-License-Identifier: MIT */
/*
 * write/order/nilsimsa: each file is followed by the most similar one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/order_tree.h"

static void nilsimsa_chains_the_nearest(void **state)
{
	static const uint8_t bits[6] = { 0xFF, 0x00, 0x01, 0x7F, 0x03, 0x01 };
	struct order_tree *place = order_tree_small();

	for (size_t i = 0; i < 6; i++)
		place->contents.fingerprints[i].bytes[7] = bits[i];
	order_tree_sort(place, "nilsimsa");
	order_tree_expect(place, "a/x.txt c/x.txt c/w.bin d.bin a/y.bin b.txt");
	order_tree_free(place);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nilsimsa_chains_the_nearest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
