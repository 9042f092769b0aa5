/* SPDX-License-Identifier: MIT */
/*
 * codec/ricepp: compression is lossless, is as short as the format allows, and falls back
 * to storing.
 */
#include "support/codec_data.h"

#include "base/bytes.h"

struct shape {
	unsigned block, components, unused_bits;
	bool big_endian;
};

static struct codec_spec spec_of(const struct shape *shape)
{
	return (struct codec_spec){
		.id = CODEC_RICEPP,
		.block_samples = (int)shape->block,
		.samples = { .is_known = true,
			     .big_endian = shape->big_endian,
			     .bytes_per_sample = 2,
			     .unused_lsb_count = (uint8_t)shape->unused_bits,
			     .channels = (uint16_t)shape->components },
	};
}

/* Compress, and check the round trip; returns the compressed size, 0 if stored. */
static size_t pack(const struct shape *shape, const uint8_t *data, size_t size,
		   struct buffer *out)
{
	auto_codec struct codec *codec = NULL;
	auto_free uint8_t *back = exactly(size), *in = copy_of(data, size),
			  *packed = NULL;
	struct codec_spec spec = spec_of(shape);
	uint64_t announced = 0;
	struct span span;
	uint32_t id;

	assert_int_equal(dw_codec_new(&spec, size, &codec, NULL), 0);
	out->size = 0;
	assert_int_equal(dw_codec_pack(codec, (struct span){ in, size }, out, &id, NULL),
			 0);
	if (id == CODEC_NONE) {
		assert_int_equal(out->size, 0);
		return 0;
	}
	assert_int_equal(id, CODEC_RICEPP);
	packed = copy_of(out->data, out->size);
	span = (struct span){ packed, out->size };
	assert_int_equal(dw_codec_unpacked_size(id, span, &announced, NULL), 0);
	assert_int_equal(announced, size);
	assert_int_equal(dw_codec_unpack(id, span, back, size, NULL), 0);
	assert_memory_equal(back, data, size);
	return out->size;
}

static void store(const struct shape *shape, uint8_t *data, size_t at, uint32_t value)
{
	uint16_t word = (uint16_t)(value << shape->unused_bits);

	if (shape->big_endian)
		word = (uint16_t)(word << 8 | word >> 8);
	dw_store16(data + 2 * at, word);
}

/* Bit for bit as packed by another program. */
static void the_known_payload_is_made(void **state)
{
	static const uint8_t vector[] = {
		0x60, 0x15, 0x20, 0x14, 0x02, 0x13, 0x02, 0x13, 0x00, 0x11, 0x14,
		0x02, 0x00, 0x64, 0x00, 0x91, 0x48, 0x20, 0x18, 0xfd, 0xc3, 0x03,
		0x14, 0xa8, 0x83, 0x01, 0x30, 0x70, 0x02, 0x01, 0x1c, 0xfc, 0xff,
		0x03, 0x00, 0x08, 0xd6, 0x0c, 0xa0, 0xcb, 0xc3, 0x00, 0x0c, 0x0c,
		0x47, 0x01, 0x24, 0x00, 0x04, 0xe8, 0x03, 0x00, 0x08, 0x00,
	};
	static const uint16_t samples[48] = {
		100, 101,   99, 100,   103,  100,   100, 98,	97, 97,	   97,	  97,
		97,  97,    97, 97,    97,   97,    97,	 97,	97, 97,	   97,	  97,
		97,  97,    97, 97,    97,   97,    97,	 97,	5,  60000, 12,	  40000,
		7,   65535, 0,	33333, 1000, 62000, 3,	 50001, 9,  1,	   64000, 2,
	};
	const struct shape shape = { 16, 1, 0, true };
	auto_buffer struct buffer out = { 0 };
	uint8_t data[96];

	for (size_t i = 0; i < 48; i++)
		store(&shape, data, i, samples[i]);
	assert_int_equal(pack(&shape, data, sizeof(data), &out), sizeof(vector));
	assert_memory_equal(out.data, vector, sizeof(vector));
}

/* Mostly small steps, sometimes a large one, sometimes none; noise of any width. */
static void make(const struct shape *shape, uint8_t *data, size_t words,
		 unsigned noise_bits)
{
	uint32_t random = (uint32_t)words + shape->block + noise_bits;
	uint32_t value = 2000;

	for (size_t i = 0; i < words; i++) {
		uint32_t number = next_random(&random) >> 8;

		if (i % 1500 < 1000)
			value = 9000 + (number & ((1u << noise_bits) - 1));
		else if (i % 1500 < 1010)
			value = number;
		store(shape, data, i, value);
	}
}

static void every_shape_comes_back(void **state)
{
	static const unsigned blocks[] = { 16, 29, 128, 512 };
	static const size_t counts[] = { 2, 16, 30, 4096, 10002 };

	for (unsigned b = 0; b < 4; b++)
		for (unsigned n = 0; n < 5; n++)
			for (unsigned components = 1; components <= 2; components++)
				for (unsigned unused = 0; unused <= 8; unused++)
					for (int big = 0; big < 2; big++) {
						struct shape shape = { blocks[b],
								       components, unused,
								       big };
						auto_buffer struct buffer out = { 0 };
						auto_free uint8_t *data =
							exactly(2 * counts[n]);

						make(&shape, data, counts[n], 1 + unused);
						pack(&shape, data, 2 * counts[n], &out);
						if (counts[n] >= 4096)
							assert_true(out.size > 0);
					}
}

static void extremes_come_back(void **state)
{
	static const uint16_t values[] = { 0, 0xFFFF, 0x8000, 0x7FFF, 1, 0xFFFE };
	enum { WORDS = 5000 };
	auto_free uint8_t *data = exactly(2 * WORDS);
	auto_buffer struct buffer out = { 0 };
	uint32_t random = 3;

	for (unsigned unused = 0; unused <= 8; unused += 4) {
		struct shape shape = { 128, 2, unused, false };

		/* Runs of one value with jumps between the ends of the range. */
		for (size_t i = 0, run = 0; i < WORDS; i++) {
			if (run == 0)
				run = 1 + next_random(&random) % 60;
			store(&shape, data, i, values[run % 6]);
			run -= run > 1 || i % 7 == 0;
		}
		pack(&shape, data, 2 * WORDS, &out);
	}
}

/* -- as short as can be ------------------------------------------------------------- */

static uint64_t shortest(const struct shape *shape, const uint8_t *data, size_t from,
			 size_t end, uint16_t *last)
{
	uint64_t best = UINT64_MAX, words = 0;
	uint16_t start = *last;
	bool constant = true;

	for (unsigned low_bits = 0; low_bits <= 13; low_bits++) {
		uint64_t bits = 0;

		*last = start;
		words = 0;
		for (size_t i = from; i < end; i += shape->components, words++) {
			uint16_t word = dw_load16(data + 2 * i), value;
			int step;

			if (shape->big_endian)
				word = (uint16_t)(word << 8 | word >> 8);
			value = word >> shape->unused_bits;
			step = (int16_t)(value - *last);
			constant = constant && step == 0;
			bits += 1 + low_bits +
				((unsigned)(step < 0 ? -2 * step - 1 : 2 * step) >>
				 low_bits);
			*last = value;
		}
		best = bits < best ? bits : best;
	}
	if (constant)
		return 4;
	return 4 + (best < 16 * words ? best : 16 * words);
}

static void no_choice_of_parameters_is_shorter(void **state)
{
	enum { WORDS = 9000, HEADER = 14 };
	auto_free uint8_t *data = exactly(2 * WORDS);

	for (unsigned noise = 0; noise <= 14; noise++)
		for (unsigned components = 1; components <= 2; components++) {
			struct shape shape = { 16u << noise % 4, components, noise % 3,
					       noise & 1 };
			auto_buffer struct buffer out = { 0 };
			uint64_t bits = 16 * components;
			uint16_t last[2] = { 0, 0 };

			make(&shape, data, WORDS, noise);
			for (unsigned c = 0; c < components; c++) {
				uint16_t word = dw_load16(data + 2 * c);

				if (shape.big_endian)
					word = (uint16_t)(word << 8 | word >> 8);
				last[c] = word >> shape.unused_bits;
			}
			for (size_t at = 0; at < WORDS;) {
				size_t end = at + components * shape.block;

				end = end < WORDS ? end : WORDS;
				for (unsigned c = 0; c < components; c++)
					bits += shortest(&shape, data, at + c, end,
							 &last[c]);
				at = end;
			}
			pack(&shape, data, 2 * WORDS, &out);
			assert_true(out.size > 0);
			/* Before it: three bytes of size, the struct with its stop
			 * byte. */
			assert_true(out.size <= (bits + 7) / 8 + HEADER + 3);
			assert_true(out.size >= (bits + 7) / 8 + HEADER - 3);
		}
}

/* -- stored or refused input -------------------------------------------------------- */

static void noise_and_used_bits_are_stored(void **state)
{
	enum { SIZE = 20000 };
	struct shape shape = { 128, 1, 2, true };
	auto_free uint8_t *data = exactly(SIZE);
	auto_buffer struct buffer out = { 0 };

	fill(data, SIZE, KIND_RANDOM);
	shape.unused_bits = 0;
	assert_int_equal(pack(&shape, data, SIZE, &out), 0);
	shape.unused_bits = 2;
	make(&shape, data, SIZE / 2, 3);
	assert_true(pack(&shape, data, SIZE, &out) > 0);
	data[SIZE - 1] |= 1; /* the low byte of the last sample */
	assert_int_equal(pack(&shape, data, SIZE, &out), 0);
}

static void tiny_blocks_are_stored(void **state)
{
	static const uint8_t data[40] = { 0 };
	const struct shape shape = { 16, 1, 0, false };
	auto_buffer struct buffer out = { 0 };

	for (size_t size = 0; size <= sizeof(data); size += 2)
		pack(&shape, data, size, &out);
}

static void layouts_that_cannot_be_are_refused(void **state)
{
	const struct shape shape = { 128, 1, 0, false };
	struct codec_spec good = spec_of(&shape), spec;
	struct codec *codec = NULL;

	spec = good;
	spec.samples.is_known = false;
	assert_int_equal(dw_codec_new(&spec, 1000, &codec, NULL), DWARFS_ERR_INVALID);
	spec = good;
	spec.samples.channels = 3;
	assert_int_equal(dw_codec_new(&spec, 1000, &codec, NULL), DWARFS_ERR_INVALID);
	spec.samples.channels = 0;
	assert_int_equal(dw_codec_new(&spec, 1000, &codec, NULL), DWARFS_ERR_INVALID);
	spec = good;
	spec.samples.bytes_per_sample = 4;
	assert_int_equal(dw_codec_new(&spec, 1000, &codec, NULL), DWARFS_ERR_INVALID);
	spec = good;
	spec.samples.unused_lsb_count = 9;
	assert_int_equal(dw_codec_new(&spec, 1000, &codec, NULL), DWARFS_ERR_INVALID);
	assert_null(codec);
}

static void parts_of_samples_are_refused(void **state)
{
	const struct shape shape = { 128, 2, 0, false };
	struct codec_spec spec = spec_of(&shape);
	auto_codec struct codec *codec = NULL;
	auto_buffer struct buffer out = { 0 };
	uint8_t data[402] = { 0 };
	uint32_t id;

	assert_int_equal(dw_codec_new(&spec, 402, &codec, NULL), 0);
	for (size_t size = 401; size <= 402; size++)
		assert_int_equal(dw_codec_pack(codec, (struct span){ data, size }, &out,
					       &id, NULL),
				 DWARFS_ERR_INVALID);
	assert_int_equal(
		dw_codec_pack(codec, (struct span){ data, 400 }, &out, &id, NULL), 0);
	assert_int_equal(id, CODEC_RICEPP);
}

static void options_are_taken(void **state)
{
	struct codec_spec spec;

	assert_int_equal(dw_codec_parse("ricepp", &spec, NULL), 0);
	assert_int_equal(spec.block_samples, 128);
	assert_int_equal(dw_codec_parse("ricepp:block_size=16", &spec, NULL), 0);
	assert_int_equal(spec.block_samples, 16);
	assert_int_equal(dw_codec_parse("ricepp:512", &spec, NULL), 0);
	assert_int_equal(spec.block_samples, 512);
	assert_int_equal(dw_codec_parse("ricepp:513", &spec, NULL), DWARFS_ERR_RANGE);
	assert_int_equal(dw_codec_parse("ricepp:15", &spec, NULL), DWARFS_ERR_RANGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_known_payload_is_made),
		cmocka_unit_test(every_shape_comes_back),
		cmocka_unit_test(extremes_come_back),
		cmocka_unit_test(no_choice_of_parameters_is_shorter),
		cmocka_unit_test(noise_and_used_bits_are_stored),
		cmocka_unit_test(tiny_blocks_are_stored),
		cmocka_unit_test(layouts_that_cannot_be_are_refused),
		cmocka_unit_test(parts_of_samples_are_refused),
		cmocka_unit_test(options_are_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
