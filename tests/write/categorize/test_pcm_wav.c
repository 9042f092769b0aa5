/* SPDX-License-Identifier: MIT */
/*
 * Sound in WAV and W64 files.
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

static void wav_is_taken_as_described(void **state)
{
	struct categorized *all = *state;
	const struct codec_samples *samples;
	struct bytes bytes;

	make_wav(&(struct wav){ .tag = 1, .channels = 2, .bits = 12, .data_bytes = 40 },
		 &bytes);
	assert_parts(all, &bytes, "pcmaudio/metadata 44, pcmaudio/waveform 40");
	samples = samples_of(all);
	assert_int_equal(samples->bits_per_sample, 12);
	assert_int_equal(samples->bytes_per_sample, 2);
	assert_int_equal(samples->channels, 2);
	assert_true(samples->lsb_padding && !samples->is_unsigned &&
		    !samples->big_endian);

	/* 20 of 24 bits are used */
	make_wav(&(struct wav){ .tag = 0xfffe,
				.channels = 6,
				.bits = 24,
				.valid_bits = 20,
				.data_bytes = 180 },
		 &bytes);
	assert_parts(all, &bytes, "pcmaudio/metadata 68, pcmaudio/waveform 180");
	samples = samples_of(all);
	assert_int_equal(samples->bits_per_sample, 20);
	assert_int_equal(samples->bytes_per_sample, 3);

	/* 24 bits in samples of 32 */
	make_wav(&(struct wav){ .tag = 1,
				.channels = 1,
				.bits = 24,
				.frame = 4,
				.data_bytes = 8 },
		 &bytes);
	assert_parts(all, &bytes, "pcmaudio/metadata 44, pcmaudio/waveform 8");
	assert_int_equal(samples_of(all)->bytes_per_sample, 4);

	make_wav(&(struct wav){ .tag = 1, .channels = 1, .bits = 8, .data_bytes = 8 },
		 &bytes);
	categorize(all, bytes.data, bytes.size);
	assert_true(samples_of(all)->is_unsigned);
}

static void waveforms_are_whole_frames(void **state)
{
	struct categorized *all = *state;
	struct bytes bytes;

	make_wav(&(struct wav){ .tag = 1, .channels = 2, .bits = 24, .data_bytes = 23 },
		 &bytes);
	assert_parts(all, &bytes,
		     "pcmaudio/metadata 44, pcmaudio/waveform 18, pcmaudio/metadata 5");
	make_wav(&(struct wav){ .tag = 1, .channels = 2, .bits = 24, .data_bytes = 5 },
		 &bytes);
	assert_nothing(all, &bytes);
	make_wav(&(struct wav){ .tag = 1, .channels = 2, .bits = 24, .data_bytes = 0 },
		 &bytes);
	assert_nothing(all, &bytes);
}

static void chunks_around_samples_are_metadata(void **state)
{
	struct categorized *all = *state;
	struct bytes bytes = { .size = 0 };

	append_text(&bytes, "RIFF");
	put_little(&bytes, 0, 4);
	append_text(&bytes, "WAVELIST");
	put_little(&bytes, 3, 4); /* odd, and padded */
	put(&bytes, "abc", 4);
	append_text(&bytes, "fmt ");
	put_little(&bytes, 18, 4);
	put(&bytes, "\1\0\1\0\0\0\0\0\0\0\0\0\2\0\20\0\0", 18);
	append_text(&bytes, "data");
	put_little(&bytes, 6, 4);
	put_zeros(&bytes, 6);
	append_text(&bytes, "id3 behind");
	assert_parts(all, &bytes,
		     "pcmaudio/metadata 58, pcmaudio/waveform 6, pcmaudio/metadata 10");
}

static void malformed_wav_is_reported(void **state)
{
	static const struct {
		struct wav wav;
		const char *words;
	} cases[] = {
		{ { .tag = 1, .channels = 0, .bits = 16, .frame = 2, .data_bytes = 8 },
		  "no channels" },
		{ { .tag = 1, .channels = 1, .bits = 7, .data_bytes = 8 }, "8 bits" },
		{ { .tag = 1, .channels = 1, .bits = 0, .frame = 1, .data_bytes = 8 },
		  "8 bits" },
		{ { .tag = 1, .channels = 1, .bits = 16, .frame = 1, .data_bytes = 8 },
		  "do not fit" },
		{ { .tag = 1, .channels = 2, .bits = 16, .frame = 3, .data_bytes = 8 },
		  "whole number" },
		{ { .tag = 1,
		    .channels = 1,
		    .bits = 16,
		    .data_bytes = 8,
		    .data_excess = 1 },
		  "runs past its end" },
		{ { .tag = 0xfffe,
		    .channels = 1,
		    .bits = 16,
		    .valid_bits = 17,
		    .data_bytes = 8 },
		  "more bits are used" },
		{ { .tag = 0xfffe,
		    .channels = 1,
		    .bits = 16,
		    .format_bytes = 18,
		    .data_bytes = 8 },
		  "cut off" },
	};
	struct categorized *all = *state;
	struct bytes bytes;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		make_wav(&cases[i].wav, &bytes);
		assert_malformed(all, &bytes, cases[i].words);
	}
	make_wav(&cases[0].wav, &bytes);
	bytes.size = 12; /* only the header */
	assert_malformed(all, &bytes, "no samples");
	append_text(&bytes, "data");
	put_little(&bytes, 2, 4);
	put_zeros(&bytes, 2);
	assert_malformed(all, &bytes, "before their description");

	make_wav(&(struct wav){ .tag = 1, .channels = 1, .bits = 16, .data_bytes = 8 },
		 &bytes);
	memcpy(bytes.data + 36, "none", 4);
	put(&bytes, bytes.data + 12, 24);
	assert_malformed(all, &bytes, "describes its samples twice");
}

static void wav_that_is_cut_off_is_no_wav(void **state)
{
	struct bytes bytes;

	make_wav(&(struct wav){ .tag = 1, .channels = 1, .bits = 16, .data_bytes = 8 },
		 &bytes);
	assert_no_prefix(*state, &bytes);
}

/* -- RIFX, RF64, and files written to a pipe ---------------------------------------- */

/* As make_wav(), with everything big-endian. */
static void make_rifx(uint32_t bits, bool extensible, uint32_t data_bytes,
		      struct bytes *out)
{
	uint32_t frame = 2 * ((bits + 7) / 8);

	out->size = 0;
	append_text(out, "RIFX");
	put_big(out, (extensible ? 60 : 36) + data_bytes, 4);
	append_text(out, "WAVEfmt ");
	put_big(out, extensible ? 40 : 16, 4);
	put_big(out, extensible ? 0xfffe : 1, 2);
	put_big(out, 2, 2);
	put_big(out, 48000, 4);
	put_big(out, 48000 * frame, 4);
	put_big(out, frame, 2);
	put_big(out, bits, 2);
	if (extensible) {
		put_big(out, 22, 2);
		put_big(out, bits - 4, 2);
		put_big(out, 3, 4);
		put(out, "\0\0\0\x01\0\0\0\x10\x80\0\0\xaa\0\x38\x9b\x71", 16);
	}
	append_text(out, "data");
	put_big(out, data_bytes, 4);
	put_zeros(out, data_bytes);
}

static void big_endian_wav_is_taken(void **state)
{
	struct categorized *all = *state;
	struct bytes bytes;

	make_rifx(16, false, 40, &bytes);
	assert_parts(all, &bytes, "pcmaudio/metadata 44, pcmaudio/waveform 40");
	assert_true(samples_of(all)->big_endian);
	assert_int_equal(samples_of(all)->bits_per_sample, 16);
	assert_int_equal(samples_of(all)->channels, 2);
	assert_no_prefix(all, &bytes);
	make_rifx(24, true, 42, &bytes);
	assert_parts(all, &bytes, "pcmaudio/metadata 68, pcmaudio/waveform 42");
	assert_true(samples_of(all)->big_endian);
	assert_int_equal(samples_of(all)->bits_per_sample, 20);
	make_rifx(8, false, 40, &bytes);
	assert_parts(all, &bytes, "pcmaudio/metadata 44, pcmaudio/waveform 40");
	assert_true(samples_of(all)->is_unsigned);

	make_rifx(16, false, 40, &bytes);
	memcpy(bytes.data, "RIFF", 4); /* the sizes are invalid */
	assert_malformed(all, &bytes, "runs past its end");
}

/* 12 bytes of samples, followed by 6 more; sizes_data is the size in the chunk of
 * sizes. */
static void make_rf64(const char *name, uint32_t data_size, uint64_t sizes_data,
		      uint32_t sizes_bytes, struct bytes *out)
{
	out->size = 0;
	append_text(out, name);
	put_little(out, UINT32_MAX, 4);
	append_text(out, "WAVEds64");
	put_little(out, sizes_bytes, 4);
	put_little(out, 98, 8);
	put_little(out, sizes_data, sizes_bytes < 16 ? 4 : 8);
	if (sizes_bytes > 16)
		put_zeros(out, sizes_bytes - 16);
	append_text(out, "fmt ");
	put_little(out, 16, 4);
	put(out, "\1\0\1\0\x44\xac\0\0\x88\x58\1\0\2\0\x10\0", 16);
	append_text(out, "data");
	put_little(out, data_size, 4);
	put_zeros(out, 12);
	append_text(out, "behind");
}

static void large_wav_is_taken(void **state)
{
	static const char *const names[] = { "RF64", "BW64" };
	struct categorized *all = *state;
	struct bytes bytes;

	for (size_t i = 0; i < 2; i++) {
		make_rf64(names[i], UINT32_MAX, 12, 28, &bytes);
		assert_parts(all, &bytes,
			     "pcmaudio/metadata 80, pcmaudio/waveform 12, "
			     "pcmaudio/metadata 6");
		make_rf64(names[i], 12, 0, 28, &bytes); /* small in fact */
		assert_parts(all, &bytes,
			     "pcmaudio/metadata 80, pcmaudio/waveform 12, "
			     "pcmaudio/metadata 6");
		make_rf64(names[i], UINT32_MAX, 0, 28, &bytes); /* unknown */
		assert_parts(all, &bytes, "pcmaudio/metadata 80, pcmaudio/waveform 18");
		make_rf64(names[i], UINT32_MAX, UINT64_MAX, 28, &bytes);
		assert_parts(all, &bytes, "pcmaudio/metadata 80, pcmaudio/waveform 18");
		make_rf64(names[i], UINT32_MAX, 19, 28, &bytes);
		assert_malformed(all, &bytes, "runs past its end");
		make_rf64(names[i], 19, 12, 28, &bytes);
		assert_malformed(all, &bytes, "runs past its end");
		make_rf64(names[i], UINT32_MAX, 12, 12, &bytes);
		assert_malformed(all, &bytes, "cut off");
	}
}

/* -- W64 ---------------------------------------------------------------------------- */

static const char w64_tail[] = "\xf3\xac\xd3\x11\x8c\xd1\x00\xc0\x4f\x8e\xdb\x8a";

static void put_w64_id(struct bytes *bytes, const char *letters)
{
	append_text(bytes, letters);
	put(bytes, w64_tail, 12);
}

static void make_w64(uint32_t bits, uint64_t format_excess, uint64_t data_excess,
		     struct bytes *out)
{
	out->size = 0;
	append_text(out, "riff");
	put(out, "\x2e\x91\xcf\x11\xa5\xd6\x28\xdb\x04\xc1\0", 12);
	put_little(out, 131, 8);
	put_w64_id(out, "wave");
	put_w64_id(out, "fmt ");
	put_little(out, 24 + 18 + format_excess, 8);
	put_little(out, 1, 2);
	put_little(out, 1, 2);
	put_zeros(out, 8);
	put_little(out, (bits + 7) / 8, 2);
	put_little(out, bits, 2);
	put_zeros(out, 8); /* two bytes of the chunk, six of padding */
	put_w64_id(out, "data");
	put_little(out, 24 + 3 + data_excess, 8);
	put_zeros(out, 3);
}

static void w64_is_taken_as_described(void **state)
{
	struct bytes bytes;

	make_w64(24, 0, 0, &bytes);
	assert_parts(*state, &bytes, "pcmaudio/metadata 112, pcmaudio/waveform 3");
	assert_no_prefix(*state, &bytes);
	make_w64(24, 0, 1, &bytes);
	assert_malformed(*state, &bytes, "runs past its end");
	make_w64(24, 0, (uint64_t)-4, &bytes); /* smaller than its own header */
	assert_malformed(*state, &bytes, "runs past its end");
	make_w64(24, UINT64_MAX - 100, 0, &bytes);
	assert_malformed(*state, &bytes, "runs past its end");
	make_w64(5, 0, 0, &bytes);
	assert_malformed(*state, &bytes, "8 bits");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(wav_is_taken_as_described),
		TEST(waveforms_are_whole_frames),
		TEST(chunks_around_samples_are_metadata),
		TEST(malformed_wav_is_reported),
		TEST(wav_that_is_cut_off_is_no_wav),
		TEST(big_endian_wav_is_taken),
		TEST(large_wav_is_taken),
		TEST(w64_is_taken_as_described),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
