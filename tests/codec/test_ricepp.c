/* SPDX-License-Identifier: MIT */
/*
 * codec/ricepp: a payload written by another program, and all kinds of payload by a
 * simple encoder in this file.
 */
#include "support/codec_data.h"

#include "base/bytes.h"
#include "format/thrift.h"

static const uint8_t vector[] = {
	0x60, 0x15, 0x20, 0x14, 0x02, 0x13, 0x02, 0x13, 0x00, 0x11, 0x14,
	0x02, 0x00, 0x64, 0x00, 0x91, 0x48, 0x20, 0x18, 0xfd, 0xc3, 0x03,
	0x14, 0xa8, 0x83, 0x01, 0x30, 0x70, 0x02, 0x01, 0x1c, 0xfc, 0xff,
	0x03, 0x00, 0x08, 0xd6, 0x0c, 0xa0, 0xcb, 0xc3, 0x00, 0x0c, 0x0c,
	0x47, 0x01, 0x24, 0x00, 0x04, 0xe8, 0x03, 0x00, 0x08, 0x00,
};

#define HEADER_BYTES 13

static const uint16_t vector_samples[48] = {
	100, 101,   99, 100,   103,  100,   100, 98,	97, 97,	   97,	  97,
	97,  97,    97, 97,    97,   97,    97,	 97,	97, 97,	   97,	  97,
	97,  97,    97, 97,    97,   97,    97,	 97,	5,  60000, 12,	  40000,
	7,   65535, 0,	33333, 1000, 62000, 3,	 50001, 9,  1,	   64000, 2,
};

static void the_known_payload_decodes(void **state)
{
	struct span in = { vector, sizeof(vector) };
	uint8_t expected[96], out[96];
	uint64_t size = 0;

	for (int i = 0; i < 48; i++) {
		expected[2 * i] = (uint8_t)(vector_samples[i] >> 8);
		expected[2 * i + 1] = (uint8_t)vector_samples[i];
	}
	assert_int_equal(dw_codec_unpacked_size(CODEC_RICEPP, in, &size, NULL), 0);
	assert_int_equal(size, 96);
	assert_int_equal(dw_codec_unpack(CODEC_RICEPP, in, out, 96, NULL), 0);
	assert_memory_equal(out, expected, 96);
	refuse_other_sizes(CODEC_RICEPP, vector, sizeof(vector), 96);
}

/* Zeros may be missing up to a multiple of 8 bytes, and such zeros are constant blocks.
 */
static void damage_is_survived(void **state)
{
	uint8_t out[96];

	for (size_t length = 0; length < sizeof(vector); length++) {
		auto_free uint8_t *cut = copy_of(vector, length);
		int ret = dw_codec_unpack(CODEC_RICEPP, (struct span){ cut, length }, out,
					  96, NULL);

		if (length != HEADER_BYTES + 1 && length != HEADER_BYTES + 2)
			assert_int_equal(ret, DWARFS_ERR_CORRUPT);
	}
	for (size_t bit = 0; bit < 8 * sizeof(vector); bit++) {
		auto_free uint8_t *broken = copy_of(vector, sizeof(vector));

		broken[bit / 8] ^= (uint8_t)(1u << (bit % 8));
		survive(CODEC_RICEPP, broken, sizeof(vector), 96);
	}
}

/* -- an encoder ---------------------------------------------------------------------- */

struct shape {
	unsigned block, components, unused_bits;
	bool big_endian;
};

struct bits {
	struct buffer bytes;
	unsigned used; /* of the last byte */
};

static void put_bits(struct bits *bits, uint32_t value, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		uint8_t bit = (value >> i) & 1;

		if (bits->used % 8 == 0)
			assert_int_equal(dw_buffer_append(&bits->bytes, "\0", 1, NULL),
					 0);
		bits->bytes.data[bits->bytes.size - 1] |=
			(uint8_t)(bit << (bits->used % 8));
		bits->used = (bits->used + 1) % 8;
	}
}

static void put_header(struct buffer *out, const struct shape *shape, size_t size)
{
	struct thrift_writer writer;

	dw_thrift_put_start(&writer, out);
	dw_thrift_put_varint(&writer, size);
	dw_thrift_put_int(&writer, 1, THRIFT_I32, shape->block);
	dw_thrift_put_int(&writer, 2, THRIFT_I16, shape->components);
	dw_thrift_put_byte(&writer, 3, 2);
	dw_thrift_put_byte(&writer, 4, (uint8_t)shape->unused_bits);
	dw_thrift_put_bool(&writer, 5, shape->big_endian);
	dw_thrift_put_int(&writer, 6, THRIFT_I16, 1);
	assert_int_equal(dw_thrift_put_stop(&writer, NULL), 0);
}

static uint16_t swapped(const struct shape *shape, uint16_t word)
{
	return shape->big_endian ? (uint16_t)(word << 8 | word >> 8) : word;
}

static uint16_t value_at(const struct shape *shape, const uint16_t *words, size_t at)
{
	return (uint16_t)(swapped(shape, words[at]) >> shape->unused_bits);
}

/* Each k in turn, so that all occur: the best one is not searched for. */
static void encode_block(struct bits *bits, const struct shape *shape,
			 const uint16_t *words, size_t at, size_t end, uint16_t *last)
{
	static unsigned turn;
	unsigned k = 1 + turn++ % 15;
	bool constant = true;

	for (size_t i = at; i < end; i += shape->components)
		constant = constant && value_at(shape, words, i) == *last;
	if (constant)
		k = 0;
	put_bits(bits, k, 4);
	for (size_t i = at; i < end && k > 0; i += shape->components) {
		int16_t step = (int16_t)(value_at(shape, words, i) - *last);
		uint16_t coded = (uint16_t)(step < 0 ? ~(step * 2) : step * 2);

		*last = value_at(shape, words, i);
		if (k == 15) {
			put_bits(bits, words[i], 16);
			continue;
		}
		for (unsigned q = 0; q < (unsigned)coded >> (k - 1); q++)
			put_bits(bits, 0, 1);
		put_bits(bits, 1, 1);
		put_bits(bits, coded, k - 1);
	}
}

static void encode(struct buffer *out, const struct shape *shape, const uint16_t *words,
		   size_t count)
{
	struct bits bits = { { 0 }, 0 };
	uint16_t last[2] = { 0, 0 };
	size_t step = shape->components * shape->block;

	put_header(out, shape, 2 * count);
	for (unsigned c = 0; c < shape->components; c++) {
		last[c] = value_at(shape, words, c);
		put_bits(&bits, last[c], 16);
	}
	for (size_t at = 0; at < count; at += step) {
		size_t end = at + step < count ? at + step : count;

		for (unsigned c = 0; c < shape->components; c++)
			encode_block(&bits, shape, words, at + c, end, &last[c]);
	}
	assert_int_equal(dw_buffer_append(out, bits.bytes.data, bits.bytes.size, NULL),
			 0);
	dw_buffer_free(&bits.bytes);
}

static void check_shape(const struct shape *shape, size_t count)
{
	auto_buffer struct buffer packed = { 0 };
	auto_free uint16_t *words = (uint16_t *)exactly(2 * count);
	auto_free uint8_t *expected = exactly(2 * count), *out = exactly(2 * count);
	auto_free uint8_t *in = NULL;
	uint32_t random = (uint32_t)count + shape->block;
	uint32_t value = 2000;

	for (size_t i = 0; i < count; i++) {
		uint32_t number = next_random(&random);

		/* Mostly small steps, sometimes a large one, sometimes none. */
		if (i % 1000 < 300)
			value += number % 31 - 15;
		else if (i % 1000 < 310)
			value = number;
		words[i] = swapped(shape,
				   (uint16_t)((value << shape->unused_bits) & 0xFFFF));
		dw_store16(expected + 2 * i, words[i]);
	}
	encode(&packed, shape, words, count);
	in = copy_of(packed.data, packed.size);
	assert_int_equal(dw_codec_unpack(CODEC_RICEPP, (struct span){ in, packed.size },
					 out, 2 * count, NULL),
			 0);
	assert_memory_equal(out, expected, 2 * count);
}

static void every_shape_comes_back(void **state)
{
	static const unsigned blocks[] = { 1, 16, 29, 128, 512 };
	static const size_t counts[] = { 2, 16, 30, 4096, 10002 };

	for (unsigned b = 0; b < 5; b++)
		for (unsigned n = 0; n < 5; n++)
			for (unsigned components = 1; components <= 2; components++)
				for (unsigned unused = 0; unused <= 8; unused += 2)
					for (int big = 0; big < 2; big++) {
						struct shape shape = { blocks[b],
								       components, unused,
								       big };

						check_shape(&shape, counts[n]);
					}
}

static void headers_that_cannot_be_are_refused(void **state)
{
	static const struct {
		unsigned at;
		uint8_t value;
		int code;
	} changes[] = {
		{ 2, 0x00, DWARFS_ERR_CORRUPT },      /* block size 0 */
		{ 4, 0x06, DWARFS_ERR_CORRUPT },      /* three components */
		{ 6, 0x01, DWARFS_ERR_CORRUPT },      /* bytes per sample */
		{ 8, 0x09, DWARFS_ERR_CORRUPT },      /* unused bits */
		{ 11, 0x04, DWARFS_ERR_UNSUPPORTED }, /* version */
	};
	uint8_t out[96];

	/* The byte for the unused bits follows its field header. */
	for (unsigned i = 0; i < 5; i++) {
		auto_free uint8_t *broken = copy_of(vector, sizeof(vector));

		assert_int_equal(dw_codec_unpack(CODEC_RICEPP,
						 (struct span){ broken, sizeof(vector) },
						 out, 96, NULL),
				 0);
		broken[changes[i].at] = changes[i].value;
		assert_int_equal(dw_codec_unpack(CODEC_RICEPP,
						 (struct span){ broken, sizeof(vector) },
						 out, 96, NULL),
				 changes[i].code);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_known_payload_decodes),
		cmocka_unit_test(every_shape_comes_back),
		cmocka_unit_test(headers_that_cannot_be_are_refused),
		cmocka_unit_test(damage_is_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
