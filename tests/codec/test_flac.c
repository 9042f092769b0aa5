/* SPDX-License-Identifier: MIT */
/*
 * codec/flac: samples of every layout, encoded here with libFLAC, are decoded to the same
 * bytes.
 */
#include "support/codec_data.h"
#include "support/effort.h"

#include <stdio.h>

#include "config.h"
#include "format/thrift.h"

#if HAVE_FLAC

#include <FLAC/stream_encoder.h>

struct layout {
	unsigned channels, bits, bytes;
	bool big_endian, is_signed, low_padded;
};

static FLAC__StreamEncoderWriteStatus on_write(const FLAC__StreamEncoder *encoder,
					       const FLAC__byte bytes[], size_t size,
					       uint32_t samples, uint32_t frame,
					       void *user)
{
	assert_int_equal(dw_buffer_append(user, bytes, size, NULL), 0);
	return FLAC__STREAM_ENCODER_WRITE_STATUS_OK;
}

static void encode(struct buffer *out, const struct layout *layout,
		   const FLAC__int32 *samples, unsigned count)
{
	FLAC__StreamEncoder *encoder = FLAC__stream_encoder_new();
	struct thrift_writer writer;
	unsigned flags = (layout->big_endian ? 0x80 : 0) |
			 (layout->is_signed ? 0x40 : 0) |
			 (layout->low_padded ? 0x20 : 0) | (layout->bytes - 1);

	dw_thrift_put_start(&writer, out);
	dw_thrift_put_varint(&writer, (uint64_t)count * layout->channels * layout->bytes);
	dw_thrift_put_int(&writer, 1, THRIFT_I16, layout->channels);
	dw_thrift_put_byte(&writer, 2, (uint8_t)layout->bits);
	dw_thrift_put_byte(&writer, 3, (uint8_t)flags);
	assert_int_equal(dw_thrift_put_stop(&writer, NULL), 0);

	assert_non_null(encoder);
	FLAC__stream_encoder_set_streamable_subset(encoder, false);
	FLAC__stream_encoder_set_channels(encoder, layout->channels);
	FLAC__stream_encoder_set_bits_per_sample(encoder, layout->bits);
	FLAC__stream_encoder_set_sample_rate(encoder, 48000);
	FLAC__stream_encoder_set_compression_level(encoder, 5);
	assert_int_equal(FLAC__stream_encoder_init_stream(encoder, on_write, NULL, NULL,
							  NULL, out),
			 FLAC__STREAM_ENCODER_INIT_STATUS_OK);
	assert_true(FLAC__stream_encoder_process_interleaved(encoder, samples, count));
	assert_true(FLAC__stream_encoder_finish(encoder));
	FLAC__stream_encoder_delete(encoder);
}

/* The bytes of a sample in its layout, computed by arithmetic. */
static void store(uint8_t *to, const struct layout *layout, int64_t sample)
{
	uint64_t value;

	if (!layout->is_signed)
		sample += INT64_C(1) << (layout->bits - 1);
	value = (uint64_t)sample;
	if (layout->low_padded)
		value <<= 8 * layout->bytes - layout->bits;
	for (unsigned i = 0; i < layout->bytes; i++) {
		unsigned byte = layout->big_endian ? layout->bytes - 1 - i : i;

		to[i] = (uint8_t)(value >> (8 * byte));
	}
}

/* Samples of a falling tone, noise, and both extremes; payload in packed, bytes in data.
 */
static void make(const struct layout *layout, unsigned count, struct buffer *packed,
		 uint8_t *data)
{
	size_t values = (size_t)count * layout->channels;
	auto_free FLAC__int32 *samples =
		(FLAC__int32 *)exactly(values * sizeof(*samples));
	int64_t top = (INT64_C(1) << (layout->bits - 1)) - 1;
	uint32_t random = 7 + layout->bits;

	for (size_t i = 0; i < values; i++) {
		int64_t tone = top / 2 - (int64_t)((uint64_t)top * (i % 200) / 200);
		int64_t sample = tone + (int64_t)(next_random(&random) % 16) - 8;

		if (i % 1000 == 0)
			sample = top;
		if (i % 1000 == 500 || sample < -top - 1)
			sample = -top - 1;
		samples[i] = (FLAC__int32)sample;
		store(data + i * layout->bytes, layout, sample);
	}
	encode(packed, layout, samples, count);
}

static void check_layout(const struct layout *layout, unsigned count)
{
	size_t size = (size_t)count * layout->channels * layout->bytes;
	auto_free uint8_t *data = exactly(size), *out = exactly(size), *in = NULL;
	auto_buffer struct buffer packed = { 0 };
	uint64_t announced = 0;
	struct span span;

	make(layout, count, &packed, data);
	in = copy_of(packed.data, packed.size);
	span = (struct span){ in, packed.size };
	assert_int_equal(dw_codec_unpacked_size(CODEC_FLAC, span, &announced, NULL), 0);
	assert_int_equal(announced, size);
	assert_int_equal(dw_codec_unpack(CODEC_FLAC, span, out, size, NULL), 0);
	assert_memory_equal(out, data, size);
	refuse_other_sizes(CODEC_FLAC, in, packed.size, size);
}

/* Of several FLAC frames; under valgrind for each number of bits, bytes and channels. */
static unsigned count_for(unsigned flags)
{
	return flags && is_under_valgrind() ? 1201 : 5001;
}

static void every_layout_comes_back(void **state)
{
	static const unsigned bits[] = { 8, 12, 16, 20, 24 };
	static const unsigned channels[] = { 1, 2, 6, 8 };

	for (unsigned b = 0; b < 5; b++)
		for (unsigned bytes = (bits[b] + 7) / 8; bytes <= 4; bytes++)
			for (unsigned c = 0; c < 4; c++)
				for (unsigned flags = 0; flags < 8; flags++) {
					struct layout layout = { channels[c], bits[b],
								 bytes,	      flags & 1,
								 flags & 2,   flags & 4 };

					check_layout(&layout, count_for(flags));
				}
}

/* The width of a sample as in libFLAC since 1.4. */
static void samples_of_32_bits_come_back(void **state)
{
#if FLAC_API_VERSION_CURRENT >= 12
	for (unsigned flags = 0; flags < 8; flags++) {
		struct layout layout = { 2, 32, 4, flags & 1, flags & 2, flags & 4 };

		check_layout(&layout, 5001);
	}
#else
	skip();
#endif
}

static void damage_is_survived(void **state)
{
	struct layout layout = { 2, 16, 2, false, true, false };
	enum { COUNT = 60, SIZE = COUNT * 4 };
	auto_buffer struct buffer packed = { 0 };
	uint8_t data[SIZE];

	make(&layout, COUNT, &packed, data);
	survive_damage(CODEC_FLAC, packed.data, packed.size, SIZE);
}

static void header_and_stream_must_agree(void **state)
{
	struct layout layout = { 1, 16, 2, false, true, false };
	auto_buffer struct buffer packed = { 0 };
	uint8_t data[200], out[200];
	struct span span;

	make(&layout, 100, &packed, data);
	span = dw_buffer_span(&packed);
	assert_int_equal(dw_codec_unpack(CODEC_FLAC, span, out, 200, NULL), 0);
	/* Two bytes of size, then 14 channels, 13 bits, 13 flags. */
	packed.data[3] = 4;
	assert_int_equal(dw_codec_unpack(CODEC_FLAC, span, out, 200, NULL),
			 DWARFS_ERR_CORRUPT);
	packed.data[3] = 2;
	packed.data[5] = 12;
	assert_int_equal(dw_codec_unpack(CODEC_FLAC, span, out, 200, NULL),
			 DWARFS_ERR_CORRUPT);
	packed.data[5] = 17; /* does not fit into two bytes */
	assert_int_equal(dw_codec_unpack(CODEC_FLAC, span, out, 200, NULL),
			 DWARFS_ERR_CORRUPT);
	packed.data[5] = 16;
	assert_int_equal(dw_codec_unpack(CODEC_FLAC, span, out, 200, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_layout_comes_back),
		cmocka_unit_test(samples_of_32_bits_come_back),
		cmocka_unit_test(header_and_stream_must_agree),
		cmocka_unit_test(damage_is_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
	puts("this library was built without FLAC");
	return 77;
}

#endif
