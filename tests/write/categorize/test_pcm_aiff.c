/* SPDX-License-Identifier: MIT */
/*
 * Sound in AIFF and CAF files.
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

struct aiff {
	const char *kind; /* of compression, AIFF-C only */
	uint32_t channels, bits, frames, data_bytes, skip;
	bool samples_first;
};

static void put_common(const struct aiff *aiff, struct bytes *out)
{
	append_text(out, "COMM");
	put_big(out, aiff->kind ? 24 : 18, 4);
	put_big(out, aiff->channels, 2);
	put_big(out, aiff->frames, 4);
	put_big(out, aiff->bits, 2);
	put_zeros(out, 10);
	if (aiff->kind) {
		append_text(out, aiff->kind);
		put_zeros(out, 2);
	}
}

static void make_aiff(const struct aiff *aiff, struct bytes *out)
{
	out->size = 0;
	append_text(out, "FORM");
	put_big(out, 0, 4);
	append_text(out, aiff->kind ? "AIFC" : "AIFF");
	if (!aiff->samples_first)
		put_common(aiff, out);
	append_text(out, "SSND");
	put_big(out, 8 + aiff->data_bytes, 4);
	put_big(out, aiff->skip, 4);
	put_big(out, 0, 4);
	put_zeros(out, aiff->data_bytes);
	if (aiff->samples_first)
		put_common(aiff, out);
}

static void aiff_is_taken_as_described(void **state)
{
	struct categorized *all = *state;
	struct bytes bytes;

	make_aiff(
		&(struct aiff){
			.channels = 2, .bits = 20, .frames = 4, .data_bytes = 24 },
		&bytes);
	assert_parts(all, &bytes, "pcmaudio/metadata 54, pcmaudio/waveform 24");
	assert_int_equal(samples_of(all)->bits_per_sample, 20);
	assert_int_equal(samples_of(all)->bytes_per_sample, 3);
	assert_true(samples_of(all)->big_endian && samples_of(all)->lsb_padding);
	assert_no_prefix(all, &bytes);

	make_aiff(&(struct aiff){ .channels = 1,
				  .bits = 16,
				  .frames = 4,
				  .data_bytes = 10,
				  .skip = 2,
				  .samples_first = true },
		  &bytes);
	assert_parts(all, &bytes,
		     "pcmaudio/metadata 30, pcmaudio/waveform 8, pcmaudio/metadata 26");
	make_aiff(&(struct aiff){ .kind = "sowt",
				  .channels = 1,
				  .bits = 16,
				  .frames = 4,
				  .data_bytes = 8 },
		  &bytes);
	assert_parts(all, &bytes, "pcmaudio/metadata 60, pcmaudio/waveform 8");
	assert_false(samples_of(all)->big_endian);
	make_aiff(&(struct aiff){ .kind = "NONE",
				  .channels = 1,
				  .bits = 16,
				  .frames = 4,
				  .data_bytes = 8 },
		  &bytes);
	assert_parts(all, &bytes, "pcmaudio/metadata 60, pcmaudio/waveform 8");
	assert_true(samples_of(all)->big_endian);
}

static void malformed_aiff_is_reported(void **state)
{
	struct categorized *all = *state;
	struct bytes bytes;

	make_aiff(&(struct aiff){ .bits = 16, .frames = 4, .data_bytes = 8 }, &bytes);
	assert_malformed(all, &bytes, "no channels");
	make_aiff(
		&(struct aiff){ .channels = 1, .bits = 7, .frames = 4, .data_bytes = 8 },
		&bytes);
	assert_malformed(all, &bytes, "8 bits");
	make_aiff(
		&(struct aiff){ .channels = 1, .bits = 16, .frames = 5, .data_bytes = 8 },
		&bytes);
	assert_malformed(all, &bytes, "fewer samples");
	make_aiff(&(struct aiff){ .channels = 0xffff,
				  .bits = 32,
				  .frames = UINT32_MAX,
				  .data_bytes = 8 },
		  &bytes);
	assert_nothing(all, &bytes); /* too many channels */
	make_aiff(&(struct aiff){ .channels = 8,
				  .bits = 32,
				  .frames = UINT32_MAX,
				  .data_bytes = 8 },
		  &bytes);
	assert_malformed(all, &bytes, "fewer samples");
	make_aiff(&(struct aiff){ .channels = 1,
				  .bits = 16,
				  .frames = 4,
				  .data_bytes = 8,
				  .skip = UINT32_MAX },
		  &bytes);
	assert_malformed(all, &bytes, "past the end of their chunk");
	make_aiff(&(struct aiff){ .kind = "ima4",
				  .channels = 1,
				  .bits = 16,
				  .frames = 4,
				  .data_bytes = 8 },
		  &bytes);
	assert_nothing(all, &bytes);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(aiff_is_taken_as_described),
		TEST(malformed_aiff_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
