/* SPDX-License-Identifier: MIT */
/*
 * write/metadata/string_tables: sorted strings, plain or compressed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "format/fsst.h"
#include "write/metadata/string_tables.h"

static void add(struct string_set *strings, const char *text)
{
	uint32_t number;

	assert_int_equal(
		dw_string_set_add(strings,
				  (struct span){ (const uint8_t *)text, strlen(text) },
				  &number, NULL),
		0);
}

static struct sorted_strings sorted_of(const struct string_set *strings)
{
	struct sorted_strings sorted;

	assert_int_equal(dw_string_set_sort(strings, &sorted, NULL), 0);
	return sorted;
}

static void strings_are_sorted_by_bytes(void **state)
{
	static const char *const texts[] = { "b", "", "a\xff", "ab", "a", "B" };
	static const uint32_t ranks[] = { 5, 0, 4, 3, 2, 1 };
	struct string_set strings = { 0 };
	struct sorted_strings sorted;

	for (size_t i = 0; i < 6; i++)
		add(&strings, texts[i]);
	sorted = sorted_of(&strings);
	assert_int_equal(sorted.count, 6);
	assert_memory_equal(sorted.rank, ranks, sizeof(ranks));
	for (size_t i = 0; i < 6; i++) {
		assert_int_equal(sorted.list[ranks[i]].size, strlen(texts[i]));
		assert_memory_equal(sorted.list[ranks[i]].data, texts[i],
				    strlen(texts[i]));
	}
	dw_sorted_strings_free(&sorted);
	dw_string_set_free(&strings);
}

static void short_tables_are_stored_as_they_are(void **state)
{
	struct string_table_packing packing = { .pack = true };
	struct string_set strings = { 0 };
	struct sorted_strings sorted;
	struct string_table strtab;
	const uint32_t *index;

	add(&strings, "xyz");
	add(&strings, "a");
	sorted = sorted_of(&strings);
	assert_int_equal(dw_string_table_make(&sorted, packing, &strtab, NULL), 0);
	index = strtab.table.index.data;
	assert_false(strtab.table.has_symtab);
	assert_false(strtab.table.packed_index);
	assert_int_equal(strtab.table.buffer.size, 4);
	assert_memory_equal(strtab.table.buffer.data, "axyz", 4);
	assert_int_equal(strtab.table.index.count, 3); /* offsets */
	assert_int_equal(index[0], 0);
	assert_int_equal(index[1], 1);
	assert_int_equal(index[2], 4);
	dw_string_table_free(&strtab);
	packing.pack_index = true;
	assert_int_equal(dw_string_table_make(&sorted, packing, &strtab, NULL), 0);
	index = strtab.table.index.data;
	assert_true(strtab.table.packed_index);
	assert_int_equal(strtab.table.index.count, 2); /* lengths */
	assert_int_equal(index[0], 1);
	assert_int_equal(index[1], 3);
	dw_string_table_free(&strtab);
	packing.force = true; /* though it is larger */
	assert_int_equal(dw_string_table_make(&sorted, packing, &strtab, NULL), 0);
	assert_true(strtab.table.has_symtab);
	dw_string_table_free(&strtab);
	dw_sorted_strings_free(&sorted);
	dw_string_set_free(&strings);
}

static void similar_strings_are_compressed(void **state)
{
	struct string_set strings = { 0 };
	struct sorted_strings sorted;
	struct string_table strtab;
	struct fsst_decoder decoder;
	const uint32_t *index;
	char text[64];

	for (int i = 0; i < 1000; i++) {
		snprintf(text, sizeof(text), "libexample-%03d.so.debug", i);
		add(&strings, text);
	}
	sorted = sorted_of(&strings);
	assert_int_equal(dw_string_table_make(
				 &sorted, (struct string_table_packing){ .pack = true },
				 &strtab, NULL),
			 0);
	assert_true(strtab.table.has_symtab);
	assert_true(strtab.table.buffer.size < strings.text.size / 2);
	assert_int_equal(dw_fsst_decoder_init(&decoder, strtab.table.symtab, NULL), 0);
	index = strtab.table.index.data;
	for (size_t i = 0; i < 1000; i++) {
		struct span codes = { strtab.table.buffer.data + index[i],
				      index[i + 1] - index[i] };

		assert_int_equal(
			dw_fsst_decode(&decoder, codes, (uint8_t *)text, sizeof(text)),
			sorted.list[i].size);
		assert_memory_equal(text, sorted.list[i].data, sorted.list[i].size);
	}
	dw_string_table_free(&strtab);
	dw_sorted_strings_free(&sorted);
	dw_string_set_free(&strings);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(strings_are_sorted_by_bytes),
		cmocka_unit_test(short_tables_are_stored_as_they_are),
		cmocka_unit_test(similar_strings_are_compressed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
