/* SPDX-License-Identifier: MIT */
/*
 * codec/ricepp: Rice codes of the differences between 16-bit samples, for raw
 * astronomical images.
 *
 * The payload is the size, a header and a stream of bits, lowest bit of a byte first. Up
 * to two components are interleaved; each block of samples has a number of low bits, k,
 * that are stored verbatim, after the rest in unary.
 */
#include "codec/ops.h"
#include "codec/ricepp.h"
#include "format/thrift.h"

#define MAX_QUOTIENT 65535u
#define PEEK_BITS    57 /* available in one load at any bit position */

struct rice_reader {
	struct rice_header header;
	const uint8_t *data;
	size_t size;
	uint64_t bit; /* position; may be after the end, where bits are 0 */
	uint8_t *out;
	uint16_t last[DW_RICE_MAX_COMPONENTS];
};

static int read_ricepp_header(struct thrift_reader *reader, struct rice_header *header,
			      dwarfs_error **err)
{
	struct thrift_field field = { 0 };

	*header = (struct rice_header){ 0 };
	while (dw_thrift_field(reader, &field)) {
		switch (field.id) {
		case DW_RICE_H_BLOCK:
			header->block = dw_thrift_int(reader, &field, THRIFT_I32);
			break;
		case DW_RICE_H_COMPONENTS:
			header->components = dw_thrift_int(reader, &field, THRIFT_I16);
			break;
		case DW_RICE_H_BYTES:
			header->sample_bytes = dw_thrift_byte(reader, &field);
			break;
		case DW_RICE_H_UNUSED:
			header->unused_bits = dw_thrift_byte(reader, &field);
			break;
		case DW_RICE_H_BIG_ENDIAN:
			header->big_endian = dw_thrift_bool(reader, &field);
			break;
		case DW_RICE_H_VERSION:
			header->version = dw_thrift_int(reader, &field, THRIFT_I16);
			break;
		default:
			dw_thrift_skip(reader, &field);
		}
	}
	if (!dw_thrift_ok(reader))
		return dw_fail(err, DWARFS_ERR_CORRUPT, "header: %s", reader->error);
	return 0;
}

static int check_ricepp_header(const struct rice_header *header, size_t size,
			       dwarfs_error **err)
{
	if (header->version > DW_RICE_VERSION)
		return dw_fail(err, DWARFS_ERR_UNSUPPORTED,
			       "version %" PRId64 " is newer than this library",
			       header->version);
	if (header->block < 1 || header->block > DW_RICE_MAX_BLOCK ||
	    header->components < 1 || header->components > DW_RICE_MAX_COMPONENTS ||
	    header->sample_bytes != DW_RICE_SAMPLE_BYTES ||
	    header->unused_bits > DW_RICE_MAX_UNUSED_BITS || header->version < 1)
		return dw_fail(err, DWARFS_ERR_CORRUPT,
			       "the header has values that cannot be");
	if (size % (DW_RICE_SAMPLE_BYTES * (size_t)header->components) != 0)
		return dw_fail(err, DWARFS_ERR_CORRUPT,
			       "%zu bytes are not a whole number of samples", size);
	return 0;
}

/* -- bits ---------------------------------------------------------------------------- */

/* The 8 bytes from a position on; zeros after the end. */
static uint64_t load_near_end(const struct rice_reader *decoder, uint64_t at)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < 8 && at + i < decoder->size; i++)
		value |= (uint64_t)decoder->data[at + i] << (8 * i);
	return value;
}

/* At least PEEK_BITS bits from the current position on. */
static inline uint64_t peek(const struct rice_reader *decoder)
{
	uint64_t at = decoder->bit / 8;
	uint64_t value = decoder->size >= 8 && at <= decoder->size - 8
				 ? dw_load64(decoder->data + at)
				 : load_near_end(decoder, at);

	return value >> (decoder->bit % 8);
}

static inline uint32_t take_bits(struct rice_reader *decoder, unsigned count)
{
	uint32_t value = (uint32_t)(peek(decoder) & ((UINT64_C(1) << count) - 1));

	decoder->bit += count;
	return value;
}

/* Encoders write units of 8 bytes, and may omit zeros of the last one. */
static bool past_end(const struct rice_reader *decoder)
{
	uint64_t units = ((uint64_t)decoder->size + 7) / 8;

	return decoder->bit > units * 64;
}

/* Zeros before the next one, possibly many; more than MAX_QUOTIENT: invalid. */
static uint32_t take_unary(struct rice_reader *decoder)
{
	uint32_t zeros = 0;

	while (zeros <= MAX_QUOTIENT) {
		uint64_t bits = peek(decoder) & ((UINT64_C(1) << PEEK_BITS) - 1);
		unsigned run = bits ? (unsigned)__builtin_ctzll(bits) : PEEK_BITS;

		zeros += run;
		decoder->bit += run;
		if (bits) {
			decoder->bit++;
			break;
		}
	}
	return zeros;
}

/* -- samples ------------------------------------------------------------------------- */

static void unpack_constant(struct rice_reader *decoder, struct rice_words words,
			    unsigned c)
{
	uint16_t word = dw_rice_word_of(&decoder->header, decoder->last[c]);

	for (size_t i = words.at; i < words.end; i += words.step)
		dw_store16(decoder->out + DW_RICE_SAMPLE_BYTES * i, word);
}

static void unpack_stored(struct rice_reader *decoder, struct rice_words words,
			  unsigned c)
{
	uint16_t word = 0;

	for (size_t i = words.at; i < words.end; i += words.step) {
		word = (uint16_t)take_bits(decoder, DW_RICE_SAMPLE_BITS);
		dw_store16(decoder->out + DW_RICE_SAMPLE_BYTES * i, word);
	}
	decoder->last[c] = dw_rice_value_of(&decoder->header, word);
}

/* Differences: even codes are 0, 1, 2 ..., odd ones -1, -2 ... */
static bool unpack_coded(struct rice_reader *decoder, struct rice_words words, unsigned c,
			 unsigned low_bits)
{
	const struct rice_header header = decoder->header;
	const uint32_t mask = (UINT32_C(1) << low_bits) - 1;
	uint32_t last = decoder->last[c];

	for (size_t i = words.at; i < words.end; i += words.step) {
		uint64_t bits = peek(decoder);
		unsigned run = bits ? (unsigned)__builtin_ctzll(bits) : 64;
		uint32_t coded;

		if (__builtin_expect(run + 1 + low_bits <= PEEK_BITS, 1)) {
			coded = run << low_bits | ((uint32_t)(bits >> (run + 1)) & mask);
			decoder->bit += run + 1 + low_bits;
		} else {
			uint32_t quotient = take_unary(decoder);

			if (quotient > MAX_QUOTIENT)
				return false;
			coded = quotient << low_bits | take_bits(decoder, low_bits);
		}
		last += (coded >> 1) ^ -(coded & 1);
		dw_store16(decoder->out + DW_RICE_SAMPLE_BYTES * i,
			   dw_rice_word_of(&header, (uint16_t)last));
	}
	decoder->last[c] = (uint16_t)last;
	return true;
}

static bool unpack_component(struct rice_reader *decoder, struct rice_words words,
			     unsigned c)
{
	unsigned k = take_bits(decoder, DW_RICE_K_BITS);

	if (k == DW_RICE_K_CONSTANT)
		unpack_constant(decoder, words, c);
	else if (k == DW_RICE_K_STORED)
		unpack_stored(decoder, words, c);
	else if (!unpack_coded(decoder, words, c, k - 1))
		return false;
	return !past_end(decoder);
}

static int unpack_words(struct rice_reader *decoder, size_t count, dwarfs_error **err)
{
	const unsigned components = (unsigned)decoder->header.components;
	const size_t step = components * (size_t)decoder->header.block;

	for (unsigned c = 0; c < components; c++)
		decoder->last[c] = (uint16_t)take_bits(decoder, DW_RICE_SAMPLE_BITS);
	for (size_t at = 0; at < count;) {
		size_t end = count - at < step ? count : at + step;

		for (unsigned c = 0; c < components; c++) {
			struct rice_words words = { at + c, end, components };

			if (!unpack_component(decoder, words, c))
				return dw_fail(err, DWARFS_ERR_CORRUPT,
					       "the data is damaged or cut off");
		}
		at = end;
	}
	return 0;
}

static int ricepp_unpack(struct span in, uint8_t *out, size_t size, dwarfs_error **err)
{
	struct rice_reader decoder = { .out = out };
	struct thrift_reader reader;
	uint64_t announced;
	int ret;

	dw_thrift_start(&reader, in);
	announced = dw_thrift_varint(&reader);
	ret = read_ricepp_header(&reader, &decoder.header, err);
	if (ret < 0)
		return ret;
	if (announced != size)
		return dw_fail(err, DWARFS_ERR_CORRUPT,
			       "announces %" PRIu64 " bytes where %zu are expected",
			       announced, size);
	ret = check_ricepp_header(&decoder.header, size, err);
	if (ret < 0)
		return ret;
	decoder.data = reader.at;
	decoder.size = dw_thrift_left(&reader);
	return unpack_words(&decoder, size / DW_RICE_SAMPLE_BYTES, err);
}

const struct codec_ops dw_codec_ricepp = {
	.unpacked_size = dw_codec_varint_size,
	.unpack = ricepp_unpack,
};
