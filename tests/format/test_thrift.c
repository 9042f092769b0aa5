/* SPDX-License-Identifier: MIT */
/*
 * format/thrift: written values are read back; known bytes; invalid bytes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "format/thrift.h"

static const int64_t numbers[] = { 0, 1, -1, 63, -64, 64, 127, 128, 300, -32768, 32767 };

#define NUMBER_COUNT (sizeof(numbers) / sizeof(numbers[0]))

/* One value of each type; field ids skip numbers and decrease. */
static void put_everything(struct buffer *out)
{
	struct thrift_writer writer;
	int32_t saved;

	dw_thrift_put_start(&writer, out);
	dw_thrift_put_bool(&writer, 4, true);
	dw_thrift_put_bool(&writer, 1, false);
	dw_thrift_put_byte(&writer, 100, 0xFE);
	dw_thrift_put_int(&writer, 101, THRIFT_I16, -300);
	dw_thrift_put_int(&writer, 102, THRIFT_I32, INT32_MIN);
	dw_thrift_put_int(&writer, 103, THRIFT_I64, INT64_MIN);
	dw_thrift_put_string(&writer, 104, "a\0b", 3);
	dw_thrift_put_string(&writer, 105, "", 0);
	dw_thrift_put_list(&writer, 106, THRIFT_LIST, THRIFT_I16, NUMBER_COUNT);
	for (size_t i = 0; i < NUMBER_COUNT; i++)
		dw_thrift_put_element_int(&writer, numbers[i]);
	dw_thrift_put_list(&writer, 107, THRIFT_SET, THRIFT_STRING, 20);
	for (int i = 0; i < 20; i++)
		dw_thrift_put_element_string(&writer, "xy", 2);
	dw_thrift_put_map(&writer, 108, THRIFT_I32, THRIFT_I64, 2);
	for (int i = 0; i < 4; i++)
		dw_thrift_put_element_int(&writer, i - 2);
	dw_thrift_put_map(&writer, 109, THRIFT_I32, THRIFT_I64, 0);
	saved = dw_thrift_put_begin(&writer, 110);
	dw_thrift_put_bool(&writer, 1, true);
	dw_thrift_put_end(&writer, saved);
	dw_thrift_put_list(&writer, 111, THRIFT_LIST, THRIFT_STRUCT, 2);
	for (int i = 0; i < 2; i++) {
		saved = dw_thrift_put_begin(&writer, 0);
		dw_thrift_put_int(&writer, 2, THRIFT_I32, 40 + i);
		dw_thrift_put_end(&writer, saved);
	}
	dw_thrift_put_bool(&writer, 112, true);
	assert_int_equal(dw_thrift_put_stop(&writer, NULL), 0);
}

static void get_containers(struct thrift_reader *reader, const struct thrift_field *field)
{
	struct thrift_field inner = { 0 };

	switch (field->id) {
	case 106:
		assert_int_equal(dw_thrift_list(reader, field, THRIFT_I16), NUMBER_COUNT);
		for (size_t i = 0; i < NUMBER_COUNT; i++)
			assert_int_equal(dw_thrift_element_int(reader), numbers[i]);
		return;
	case 107:
		assert_int_equal(dw_thrift_list(reader, field, THRIFT_STRING), 20);
		for (int i = 0; i < 20; i++)
			assert_memory_equal(dw_thrift_element_string(reader).data, "xy",
					    2);
		return;
	case 108:
		assert_int_equal(dw_thrift_map(reader, field, THRIFT_I32, THRIFT_I64), 2);
		for (int i = 0; i < 4; i++)
			assert_int_equal(dw_thrift_element_int(reader), i - 2);
		return;
	case 109:
		assert_int_equal(dw_thrift_map(reader, field, THRIFT_I32, THRIFT_I64), 0);
		return;
	case 110:
		dw_thrift_struct(reader, field);
		assert_true(dw_thrift_field(reader, &inner));
		assert_int_equal(inner.id, 1);
		assert_true(dw_thrift_bool(reader, &inner));
		assert_false(dw_thrift_field(reader, &inner));
		return;
	case 111:
		assert_int_equal(dw_thrift_list(reader, field, THRIFT_STRUCT), 2);
		for (int i = 0; i < 2; i++) {
			struct thrift_field element = { 0 };

			assert_true(dw_thrift_field(reader, &element));
			assert_int_equal(element.id, 2);
			assert_int_equal(dw_thrift_int(reader, &element, THRIFT_I32),
					 40 + i);
			assert_false(dw_thrift_field(reader, &element));
		}
		return;
	default:
		fail_msg("field %d has no business here", field->id);
	}
}

static void get_value(struct thrift_reader *reader, const struct thrift_field *field)
{
	switch (field->id) {
	case 4:
	case 112:
		assert_true(dw_thrift_bool(reader, field));
		return;
	case 1:
		assert_false(dw_thrift_bool(reader, field));
		return;
	case 100:
		assert_int_equal(dw_thrift_byte(reader, field), 0xFE);
		return;
	case 101:
		assert_int_equal(dw_thrift_int(reader, field, THRIFT_I16), -300);
		return;
	case 102:
		assert_true(dw_thrift_int(reader, field, THRIFT_I32) == INT32_MIN);
		return;
	case 103:
		assert_true(dw_thrift_int(reader, field, THRIFT_I64) == INT64_MIN);
		return;
	case 104:
		assert_memory_equal(dw_thrift_string(reader, field).data, "a\0b", 3);
		return;
	case 105:
		assert_int_equal(dw_thrift_string(reader, field).size, 0);
		return;
	default:
		get_containers(reader, field);
	}
}

static void what_is_written_comes_back(void **state)
{
	auto_buffer struct buffer out = { 0 };
	struct thrift_field field = { 0 };
	struct thrift_reader reader;
	int count = 0;

	put_everything(&out);
	dw_thrift_start(&reader, dw_buffer_span(&out));
	for (; dw_thrift_field(&reader, &field); count++)
		get_value(&reader, &field);
	assert_true(dw_thrift_ok(&reader));
	assert_int_equal(count, 15);
	assert_int_equal(dw_thrift_left(&reader), 0);
}

static void everything_can_be_skipped(void **state)
{
	auto_buffer struct buffer out = { 0 };
	struct thrift_field field = { 0 };
	struct thrift_reader reader;
	int count = 0;

	put_everything(&out);
	dw_thrift_start(&reader, dw_buffer_span(&out));
	for (; dw_thrift_field(&reader, &field); count++)
		dw_thrift_skip(&reader, &field);
	assert_true(dw_thrift_ok(&reader));
	assert_int_equal(count, 15);
	assert_int_equal(dw_thrift_left(&reader), 0);
}

/* The header of a FLAC block, as another program wrote it. */
static void known_bytes_are_understood(void **state)
{
	static const uint8_t bytes[] = { 0x1C, 0x14, 0x02, 0x13, 0x10,
					 0x13, 0x61, 0x00, 0x66 };
	struct thrift_field field = { 0 };
	struct thrift_reader reader;

	dw_thrift_start(&reader, (struct span){ bytes, sizeof(bytes) });
	assert_int_equal(dw_thrift_varint(&reader), 28);
	assert_true(dw_thrift_field(&reader, &field));
	assert_int_equal(dw_thrift_int(&reader, &field, THRIFT_I16), 1);
	assert_true(dw_thrift_field(&reader, &field));
	assert_int_equal(dw_thrift_byte(&reader, &field), 16);
	assert_true(dw_thrift_field(&reader, &field));
	assert_int_equal(field.id, 3);
	assert_int_equal(dw_thrift_byte(&reader, &field), 0x61);
	assert_false(dw_thrift_field(&reader, &field));
	assert_true(dw_thrift_ok(&reader));
	assert_int_equal(dw_thrift_left(&reader), 1);
}

/* Skip all fields of bytes; gives whether that worked. */
static bool skips(const uint8_t *data, size_t size)
{
	auto_free uint8_t *copy = dw_malloc(size ? size : 1);
	struct thrift_field field = { 0 };
	struct thrift_reader reader;

	assert_non_null(copy);
	if (size)
		memcpy(copy, data, size);
	dw_thrift_start(&reader, (struct span){ copy, size });
	while (dw_thrift_field(&reader, &field))
		dw_thrift_skip(&reader, &field);
	return dw_thrift_ok(&reader);
}

static void every_truncation_is_an_error(void **state)
{
	auto_buffer struct buffer out = { 0 };

	put_everything(&out);
	assert_true(skips(out.data, out.size));
	for (size_t size = 0; size < out.size; size++)
		assert_false(skips(out.data, size));
	assert_false(skips(NULL, 0));
}

static void flipped_bits_are_survived(void **state)
{
	auto_buffer struct buffer out = { 0 };

	put_everything(&out);
	for (size_t bit = 0; bit < 8 * out.size; bit++) {
		out.data[bit / 8] ^= (uint8_t)(1u << (bit % 8));
		skips(out.data, out.size);
		out.data[bit / 8] ^= (uint8_t)(1u << (bit % 8));
	}
	assert_true(skips(out.data, out.size));
}

static void containers_stay_within_the_bytes(void **state)
{
	/* Lists of 2^60 structs and of 15 bytes in 3, a map of 2^60 pairs, one of 2 in 3.
	 */
	static const uint8_t cases[][12] = {
		{ 0x19, 0xFC, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x10, 0 },
		{ 0x19, 0xF3, 0x0F, 1, 2, 3, 0, 0, 0, 0, 0, 0 },
		{ 0x1B, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x10, 0x55, 0 },
		{ 0x1B, 0x05, 0x33, 0, 0, 0, 0, 0, 0, 0, 0, 0 },
		{ 0x18, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01, 0 },
		{ 0x1D, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 },
		{ 0x10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_false(skips(cases[i], sizeof(cases[i])));
}

static bool varint_is(const uint8_t *data, size_t size, uint64_t *value)
{
	struct thrift_reader reader;

	dw_thrift_start(&reader, (struct span){ data, size });
	*value = dw_thrift_varint(&reader);
	return dw_thrift_ok(&reader);
}

static void varints_are_limited(void **state)
{
	static const uint8_t most[] = { 255, 255, 255, 255, 255, 255, 255, 255, 255, 1 };
	static const uint8_t more[] = { 255, 255, 255, 255, 255, 255, 255, 255, 255, 2 };
	static const uint8_t longer[] = { 128, 128, 128, 128, 128, 128,
					  128, 128, 128, 128, 0 };
	static const uint8_t padded[] = { 0x85, 0x80, 0 };
	uint64_t value = 1;

	assert_true(varint_is(most, sizeof(most), &value));
	assert_true(value == UINT64_MAX);
	assert_false(varint_is(more, sizeof(more), &value));
	assert_int_equal(value, 0);
	assert_false(varint_is(longer, sizeof(longer), &value));
	assert_true(varint_is(padded, sizeof(padded), &value));
	assert_int_equal(value, 5);
}

static void numbers_must_fit_their_type(void **state)
{
	/* 32768 as i16: zigzag 65536. */
	static const uint8_t bytes[] = { 0x14, 0x80, 0x80, 0x04, 0x00 };
	struct thrift_field field = { 0 };
	struct thrift_reader reader;

	dw_thrift_start(&reader, (struct span){ bytes, sizeof(bytes) });
	assert_true(dw_thrift_field(&reader, &field));
	assert_int_equal(dw_thrift_int(&reader, &field, THRIFT_I16), 0);
	assert_false(dw_thrift_ok(&reader));
}

static void other_types_are_errors(void **state)
{
	static const uint8_t bytes[] = { 0x14, 0x02, 0x00 };
	struct thrift_field field = { 0 };
	struct thrift_reader reader;

	dw_thrift_start(&reader, (struct span){ bytes, sizeof(bytes) });
	assert_true(dw_thrift_field(&reader, &field));
	assert_int_equal(dw_thrift_int(&reader, &field, THRIFT_I32), 0);
	assert_false(dw_thrift_ok(&reader));
	/* No data remain after that. */
	assert_int_equal(dw_thrift_list(&reader, &field, THRIFT_I32), 0);
	assert_int_equal(dw_thrift_element_int(&reader), 0);
	assert_int_equal(dw_thrift_element_string(&reader).size, 0);
	assert_false(dw_thrift_field(&reader, &field));
}

static void nesting_is_limited(void **state)
{
	auto_buffer struct buffer out = { 0 };

	for (int depth = 1; depth < 200000;
	     depth = depth < 100 ? depth + 1 : depth * 10) {
		out.size = 0;
		for (int i = 0; i < depth; i++)
			assert_int_equal(dw_buffer_append(&out, "\x1C", 1, NULL), 0);
		for (int i = 0; i <= depth; i++)
			assert_int_equal(dw_buffer_append(&out, "\0", 1, NULL), 0);
		assert_int_equal(skips(out.data, out.size), depth <= 64);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_comes_back),
		cmocka_unit_test(everything_can_be_skipped),
		cmocka_unit_test(known_bytes_are_understood),
		cmocka_unit_test(every_truncation_is_an_error),
		cmocka_unit_test(flipped_bits_are_survived),
		cmocka_unit_test(containers_stay_within_the_bytes),
		cmocka_unit_test(varints_are_limited),
		cmocka_unit_test(numbers_must_fit_their_type),
		cmocka_unit_test(other_types_are_errors),
		cmocka_unit_test(nesting_is_limited),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
