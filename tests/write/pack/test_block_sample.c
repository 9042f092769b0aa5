/* SPDX-License-Identifier: MIT */
/*
 * write/pack/block_sample: what a sample says of a block.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "codec/encode/encode.h"
#include "support/borders.h"
#include "write/pack/block_sample.h"

enum { BLOCK = 2 << 20, UNIT = 64 << 10 };

static uint8_t data[BLOCK];

static void fill_with_digits(uint8_t *out, size_t size, uint32_t random)
{
	for (size_t i = 0; i < size; i++) {
		random = random * 1664525 + 1013904223;
		out[i] = (uint8_t) "0123456789abcdef"[random >> 28];
	}
}

/* Numbers of 4 bytes, of which the highest three change seldom. */
static void fill_with_numbers(uint8_t *out, size_t size)
{
	uint32_t random = 1, number = 0;

	for (size_t i = 0; i + 4 <= size; i += 4) {
		random = random * 1664525 + 1013904223;
		number += random >> 27;
		memcpy(out + i, &number, 4);
	}
}

static void fill_with_noise(uint8_t *out, size_t size)
{
	uint32_t random = 1;

	for (size_t i = 0; i < size; i++) {
		random = random * 1664525 + 1013904223;
		out[i] = (uint8_t)(random >> 24);
	}
}

static struct block_sample *sample_of(size_t size)
{
	struct block_sample *sample;

	assert_int_equal(dw_block_sample_new(BLOCK, NULL, &sample, NULL), 0);
	assert_int_equal(dw_block_sample_take(sample, (struct span){ data, size }, NULL),
			 0);
	return sample;
}

static bool is_dense(size_t size)
{
	struct block_sample *sample = sample_of(size);
	bool dense = dw_block_sample_is_dense(sample);

	dw_block_sample_free(sample);
	return dense;
}

static bool is_literal(size_t size)
{
	struct block_sample *sample = sample_of(size);
	bool literal;

	assert_int_equal(dw_block_sample_is_literal(sample, &literal, NULL), 0);
	dw_block_sample_free(sample);
	return literal;
}

static bool is_numeric(size_t size)
{
	struct block_sample *sample = sample_of(size);
	bool numeric, repeats;

	assert_int_equal(dw_block_sample_is_numeric(sample, &numeric, &repeats, NULL), 0);
	dw_block_sample_free(sample);
	assert_true(numeric || !repeats);
	return numeric;
}

/* It is numeric; whether it may be better by zstd nevertheless. */
static bool is_doubtful(size_t size)
{
	struct block_sample *sample = sample_of(size);
	bool numeric, repeats;

	assert_int_equal(dw_block_sample_is_numeric(sample, &numeric, &repeats, NULL), 0);
	dw_block_sample_free(sample);
	assert_true(numeric);
	return repeats;
}

static bool may_shrink(size_t size, size_t packed_bytes)
{
	struct block_sample *sample = sample_of(size);
	bool may;

	assert_int_equal(dw_block_sample_may_shrink(sample, packed_bytes, &may, NULL), 0);
	dw_block_sample_free(sample);
	return may;
}

/* Of a part that no piece of the sample has, nothing is known. */
static void pieces_are_all_over_the_block(void **state)
{
	memset(data, 0, BLOCK);
	assert_true(is_dense(BLOCK));
	assert_true(is_dense(1000));
	fill_with_noise(data + UNIT, BLOCK / 16 - UNIT);
	assert_true(is_dense(BLOCK));
	fill_with_noise(data + BLOCK - BLOCK / 16, UNIT);
	assert_false(is_dense(BLOCK));
	fill_with_digits(data, BLOCK, 1);
	assert_false(is_dense(BLOCK));
	assert_false(is_dense(1000));
	assert_false(is_dense(0));
}

static void literals_have_no_repeats(void **state)
{
	fill_with_digits(data, BLOCK, 1);
	assert_true(is_literal(BLOCK));
	assert_true(is_literal(UNIT));
	/* Repeats of 4 bytes, which only the slower codec finds. */
	fill_with_numbers(data, BLOCK);
	assert_false(is_literal(BLOCK));
	/* Repeats within a piece. */
	fill_with_digits(data, BLOCK, 1);
	for (size_t at = 0; at + 2048 <= BLOCK; at += 2048)
		memcpy(data + at + 1024, data + at, 128);
	assert_false(is_literal(BLOCK));
}

/* Ids of 8 bytes, of which each occurs twice, far from one another, are repeats; a few are not. */
static void repeats_may_be_anywhere(void **state)
{
	fill_with_noise(data, BLOCK);
	assert_true(is_literal(BLOCK));
	for (size_t at = 0; at + 16 <= BLOCK / 2; at += 16)
		memcpy(data + BLOCK / 2 + at, data + at * 7 % (BLOCK / 2), 8);
	assert_false(is_literal(BLOCK));
	fill_with_noise(data, BLOCK);
	for (size_t at = 0; at + 8192 <= BLOCK / 2; at += 8192)
		memcpy(data + BLOCK / 2 + at, data + at * 7 % (BLOCK / 2), 8);
	assert_true(is_literal(BLOCK));
	/* Each byte has so few bits that only very long runs are no coincidence. */
	for (size_t i = 0; i < BLOCK; i++)
		data[i] = data[i] % 64 == 0;
	assert_false(is_literal(BLOCK));
}

/* Pixels of 4 bytes that differ little from those before, where the last byte is constant. */
static void fill_with_pixels(uint8_t *out, size_t size)
{
	uint32_t random = 1;

	for (size_t i = 0; i < size; i++) {
		random = random * 1664525 + 1013904223;
		out[i] = i % 4 == 3
				 ? 255
				 : (uint8_t)((random >> 29) + (i > 3 ? out[i - 4] : 0));
	}
}

/* Records of 24 bytes: a constant double, one with noise, and two small numbers. */
static void fill_with_records(uint8_t *out, size_t size)
{
	uint32_t random = 1;

	for (size_t at = 0; at + 24 <= size; at += 24) {
		double same = 20.125, value;
		uint32_t small[2];

		random = random * 1664525 + 1013904223;
		value = 100 + (double)(random >> 8) / (1 << 20);
		small[0] = random >> 20 & 63;
		small[1] = (uint32_t)(at / 24);
		memcpy(out + at, &same, 8);
		memcpy(out + at + 8, &value, 8);
		memcpy(out + at + 16, small, 8);
	}
}

static void numbers_are_found(void **state)
{
	void (*const fill[])(uint8_t * out, size_t size) = { fill_with_numbers,
							     fill_with_pixels,
							     fill_with_records };

	if (!dw_codec_can_pack(CODEC_LZMA))
		skip();
	for (size_t i = 0; i < 3; i++) {
		memset(data, 0, BLOCK);
		fill[i](data, BLOCK);
		assert_true(is_numeric(BLOCK));
		if (i == 0) {
			assert_true(is_numeric(BLOCK - 234567));
			assert_true(is_numeric(16 * UNIT));
		}
		assert_false(is_numeric(16 * UNIT - 1)); /* so little is not tried */
		/* Most of the block decides. */
		fill_with_digits(data + BLOCK / 8, BLOCK / 8 * 7, 1);
		assert_false(is_numeric(BLOCK));
	}
	assert_false(is_numeric(0));
}

/* Of 512 words, the first ones more often. */
static void fill_with_words(uint8_t *out, size_t size)
{
	uint32_t random = 2;

	for (size_t at = 0; at < size;) {
		uint32_t letters = next_random(&random) % 512 *
				   (next_random(&random) % 512) / 512 * 2654435761u;
		size_t length = 2 + letters % 8;

		for (size_t i = 0; i < length && at < size; i++, letters >>= 3)
			out[at++] = (uint8_t)("etaoinsr"[letters & 7]);
		if (at < size)
			out[at++] = ' ';
	}
}

/* Tables as text, also beside a text that takes most of the bytes that the sample is packed to. */
static void tables_are_found(void **state)
{
	if (!dw_codec_can_pack(CODEC_LZMA))
		skip();
	fill_with_words(data, BLOCK);
	assert_false(is_numeric(BLOCK));
	fill_with_borders(data, BLOCK / 8 * 5);
	assert_true(is_doubtful(BLOCK));
	fill_with_borders(data, BLOCK);
	assert_true(is_numeric(BLOCK));
	/* The sample is 5 to 15 % smaller; one of its pieces is not enough, two are. */
	memset(data, 0, BLOCK);
	fill_with_borders(data, BLOCK / 8);
	fill_with_words(data + BLOCK / 4, 8 << 10);
	assert_false(is_numeric(BLOCK));
	memcpy(data + BLOCK / 8, data, BLOCK / 8);
	assert_true(is_doubtful(BLOCK));
}

static bool is_prose(size_t size)
{
	struct block_sample *sample = sample_of(size);
	bool prose = dw_block_sample_is_prose(sample);

	dw_block_sample_free(sample);
	return prose;
}

/* Of 1 to 256 bytes. */
static void divide_into_lines(uint8_t *text, size_t size)
{
	uint32_t random = 4;

	for (size_t at = 0; at < size; at += 1 + next_random(&random) % 256)
		text[at] = '\n';
}

enum { PROSE = 16 * UNIT, PIECE = 3 * UNIT };

/* Words in lines, which are prose. */
static void fill_with_prose(uint8_t *text, size_t size)
{
	fill_with_words(text, size);
	divide_into_lines(text, size);
}

/* Whether prose is still prose if one byte in so many of a piece is replaced by this one. */
static bool is_prose_with(uint8_t byte, size_t one_in)
{
	fill_with_prose(data, PROSE);
	for (size_t at = 0; at < UNIT; at += one_in)
		data[PIECE + at] = byte;
	return is_prose(PROSE);
}

/* In each piece of the sample: with line feeds, blanks, few control characters and few digits. */
static void prose_is_recognized(void **state)
{
	fill_with_words(data, PROSE);
	assert_false(is_prose(PROSE));
	fill_with_prose(data, PROSE);
	assert_true(is_prose(PROSE));
	assert_true(is_prose(PROSE - 1234));
	for (size_t i = 0; i < 6; i++)
		assert_true(is_prose_with((uint8_t) "\t\v\f\r\033a"[i], 128));
	assert_true(is_prose_with(1, 256));
	assert_false(is_prose_with(1, 255));
	assert_false(is_prose_with(0x7f, 128));
	assert_false(is_prose_with(0x1f, 128));
	assert_true(is_prose_with('7', 4));
	assert_false(is_prose_with('7', 3));
	fill_with_prose(data, PROSE); /* without blanks in a piece */
	for (size_t at = PIECE; at < PIECE + UNIT; at++)
		if (data[at] == ' ')
			data[at] = '_';
	assert_false(is_prose(PROSE));
}

/* More than half of a piece in lines as long as the one before; a few are so in prose. */
static void tables_are_no_prose(void **state)
{
	const size_t half = UNIT / 2;

	fill_with_prose(data, PROSE);
	for (size_t at = PIECE; at < PIECE + half - half / 8; at++)
		data[at] = at % 64 ? 'a' : '\n';
	assert_true(is_prose(PROSE));
	for (size_t at = PIECE; at < PIECE + half + half / 4; at++)
		data[at] = at % 64 ? 'a' : '\n';
	assert_false(is_prose(PROSE));
	fill_with_numbers(data, PROSE);
	assert_false(is_prose(PROSE));
	fill_with_borders(data, PROSE);
	assert_false(is_prose(PROSE));
}

/* Samples of 16 bits. */
static void fill_with_sound(uint8_t *out, size_t size)
{
	uint32_t random = 3, value = 0;

	for (size_t at = 0; at + 2 <= size; at += 2) {
		value += next_random(&random) % 1024 - 512;
		dw_store16(out + at, (uint16_t)value);
	}
}

/* Beside other data a distance is enough for an attempt. */
static void sound_beside_noise_is_tried(void **state)
{
	if (!dw_codec_can_pack(CODEC_LZMA))
		skip();
	fill_with_sound(data, BLOCK);
	assert_false(is_doubtful(BLOCK));
	fill_with_noise(data, BLOCK / 2);
	assert_true(is_doubtful(BLOCK));
	fill_with_noise(data, BLOCK / 8 * 7);
	assert_false(is_numeric(BLOCK));
}

static void other_data_are_no_numbers(void **state)
{
	if (!dw_codec_can_pack(CODEC_LZMA))
		skip();
	fill_with_digits(data, BLOCK, 1);
	assert_false(is_numeric(BLOCK));
	fill_with_noise(data, BLOCK);
	assert_false(is_numeric(BLOCK));
	/* At equal distances, but zstd finds it. */
	for (size_t at = 0; at + 64 <= BLOCK; at += 64)
		memcpy(data + at, data, 48);
	assert_false(is_numeric(BLOCK));
}

/* The size of all of the block decides: digits take half of theirs. */
static void the_whole_block_confirms_it(void **state)
{
	struct block_sample *sample;
	bool literal;

	fill_with_digits(data, BLOCK, 1);
	sample = sample_of(BLOCK);
	assert_int_equal(dw_block_sample_is_literal(sample, &literal, NULL), 0);
	assert_true(literal);
	assert_true(dw_block_sample_confirms_literal(sample, BLOCK / 2));
	assert_true(dw_block_sample_confirms_literal(sample, BLOCK / 2 + BLOCK / 400));
	/* As if there were repeats that the sample has not. */
	assert_false(dw_block_sample_confirms_literal(sample, BLOCK / 2 - BLOCK / 200));
	/* As if the sample had repeats that were not found. */
	assert_false(dw_block_sample_confirms_literal(sample, BLOCK / 2 + BLOCK / 100));
	dw_block_sample_free(sample);
}

static bool is_noise(void)
{
	struct block_sample *sample = sample_of(BLOCK);
	bool literal, noise;

	assert_int_equal(dw_block_sample_is_literal(sample, &literal, NULL), 0);
	assert_true(literal);
	noise = dw_block_sample_is_noise(sample);
	dw_block_sample_free(sample);
	return noise;
}

/* Literals of less than 8 bits are no noise, but of nearly 8 they are. */
static void noise_has_all_values(void **state)
{
	fill_with_noise(data, BLOCK);
	assert_true(is_noise());
	for (size_t i = 0; i < BLOCK; i++)
		data[i] = data[i] < 4 ? 255 : data[i];
	assert_false(is_noise());
	fill_with_digits(data, BLOCK, 1);
	assert_false(is_noise());
}

static void sizes_are_compared_in_proportion(void **state)
{
	fill_with_digits(data, BLOCK, 1);
	assert_true(may_shrink(BLOCK, BLOCK / 2 + BLOCK / 50));
	assert_false(may_shrink(BLOCK, BLOCK / 2));
	assert_true(may_shrink(UNIT, UNIT / 2 + UNIT / 50));
	assert_false(may_shrink(UNIT, UNIT / 2));
	/* Short repeats are not for a codec that finds long ones. */
	fill_with_numbers(data, BLOCK);
	assert_false(may_shrink(BLOCK, BLOCK / 2));
}

/* Lines that begin with a random hash and end with a path: the sample may be larger. */
static void long_matches_alone_may_be_better(void **state)
{
	auto_buffer struct buffer out = { 0 };
	struct codec_spec spec;
	struct codec *codec;
	char path[64];
	uint32_t id;

	fill_with_digits(data, BLOCK, 1);
	for (size_t i = 0; i + 100 <= BLOCK; i += 100) {
		snprintf(path, sizeof(path), "  ./include/module%04zu/file%06zu.h\n",
			 i / 4000, i / 100);
		memcpy(data + i + 64, path, 36);
	}
	assert_int_equal(dw_codec_parse("zstd:level=9", &spec, NULL), 0);
	assert_int_equal(dw_codec_new(&spec, BLOCK, &codec, NULL), 0);
	assert_int_equal(
		dw_codec_pack(codec, (struct span){ data, BLOCK }, &out, &id, NULL), 0);
	dw_codec_free(codec);
	assert_true(may_shrink(BLOCK, out.size));
	assert_false(may_shrink(BLOCK, out.size - out.size / 5));
}

static void a_stop_is_for_all_codecs(void **state)
{
	struct block_sample *sample;
	atomic_bool stop = false;
	bool is, repeats;

	fill_with_digits(data, BLOCK, 1);
	assert_int_equal(dw_block_sample_new(BLOCK, &stop, &sample, NULL), 0);
	assert_int_equal(dw_block_sample_take(sample, (struct span){ data, BLOCK }, NULL),
			 0);
	stop = true;
	assert_int_equal(dw_block_sample_is_literal(sample, &is, NULL),
			 DWARFS_ERR_CANCELLED);
	assert_false(is);
	assert_int_equal(dw_block_sample_may_shrink(sample, BLOCK / 2, &is, NULL),
			 DWARFS_ERR_CANCELLED);
	assert_false(is);
	assert_int_equal(dw_block_sample_take(sample, (struct span){ data, BLOCK }, NULL),
			 DWARFS_ERR_CANCELLED);
	stop = false;
	fill_with_numbers(data, BLOCK);
	assert_int_equal(dw_block_sample_take(sample, (struct span){ data, BLOCK }, NULL),
			 0);
	stop = true;
	if (dw_codec_can_pack(CODEC_LZMA))
		assert_int_equal(dw_block_sample_is_numeric(sample, &is, &repeats, NULL),
				 DWARFS_ERR_CANCELLED);
	assert_false(is);
	dw_block_sample_free(sample);
}

static void small_blocks_take_less_memory(void **state)
{
	const uint64_t dense = dw_block_sample_memory(false, false, 1 << 26);

	assert_true(dw_block_sample_memory(false, true, 1 << 10) <
		    dw_block_sample_memory(false, true, 1 << 20));
	assert_int_equal(dw_block_sample_memory(true, true, 1 << 20),
			 dw_block_sample_memory(true, true, 1 << 26));
	assert_in_range(dw_block_sample_memory(false, true, 1 << 26), dense + (4 << 20),
			12 << 20);
	assert_true(dw_block_sample_memory(true, false, 1 << 26) > dense + (1 << 20));
	assert_in_range(dw_block_sample_memory(true, true, 1 << 26), dense + (6 << 20),
			26 << 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pieces_are_all_over_the_block),
		cmocka_unit_test(literals_have_no_repeats),
		cmocka_unit_test(repeats_may_be_anywhere),
		cmocka_unit_test(numbers_are_found),
		cmocka_unit_test(tables_are_found),
		cmocka_unit_test(prose_is_recognized),
		cmocka_unit_test(tables_are_no_prose),
		cmocka_unit_test(sound_beside_noise_is_tried),
		cmocka_unit_test(other_data_are_no_numbers),
		cmocka_unit_test(the_whole_block_confirms_it),
		cmocka_unit_test(noise_has_all_values),
		cmocka_unit_test(sizes_are_compared_in_proportion),
		cmocka_unit_test(long_matches_alone_may_be_better),
		cmocka_unit_test(a_stop_is_for_all_codecs),
		cmocka_unit_test(small_blocks_take_less_memory),
	};

	if (!dw_codec_can_pack(CODEC_ZSTD)) {
		puts("this library was built without zstd");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
