/* SPDX-License-Identifier: MIT */
/*
 * format/xattrs: written attributes are read back, and invalid sections are refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "format/xattrs.h"

#define SPAN(text)                                                                       \
	{                                                                                \
		(const uint8_t *)(text), sizeof(text) - 1                                \
	}

static const struct span names[] = { SPAN("security.capability"), SPAN("user.a"),
				     SPAN("user.b") };
static const struct span values[] = { SPAN("one"), SPAN(""), SPAN("three\0") };
static const struct xattr_ref pairs[] = { { 1, 0 }, { 0, 2 }, { 1, 1 }, { 2, 0 } };
static const uint32_t set_ends[] = { 1, 4 };

/* Eight inodes: runs are shorter than one set each only when there are many. */
static struct xattr_tables tables_of(const uint32_t *sets, uint32_t inodes)
{
	return (struct xattr_tables){
		.metadata_xxh3 = UINT64_C(0x0123456789abcdef),
		.names = names,
		.values = values,
		.name_count = 3,
		.value_count = 3,
		.pairs = pairs,
		.pair_count = 4,
		.set_ends = set_ends,
		.set_count = 2,
		.sets = sets,
		.inode_count = inodes,
	};
}

static void written(const uint32_t *sets, uint32_t inodes, struct buffer *out)
{
	struct xattr_tables tables = tables_of(sets, inodes);

	assert_int_equal(dw_xattr_tables_write(&tables, out, NULL), 0);
}

static void must_be(struct span found, struct span expected)
{
	assert_int_equal(found.size, expected.size);
	if (expected.size)
		assert_memory_equal(found.data, expected.data, expected.size);
}

/* Each inode has the attributes that were set for it. */
static void must_hold(const struct xattr_table *table, const uint32_t *sets,
		      uint32_t inodes)
{
	assert_int_equal(table->inode_count, inodes);
	assert_true(table->metadata_xxh3 == UINT64_C(0x0123456789abcdef));
	for (uint32_t i = 0; i < inodes; i++) {
		uint32_t first, end, from, to;

		dw_xattr_table_pairs(table, i, &first, &end);
		from = sets[i] > 1 ? set_ends[sets[i] - 2] : 0;
		to = sets[i] ? set_ends[sets[i] - 1] : 0;
		assert_int_equal(end - first, sets[i] ? to - from : 0);
		for (uint32_t pair = first; pair < end; pair++) {
			const struct xattr_ref *ref = &pairs[from + (pair - first)];
			struct span name = dw_xattr_table_name(table, pair);

			must_be(name, names[ref->name]);
			assert_int_equal(name.data[name.size], 0);
			must_be(dw_xattr_table_value(table, pair), values[ref->value]);
		}
	}
	for (uint32_t i = 0; i < 3; i++)
		assert_string_equal(dw_xattr_table_any_name(table, i),
				    (const char *)names[i].data);
}

static void what_is_written_is_read(void **state)
{
	static const uint32_t each[] = { 0, 1, 2, 1, 2, 0, 0, 1 };
	uint32_t runs[1000] = { 0 };
	auto_buffer struct buffer dense = { 0 }, sparse = { 0 };
	struct xattr_table table;

	written(each, 8, &dense);
	assert_int_equal(dw_xattr_table_check(dw_buffer_span(&dense), &table, NULL), 0);
	assert_int_equal(table.run_count, 0);
	must_hold(&table, each, 8);
	for (int i = 200; i < 900; i++)
		runs[i] = 1 + (i > 500);
	written(runs, 1000, &sparse);
	assert_int_equal(dw_xattr_table_check(dw_buffer_span(&sparse), &table, NULL), 0);
	assert_int_equal(table.run_count, 3);
	assert_true(sparse.size < dense.size + 20);
	must_hold(&table, runs, 1000);
	table = dw_xattr_table_look(sparse.data);
	must_hold(&table, runs, 1000);
}

/* The bytes are those that the manual describes. */
static void the_header_is_as_documented(void **state)
{
	static const uint32_t each[] = { 0, 1, 2, 1, 2, 0, 0, 1 };
	static const uint8_t
		expected[] = {
			1,    0,    0,	  0,	8,    0,   0,	0,   0xef, 0xcd, 0xab,
			0x89, 0x67, 0x45, 0x23, 0x01, 3,   0,	0,   0,	   3,	 0,
			0,    0,    2,	  0,	0,    0,   4,	0,   0,	   0,	 0,
			0,    0,    0,	  34,	0,    0,   0,	9,   0,	   0,	 0,
			1,    0,    0,	  0,	20,   0,   0,	0,   27,   0,	 0,
			0,    34,   0,	  0,	0, /* ends of names */
			3,    0,    0,	  0,	3,    0,   0,	0,   9,	   0,	 0,
			0,					   /* of values */
			1,    0,    0,	  0,	4,    0,   0,	0, /* of sets */
			1,    0,    0,	  0,	0,    0,   0,	0,   0,	   0,	 0,
			0,    2,    0,	  0,	0,    1,   0,	0,   0,	   1,	 0,
			0,    0,    2,	  0,	0,    0,   0,	0,   0,	   0,	 0,
			1,    2,    1,	  2,	0,    0,   1, /* of inodes */
			's',  'e',  'c',  'u',	'r',  'i', 't', 'y', '.',
		};
	auto_buffer struct buffer out = { 0 };

	written(each, 8, &out);
	assert_true(out.size > sizeof(expected));
	assert_memory_equal(out.data, expected, sizeof(expected));
}

/* The example of dwarfs-format(5). */
static void the_example_of_the_manual_is_right(void **state)
{
	static const uint8_t example[] = {
		1,    0, 0,   0,   2, 0, 0, 0, 0xa5, 0x3b, 0x1d, 0x20, 0x33, 0x6c, 0x58,
		0xf1, 1, 0,   0,   0, 1, 0, 0, 0,    1,	   0,	 0,    0,    1,	   0,
		0,    0, 0,   0,   0, 0, 7, 0, 0,    0,	   2,	 0,    0,    0,	   1,
		0,    0, 0,   7,   0, 0, 0, 2, 0,    0,	   0,	 1,    0,    0,	   0,
		0,    0, 0,   0,   0, 0, 0, 0, 0,    1,	   'u',	 's',  'e',  'r',  '.',
		'a',  0, 'x', 'y',
	};
	static const struct span name = SPAN("user.a"), value = SPAN("xy");
	static const struct xattr_ref pair = { 0, 0 };
	static const uint32_t end = 1, sets[] = { 0, 1 };
	const struct xattr_tables tables = {
		.metadata_xxh3 = UINT64_C(0xf1586c33201d3ba5),
		.names = &name,
		.values = &value,
		.name_count = 1,
		.value_count = 1,
		.pairs = &pair,
		.pair_count = 1,
		.set_ends = &end,
		.set_count = 1,
		.sets = sets,
		.inode_count = 2,
	};
	auto_buffer struct buffer out = { 0 };

	assert_int_equal(dw_xattr_tables_write(&tables, &out, NULL), 0);
	assert_int_equal(out.size, sizeof(example));
	assert_memory_equal(out.data, example, sizeof(example));
}

/* Call every reading function, so that a sanitizer checks them. */
static void use(const struct xattr_table *table)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < table->inode_count && i < 5000; i++) {
		uint32_t first, end;

		dw_xattr_table_pairs(table, i, &first, &end);
		for (uint32_t pair = first; pair < end; pair++) {
			struct span name = dw_xattr_table_name(table, pair);
			struct span value = dw_xattr_table_value(table, pair);

			sum += strlen((const char *)name.data) - name.size;
			for (size_t at = 0; at < value.size; at++)
				sum += value.data[at];
		}
	}
	for (uint32_t i = 0; i < table->name_count; i++)
		sum += strlen(dw_xattr_table_any_name(table, i));
	assert_true(sum < UINT64_MAX);
}

/* A copy of exact size, so that a sanitizer detects an access after its end. */
static int check_copy(const uint8_t *data, size_t size)
{
	uint8_t *copy = dw_malloc(size ? size : 1);
	struct xattr_table table;
	int ret;

	assert_non_null(copy);
	memcpy(copy, data, size);
	ret = dw_xattr_table_check((struct span){ copy, size }, &table, NULL);
	if (ret == 0)
		use(&table);
	dw_free(copy);
	return ret;
}

static void every_truncation_is_refused(void **state)
{
	static const uint32_t each[] = { 0, 1, 2, 1, 2, 0, 0, 1 };
	auto_buffer struct buffer out = { 0 };

	written(each, 8, &out);
	for (size_t size = 0; size < out.size; size++)
		assert_int_equal(check_copy(out.data, size), DWARFS_ERR_CORRUPT);
	assert_int_equal(dw_buffer_append(&out, "", 1, NULL), 0);
	assert_int_equal(check_copy(out.data, out.size), DWARFS_ERR_CORRUPT);
}

/* Flip each bit of each byte; a section that is still accepted must be readable. */
static void every_mutation_is_harmless(void **state)
{
	static const uint32_t each[] = { 0, 1, 2, 1, 2, 0, 0, 1 };
	uint32_t runs[300] = { [100] = 1, [101] = 2, [102] = 2 };
	size_t accepted = 0, header;

	for (int kind = 0; kind < 2; kind++) {
		auto_buffer struct buffer out = { 0 };

		written(kind ? runs : each, kind ? 300 : 8, &out);
		for (size_t bit = 0; bit < out.size * 8; bit++) {
			out.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
			accepted += check_copy(out.data, out.size) == 0;
			out.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		}
		header = 48 * 8;
		assert_true(accepted < out.size * 8 - header / 2);
	}
	assert_true(accepted > 0);
}

static void huge_counts_are_refused(void **state)
{
	static const uint32_t each[] = { 0, 1, 2, 1, 2, 0, 0, 1 };
	static const size_t fields[] = {
		XATTRS_AT_INODE_COUNT, XATTRS_AT_NAME_COUNT,  XATTRS_AT_VALUE_COUNT,
		XATTRS_AT_SET_COUNT,   XATTRS_AT_PAIR_COUNT,  XATTRS_AT_RUN_COUNT,
		XATTRS_AT_NAME_BYTES,  XATTRS_AT_VALUE_BYTES, XATTRS_AT_SET_WIDTH,
	};
	static const uint32_t worst[] = { UINT32_MAX, UINT32_MAX / 2, UINT32_MAX / 4,
					  UINT32_MAX / 8, INT32_MAX };
	auto_buffer struct buffer out = { 0 };

	written(each, 8, &out);
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		uint32_t before = dw_load32(out.data + fields[i]);

		for (size_t j = 0; j < sizeof(worst) / sizeof(worst[0]); j++) {
			dw_store32(out.data + fields[i], worst[j]);
			assert_int_equal(check_copy(out.data, out.size),
					 DWARFS_ERR_CORRUPT);
		}
		dw_store32(out.data + fields[i], before);
	}
	/* All at once, whatever their sum. */
	for (size_t i = 0; i < 8; i++)
		dw_store32(out.data + fields[i], UINT32_MAX);
	assert_int_equal(check_copy(out.data, out.size), DWARFS_ERR_CORRUPT);
}

static void another_version_is_refused(void **state)
{
	static const uint32_t each[] = { 0, 1, 2, 1, 2, 0, 0, 1 };
	auto_buffer struct buffer out = { 0 };

	written(each, 8, &out);
	dw_store32(out.data, 2);
	assert_int_equal(check_copy(out.data, out.size), DWARFS_ERR_UNSUPPORTED);
}

/* One defect at a time: out of order, overlapping, or missing. */
static void what_cannot_be_is_refused(void **state)
{
	static const uint32_t each[] = { 0, 1, 2, 1, 2, 0, 0, 1 };
	static const struct {
		size_t at;
		uint32_t value;
	} wrong[] = {
		{ 48, 0 },  /* a name without a byte */
		{ 48, 1 },  /* a NUL only */
		{ 48, 19 }, /* a name without its NUL */
		{ 52, 19 }, /* ends before the previous one */
		{ 56, 33 }, /* the last name ends early */
		{ 60, 4 },  /* a value after its end */
		{ 68, 8 },  /* the last value ends early */
		{ 72, 0 },  /* an empty set */
		{ 76, 3 },  /* a pair in no set */
		{ 80, 3 },  /* no such name */
		{ 84, 3 },  /* no such value */
		{ 96, 0 },  /* a name twice in a set */
		{ 112, 3 }, /* a set that does not exist */
	};
	auto_buffer struct buffer out = { 0 };

	written(each, 8, &out);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		uint32_t before = dw_load32(out.data + wrong[i].at);

		dw_store32(out.data + wrong[i].at, wrong[i].value);
		assert_int_equal(check_copy(out.data, out.size), DWARFS_ERR_CORRUPT);
		dw_store32(out.data + wrong[i].at, before);
	}
}

static void many_sets_take_wider_numbers(void **state)
{
	enum { COUNT = 70000 };
	static struct xattr_ref refs[COUNT];
	static uint32_t ends[COUNT], sets[COUNT];
	static char texts[COUNT][8];
	static struct span distinct[COUNT];
	static const uint32_t counts[] = { 200, 300, COUNT };
	static const uint32_t widths[] = { 1, 2, 4 };

	for (uint32_t i = 0; i < COUNT; i++) {
		snprintf(texts[i], sizeof(texts[i]), "%07u", i);
		distinct[i] = (struct span){ (const uint8_t *)texts[i], 7 };
		refs[i] = (struct xattr_ref){ 1, i };
		ends[i] = i + 1;
		sets[i] = i + 1;
	}
	for (size_t kind = 0; kind < 3; kind++) {
		auto_buffer struct buffer out = { 0 };
		uint32_t count = counts[kind], first, end;
		struct xattr_tables tables = tables_of(sets, count);
		struct xattr_table table;

		tables.values = distinct;
		tables.value_count = tables.pair_count = tables.set_count = count;
		tables.pairs = refs;
		tables.set_ends = ends;
		assert_int_equal(dw_xattr_tables_write(&tables, &out, NULL), 0);
		assert_int_equal(dw_xattr_table_check(dw_buffer_span(&out), &table, NULL),
				 0);
		assert_int_equal(table.set_width, widths[kind]);
		for (uint32_t i = 0; i < count; i++) {
			dw_xattr_table_pairs(&table, i, &first, &end);
			assert_int_equal(end - first, 1);
			must_be(dw_xattr_table_value(&table, first), distinct[i]);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_is_read),
		cmocka_unit_test(the_header_is_as_documented),
		cmocka_unit_test(the_example_of_the_manual_is_right),
		cmocka_unit_test(every_truncation_is_refused),
		cmocka_unit_test(every_mutation_is_harmless),
		cmocka_unit_test(huge_counts_are_refused),
		cmocka_unit_test(another_version_is_refused),
		cmocka_unit_test(what_cannot_be_is_refused),
		cmocka_unit_test(many_sets_take_wider_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
