/* SPDX-License-Identifier: MIT */
/*
 * write/inspect/distinct_set: equal contents have one number, the lowest rank describes
 * them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "write/inspect/distinct_set.h"

#define DIGEST_BYTES 16

static uint32_t add(struct distinct_set *set, uint64_t value, uint64_t size, bool *is_new)
{
	uint8_t digest[DIGEST_BYTES] = { 0 };
	struct finding finding = { .digest = digest, .size = size };
	uint32_t number = DW_NONE;

	memcpy(digest, &value, sizeof(value));
	digest[DIGEST_BYTES - 1] = (uint8_t)(value >> 20);
	assert_int_equal(dw_distinct_add(set, &finding, &number, is_new, NULL), 0);
	return number;
}

/* More than the first table of slots has, most of them with the same slot. */
static void equal_digests_and_sizes_are_one(void **state)
{
	struct distinct_set set;
	bool is_new;

	assert_int_equal(dw_distinct_init(&set, DIGEST_BYTES, false, NULL), 0);
	for (uint32_t round = 0; round < 2; round++) {
		for (uint32_t i = 0; i < 1500; i++) {
			assert_int_equal(
				add(&set, (uint64_t)(i / 3) << 20, i % 3, &is_new), i);
			assert_int_equal(is_new, round == 0);
		}
	}
	assert_int_equal(set.count, 1500);
	assert_int_equal(set.list[4].size, 1);
	dw_distinct_free(&set);
}

static void contents_without_a_digest_are_never_equal(void **state)
{
	struct finding finding = { .size = 5 };
	struct distinct_set set;
	uint32_t number;
	bool is_new;

	assert_int_equal(dw_distinct_init(&set, DIGEST_BYTES, true, NULL), 0);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(dw_distinct_add(&set, &finding, &number, &is_new, NULL),
				 0);
		assert_int_equal(number, i);
		assert_true(is_new);
	}
	add(&set, 0, 5, &is_new); /* all zero, like the hash of contents without one */
	assert_true(is_new);
	dw_distinct_free(&set);
}

static struct category_parts parts_of(uint32_t category)
{
	struct category_parts parts = { .list = dw_calloc(1, sizeof(*parts.list)),
					.count = 1,
					.room = 1 };

	assert_non_null(parts.list);
	parts.list[0] = (struct category_part){ .size = 5, .category = category };
	return parts;
}

static void describe(struct distinct_set *set, uint64_t rank, struct category_parts parts,
		     uint8_t byte)
{
	struct fingerprint print = { { byte } };

	assert_int_equal(
		dw_distinct_describe(set, 0, rank, &parts, byte ? &print : NULL, NULL),
		0);
	dw_category_parts_free(&parts);
}

static void the_lowest_rank_describes_contents(void **state)
{
	struct distinct_set set;
	bool is_new;

	assert_int_equal(dw_distinct_init(&set, DIGEST_BYTES, true, NULL), 0);
	add(&set, 1, 5, &is_new);
	assert_int_equal(set.list[0].parts, 0);
	describe(&set, 20, parts_of(3), 7);
	describe(&set, 30, parts_of(4), 8); /* too late */
	assert_int_equal(set.list[0].parts, 1);
	assert_int_equal(set.parts[0].list[0].category, 3);
	assert_int_equal(set.fingerprints[0].bytes[0], 7);
	describe(&set, 10, parts_of(5), 9);
	assert_int_equal(set.parts[0].list[0].category, 5);
	assert_int_equal(set.fingerprints[0].bytes[0], 9);
	describe(&set, 5, (struct category_parts){ 0 }, 0);
	assert_int_equal(set.parts[0].count, 0);
	assert_int_equal(set.fingerprints[0].bytes[0], 0);
	assert_int_equal(set.list[0].rank, 5);
	assert_int_equal(set.parts_count, 1);
	dw_distinct_free(&set);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_digests_and_sizes_are_one),
		cmocka_unit_test(contents_without_a_digest_are_never_equal),
		cmocka_unit_test(the_lowest_rank_describes_contents),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
