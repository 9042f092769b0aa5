/* SPDX-License-Identifier: MIT */
/*
 * format/frozen: columns of every width at every bit, and lists and strings outside the
 * data.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "format/frozen.h"
#include "format/metadata.h"

/* The same numbers on every machine. */
static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static void put_bits(uint8_t *data, uint64_t bit, unsigned width, uint64_t value)
{
	for (unsigned i = 0; i < width; i++, bit++) {
		data[bit / 8] &= (uint8_t) ~(1u << bit % 8);
		data[bit / 8] |= (uint8_t)((value >> i & 1) << bit % 8);
	}
}

static uint64_t mask(unsigned width)
{
	return width == 64 ? UINT64_MAX : (UINT64_C(1) << width) - 1;
}

/*
 * A schema with one list in the root: 64 bits of distance, 64 bits of count. Items are
 * structs with a field 1 of any width at any bit.
 */
enum { LAYOUT_NUMBER, LAYOUT_WORD, LAYOUT_ITEM, LAYOUT_LIST, LAYOUT_ROOT, LAYOUTS };
#define ROOT_BYTES 16

struct list_schema {
	struct schema_layout layouts[LAYOUTS];
	struct schema_field fields[5];
	struct schema schema;
};

static void make_schema(struct list_schema *made, uint32_t width, int16_t offset,
			uint32_t item_bytes, uint32_t item_bits)
{
	*made = (struct list_schema){
		.layouts = {
			[LAYOUT_NUMBER] = { .bits = width },
			[LAYOUT_WORD] = { .bits = 64 },
			[LAYOUT_ITEM] = { item_bytes, item_bits, 0, 1 },
			[LAYOUT_LIST] = { 0, 128, 1, 3 },
			[LAYOUT_ROOT] = { ROOT_BYTES, 128, 4, 1 },
		},
		.fields = {
			{ 1, LAYOUT_NUMBER, offset },
			{ LIST_DISTANCE, LAYOUT_WORD, 0 },
			{ LIST_COUNT, LAYOUT_WORD, -64 },
			{ LIST_ITEM, LAYOUT_ITEM, 0 },
			{ 1, LAYOUT_LIST, 0 },
		},
	};
	made->schema = (struct schema){
		.layouts = made->layouts,
		.layout_count = LAYOUTS,
		.fields = made->fields,
		.field_count = 5,
		.root = LAYOUT_ROOT,
	};
}

/* Memory of exactly this size plus the padding that readers require, so that a sanitizer
 * detects every access beyond it. */
static uint8_t *make_data(uint64_t size, uint64_t distance, uint64_t count)
{
	uint8_t *data = dw_calloc(1, (size_t)size + DW_FROZEN_PADDING);

	assert_non_null(data);
	dw_store64(data, distance);
	dw_store64(data + 8, count);
	return data;
}

static int open_list(const struct frozen *frozen, struct table *table)
{
	struct frozen_node list = dw_frozen_child(frozen, dw_frozen_root(frozen), 1);

	return dw_frozen_table(frozen, list, table, NULL);
}

static void check_width(unsigned width, unsigned shift, unsigned spare, uint64_t *random)
{
	unsigned stride = shift + width + spare;
	uint64_t count = 40, values[40];
	uint64_t size = ROOT_BYTES + 1 + (count * stride + 7) / 8;
	auto_free uint8_t *data = make_data(size, ROOT_BYTES + 1, count);
	struct list_schema made;
	struct frozen frozen = { &made.schema, data, size };
	struct column column;
	struct table table;

	make_schema(&made, width, (int16_t) - (int)shift, 0, stride);
	for (uint64_t i = 0; i < count; i++)
		values[i] = next_random(random) & mask(width);
	for (uint64_t i = ROOT_BYTES; i < size; i++)
		data[i] = (uint8_t)next_random(random);
	for (uint64_t i = 0; i < count; i++)
		put_bits(data, (ROOT_BYTES + 1) * 8 + i * stride + shift, width,
			 values[i]);

	assert_int_equal(open_list(&frozen, &table), 0);
	assert_true(table.count == count);
	assert_int_equal(dw_frozen_column(&frozen, &table, 1, 64, &column, NULL), 0);
	for (uint64_t i = 0; i < count; i++)
		assert_true(dw_column_get(&table, column, i) == values[i]);
	/* A type that is one bit narrower than the column is refused. */
	assert_int_equal(dw_frozen_column(&frozen, &table, 1, width - 1, &column, NULL),
			 DWARFS_ERR_CORRUPT);
}

static void columns_of_every_width_at_every_bit(void **state)
{
	uint64_t random = UINT64_C(88172645463325252);

	for (unsigned width = 1; width <= 64; width++)
		for (unsigned shift = 0; shift < 9; shift++)
			for (unsigned spare = 0; spare < 8; spare += 1 + shift % 3)
				check_width(width, shift, spare, &random);
}

static void items_of_whole_bytes(void **state)
{
	uint64_t size = ROOT_BYTES + 5 * 7;
	auto_free uint8_t *data = make_data(size, ROOT_BYTES, 5);
	struct list_schema made;
	struct frozen frozen = { &made.schema, data, size };
	struct column column;
	struct table table;

	make_schema(&made, 24, 2, 7, 40);
	for (uint64_t i = 0; i < 5; i++)
		put_bits(data, (ROOT_BYTES + i * 7 + 2) * 8, 24, 0x10203 * (i + 1));
	assert_int_equal(open_list(&frozen, &table), 0);
	assert_int_equal(dw_frozen_column(&frozen, &table, 1, 32, &column, NULL), 0);
	for (uint64_t i = 0; i < 5; i++)
		assert_true(dw_column_get(&table, column, i) == 0x10203 * (i + 1));
}

static void plain_items(void **state)
{
	uint64_t size = ROOT_BYTES + 2;
	auto_free uint8_t *data = make_data(size, ROOT_BYTES, 5);
	struct list_schema made;
	struct frozen frozen = { &made.schema, data, size };
	struct column column;
	struct table table;

	make_schema(&made, 1, 0, 0, 3);
	put_bits(data, ROOT_BYTES * 8, 15, 05 | 03 << 3 | 07 << 6 | 01 << 9 | 06 << 12);
	assert_int_equal(open_list(&frozen, &table), 0);
	assert_int_equal(dw_frozen_column(&frozen, &table, 0, 3, &column, NULL), 0);
	assert_int_equal(dw_column_get(&table, column, 0), 5);
	assert_int_equal(dw_column_get(&table, column, 1), 3);
	assert_int_equal(dw_column_get(&table, column, 4), 6);
}

static void lists_outside_the_data_are_refused(void **state)
{
	static const struct {
		uint64_t distance, count;
		int expected;
	} cases[] = {
		{ 16, 8, 0 },		       /* fills the data exactly */
		{ 16, 9, DWARFS_ERR_CORRUPT }, /* one item too many */
		{ 17, 8, DWARFS_ERR_CORRUPT }, /* one byte too far */
		{ 24, 1, DWARFS_ERR_CORRUPT }, /* starts at the end */
		{ 24, 0, 0 },		       /* empty: the distance is ignored */
		{ UINT64_MAX, 0, 0 },	       /* also this one */
		{ 25, 1, DWARFS_ERR_CORRUPT }, /* starts after the end */
		{ UINT64_MAX, 1, DWARFS_ERR_CORRUPT },
		{ UINT64_MAX - 7, 1, DWARFS_ERR_CORRUPT },
		{ 16, UINT64_MAX, DWARFS_ERR_CORRUPT },
		{ 16, UINT64_C(1) << 61, DWARFS_ERR_CORRUPT }, /* times 8 it is 0 */
		{ 16, (UINT64_C(1) << 61) + 1, DWARFS_ERR_CORRUPT },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		auto_free uint8_t *data =
			make_data(24, cases[i].distance, cases[i].count);
		struct list_schema made;
		struct frozen frozen = { &made.schema, data, 24 };
		struct table table;

		make_schema(&made, 8, 0, 0, 8);
		assert_int_equal(open_list(&frozen, &table), cases[i].expected);
	}
}

/* The item claims fewer bits than its field has: allowed, up to the end of the data. */
static void fields_that_stick_out_of_items(void **state)
{
	for (int16_t bit = 0; bit < 60; bit++) {
		auto_free uint8_t *data = make_data(24, 16, 8);
		struct list_schema made;
		struct frozen frozen = { &made.schema, data, 24 };
		struct column column;
		struct table table;
		int ret;

		make_schema(&made, 8, (int16_t)-bit, 0, 4);
		assert_int_equal(open_list(&frozen, &table), 0);
		/* The last item starts at bit 28 of 64. */
		ret = dw_frozen_column(&frozen, &table, 1, 8, &column, NULL);
		assert_int_equal(ret, 28 + bit + 8 <= 64 ? 0 : DWARFS_ERR_CORRUPT);
		if (ret == 0)
			assert_int_equal(dw_column_get(&table, column, 7), 0);
	}
}

static void items_without_bits_cost_nothing(void **state)
{
	auto_free uint8_t *data = make_data(16, 16, UINT64_MAX);
	struct list_schema made;
	struct frozen frozen = { &made.schema, data, 16 };
	struct column column;
	struct table table;

	make_schema(&made, 0, 0, 0, 0);
	assert_int_equal(open_list(&frozen, &table), 0);
	assert_true(table.count == UINT64_MAX);
	assert_int_equal(dw_frozen_column(&frozen, &table, 1, 64, &column, NULL), 0);
	assert_int_equal(dw_column_get(&table, column, UINT64_MAX - 1), 0);
}

static void what_the_schema_lacks_is_empty(void **state)
{
	auto_free uint8_t *data = make_data(16, 0, 0);
	struct list_schema made;
	struct frozen frozen = { &made.schema, data, 16 };
	struct frozen_node absent, value;
	uint64_t number = 7;
	bool flag = true;
	struct span text = { data, 99 };
	struct table table;
	struct column column;
	struct string_column strings;

	make_schema(&made, 8, 0, 0, 8);
	absent = dw_frozen_child(&frozen, dw_frozen_root(&frozen), 99);
	assert_null(absent.layout);
	absent = dw_frozen_child(&frozen, absent, 1);
	assert_null(absent.layout);
	assert_int_equal(dw_frozen_uint(&frozen, absent, 32, &number, NULL), 0);
	assert_int_equal(number, 0);
	assert_int_equal(dw_frozen_bool(&frozen, absent, &flag, NULL), 0);
	assert_false(flag);
	flag = true;
	assert_int_equal(dw_frozen_optional(&frozen, absent, &value, &flag, NULL), 0);
	assert_false(flag);
	assert_null(value.layout);
	assert_int_equal(dw_frozen_string(&frozen, absent, &text, NULL), 0);
	assert_int_equal(text.size, 0);
	assert_int_equal(dw_frozen_table(&frozen, absent, &table, NULL), 0);
	assert_int_equal(table.count, 0);
	assert_int_equal(dw_frozen_column(&frozen, &table, 1, 32, &column, NULL), 0);
	assert_int_equal(column.width, 0);
	assert_int_equal(dw_frozen_string_column(&frozen, &table, &strings, NULL), 0);
}

/* A single number, at any bit offset, up to the last bit and not beyond. */
static void numbers_up_to_the_end_of_the_data(void **state)
{
	struct schema_layout layouts[] = { { 0 }, { 3, 24, 0, 1 } };
	struct schema_field field = { 1, 0, 0 };
	struct schema schema = { layouts, 2, 2, &field, 1, 1, 1 };

	for (unsigned width = 1; width <= 64; width++) {
		for (int16_t bit = 0; bit <= 90; bit++) {
			auto_free uint8_t *data = make_data(16, 0, 0);
			struct frozen frozen = { &schema, data, 11 };
			struct frozen_node node;
			uint64_t value = 1, expected = UINT64_C(0xA5A5A5A5A5A5A5A5);
			int ret;

			layouts[0].bits = width;
			field.offset = (int16_t)-bit;
			expected &= mask(width);
			if ((unsigned)bit + width <= 88)
				put_bits(data, (uint64_t)bit, width, expected);
			node = dw_frozen_child(&frozen, dw_frozen_root(&frozen), 1);
			ret = dw_frozen_uint(&frozen, node, 64, &value, NULL);
			if ((unsigned)bit + width <= 88) {
				assert_int_equal(ret, 0);
				assert_true(value == expected);
			} else {
				assert_int_equal(ret, DWARFS_ERR_CORRUPT);
			}
		}
	}
}

/* -- strings ------------------------------------------------------------------------- */

/* Root: a list whose items are strings of 8 bits of distance and 8 bits of count. */
static void make_string_schema(struct list_schema *made, uint32_t item_bytes)
{
	*made = (struct list_schema){
		.layouts = {
			[LAYOUT_NUMBER] = { .bits = 8 },
			[LAYOUT_WORD] = { .bits = 64 },
			[LAYOUT_ITEM] = { item_bytes, 16, 3, 2 },
			[LAYOUT_LIST] = { 0, 128, 0, 3 },
		},
		.fields = {
			{ LIST_DISTANCE, LAYOUT_WORD, 0 },
			{ LIST_COUNT, LAYOUT_WORD, -64 },
			{ LIST_ITEM, LAYOUT_ITEM, 0 },
			{ LIST_DISTANCE, LAYOUT_NUMBER, 0 },
			{ LIST_COUNT, LAYOUT_NUMBER, -8 },
		},
	};
	made->schema = (struct schema){
		.layouts = made->layouts,
		.layout_count = LAYOUTS - 1,
		.fields = made->fields,
		.field_count = 5,
		.root = LAYOUT_LIST,
	};
}

static void check_string(uint32_t item_bytes, uint64_t index, uint8_t distance,
			 uint8_t count, const char *expected)
{
	auto_free uint8_t *data = make_data(40, 16, 4);
	struct list_schema made;
	struct frozen frozen = { &made.schema, data, 40 };
	struct string_column column;
	struct span text;
	struct table table;

	make_string_schema(&made, item_bytes);
	memcpy(data + 24, "sixteen letters!", 16);
	data[16 + 2 * index] = distance;
	data[16 + 2 * index + 1] = count;
	assert_int_equal(dw_frozen_table(&frozen, dw_frozen_root(&frozen), &table, NULL),
			 0);
	assert_int_equal(dw_frozen_string_column(&frozen, &table, &column, NULL), 0);
	assert_int_equal(dw_column_string(&table, &column, index, &text),
			 expected != NULL);
	if (expected) {
		assert_int_equal(text.size, strlen(expected));
		assert_memory_equal(text.data, expected, text.size);
	}
}

static void strings_are_counted_from_where_they_should(void **state)
{
	/* Items in bits: from the first item, at 16; items in bytes: from each item. */
	check_string(0, 0, 8, 7, "sixteen");
	check_string(0, 3, 8, 7, "sixteen");
	check_string(0, 3, 16, 8, "letters!");
	check_string(2, 0, 8, 7, "sixteen");
	check_string(2, 3, 2, 7, "sixteen");
	check_string(2, 3, 10, 8, "letters!");
}

static void strings_outside_the_data_are_refused(void **state)
{
	check_string(0, 0, 16, 9, NULL);
	check_string(0, 1, 24, 1, NULL);
	check_string(0, 1, 255, 1, NULL);
	check_string(0, 1, 8, 255, NULL);
	check_string(2, 3, 10, 9, NULL);
	check_string(0, 1, 24, 0, "");
	check_string(0, 1, 255, 0, "");
}

/* The same for a string that is a field: the node of the root itself. */
static void a_string_field(void **state)
{
	static const struct {
		uint64_t distance, count;
		int expected;
	} cases[] = {
		{ 16, 8, 0 },
		{ 0, 24, 0 },
		{ 16, 9, DWARFS_ERR_CORRUPT },
		{ 25, 1, DWARFS_ERR_CORRUPT },
		{ UINT64_MAX, 2, DWARFS_ERR_CORRUPT },
		{ 1, UINT64_MAX, DWARFS_ERR_CORRUPT },
		{ UINT64_MAX, 0, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		auto_free uint8_t *data =
			make_data(24, cases[i].distance, cases[i].count);
		struct list_schema made;
		struct frozen frozen = { &made.schema, data, 24 };
		struct span text;

		make_string_schema(&made, 0);
		assert_int_equal(
			dw_frozen_string(&frozen, dw_frozen_root(&frozen), &text, NULL),
			cases[i].expected);
		if (cases[i].expected == 0)
			assert_true(text.size == cases[i].count);
	}
}

/* set, value: one bit each; the value may be set and empty. */
static void optionals_know_set_from_empty(void **state)
{
	struct schema_layout layouts[] = { { 0, 1, 0, 0 }, { 1, 8, 0, 2 } };
	struct schema_field fields[] = { { OPTIONAL_ISSET, 0, 0 },
					 { OPTIONAL_VALUE, 0, -1 } };
	struct schema schema = { layouts, 2, 2, fields, 2, 2, 1 };
	uint8_t data[1 + DW_FROZEN_PADDING] = { 0 };
	struct frozen frozen = { &schema, data, 1 };

	for (unsigned bits = 0; bits < 4; bits++) {
		struct frozen_node value;
		uint64_t number;
		bool is_set;

		data[0] = (uint8_t)bits;
		assert_int_equal(dw_frozen_optional(&frozen, dw_frozen_root(&frozen),
						    &value, &is_set, NULL),
				 0);
		assert_int_equal(is_set, bits & 1);
		assert_int_equal(dw_frozen_uint(&frozen, value, 1, &number, NULL), 0);
		assert_int_equal(number, bits == 3);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(columns_of_every_width_at_every_bit),
		cmocka_unit_test(items_of_whole_bytes),
		cmocka_unit_test(plain_items),
		cmocka_unit_test(lists_outside_the_data_are_refused),
		cmocka_unit_test(fields_that_stick_out_of_items),
		cmocka_unit_test(items_without_bits_cost_nothing),
		cmocka_unit_test(what_the_schema_lacks_is_empty),
		cmocka_unit_test(numbers_up_to_the_end_of_the_data),
		cmocka_unit_test(strings_are_counted_from_where_they_should),
		cmocka_unit_test(strings_outside_the_data_are_refused),
		cmocka_unit_test(a_string_field),
		cmocka_unit_test(optionals_know_set_from_empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
