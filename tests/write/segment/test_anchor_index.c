/* SPDX-License-Identifier: MIT */
/*
 * write/segment/anchor_index: added anchors are found, the first and the newest ones of equal
 * ones, within the memory limit; a full table drops anchors and returns no wrong ones.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "write/segment/anchor_index.h"

static uint64_t hash_of(uint64_t number)
{
	number *= UINT64_C(0x9e3779b97f4a7c15);
	number ^= number >> 29;
	number *= UINT64_C(0xbf58476d1ce4e5b9);
	return number ^ number >> 32;
}

static bool has(const struct anchor_index *index, uint64_t hash, uint64_t place)
{
	uint64_t places[INDEX_WAYS];
	size_t count = dw_anchor_index_find(index, hash, places);

	assert_in_range(count, 0, INDEX_WAYS);
	for (size_t i = 0; i < count; i++)
		if (places[i] == place)
			return true;
	return false;
}

static void few_anchors_are_all_found(void **state)
{
	struct anchor_index *index = NULL;
	unsigned found = 0;

	(void)state;
	assert_int_equal(dw_anchor_index_new(10000, 1 << 20, &index, NULL), 0);
	for (uint64_t i = 0; i < 1000; i++)
		dw_anchor_index_add(index, hash_of(i), i * 100);
	for (uint64_t i = 0; i < 1000; i++)
		found += has(index, hash_of(i), i * 100);
	assert_true(found > 990);
	dw_anchor_index_free(index);
}

static void the_first_and_the_newest_ones_are_known(void **state)
{
	uint64_t places[INDEX_WAYS], hash = 0;
	struct anchor_index *index = NULL;
	size_t count;

	(void)state;
	assert_int_equal(dw_anchor_index_new(1000, 1 << 20, &index, NULL), 0);
	while (!dw_anchor_index_counts(index, hash_of(hash)))
		hash++;
	for (uint64_t place = 1; place <= 10; place++)
		dw_anchor_index_add(index, hash_of(hash), place << 20);
	count = dw_anchor_index_find(index, hash_of(hash), places);
	assert_int_equal(count, INDEX_MOST_EQUAL);
	for (size_t i = 0; i + 1 < count; i++)
		assert_int_equal(places[i], (10 - i) << 20);
	assert_int_equal(places[count - 1], 1 << 20);
	dw_anchor_index_free(index);
}

static void a_full_table_thins_out(void **state)
{
	const uint64_t room = 64 << 10, most = 200000;
	struct anchor_index *index = NULL;
	unsigned counted = 0, found = 0;

	(void)state;
	assert_int_equal(dw_anchor_index_new(most, room, &index, NULL), 0);
	assert_true(dw_anchor_index_bytes(index) <= room);
	for (uint64_t i = 0; i < most; i++)
		dw_anchor_index_add(index, hash_of(i), i);
	for (uint64_t i = 0; i < most; i++)
		if (dw_anchor_index_counts(index, hash_of(i))) {
			counted++;
			found += has(index, hash_of(i), i);
		}
	assert_in_range(counted, 500, most / 8);
	assert_true(found > counted / 2);
	assert_true(dw_anchor_index_bytes(index) <= room);
	dw_anchor_index_free(index);
}

static void places_too_far_away_are_not_kept(void **state)
{
	uint64_t places[INDEX_WAYS], hash = 0;
	struct anchor_index *index = NULL;

	(void)state;
	assert_int_equal(dw_anchor_index_new(1000, 1 << 20, &index, NULL), 0);
	while (!dw_anchor_index_counts(index, hash_of(hash)))
		hash++;
	dw_anchor_index_add(index, hash_of(hash), UINT64_C(1) << 40);
	dw_anchor_index_add(index, hash_of(hash), (UINT64_C(1) << 40) - 1);
	assert_int_equal(dw_anchor_index_find(index, hash_of(hash), places), 0);
	dw_anchor_index_add(index, hash_of(hash), (UINT64_C(1) << 40) - 2);
	assert_true(has(index, hash_of(hash), (UINT64_C(1) << 40) - 2));
	dw_anchor_index_free(index);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(few_anchors_are_all_found),
		cmocka_unit_test(the_first_and_the_newest_ones_are_known),
		cmocka_unit_test(a_full_table_thins_out),
		cmocka_unit_test(places_too_far_away_are_not_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
