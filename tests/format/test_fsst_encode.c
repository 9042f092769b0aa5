/* SPDX-License-Identifier: MIT */
/*
 * format/fsst_encode: encoded strings decode to the same bytes, and compressible ones
 * become smaller.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "format/fsst.h"

struct encoded {
	struct buffer symtab, out;
	uint32_t *lengths;
};

static void encode(const struct span *strings, size_t count, struct encoded *encoded)
{
	*encoded = (struct encoded){ .lengths = dw_calloc(count + 1, sizeof(uint32_t)) };
	assert_non_null(encoded->lengths);
	assert_int_equal(dw_fsst_encode(strings, count, &encoded->symtab, &encoded->out,
					encoded->lengths, NULL),
			 0);
}

static void free_encoded(struct encoded *encoded)
{
	dw_buffer_free(&encoded->symtab);
	dw_buffer_free(&encoded->out);
	dw_free(encoded->lengths);
}

static void expect_round_trip(const struct span *strings, size_t count,
			      const struct encoded *encoded)
{
	struct fsst_decoder decoder;
	size_t at = 0;

	assert_int_equal(
		dw_fsst_decoder_init(&decoder, dw_buffer_span(&encoded->symtab), NULL),
		0);
	for (size_t i = 0; i < count; i++) {
		struct span in = { encoded->out.data + at, encoded->lengths[i] };
		uint8_t text[8192];

		assert_true(strings[i].size <= sizeof(text));
		assert_int_equal(dw_fsst_decode(&decoder, in, text, sizeof(text)),
				 strings[i].size);
		if (strings[i].size)
			assert_memory_equal(text, strings[i].data, strings[i].size);
		at += encoded->lengths[i];
	}
	assert_int_equal(at, encoded->out.size);
}

static void names_get_smaller(void **state)
{
	static char texts[2000][64];
	struct span strings[2000];
	struct encoded encoded;
	size_t bytes = 0;

	for (size_t i = 0; i < 2000; i++) {
		snprintf(texts[i], sizeof(texts[i]), "lib%s-component-%zu.so.%zu",
			 i % 3 ? "network" : "graphics", i * 7919 % 1000, i % 5);
		strings[i] = (struct span){ (const uint8_t *)texts[i], strlen(texts[i]) };
		bytes += strings[i].size;
	}
	encode(strings, 2000, &encoded);
	expect_round_trip(strings, 2000, &encoded);
	assert_true((encoded.symtab.size + encoded.out.size) * 2 < bytes);
	free_encoded(&encoded);
}

static void the_same_strings_give_the_same_bytes(void **state)
{
	static const char *const texts[] = { "alpha.c", "alpha.h",    "beta.c",
					     "beta.h",	"alphabet.c", "alphabet.h" };
	struct span strings[6];
	struct encoded a, b;

	for (size_t i = 0; i < 6; i++)
		strings[i] = (struct span){ (const uint8_t *)texts[i], strlen(texts[i]) };
	encode(strings, 6, &a);
	encode(strings, 6, &b);
	assert_int_equal(a.symtab.size, b.symtab.size);
	assert_memory_equal(a.symtab.data, b.symtab.data, a.symtab.size);
	assert_int_equal(a.out.size, b.out.size);
	assert_memory_equal(a.out.data, b.out.data, a.out.size);
	free_encoded(&a);
	free_encoded(&b);
}

static void every_byte_can_be_stored(void **state)
{
	static uint8_t bytes[4096];
	struct span strings[5];
	struct encoded encoded;
	uint32_t random = 1;

	for (size_t i = 0; i < sizeof(bytes); i++) {
		random = random * 1664525 + 1013904223;
		bytes[i] = (uint8_t)(random >> 24);
	}
	strings[0] = (struct span){ bytes, sizeof(bytes) };
	strings[1] = (struct span){ bytes, 0 };
	strings[2] = (struct span){ bytes + 100, 1 };
	strings[3] =
		(struct span){ (const uint8_t *)"\xff\xff\xff\xff\0\0\0\0\0\0\0\0", 12 };
	strings[4] = (struct span){ bytes + 7, 9 };
	encode(strings, 5, &encoded);
	expect_round_trip(strings, 5, &encoded);
	free_encoded(&encoded);
}

static void nothing_gives_an_empty_table(void **state)
{
	struct encoded encoded;

	encode(NULL, 0, &encoded);
	assert_int_equal(encoded.out.size, 0);
	assert_int_equal(encoded.symtab.size, 17);
	expect_round_trip(NULL, 0, &encoded);
	free_encoded(&encoded);
}

static void long_runs_use_long_symbols(void **state)
{
	static uint8_t run[4000];
	struct span strings[1] = { { run, sizeof(run) } };
	struct encoded encoded;

	memset(run, 'x', sizeof(run));
	encode(strings, 1, &encoded);
	expect_round_trip(strings, 1, &encoded);
	assert_int_equal(encoded.out.size, sizeof(run) / 8);
	free_encoded(&encoded);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_get_smaller),
		cmocka_unit_test(the_same_strings_give_the_same_bytes),
		cmocka_unit_test(every_byte_can_be_stored),
		cmocka_unit_test(nothing_gives_an_empty_table),
		cmocka_unit_test(long_runs_use_long_symbols),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
