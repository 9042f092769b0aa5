/* SPDX-License-Identifier: MIT */
/*
 * write/categorize/incompressible: data that does not compress.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/categorized.h"
#include "write/builder.h"

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)

static int setup(void **state)
{
	*state = categorized_new("");
	return 0;
}

static int teardown(void **state)
{
	categorized_free(*state);
	return 0;
}

/* Skips the test in a build that has no fast compressor. */
static struct categorized *with_probes(void **state)
{
	struct categorized *all = *state;

	if (dwarfs_builder_set_categorizers(all->builder, "incompressible", NULL) ==
	    DWARFS_ERR_UNSUPPORTED)
		skip();
	assert_int_equal(all->builder->options.categorize.count, 1);
	return all;
}

static void set(struct categorized *all, uint64_t least, uint64_t block, double ratio,
		bool fragments)
{
	assert_int_equal(dwarfs_builder_set_incompressible(all->builder, least, block,
							   ratio, -1, fragments, NULL),
			 0);
}

static uint8_t *noise(size_t size)
{
	uint8_t *data = dw_malloc(size);

	assert_non_null(data);
	fill_random(data, size, size);
	return data;
}

static void noise_does_not_shrink(void **state)
{
	static const size_t sizes[] = { 256,	 1000,	    4095,	 4096,
					4097,	 100 * KIB, MIB,	 MIB + 1,
					3 * MIB, 2 * MIB,   2 * MIB + 1, 9 * MIB + 77 };
	struct categorized *all = with_probes(state);
	char expected[64];

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		auto_free uint8_t *data = noise(sizes[i]);

		snprintf(expected, sizeof(expected), "incompressible %zu", sizes[i]);
		assert_string_equal(categorize(all, data, sizes[i]), expected);
		memset(data, 'a', sizes[i]);
		assert_string_equal(categorize(all, data, sizes[i]), "");
	}
}

static void small_files_are_not_looked_at(void **state)
{
	struct categorized *all = with_probes(state);
	auto_free uint8_t *data = noise(1000);

	assert_string_equal(categorize(all, data, 255), "");
	assert_string_equal(categorize(all, data, 256), "incompressible 256");
	set(all, 1000, MIB, 0.99, false);
	assert_string_equal(categorize(all, data, 999), "");
	assert_string_equal(categorize(all, data, 1000), "incompressible 1000");
}

/* Words that rarely repeat: a part of them alone does not compress. */
static void short_texts_are_not_random(void **state)
{
	struct categorized *all = with_probes(state);
	auto_free uint8_t *data = noise(4000);

	for (size_t size = 256; size <= 4000; size += 300) {
		fill_random(data, size, 5);
		for (size_t i = 0; i < size; i++)
			data[i] = "abcdefghijklmnopqrstuvwxyz "
				  ".ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+"[data[i] % 64];
		assert_string_equal(categorize(all, data, size), "");
	}
}

/* Noise with a proportion of zeros; the ratio decides. */
static void the_ratio_decides(void **state)
{
	static const size_t sizes[] = { 100 * KIB, 2 * MIB, 8 * MIB };
	struct categorized *all = with_probes(state);

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		auto_free uint8_t *data = noise(sizes[i]);

		for (size_t at = 0; at < sizes[i]; at += 8 * KIB) /* one part in 8 */
			memset(data + at, 0, KIB);
		set(all, 256, MIB, 0.99, false);
		assert_string_equal(categorize(all, data, sizes[i]), "");
		set(all, 256, MIB, 0.95, false);
		assert_string_equal(categorize(all, data, sizes[i]), "");
		set(all, 256, MIB, 0.8, false);
		assert_int_equal(*categorize(all, data, sizes[i]), 'i');
		assert_int_equal(all->parts.count, 1);
	}
}

/* Letters at random have no repeats, but are coded in fewer bits. */
static void few_different_bytes_shrink(void **state)
{
	static const size_t sizes[] = { 4096, 40 * KIB, MIB, 3 * MIB };
	struct categorized *all = with_probes(state);
	char expected[64];

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		auto_free uint8_t *data = noise(sizes[i]);

		snprintf(expected, sizeof(expected), "incompressible %zu", sizes[i]);
		for (size_t at = 0; at < sizes[i]; at++)
			data[at] = (uint8_t)('0' + data[at] % 64);
		set(all, 256, MIB, 0.99, false);
		assert_string_equal(categorize(all, data, sizes[i]), "");
		set(all, 256, MIB, 0.7, false); /* six bits of eight are more */
		assert_string_equal(categorize(all, data, sizes[i]), expected);
		/* Repeats save a quarter, the frequencies half. */
		for (size_t at = 0; at < sizes[i]; at++)
			data[at] = at % 256 < 64 ? 'a' : (uint8_t)('0' + data[at] % 8);
		set(all, 256, MIB, 0.6, false);
		assert_string_equal(categorize(all, data, sizes[i]), "");
	}
}

static void fragments_are_runs_of_blocks(void **state)
{
	struct categorized *all = with_probes(state);
	size_t block = 64 * KIB, size = 6 * block + 100;
	auto_free uint8_t *data = noise(size);

	memset(data + 2 * block, 'x', block);
	set(all, 256, block, 0.99, true);
	assert_string_equal(categorize(all, data, size),
			    "incompressible 131072, <default> 65536, "
			    "incompressible 196708");
	memset(data, 'x', block);
	memset(data + 5 * block, 'x', block);
	assert_string_equal(categorize(all, data, size),
			    "<default> 65536, incompressible 65536, <default> 65536, "
			    "incompressible 131072, <default> 65636");
	memset(data, 'x', size);
	assert_string_equal(categorize(all, data, size), "");

	/* large blocks, of which samples are compressed */
	fill_random(data, size, 1);
	memset(data, 'x', 5 * block);
	set(all, 256, 5 * block, 0.99, true);
	assert_string_equal(categorize(all, data, size),
			    "<default> 327680, incompressible 65636");
}

static void a_file_may_end_before_its_size(void **state)
{
	struct categorized *all = with_probes(state);
	auto_categorizers struct categorizers *categorizers = NULL;
	auto_category_parts struct category_parts parts = { 0 };
	struct input_file input_file = INPUT_FILE_NONE;
	struct category_file file = { .path = "shrunk",
				      .size = 64 * MIB,
				      .input_file = &input_file };
	FILE *stream = tmpfile();
	uint64_t sum = 0;

	assert_non_null(stream);
	input_file.fd = fileno(stream);
	assert_int_equal(dw_categorizers_new(&all->builder->options, &categorizers, NULL),
			 0);
	assert_true(dw_categorizers_any(categorizers));
	assert_int_equal(dw_categorize(categorizers, all->context, &file, &parts, NULL),
			 0);
	for (size_t i = 0; i < parts.count; i++)
		sum += parts.list[i].size;
	assert_true(parts.count == 0 || sum == file.size);
	fclose(stream);
}

static void what_cannot_be_read_is_an_error(void **state)
{
	struct categorized *all = with_probes(state);
	auto_categorizers struct categorizers *categorizers = NULL;
	auto_category_parts struct category_parts parts = { 0 };
	auto_error dwarfs_error *err = NULL;
	struct input_file none = INPUT_FILE_NONE;
	struct category_file file = { .path = "gone", .size = MIB, .input_file = &none };

	assert_int_equal(dw_categorizers_new(&all->builder->options, &categorizers, NULL),
			 0);
	assert_int_equal(dw_categorize(categorizers, all->context, &file, &parts, &err),
			 DWARFS_ERR_IO);
	assert_non_null(strstr(dwarfs_error_message(err), "'gone'"));
	assert_int_equal(parts.count, 0);
}

static void memory_is_told(void **state)
{
	struct categorized *all = *state;
	const struct categorize_options *options = &all->builder->options.categorize;

	assert_int_equal(dw_categorizers_memory(options), 0);
	with_probes(state);
	assert_in_range(dw_categorizers_memory(options), 2 * MIB, 32 * MIB);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(noise_does_not_shrink),
		TEST(small_files_are_not_looked_at),
		TEST(short_texts_are_not_random),
		TEST(the_ratio_decides),
		TEST(few_different_bytes_shrink),
		TEST(fragments_are_runs_of_blocks),
		TEST(a_file_may_end_before_its_size),
		TEST(what_cannot_be_read_is_an_error),
		TEST(memory_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
