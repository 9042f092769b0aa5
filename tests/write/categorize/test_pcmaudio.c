/* SPDX-License-Identifier: MIT */
/*
 * write/categorize/pcmaudio: sample layouts, and the chunks of all formats.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "support/categorized.h"

static int setup(void **state)
{
	*state = categorized_new("pcmaudio");
	return 0;
}

static int teardown(void **state)
{
	categorized_free(*state);
	return 0;
}

static void other_samples_are_left_alone(void **state)
{
	static const struct wav cases[] = {
		{ .tag = 3, .channels = 1, .bits = 32, .data_bytes = 8 },   /* float */
		{ .tag = 0x55, .channels = 2, .bits = 0, .data_bytes = 8 }, /* MP3 */
		{ .tag = 1, .channels = 9, .bits = 16, .data_bytes = 18 },
		{ .tag = 1, .channels = 1, .bits = 64, .data_bytes = 16 },
	};
	struct bytes bytes;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		make_wav(&cases[i], &bytes);
		assert_nothing(*state, &bytes);
	}
}

static void sizes_may_be_missing(void **state)
{
	static const struct {
		uint32_t riff, data;
	} open[] = { { UINT32_MAX, UINT32_MAX },
		     { 0, 0 },
		     { 36, 0 },
		     { UINT32_MAX, 0 },
		     { 0x7ffff024, 0x7ffff000 },
		     { 0x7fffffff, 0x7fffff00 } };
	struct categorized *all = *state;
	struct bytes bytes;

	make_wav(&(struct wav){ .tag = 1, .channels = 1, .bits = 16, .data_bytes = 8 },
		 &bytes);
	for (size_t i = 0; i < sizeof(open) / sizeof(open[0]); i++) {
		dw_store32(bytes.data + 4, open[i].riff);
		dw_store32(bytes.data + 40, open[i].data);
		assert_parts(all, &bytes, "pcmaudio/metadata 44, pcmaudio/waveform 8");
	}
	/* There are no samples, and the following bytes are of another kind. */
	dw_store32(bytes.data + 4, 44);
	dw_store32(bytes.data + 40, 0);
	assert_nothing(all, &bytes);
	/* Only for samples. */
	dw_store32(bytes.data + 4, UINT32_MAX);
	dw_store32(bytes.data + 16, UINT32_MAX);
	assert_malformed(all, &bytes, "no samples");
}

static void endless_chunks_come_to_an_end(void **state)
{
	static struct bytes bytes;

	bytes.size = 0;
	append_text(&bytes, "RIFF");
	put_little(&bytes, 0, 4);
	append_text(&bytes, "WAVE");
	while (bytes.size <= sizeof(bytes.data) - 8) {
		append_text(&bytes, "none");
		put_little(&bytes, 0, 4);
	}
	assert_malformed(*state, &bytes, "too many chunks");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(other_samples_are_left_alone),
		TEST(endless_chunks_come_to_an_end),
		TEST(sizes_may_be_missing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
