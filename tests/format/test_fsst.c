/* SPDX-License-Identifier: MIT */
/*
 * format/fsst: a known table, hostile tables and codes, and round trips.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "format/fsst.h"

#define HEADER_BYTES 17

static const uint8_t known_table[] = {
	0x01, 0x14, 0x00, 0x00, 0x0a, 0x14, 0x34, 0x01, 0x00, 0x14, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x65, 0x2e, 0x61, 0x63, 0x69, 0x6e, 0x73, 0x66,
	0x67, 0x6c, 0x72, 0x64, 0x6b, 0x6d, 0x6f, 0x4d, 0x62, 0x68, 0x75,
};
static const uint8_t known_codes[] = { 0x10, 0x03, 0x0d, 0x01, 0x08, 0x05, 0x0a, 0x01,
				       0x02, 0xff, 0x74, 0xff, 0x78, 0xff, 0x74 };

static void the_known_string_is_decoded(void **state)
{
	struct fsst_decoder decoder;
	char text[32] = { 0 };

	assert_int_equal(dw_fsst_decoder_init(
				 &decoder,
				 (struct span){ known_table, sizeof(known_table) }, NULL),
			 0);
	assert_int_equal(decoder.count, 20);
	assert_int_equal(dw_fsst_decode(&decoder,
					(struct span){ known_codes, sizeof(known_codes) },
					(uint8_t *)text, sizeof(text)),
			 12);
	assert_string_equal(text, "Makefile.txt");
	assert_int_equal(dw_fsst_decode(&decoder, (struct span){ known_codes, 0 },
					(uint8_t *)text, sizeof(text)),
			 0);
}

static void small_rooms_are_not_left(void **state)
{
	struct fsst_decoder decoder;

	assert_int_equal(dw_fsst_decoder_init(
				 &decoder,
				 (struct span){ known_table, sizeof(known_table) }, NULL),
			 0);
	for (size_t room = 0; room <= 12; room++) {
		auto_free uint8_t *text = dw_malloc(room ? room : 1);

		assert_int_equal(
			dw_fsst_decode(&decoder,
				       (struct span){ known_codes, sizeof(known_codes) },
				       text, room),
			12);
		assert_memory_equal(text, "Makefile.txt", room);
	}
}

static void every_truncated_table_is_refused(void **state)
{
	for (size_t size = 0; size < sizeof(known_table); size++) {
		auto_free uint8_t *copy = dw_malloc(size ? size : 1);
		struct fsst_decoder decoder;

		memcpy(copy, known_table, size);
		assert_int_equal(
			dw_fsst_decoder_init(&decoder, (struct span){ copy, size }, NULL),
			DWARFS_ERR_CORRUPT);
	}
}

static void start_table(uint8_t *table, const uint8_t counts[8])
{
	memset(table, 0, HEADER_BYTES);
	table[0] = 1;
	memcpy(table + 4, "\x0a\x14\x34\x01", 4);
	memcpy(table + 9, counts, 8);
}

static int init_with(const uint8_t counts[8], uint8_t flags, size_t symbol_bytes,
		     struct fsst_decoder *decoder)
{
	auto_free uint8_t *table = dw_malloc(HEADER_BYTES + symbol_bytes);

	start_table(table, counts);
	table[8] = flags;
	for (size_t i = 0; i < symbol_bytes; i++)
		table[HEADER_BYTES + i] = (uint8_t)('a' + i % 26);
	return dw_fsst_decoder_init(
		decoder, (struct span){ table, HEADER_BYTES + symbol_bytes }, NULL);
}

static void sizes_must_fit_exactly(void **state)
{
	static const uint8_t one_of_each[8] = { 1, 1, 1, 1, 1, 1, 1, 1 };
	static const uint8_t full[8] = { 0, 0, 0, 0, 0, 0, 0, 255 };
	static const uint8_t over[8] = { 1, 0, 0, 0, 0, 0, 0, 255 };
	static const uint8_t far_over[8] = { 255, 255, 255, 255, 255, 255, 255, 255 };
	static const uint8_t none[8] = { 0 };
	struct fsst_decoder decoder;

	for (size_t size = 0; size < 50; size++)
		assert_int_equal(init_with(one_of_each, 0, size, &decoder),
				 size == 36 ? 0 : DWARFS_ERR_CORRUPT);
	assert_int_equal(init_with(full, 0, 255 * 8, &decoder), 0);
	assert_int_equal(decoder.count, 255);
	assert_int_equal(init_with(over, 0, 255 * 8 + 1, &decoder), DWARFS_ERR_CORRUPT);
	assert_int_equal(init_with(far_over, 0, 255 * 36, &decoder), DWARFS_ERR_CORRUPT);
	assert_int_equal(init_with(none, 0, 0, &decoder), 0);
	assert_int_equal(decoder.count, 0);
}

static void only_the_known_version_is_taken(void **state)
{
	for (size_t i = 4; i < 8; i++) {
		uint8_t table[sizeof(known_table)];
		struct fsst_decoder decoder;

		memcpy(table, known_table, sizeof(table));
		table[i] ^= 0x10;
		assert_int_equal(
			dw_fsst_decoder_init(&decoder,
					     (struct span){ table, sizeof(table) }, NULL),
			DWARFS_ERR_CORRUPT);
	}
}

/* Codes are given to the lengths 2 to 8, then 1. */
static void symbols_of_all_lengths(void **state)
{
	static const uint8_t counts[8] = { 1, 1, 1, 1, 1, 1, 1, 1 };
	static const uint8_t codes[] = { 7, 0, 6, 1 };
	struct fsst_decoder decoder;
	char text[64] = { 0 };

	assert_int_equal(init_with(counts, 0, 36, &decoder), 0);
	for (unsigned i = 0; i < 7; i++)
		assert_int_equal(decoder.length[i], i + 2);
	assert_int_equal(decoder.length[7], 1);
	assert_int_equal(dw_fsst_decode(&decoder, (struct span){ codes, 4 },
					(uint8_t *)text, sizeof(text)),
			 1 + 2 + 8 + 3);
	/* The letters of the table: ab cde fghi jklmn opqrst uvwxyza bcdefghi j */
	assert_string_equal(text, "jab"
				  "bcdefghi"
				  "cde");
}

static void a_terminator_may_be_implied(void **state)
{
	static const uint8_t counts[8] = { 2, 1, 0, 0, 0, 0, 0, 0 };
	static const uint8_t none[8] = { 0, 1, 0, 0, 0, 0, 0, 0 };
	static const uint8_t codes[] = { 1, 2, 0 };
	struct fsst_decoder decoder;
	uint8_t text[8];

	assert_int_equal(init_with(none, 1, 2, &decoder), DWARFS_ERR_CORRUPT);
	assert_int_equal(init_with(counts, 1, 4, &decoder), DWARFS_ERR_CORRUPT);
	assert_int_equal(init_with(counts, 1, 3, &decoder), 0);
	assert_int_equal(decoder.count, 3);
	assert_int_equal(dw_fsst_decode(&decoder, (struct span){ codes, 3 }, text, 8), 4);
	assert_memory_equal(text, "abc", 4);
}

static void broken_codes_are_refused(void **state)
{
	static const uint8_t unknown[] = { 0x01, 20 };
	static const uint8_t cut[] = { 0x01, 0xff };
	struct fsst_decoder decoder;
	uint8_t text[32];
	int order;

	assert_int_equal(dw_fsst_decoder_init(
				 &decoder,
				 (struct span){ known_table, sizeof(known_table) }, NULL),
			 0);
	assert_true(dw_fsst_decode(&decoder, (struct span){ unknown, 2 }, text, 32) ==
		    SIZE_MAX);
	assert_true(dw_fsst_decode(&decoder, (struct span){ cut, 2 }, text, 32) ==
		    SIZE_MAX);
	memset(text, 0, sizeof(text));
	assert_int_equal(dw_fsst_decode(&decoder, (struct span){ unknown, 1 }, text, 32),
			 1);
	assert_false(
		dw_fsst_compare(&decoder, (struct span){ unknown, 2 }, text, 1, &order));
	assert_false(dw_fsst_compare(&decoder, (struct span){ cut, 2 }, text, 1, &order));
}

/* -- round trips --------------------------------------------------------------------- */

static int sign(int number)
{
	return (number > 0) - (number < 0);
}

static int order_of(struct span a, struct span b)
{
	int order = memcmp(a.data, b.data, a.size < b.size ? a.size : b.size);

	return order ? sign(order) : (a.size > b.size) - (a.size < b.size);
}

/* Comparing codes with a text gives the same result as comparing the decoded bytes. */
static void compare(const struct fsst_decoder *decoder, struct span codes,
		    struct span string, struct span other)
{
	auto_free uint8_t *text = dw_calloc(other.size + 8, 1);
	int order = 9;

	memcpy(text, other.data, other.size);
	assert_true(dw_fsst_compare(decoder, codes, text, other.size, &order));
	assert_int_equal(sign(order), order_of(other, string));
}

static size_t compressed_size(const struct span *strings, size_t count)
{
	auto_buffer struct buffer symtab = { 0 }, packed = { 0 };
	auto_free uint32_t *lengths = dw_calloc(count + 1, sizeof(*lengths));
	struct fsst_decoder decoder;
	size_t at = 0;

	assert_int_equal(dw_fsst_encode(strings, count, &symtab, &packed, lengths, NULL),
			 0);
	assert_int_equal(dw_fsst_decoder_init(&decoder, dw_buffer_span(&symtab), NULL),
			 0);
	for (size_t i = 0; i < count; i++) {
		/* One byte is missing: a sanitizer detects a read beyond the end. */
		auto_free uint8_t *codes = dw_malloc(lengths[i] ? lengths[i] : 1);
		auto_free uint8_t *text =
			dw_malloc(strings[i].size ? strings[i].size : 1);

		assert_true(at + lengths[i] <= packed.size);
		if (lengths[i])
			memcpy(codes, packed.data + at, lengths[i]);
		assert_int_equal(dw_fsst_decode(&decoder,
						(struct span){ codes, lengths[i] }, text,
						strings[i].size),
				 strings[i].size);
		if (strings[i].size)
			assert_memory_equal(text, strings[i].data, strings[i].size);
		compare(&decoder, (struct span){ codes, lengths[i] }, strings[i],
			strings[i]);
		compare(&decoder, (struct span){ codes, lengths[i] }, strings[i],
			strings[(i + 1) % count]);
		compare(&decoder, (struct span){ codes, lengths[i] }, strings[i],
			strings[i * 7 % count]);
		if (strings[i].size) /* a prefix */
			compare(&decoder, (struct span){ codes, lengths[i] }, strings[i],
				(struct span){ strings[i].data, strings[i].size - 1 });
		at += lengths[i];
	}
	assert_int_equal(at, packed.size);
	return symtab.size + packed.size;
}

static void names_come_back(void **state)
{
	static char texts[2000][40];
	static struct span strings[2000];
	size_t total = 0;

	for (size_t i = 0; i < 2000; i++) {
		int size = snprintf(texts[i], sizeof(texts[i]), "lib%zu/module_%zu.%s",
				    i % 37, i, i % 3 ? "html" : "c");

		strings[i] = (struct span){ (const uint8_t *)texts[i], (size_t)size };
		total += (size_t)size;
	}
	assert_true(compressed_size(strings, 2000) < total * 2 / 3);
}

static void any_bytes_come_back(void **state)
{
	static uint8_t bytes[300][300];
	static struct span strings[300];
	uint64_t random = 12345;

	for (size_t i = 0; i < 300; i++) {
		for (size_t k = 0; k < i; k++) {
			random = random * UINT64_C(6364136223846793005) +
				 1442695040888963407;
			bytes[i][k] = (uint8_t)(random >> 56);
		}
		strings[i] = (struct span){ bytes[i], i };
	}
	compressed_size(strings, 300);
	/* Only escapes (255), and an empty string. */
	memset(bytes, 0xff, sizeof(bytes));
	compressed_size(strings, 300);
	memset(bytes, 0, sizeof(bytes));
	compressed_size(strings, 300);
	for (size_t i = 0; i < 300; i++)
		strings[i].size = 0;
	compressed_size(strings, 300);
	compressed_size(strings, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_known_string_is_decoded),
		cmocka_unit_test(small_rooms_are_not_left),
		cmocka_unit_test(every_truncated_table_is_refused),
		cmocka_unit_test(sizes_must_fit_exactly),
		cmocka_unit_test(only_the_known_version_is_taken),
		cmocka_unit_test(symbols_of_all_lengths),
		cmocka_unit_test(a_terminator_may_be_implied),
		cmocka_unit_test(broken_codes_are_refused),
		cmocka_unit_test(names_come_back),
		cmocka_unit_test(any_bytes_come_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
