/* SPDX-License-Identifier: MIT */
/*
 * write/categorize/pcm_caf: sound in CAF files.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

struct caf {
	uint32_t flags, packet, frames, channels, bits;
	uint64_t data_bytes, stated_bytes; /* 0: the actual size */
};

static void make_caf(const struct caf *caf, struct bytes *out)
{
	out->size = 0;
	put(out, "caff\0\1\0", 8);
	append_text(out, "desc");
	put_big(out, 32, 8);
	put_zeros(out, 8);
	append_text(out, "lpcm");
	put_big(out, caf->flags, 4);
	put_big(out, caf->packet, 4);
	put_big(out, caf->frames, 4);
	put_big(out, caf->channels, 4);
	put_big(out, caf->bits, 4);
	append_text(out, "data");
	put_big(out, caf->stated_bytes ? caf->stated_bytes : 4 + caf->data_bytes, 8);
	put_zeros(out, 4 + caf->data_bytes);
}

static void caf_is_taken_as_described(void **state)
{
	struct categorized *all = *state;
	struct bytes bytes;

	make_caf(&(struct caf){ .packet = 6,
				.frames = 1,
				.channels = 2,
				.bits = 20,
				.data_bytes = 13 },
		 &bytes);
	assert_parts(all, &bytes,
		     "pcmaudio/metadata 68, pcmaudio/waveform 12, pcmaudio/metadata 1");
	assert_int_equal(samples_of(all)->bits_per_sample, 20);
	assert_true(samples_of(all)->big_endian && samples_of(all)->lsb_padding);
	assert_no_prefix(all, &bytes);
	make_caf(&(struct caf){ .flags = 2,
				.packet = 2,
				.frames = 1,
				.channels = 1,
				.bits = 16,
				.data_bytes = 8,
				.stated_bytes = UINT64_MAX /* up to the end */ },
		 &bytes);
	assert_parts(all, &bytes, "pcmaudio/metadata 68, pcmaudio/waveform 8");
	assert_false(samples_of(all)->big_endian);
}

static void malformed_caf_is_reported(void **state)
{
	static const struct {
		struct caf caf;
		const char *words; /* NULL: well-formed, but of the default category */
	} cases[] = {
		{ { .packet = 2, .frames = 1, .bits = 16, .data_bytes = 8 },
		  "no channels" },
		{ { .packet = 1, .frames = 1, .channels = 1, .bits = 7, .data_bytes = 8 },
		  "8 bits" },
		{ { .packet = 3, .frames = 1, .channels = 2, .bits = 8, .data_bytes = 8 },
		  "whole number" },
		{ { .packet = 2, .frames = 2, .channels = 1, .bits = 8, .data_bytes = 8 },
		  "one frame" },
		{ { .packet = 1,
		    .frames = 1,
		    .channels = 1,
		    .bits = 16,
		    .data_bytes = 8 },
		  "do not fit" },
		{ { .packet = 2,
		    .frames = 1,
		    .channels = 1,
		    .bits = 16,
		    .data_bytes = 8,
		    .stated_bytes = 13 },
		  "runs past its end" },
		{ { .packet = 2,
		    .frames = 1,
		    .channels = 1,
		    .bits = 16,
		    .data_bytes = 8,
		    .stated_bytes = UINT64_MAX - 1 },
		  "runs past its end" },
		{ { .packet = 2,
		    .frames = 1,
		    .channels = 1,
		    .bits = 16,
		    .data_bytes = 8,
		    .stated_bytes = 3 },
		  "cut off" },
		{ { .flags = 1,
		    .packet = 4,
		    .frames = 1,
		    .channels = 1,
		    .bits = 32,
		    .data_bytes = 8 },
		  NULL },
		{ { .packet = 2000000000,
		    .frames = 1,
		    .channels = 1,
		    .bits = 16,
		    .data_bytes = 8 },
		  NULL },
	};
	struct categorized *all = *state;
	struct bytes bytes;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		make_caf(&cases[i].caf, &bytes);
		if (cases[i].words)
			assert_malformed(all, &bytes, cases[i].words);
		else
			assert_nothing(all, &bytes);
	}
	bytes.size = 0;
	put(&bytes, "caff\0\1\0", 8);
	append_text(&bytes, "free");
	put_big(&bytes, 0, 8);
	assert_malformed(all, &bytes, "does not begin with a description");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(caf_is_taken_as_described),
		TEST(malformed_caf_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
