/* SPDX-License-Identifier: MIT */
/*
 * format/schema: a known schema, and hostile schemas.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "format/metadata.h"
#include "format/schema.h"
#include "format/thrift.h"
#include "support/one_file.h"

#define SCHEMA_BYTES 552

static struct span known_schema(void)
{
	return (struct span){ one_file + ONE_FILE_SCHEMA + 64, SCHEMA_BYTES };
}

static void the_known_schema_is_parsed(void **state)
{
	auto_schema struct schema schema = { 0 };
	const struct schema_layout *root;
	const struct schema_field *field;

	assert_int_equal(dw_schema_parse(known_schema(), &schema, NULL), 0);
	assert_int_equal(schema.layout_count, 24);
	assert_int_equal(schema.root, 23);
	root = &schema.layouts[23];
	assert_int_equal(root->size, 13);
	assert_int_equal(root->bits, 100);
	assert_int_equal(root->field_count, 13);

	field = dw_schema_field(&schema, root, MD_CHUNKS);
	assert_non_null(field);
	assert_int_equal(field->layout, 4);
	assert_int_equal(field->offset, 0);
	field = dw_schema_field(&schema, root, MD_OPTIONS);
	assert_non_null(field);
	assert_int_equal(field->layout, 20);
	assert_int_equal(field->offset, -89);
	assert_null(dw_schema_field(&schema, root, MD_DEVICES));
	assert_null(dw_schema_field(&schema, root, 0));
	assert_null(dw_schema_field(&schema, root, INT32_MAX));

	assert_int_equal(schema.layouts[4].bits, 5);
	assert_int_equal(schema.layouts[4].size, 0);
	field = dw_schema_field(&schema, &schema.layouts[4], LIST_DISTANCE);
	assert_int_equal(field->layout, 0);
	assert_int_equal(field->offset, -1);
}

static void every_truncation_is_refused(void **state)
{
	for (size_t size = 0; size < SCHEMA_BYTES; size++) {
		auto_free uint8_t *copy = dw_malloc(size ? size : 1);
		auto_error dwarfs_error *err = NULL;
		struct schema schema;

		memset(&schema, 0xAA, sizeof(schema));
		memcpy(copy, known_schema().data, size);
		assert_int_equal(
			dw_schema_parse((struct span){ copy, size }, &schema, &err),
			DWARFS_ERR_CORRUPT);
		assert_int_equal(dwarfs_error_code(err), DWARFS_ERR_CORRUPT);
		assert_int_equal(schema.root, 0xAAAA); /* set on success only */
	}
}

static void bytes_behind_the_end_are_refused(void **state)
{
	uint8_t copy[SCHEMA_BYTES + 1] = { 0 };
	struct schema schema;

	memcpy(copy, known_schema().data, SCHEMA_BYTES);
	assert_int_equal(
		dw_schema_parse((struct span){ copy, sizeof(copy) }, &schema, NULL),
		DWARFS_ERR_CORRUPT);
}

/* A schema that is accepted must be consistent. */
static void check_invariants(const struct schema *schema)
{
	assert_in_range(schema->root, 0, schema->layout_count - 1);
	for (size_t i = 0; i < schema->layout_count; i++) {
		const struct schema_layout *layout = &schema->layouts[i];

		assert_true(layout->bits <= INT16_MAX);
		assert_true(layout->size <= INT32_MAX);
		assert_true((size_t)layout->first_field + layout->field_count <=
			    schema->field_count);
	}
	for (size_t i = 0; i < schema->field_count; i++)
		assert_true(schema->fields[i].layout < schema->layout_count);
}

static void flipped_bits_never_break_the_invariants(void **state)
{
	auto_free uint8_t *copy = dw_malloc(SCHEMA_BYTES);

	memcpy(copy, known_schema().data, SCHEMA_BYTES);
	for (size_t bit = 0; bit < SCHEMA_BYTES * 8; bit++) {
		auto_schema struct schema schema = { 0 };

		copy[bit / 8] ^= (uint8_t)(1 << bit % 8);
		if (dw_schema_parse((struct span){ copy, SCHEMA_BYTES }, &schema, NULL) ==
		    0)
			check_invariants(&schema);
		copy[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
}

/* -- schemas made here --------------------------------------------------------------- */

struct made_field {
	int64_t id, layout, offset;
};

struct made_layout {
	int64_t key, size, bits;
	size_t count;
	struct made_field fields[2];
};

static void put_layout(struct thrift_writer *writer, const struct made_layout *layout)
{
	int32_t saved, inner;

	dw_thrift_put_element_int(writer, layout->key);
	saved = dw_thrift_put_begin(writer, 0);
	dw_thrift_put_int(writer, 1, THRIFT_I32, layout->size);
	dw_thrift_put_int(writer, 2, THRIFT_I16, layout->bits);
	dw_thrift_put_map(writer, 3, THRIFT_I16, THRIFT_STRUCT, layout->count);
	for (size_t i = 0; i < layout->count; i++) {
		dw_thrift_put_element_int(writer, layout->fields[i].id);
		inner = dw_thrift_put_begin(writer, 0);
		dw_thrift_put_int(writer, 1, THRIFT_I16, layout->fields[i].layout);
		dw_thrift_put_int(writer, 2, THRIFT_I16, layout->fields[i].offset);
		dw_thrift_put_end(writer, inner);
	}
	dw_thrift_put_end(writer, saved);
}

static int parse_made(const struct made_layout *layouts, size_t count, int64_t root,
		      int64_t version, struct schema *schema)
{
	auto_buffer struct buffer out = { 0 };
	struct thrift_writer writer;

	dw_thrift_put_start(&writer, &out);
	dw_thrift_put_bool(&writer, 1, true);
	dw_thrift_put_map(&writer, 2, THRIFT_I16, THRIFT_STRUCT, count);
	for (size_t i = 0; i < count; i++)
		put_layout(&writer, &layouts[i]);
	dw_thrift_put_int(&writer, 3, THRIFT_I16, root);
	dw_thrift_put_int(&writer, 4, THRIFT_I32, version);
	assert_int_equal(dw_thrift_put_stop(&writer, NULL), 0);
	return dw_schema_parse(dw_buffer_span(&out), schema, NULL);
}

static void layouts_may_come_in_any_order(void **state)
{
	static const struct made_layout layouts[] = {
		{ 2, 0, 7, 0, { { 0 } } },
		{ 0, 3, 20, 2, { { 5, 2, -32768 }, { -7, 1, 32767 } } },
		{ 1, INT32_MAX, INT16_MAX, 0, { { 0 } } },
	};
	auto_schema struct schema schema = { 0 };
	const struct schema_field *field;

	assert_int_equal(parse_made(layouts, 3, 0, 1, &schema), 0);
	check_invariants(&schema);
	assert_int_equal(schema.layouts[2].bits, 7);
	assert_int_equal(schema.layouts[1].size, INT32_MAX);
	field = dw_schema_field(&schema, &schema.layouts[0], 5);
	assert_int_equal(field->offset, -32768);
	field = dw_schema_field(&schema, &schema.layouts[0], -7);
	assert_int_equal(field->offset, 32767);
}

static void a_layout_may_refer_to_itself(void **state)
{
	static const struct made_layout layout = { 0, 1, 8, 1, { { 1, 0, 0 } } };
	auto_schema struct schema schema = { 0 };

	assert_int_equal(parse_made(&layout, 1, 0, 0, &schema), 0);
	check_invariants(&schema);
}

static void hostile_schemas_are_refused(void **state)
{
	static const struct {
		struct made_layout layouts[2];
		size_t count;
		int64_t root;
	} cases[] = {
		{ { { 0 } }, 0, 0 },			  /* empty */
		{ { { 0, 0, 1, 0, { { 0 } } } }, 1, 1 },  /* no such root */
		{ { { 0, 0, 1, 0, { { 0 } } } }, 1, -1 }, /* no such root */
		{ { { 1, 0, 1, 0, { { 0 } } } }, 1, 0 },  /* key too large */
		{ { { -1, 0, 1, 0, { { 0 } } } }, 1, 0 }, /* key negative */
		{ { { 0, 0, 1, 0, { { 0 } } }, { 0, 0, 1, 0, { { 0 } } } }, 2, 0 },
		{ { { 0, -1, 1, 0, { { 0 } } } }, 1, 0 },	   /* size negative */
		{ { { 0, 0, -1, 0, { { 0 } } } }, 1, 0 },	   /* bits negative */
		{ { { 0, 0, 1, 1, { { 1, 1, 0 } } } }, 1, 0 },	   /* no such layout */
		{ { { 0, 0, 1, 1, { { 1, -1, 0 } } } }, 1, 0 },	   /* no such layout */
		{ { { 0, 0, 1, 1, { { 1, 0, 40000 } } } }, 1, 0 }, /* offset too large */
		{ { { 0, 0, 40000, 0, { { 0 } } } }, 1, 0 },	   /* bits too many */
		{ { { 0, INT64_C(1) << 31, 1, 0, { { 0 } } } }, 1, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct schema schema = { 0 };

		assert_int_equal(parse_made(cases[i].layouts, cases[i].count,
					    cases[i].root, 1, &schema),
				 DWARFS_ERR_CORRUPT);
		assert_null(schema.layouts);
	}
}

static void later_versions_are_not_supported(void **state)
{
	static const struct made_layout layout = { 0, 1, 8, 0, { { 0 } } };
	struct schema schema;

	assert_int_equal(parse_made(&layout, 1, 0, 2, &schema), DWARFS_ERR_UNSUPPORTED);
}

static void counts_are_not_believed(void **state)
{
	/* A map of 2^40 layouts, and one of 40000 that are missing. */
	static const uint8_t many[] = { 0x2b, 0x80, 0x80, 0x80, 0x80,
					0x80, 0x20, 0x4c, 0x00, 0x00 };
	static const uint8_t some[] = { 0x2b, 0xc0, 0xb8, 0x02, 0x4c, 0x00, 0x00 };
	struct schema schema;

	assert_int_equal(
		dw_schema_parse((struct span){ many, sizeof(many) }, &schema, NULL),
		DWARFS_ERR_CORRUPT);
	assert_int_equal(
		dw_schema_parse((struct span){ some, sizeof(some) }, &schema, NULL),
		DWARFS_ERR_CORRUPT);
}

static void a_second_map_of_layouts_is_refused(void **state)
{
	auto_buffer struct buffer out = { 0 };
	static const struct made_layout layout = { 0, 1, 8, 0, { { 0 } } };
	struct thrift_writer writer;
	struct schema schema;

	dw_thrift_put_start(&writer, &out);
	for (int i = 0; i < 2; i++) {
		dw_thrift_put_map(&writer, 2 + 2 * i, THRIFT_I16, THRIFT_STRUCT, 1);
		put_layout(&writer, &layout);
	}
	dw_thrift_put_stop(&writer, NULL);
	/* The second header adds 2 to the field id: change it so that field 2 is
	 * repeated. */
	for (size_t i = 2; i < out.size; i++)
		if (out.data[i] == 0x2b) {
			auto_buffer struct buffer twice = { 0 };

			dw_buffer_append(&twice, out.data, i, NULL);
			dw_buffer_append(&twice, "\x0b\x04", 2, NULL);
			dw_buffer_append(&twice, out.data + i + 1, out.size - i - 1,
					 NULL);
			assert_int_equal(
				dw_schema_parse(dw_buffer_span(&twice), &schema, NULL),
				DWARFS_ERR_CORRUPT);
			return;
		}
	fail();
}

/* A schema of one layout, with fields of these ids, in one list or in a list each. */
static size_t put_schema(uint8_t *out, const uint8_t *ids, size_t count, bool is_split)
{
	size_t at = 0, i;

	out[at++] = 0x2b; /* field 2, a map */
	out[at++] = 1;	  /* of one */
	out[at++] = 0x4c; /* i16 to struct */
	out[at++] = 0;	  /* layout 0 */
	for (i = 0; i < count; i++) {
		if (i == 0 || is_split) {
			out[at++] = 0x0b; /* a map; its number follows: */
			out[at++] = 3 * 2;
			out[at++] = (uint8_t)(is_split ? 1 : count);
			out[at++] = 0x4c;
		}
		out[at++] = (uint8_t)(ids[i] * 2);
		out[at++] = 0; /* an empty struct */
	}
	out[at++] = 0; /* of the layout */
	out[at++] = 0;
	return at;
}

static void a_field_is_there_once(void **state)
{
	static const struct {
		uint8_t ids[4];
		size_t count;
		bool is_split;
		int expected;
	} cases[] = {
		{ { 1, 2, 3 }, 3, false, 0 },
		{ { 3, 1, 2 }, 3, false, 0 },
		{ { 1, 1 }, 2, false, DWARFS_ERR_CORRUPT },
		{ { 1, 2, 1 }, 3, false, DWARFS_ERR_CORRUPT },
		{ { 3, 2, 1, 2 }, 4, false, DWARFS_ERR_CORRUPT },
		{ { 1 }, 1, true, 0 },
		{ { 1, 2 }, 2, true, DWARFS_ERR_CORRUPT },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		auto_schema struct schema schema = { 0 };
		uint8_t bytes[64];
		size_t size = put_schema(bytes, cases[i].ids, cases[i].count,
					 cases[i].is_split);

		assert_int_equal(
			dw_schema_parse((struct span){ bytes, size }, &schema, NULL),
			cases[i].expected);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_known_schema_is_parsed),
		cmocka_unit_test(every_truncation_is_refused),
		cmocka_unit_test(bytes_behind_the_end_are_refused),
		cmocka_unit_test(flipped_bits_never_break_the_invariants),
		cmocka_unit_test(layouts_may_come_in_any_order),
		cmocka_unit_test(a_layout_may_refer_to_itself),
		cmocka_unit_test(hostile_schemas_are_refused),
		cmocka_unit_test(later_versions_are_not_supported),
		cmocka_unit_test(counts_are_not_believed),
		cmocka_unit_test(a_second_map_of_layouts_is_refused),
		cmocka_unit_test(a_field_is_there_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
