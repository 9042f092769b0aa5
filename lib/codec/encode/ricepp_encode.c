/* SPDX-License-Identifier: MIT */
/*
 * codec/encode/ricepp_encode: pack 16-bit samples into Rice codes; codec/ricepp.c has the
 * layout.
 */
#include "codec/encode/ops.h"
#include "codec/ricepp.h"
#include "format/thrift.h"

#define MIN_BLOCK     16 /* of the option */
#define DEFAULT_BLOCK 128
#define MAX_LOW_BITS  13
#define HEADER_BYTES  32 /* more than size, thrift struct and first samples need */
#define SLICE_WORDS   ((size_t)1 << 20) /* between checks of the stop flag */

struct ricepp_packer {
	struct rice_header header;
};

/* Bits are written in units of 8 bytes. */
struct encoder {
	struct rice_header header;
	const uint8_t *data;
	uint8_t *out; /* next unit */
	uint8_t *end; /* end of the space */
	uint64_t bits;
	unsigned used; /* of bits, less than 64 */
	uint16_t last[DW_RICE_MAX_COMPONENTS];
};

/* At most 32 bits. */
static inline void put_code_bits(struct encoder *encoder, uint64_t value, unsigned count)
{
	unsigned used = encoder->used;

	encoder->bits |= value << used;
	if (used + count >= 64) {
		dw_store64(encoder->out, encoder->bits);
		encoder->out += 8;
		encoder->bits = value >> (63 - used) >> 1;
		used -= 64;
	}
	encoder->used = used + count;
}

static void put_zeros(struct encoder *encoder, unsigned count)
{
	for (; count > 32; count -= 32)
		put_code_bits(encoder, 0, 32);
	put_code_bits(encoder, 0, count);
}

/* The last bytes, as few as possible. */
static void put_rest(struct encoder *encoder)
{
	for (unsigned at = 0; at < encoder->used; at += 8)
		*encoder->out++ = (uint8_t)(encoder->bits >> at);
}

/* Bits of a block with this number of low bits per sample. */
static inline uint32_t block_bits(const uint16_t *coded, unsigned count,
				  unsigned low_bits)
{
	uint32_t sum = 0;

	for (unsigned i = 0; i < count; i++)
		sum += coded[i] >> low_bits;
	return sum + count * (1 + low_bits);
}

/* The number of low bits with the lowest cost. The cost has one minimum, since each
 * further bit saves less than the previous one; the mean of the differences gives a
 * start. */
static unsigned choose_low_bits(const uint16_t *coded, unsigned count, uint32_t *cost_out)
{
	uint32_t sum = block_bits(coded, count, 0) - count, cost, next;
	unsigned low_bits = dw_bit_length(sum / count);
	bool is_lower = false;

	low_bits = low_bits > 1 ? low_bits - 1 : 0;
	if (low_bits > MAX_LOW_BITS)
		low_bits = MAX_LOW_BITS;
	cost = block_bits(coded, count, low_bits);
	while (low_bits > 0 && (next = block_bits(coded, count, low_bits - 1)) < cost) {
		cost = next;
		low_bits--;
		is_lower = true;
	}
	while (!is_lower && low_bits < MAX_LOW_BITS &&
	       (next = block_bits(coded, count, low_bits + 1)) < cost) {
		cost = next;
		low_bits++;
	}
	*cost_out = cost;
	return low_bits;
}

static void put_coded(struct encoder *encoder, const uint16_t *coded, unsigned count,
		      unsigned low_bits)
{
	const uint32_t mask = (UINT32_C(1) << low_bits) - 1;

	put_code_bits(encoder, low_bits + 1, DW_RICE_K_BITS);
	for (unsigned i = 0; i < count; i++) {
		uint32_t quotient = coded[i] >> low_bits;
		uint64_t tail = (uint64_t)(coded[i] & mask) << 1 | 1;

		if (__builtin_expect(quotient + 1 + low_bits <= 32, 1)) {
			put_code_bits(encoder, tail << quotient, quotient + 1 + low_bits);
		} else {
			put_zeros(encoder, quotient);
			put_code_bits(encoder, tail, 1 + low_bits);
		}
	}
}

static void put_stored(struct encoder *encoder, struct rice_words words)
{
	put_code_bits(encoder, DW_RICE_K_STORED, DW_RICE_K_BITS);
	for (size_t i = words.at; i < words.end; i += words.step)
		put_code_bits(encoder,
			      dw_load16(encoder->data + DW_RICE_SAMPLE_BYTES * i),
			      DW_RICE_SAMPLE_BITS);
}

/* The differences, and all of them or'ed together. False if unused bits are set. */
static bool take_differences(struct encoder *encoder, struct rice_words words, unsigned c,
			     uint16_t *coded, unsigned *count_out, uint16_t *any_out)
{
	const struct rice_header header = encoder->header;
	const uint16_t unused = (uint16_t)((1u << header.unused_bits) - 1);
	uint16_t last = encoder->last[c], any = 0, wrong = 0;
	unsigned count = 0;

	for (size_t i = words.at; i < words.end; i += words.step) {
		uint16_t word = dw_load16(encoder->data + DW_RICE_SAMPLE_BYTES * i);
		uint16_t value = dw_rice_value_of(&header, word);
		uint16_t step = (uint16_t)(value - last);

		wrong |= dw_rice_swap_if(word, header.big_endian) & unused;
		coded[count] = (uint16_t)(step << 1 ^ -(step >> 15));
		any |= coded[count++];
		last = value;
	}
	encoder->last[c] = last;
	*count_out = count;
	*any_out = any;
	return !wrong;
}

/* False if the samples do not match the header, or there is not enough space. */
static bool pack_component(struct encoder *encoder, struct rice_words words, unsigned c)
{
	uint16_t coded[DW_RICE_MAX_BLOCK], any;
	unsigned count, low_bits = 0;
	uint32_t cost = 0;
	bool is_stored;

	if (!take_differences(encoder, words, c, coded, &count, &any))
		return false;
	if (any)
		low_bits = choose_low_bits(coded, count, &cost);
	is_stored = cost >= count * DW_RICE_SAMPLE_BITS;
	if (is_stored)
		cost = count * DW_RICE_SAMPLE_BITS;
	if (cost / 8 + 2 * sizeof(encoder->bits) > (size_t)(encoder->end - encoder->out))
		return false;
	if (!any)
		put_code_bits(encoder, DW_RICE_K_CONSTANT, DW_RICE_K_BITS);
	else if (is_stored)
		put_stored(encoder, words);
	else
		put_coded(encoder, coded, count, low_bits);
	return true;
}

/* *fits_out: whether everything could be packed, and fits. */
static int pack_words(struct encoder *encoder, size_t count, bool *fits_out,
		      struct codec_watch *watch, dwarfs_error **err)
{
	const unsigned components = (unsigned)encoder->header.components;
	const size_t step = components * (size_t)encoder->header.block;

	for (unsigned c = 0; c < components; c++) {
		encoder->last[c] = dw_rice_value_of(
			&encoder->header,
			dw_load16(encoder->data + DW_RICE_SAMPLE_BYTES * c));
		put_code_bits(encoder, encoder->last[c], DW_RICE_SAMPLE_BITS);
	}
	for (size_t at = 0; at < count; at += step) {
		size_t end = count - at < step ? count : at + step;
		int ret = at % SLICE_WORDS < step
				  ? dw_codec_go_on(watch, at * DW_RICE_SAMPLE_BYTES, err)
				  : 0;

		if (ret < 0)
			return ret;
		for (unsigned c = 0; c < components; c++)
			if (!pack_component(
				    encoder,
				    (struct rice_words){ at + c, end, components }, c))
				return 0;
	}
	put_rest(encoder);
	*fits_out = true;
	return 0;
}

static int put_ricepp_header(const struct rice_header *header, size_t size,
			     struct buffer *out, dwarfs_error **err)
{
	struct thrift_writer writer;

	dw_thrift_put_start(&writer, out);
	dw_thrift_put_varint(&writer, size);
	dw_thrift_put_int(&writer, DW_RICE_H_BLOCK, THRIFT_I32, header->block);
	dw_thrift_put_int(&writer, DW_RICE_H_COMPONENTS, THRIFT_I16, header->components);
	dw_thrift_put_byte(&writer, DW_RICE_H_BYTES, (uint8_t)header->sample_bytes);
	dw_thrift_put_byte(&writer, DW_RICE_H_UNUSED, (uint8_t)header->unused_bits);
	dw_thrift_put_bool(&writer, DW_RICE_H_BIG_ENDIAN, header->big_endian);
	dw_thrift_put_int(&writer, DW_RICE_H_VERSION, THRIFT_I16, header->version);
	return dw_thrift_put_stop(&writer, err);
}

static int ricepp_pack(void *state, struct span in, struct buffer *out,
		       struct codec_watch *watch, dwarfs_error **err)
{
	const struct ricepp_packer *packer = state;
	struct encoder encoder = { .header = packer->header, .data = in.data };
	bool fits = false;
	int ret;

	if (in.size % (DW_RICE_SAMPLE_BYTES * (size_t)encoder.header.components) != 0)
		return dw_fail(err, DWARFS_ERR_INVALID,
			       "%zu bytes are not a whole number of samples", in.size);
	if (in.size < HEADER_BYTES)
		return 0;
	if ((ret = dw_buffer_reserve(out, in.size, err)) < 0 ||
	    (ret = put_ricepp_header(&encoder.header, in.size, out, err)) < 0)
		return ret;
	encoder.out = out->data + out->size;
	encoder.end = out->data + in.size;
	ret = pack_words(&encoder, in.size / DW_RICE_SAMPLE_BYTES, &fits, watch, err);
	out->size = ret == 0 && fits ? (size_t)(encoder.out - out->data) : 0;
	return ret;
}

static int ricepp_open_packer(const struct codec_spec *spec, size_t block_bytes,
			      void **state_out, dwarfs_error **err)
{
	struct ricepp_packer *packer = dw_calloc(1, sizeof(*packer));

	if (!packer)
		return dw_fail_nomem(err);
	packer->header = (struct rice_header){
		.block = spec->block_samples,
		.components = spec->samples.channels,
		.version = DW_RICE_VERSION,
		.sample_bytes = spec->samples.bytes_per_sample,
		.unused_bits = spec->samples.unused_lsb_count,
		.big_endian = spec->samples.big_endian,
	};
	*state_out = packer;
	return 0;
}

static uint64_t ricepp_memory(const struct codec_spec *spec, size_t block_bytes)
{
	return sizeof(struct ricepp_packer);
}

static const struct codec_option options[] = {
	{ "block_size", DW_CODEC_FIELD(block_samples), .min = MIN_BLOCK,
	  .max = DW_RICE_MAX_BLOCK },
	{ NULL },
};

const struct encoder_ops dw_encoder_ricepp = {
	.help = "ricepp  block_size=16..512 (128); for FITS images (fits/image)",
	.defaults = { .id = CODEC_RICEPP, .block_samples = DEFAULT_BLOCK },
	.options = options,
	.samples = &dw_samples_image,
	.packs_as = CODEC_RICEPP,
	.open = ricepp_open_packer,
	.close = dw_free,
	.pack = ricepp_pack,
	.memory = ricepp_memory,
};
