/* SPDX-License-Identifier: MIT */
/*
 * read/metadata/strings: strings with an index of offsets or of lengths.
 */
#include "base/bytes.h"
#include "read/metadata/strings.h"
#include "support/craft.h"

/* "", "a", "bcd", "ef": offsets, or the lengths of a packed index. */
static const uint8_t text[] = "abcdef";
static const uint32_t offsets[] = { 0, 0, 1, 4, 6, 0, 0 };
static const uint32_t lengths[] = { 0, 1, 3, 2, 0, 0 };
static const struct {
	const char *text;
	size_t size;
} expected[] = { { "", 0 }, { "a", 1 }, { "bcd", 3 }, { "ef", 2 } };

static void make(struct strings *strings, const uint32_t *index, bool is_packed)
{
	static uint32_t stored[7]; /* little-endian, as in an image */

	for (size_t i = 0; i < (is_packed ? 6 : 7); i++)
		dw_store32(&stored[i], index[i]);
	*strings = (struct strings){
		.count = 4,
		.is_compact = true,
		.is_packed = is_packed,
		.buffer = { text, 6 },
		.index = { .first = (const uint8_t *)stored,
			   .count = is_packed ? 4 : 5,
			   .stride = 32 },
		.index_column = dw_column(0, 32),
	};
}

static void offsets_and_lengths_give_the_same(void **state)
{
	for (int packed = 0; packed < 2; packed++) {
		struct strings strings;
		char out[8];
		size_t size;

		make(&strings, packed ? lengths : offsets, packed);
		for (uint32_t i = 0; i < 4; i++) {
			assert_int_equal(dw_strings_get(&strings, i, out, sizeof(out),
							&size, NULL),
					 0);
			assert_int_equal(size, expected[i].size);
			assert_string_equal(out, expected[i].text);
		}
		assert_int_equal(
			dw_strings_get(&strings, 4, out, sizeof(out), &size, NULL),
			DWARFS_ERR_CORRUPT);
		dw_strings_free(&strings);
	}
}

static void a_buffer_needs_space_for_the_nul(void **state)
{
	struct strings strings;
	char out[5] = "####";
	size_t size = 99;

	make(&strings, offsets, false);
	for (size_t space = 0; space < 4; space++)
		assert_int_equal(dw_strings_get(&strings, 2, out, space, &size, NULL),
				 DWARFS_ERR_RANGE);
	assert_int_equal(size, 99);
	assert_int_equal(dw_strings_get(&strings, 2, out, 4, &size, NULL), 0);
	assert_string_equal(out, "bcd");
	dw_strings_free(&strings);
}

static void strings_outside_their_buffer_are_refused(void **state)
{
	static const uint32_t wrong[][7] = {
		{ 0, 0, 1, 7, 6 }, /* after the buffer */
		{ 0, 0, 4, 1, 6 }, /* descending */
		{ 0, 0, 1, UINT32_MAX, 6 },
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct strings strings;
		struct span stored;

		make(&strings, wrong[i], false);
		assert_int_equal(dw_strings_stored(&strings, 2, &stored, NULL),
				 DWARFS_ERR_CORRUPT);
		dw_strings_free(&strings);
	}
}

static void lengths_fill_the_buffer(void **state)
{
	for (int change = -1; change <= 1; change++) {
		uint32_t changed[6];
		struct strings strings;

		memcpy(changed, lengths, sizeof(changed));
		changed[3] += (uint32_t)change;
		make(&strings, changed, true);
		assert_int_equal(dw_strings_unpack(&strings, NULL),
				 change ? DWARFS_ERR_CORRUPT : 0);
		dw_strings_free(&strings);
	}
}

static void strings_are_ordered_by_their_bytes(void **state)
{
	static const struct {
		const char *key;
		int order; /* compared with "bcd" */
	} cases[] = { { "bcd", 0 },  { "bc", -1 }, { "bcde", 1 }, { "bce", 1 },
		      { "bcc", -1 }, { "", -1 },   { "\xff", 1 }, { "a", -1 } };
	struct strings strings;

	make(&strings, offsets, false);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct span span = { (const uint8_t *)cases[i].key,
				     strlen(cases[i].key) };
		struct key key;
		int order;

		dw_key_init(&key, span);
		assert_int_equal(dw_strings_compare(&strings, 2, &key, &order, NULL), 0);
		assert_int_equal((order > 0) - (order < 0), cases[i].order);
	}
	dw_strings_free(&strings);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(offsets_and_lengths_give_the_same),
		cmocka_unit_test(a_buffer_needs_space_for_the_nul),
		cmocka_unit_test(strings_outside_their_buffer_are_refused),
		cmocka_unit_test(lengths_fill_the_buffer),
		cmocka_unit_test(strings_are_ordered_by_their_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
