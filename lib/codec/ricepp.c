/* SPDX-License-Identifier: MIT */
/*
 * codec/ricepp: Rice codes of the differences between 16-bit samples, for raw
 * astronomical images.
 *
 * The payload is the size, a header and a stream of bits, lowest bit of a byte first. Up
 * to two components are interleaved; each block of samples has a number of low bits, k,
 * that are stored verbatim, after the rest in unary.
 */
#include "base/bytes.h"
#include "codec/ops.h"
#include "format/thrift.h"

#define VERSION		1
#define MAX_COMPONENTS	2
#define MIN_BLOCK	16 /* of the option */
#define MAX_BLOCK	512
#define DEFAULT_BLOCK	128
#define MAX_UNUSED_BITS 8
#define SAMPLE_BYTES	2
#define SAMPLE_BITS	16
#define K_BITS		4
#define K_CONSTANT	0
#define K_STORED	15
#define MAX_QUOTIENT	65535u
#define MAX_LOW_BITS	13
#define PEEK_BITS	57 /* available in one load at any bit position */

enum { H_BLOCK = 1, H_COMPONENTS, H_BYTES, H_UNUSED, H_BIG_ENDIAN, H_VERSION };

struct header {
	int64_t block, components, version;
	unsigned sample_bytes, unused_bits;
	bool big_endian;
};

struct rice_reader {
	struct header header;
	const uint8_t *data;
	size_t size;
	uint64_t bit; /* position; may be after the end, where bits are 0 */
	uint8_t *out;
	uint16_t last[MAX_COMPONENTS];
};

static int read_ricepp_header(struct thrift_reader *reader, struct header *header,
			      dwarfs_error **err)
{
	struct thrift_field field = { 0 };

	*header = (struct header){ 0 };
	while (dw_thrift_field(reader, &field)) {
		switch (field.id) {
		case H_BLOCK:
			header->block = dw_thrift_int(reader, &field, THRIFT_I32);
			break;
		case H_COMPONENTS:
			header->components = dw_thrift_int(reader, &field, THRIFT_I16);
			break;
		case H_BYTES:
			header->sample_bytes = dw_thrift_byte(reader, &field);
			break;
		case H_UNUSED:
			header->unused_bits = dw_thrift_byte(reader, &field);
			break;
		case H_BIG_ENDIAN:
			header->big_endian = dw_thrift_bool(reader, &field);
			break;
		case H_VERSION:
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

static int check_ricepp_header(const struct header *header, size_t size,
			       dwarfs_error **err)
{
	if (header->version > VERSION)
		return dw_fail(err, DWARFS_ERR_UNSUPPORTED,
			       "version %" PRId64 " is newer than this library",
			       header->version);
	if (header->block < 1 || header->block > MAX_BLOCK || header->components < 1 ||
	    header->components > MAX_COMPONENTS || header->sample_bytes != SAMPLE_BYTES ||
	    header->unused_bits > MAX_UNUSED_BITS || header->version < 1)
		return dw_fail(err, DWARFS_ERR_CORRUPT,
			       "the header has values that cannot be");
	if (size % (SAMPLE_BYTES * (size_t)header->components) != 0)
		return dw_fail(err, DWARFS_ERR_CORRUPT,
			       "%zu bytes are no whole number of samples", size);
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

static inline uint16_t swap_if(uint16_t word, bool swap)
{
	return swap ? dw_swap16(word) : word;
}

static inline uint16_t word_of(const struct header *header, uint16_t value)
{
	return swap_if((uint16_t)(value << header->unused_bits), header->big_endian);
}

static inline uint16_t value_of(const struct header *header, uint16_t word)
{
	return (uint16_t)(swap_if(word, header->big_endian) >> header->unused_bits);
}

/* The words of one component: from at on, every step-th, up to end. */
struct words {
	size_t at, end, step;
};

static void unpack_constant(struct rice_reader *decoder, struct words words, unsigned c)
{
	uint16_t word = word_of(&decoder->header, decoder->last[c]);

	for (size_t i = words.at; i < words.end; i += words.step)
		dw_store16(decoder->out + SAMPLE_BYTES * i, word);
}

static void unpack_stored(struct rice_reader *decoder, struct words words, unsigned c)
{
	uint16_t word = 0;

	for (size_t i = words.at; i < words.end; i += words.step) {
		word = (uint16_t)take_bits(decoder, SAMPLE_BITS);
		dw_store16(decoder->out + SAMPLE_BYTES * i, word);
	}
	decoder->last[c] = value_of(&decoder->header, word);
}

/* Differences: even codes are 0, 1, 2 ..., odd ones -1, -2 ... */
static bool unpack_coded(struct rice_reader *decoder, struct words words, unsigned c,
			 unsigned low_bits)
{
	const struct header header = decoder->header;
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
		dw_store16(decoder->out + SAMPLE_BYTES * i,
			   word_of(&header, (uint16_t)last));
	}
	decoder->last[c] = (uint16_t)last;
	return true;
}

static bool unpack_component(struct rice_reader *decoder, struct words words, unsigned c)
{
	unsigned k = take_bits(decoder, K_BITS);

	if (k == K_CONSTANT)
		unpack_constant(decoder, words, c);
	else if (k == K_STORED)
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
		decoder->last[c] = (uint16_t)take_bits(decoder, SAMPLE_BITS);
	for (size_t at = 0; at < count;) {
		size_t end = count - at < step ? count : at + step;

		for (unsigned c = 0; c < components; c++) {
			struct words words = { at + c, end, components };

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
	return unpack_words(&decoder, size / SAMPLE_BYTES, err);
}

/* -- packing ------------------------------------------------------------------------- */

#define HEADER_BYTES 32 /* more than size, thrift struct and first samples need */
#define SLICE_WORDS  ((size_t)1 << 20) /* between checks of the stop flag */

struct packer {
	struct header header;
};

/* Bits are written in units of 8 bytes. */
struct encoder {
	struct header header;
	const uint8_t *data;
	uint8_t *out; /* next unit */
	uint8_t *end; /* end of the space */
	uint64_t bits;
	unsigned used; /* of bits, less than 64 */
	uint16_t last[MAX_COMPONENTS];
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
static inline uint32_t cost_of(const uint16_t *coded, unsigned count, unsigned low_bits)
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
	uint32_t sum = cost_of(coded, count, 0) - count, cost, next;
	unsigned low_bits = dw_bit_length(sum / count);
	bool is_lower = false;

	low_bits = low_bits > 1 ? low_bits - 1 : 0;
	if (low_bits > MAX_LOW_BITS)
		low_bits = MAX_LOW_BITS;
	cost = cost_of(coded, count, low_bits);
	while (low_bits > 0 && (next = cost_of(coded, count, low_bits - 1)) < cost) {
		cost = next;
		low_bits--;
		is_lower = true;
	}
	while (!is_lower && low_bits < MAX_LOW_BITS &&
	       (next = cost_of(coded, count, low_bits + 1)) < cost) {
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

	put_code_bits(encoder, low_bits + 1, K_BITS);
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

static void put_stored(struct encoder *encoder, struct words words)
{
	put_code_bits(encoder, K_STORED, K_BITS);
	for (size_t i = words.at; i < words.end; i += words.step)
		put_code_bits(encoder, dw_load16(encoder->data + SAMPLE_BYTES * i),
			      SAMPLE_BITS);
}

/* The differences, and all of them or'ed together. False if unused bits are set. */
static bool take_differences(struct encoder *encoder, struct words words, unsigned c,
			     uint16_t *coded, unsigned *count_out, uint16_t *any_out)
{
	const struct header header = encoder->header;
	const uint16_t unused = (uint16_t)((1u << header.unused_bits) - 1);
	uint16_t last = encoder->last[c], any = 0, wrong = 0;
	unsigned count = 0;

	for (size_t i = words.at; i < words.end; i += words.step) {
		uint16_t word = dw_load16(encoder->data + SAMPLE_BYTES * i);
		uint16_t value = value_of(&header, word);
		uint16_t step = (uint16_t)(value - last);

		wrong |= swap_if(word, header.big_endian) & unused;
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
static bool pack_component(struct encoder *encoder, struct words words, unsigned c)
{
	uint16_t coded[MAX_BLOCK], any;
	unsigned count, low_bits = 0;
	uint32_t cost = 0;
	bool is_stored;

	if (!take_differences(encoder, words, c, coded, &count, &any))
		return false;
	if (any)
		low_bits = choose_low_bits(coded, count, &cost);
	is_stored = cost >= count * SAMPLE_BITS;
	if (is_stored)
		cost = count * SAMPLE_BITS;
	if (cost / 8 + 2 * sizeof(encoder->bits) > (size_t)(encoder->end - encoder->out))
		return false;
	if (!any)
		put_code_bits(encoder, K_CONSTANT, K_BITS);
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
		encoder->last[c] = value_of(&encoder->header,
					    dw_load16(encoder->data + SAMPLE_BYTES * c));
		put_code_bits(encoder, encoder->last[c], SAMPLE_BITS);
	}
	for (size_t at = 0; at < count; at += step) {
		size_t end = count - at < step ? count : at + step;
		int ret = at % SLICE_WORDS < step
				  ? dw_codec_go_on(watch, at * SAMPLE_BYTES, err)
				  : 0;

		if (ret < 0)
			return ret;
		for (unsigned c = 0; c < components; c++)
			if (!pack_component(encoder,
					    (struct words){ at + c, end, components }, c))
				return 0;
	}
	put_rest(encoder);
	*fits_out = true;
	return 0;
}

static int put_ricepp_header(const struct header *header, size_t size, struct buffer *out,
			     dwarfs_error **err)
{
	struct thrift_writer writer;

	dw_thrift_put_start(&writer, out);
	dw_thrift_put_varint(&writer, size);
	dw_thrift_put_int(&writer, H_BLOCK, THRIFT_I32, header->block);
	dw_thrift_put_int(&writer, H_COMPONENTS, THRIFT_I16, header->components);
	dw_thrift_put_byte(&writer, H_BYTES, (uint8_t)header->sample_bytes);
	dw_thrift_put_byte(&writer, H_UNUSED, (uint8_t)header->unused_bits);
	dw_thrift_put_bool(&writer, H_BIG_ENDIAN, header->big_endian);
	dw_thrift_put_int(&writer, H_VERSION, THRIFT_I16, header->version);
	return dw_thrift_put_stop(&writer, err);
}

static int ricepp_pack(void *state, struct span in, struct buffer *out,
		       struct codec_watch *watch, dwarfs_error **err)
{
	const struct packer *packer = state;
	struct encoder encoder = { .header = packer->header, .data = in.data };
	bool fits = false;
	int ret;

	if (in.size % (SAMPLE_BYTES * (size_t)encoder.header.components) != 0)
		return dw_fail(err, DWARFS_ERR_INVALID,
			       "%zu bytes are no whole number of samples", in.size);
	if (in.size < HEADER_BYTES)
		return 0;
	if ((ret = dw_buffer_reserve(out, in.size, err)) < 0 ||
	    (ret = put_ricepp_header(&encoder.header, in.size, out, err)) < 0)
		return ret;
	encoder.out = out->data + out->size;
	encoder.end = out->data + in.size;
	ret = pack_words(&encoder, in.size / SAMPLE_BYTES, &fits, watch, err);
	out->size = ret == 0 && fits ? (size_t)(encoder.out - out->data) : 0;
	return ret;
}

static int ricepp_open_packer(const struct codec_spec *spec, size_t block_bytes,
			      void **state_out, dwarfs_error **err)
{
	struct packer *packer = dw_calloc(1, sizeof(*packer));

	if (!packer)
		return dw_fail_nomem(err);
	packer->header = (struct header){
		.block = spec->block_samples,
		.components = spec->samples.channels,
		.version = VERSION,
		.sample_bytes = spec->samples.bytes_per_sample,
		.unused_bits = spec->samples.unused_lsb_count,
		.big_endian = spec->samples.big_endian,
	};
	*state_out = packer;
	return 0;
}

static uint64_t ricepp_memory(const struct codec_spec *spec, size_t block_bytes)
{
	return sizeof(struct packer);
}

static const struct codec_option options[] = {
	{ "block_size", DW_CODEC_FIELD(block_samples), .min = MIN_BLOCK,
	  .max = MAX_BLOCK },
	{ NULL },
};

const struct codec_ops dw_codec_ricepp = {
	.help = "ricepp  block_size=16..512 (128); for images of the sky (fits/image)",
	.defaults = { .id = CODEC_RICEPP, .block_samples = DEFAULT_BLOCK },
	.options = options,
	.unpacked_size = dw_codec_varint_size,
	.unpack = ricepp_unpack,
	.samples = &dw_samples_image,
	.packs_as = CODEC_RICEPP,
	.open = ricepp_open_packer,
	.close = free,
	.pack = ricepp_pack,
	.memory = ricepp_memory,
};
