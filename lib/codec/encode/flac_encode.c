/* SPDX-License-Identifier: MIT */
/*
 * codec/encode/flac_encode: pack PCM samples into a FLAC stream.
 *
 * Uses libFLAC, which is linked, or loaded for each block. A block whose unused bits differ from the layout is not packed, since
 * they would be lost.
 */
#include <stdio.h>
#include "config.h"

#if HAVE_FLAC

#include <FLAC/stream_encoder.h>

#include "codec/encode/ops.h"
#include "codec/flac.h"
#include "format/thrift.h"
#include "base/machine/shared_library.h"

#define DEFAULT_LEVEL 5
#define MAX_LEVEL     8
#define SAMPLE_RATE   48000 /* not used by readers */
#define HEADER_BYTES  32    /* more than the thrift struct needs */

/* libFLAC packs samples of 32 bits since 1.4. */
#if FLAC_API_VERSION_CURRENT >= 12
#define MAX_PACKED_BITS 32
#else
#define MAX_PACKED_BITS 24
#endif

#define SLICE_SAMPLES 4096 /* of all channels together */

#define LIBFLAC_SYMBOLS(NAMED)                                                           \
	NAMED(create, FLAC__stream_encoder_new)                                          \
	NAMED(set_streamable_subset, FLAC__stream_encoder_set_streamable_subset)         \
	NAMED(set_channels, FLAC__stream_encoder_set_channels)                           \
	NAMED(set_bits_per_sample, FLAC__stream_encoder_set_bits_per_sample)             \
	NAMED(set_sample_rate, FLAC__stream_encoder_set_sample_rate)                     \
	NAMED(set_compression_level, FLAC__stream_encoder_set_compression_level)         \
	NAMED(set_exhaustive, FLAC__stream_encoder_set_do_exhaustive_model_search)       \
	NAMED(set_total_samples, FLAC__stream_encoder_set_total_samples_estimate)        \
	NAMED(init_stream, FLAC__stream_encoder_init_stream)                             \
	NAMED(process_interleaved, FLAC__stream_encoder_process_interleaved)             \
	NAMED(finish, FLAC__stream_encoder_finish)                                       \
	NAMED(get_state, FLAC__stream_encoder_get_state)                                 \
	NAMED(destroy, FLAC__stream_encoder_delete)                                      \
	NAMED(state_text, FLAC__StreamEncoderStateString)                                \
	NAMED(version_text, FLAC__VERSION_STRING)

struct libflac {
	LIBFLAC_SYMBOLS(DW_SYMBOL_MEMBER)
};

struct flac_packer {
	struct libflac libflac;
	struct codec_samples layout;
	unsigned level;
	bool exhaustive;
};

/* The output of the encoder; room is its maximum size. */
struct sink {
	struct buffer *out;
	size_t room;
	bool is_full, nomem;
};

/* Always inlined, so that bytes and order are constants. Not 0 if a sample has bits
 * where its layout has none. */
static inline __attribute__((always_inline)) uint32_t
load_samples(const struct codec_samples *layout, const uint8_t *from, size_t count,
	     FLAC__int32 *to, unsigned bytes, bool big_endian)
{
	const unsigned bits = layout->bits_per_sample;
	const unsigned shift = layout->lsb_padding ? 8 * bytes - bits : 0;
	const uint32_t sign = UINT32_C(1) << (bits - 1);
	const uint32_t mask = UINT32_MAX >> (32 - bits);
	const uint32_t whole = UINT32_MAX >> (32 - 8 * bytes);
	const uint32_t offset = layout->is_unsigned ? sign : 0;
	uint32_t wrong = 0;

	for (size_t i = 0; i < count; i++) {
		uint32_t raw = 0, value;

		for (unsigned b = 0; b < bytes; b++)
			raw |= (uint32_t)from[b] << 8 * (big_endian ? bytes - 1 - b : b);
		from += bytes;
		value = raw >> shift & mask;
		/* From unsigned by the offset, or by extension of the sign. */
		value = layout->is_unsigned ? value - offset : (value ^ sign) - sign;
		wrong |= (((value + offset) << shift) ^ raw) & whole;
		to[i] = (FLAC__int32)value;
	}
	return wrong;
}

static uint32_t load_frames(const struct codec_samples *layout, const uint8_t *from,
			    size_t count, FLAC__int32 *to)
{
	const bool big = layout->big_endian;

	switch (layout->bytes_per_sample) {
	case 1:
		return load_samples(layout, from, count, to, 1, false);
	case 2:
		return big ? load_samples(layout, from, count, to, 2, true)
			   : load_samples(layout, from, count, to, 2, false);
	case 3:
		return big ? load_samples(layout, from, count, to, 3, true)
			   : load_samples(layout, from, count, to, 3, false);
	default:
		return big ? load_samples(layout, from, count, to, 4, true)
			   : load_samples(layout, from, count, to, 4, false);
	}
}

static FLAC__StreamEncoderWriteStatus on_packed(const FLAC__StreamEncoder *encoder,
						const FLAC__byte bytes[], size_t size,
						uint32_t samples, uint32_t frame,
						void *user)
{
	struct sink *sink = user;

	if (size > sink->room - sink->out->size)
		sink->is_full = true;
	else if (dw_buffer_append(sink->out, bytes, size, NULL) < 0)
		sink->nomem = true;
	return sink->is_full || sink->nomem
		       ? FLAC__STREAM_ENCODER_WRITE_STATUS_FATAL_ERROR
		       : FLAC__STREAM_ENCODER_WRITE_STATUS_OK;
}

static bool set_up_encoder(FLAC__StreamEncoder *encoder, const struct flac_packer *packer,
			   size_t frames)
{
	const struct codec_samples *layout = &packer->layout;
	const struct libflac *libflac = &packer->libflac;

	return libflac->set_streamable_subset(encoder, false) &&
	       libflac->set_channels(encoder, layout->channels) &&
	       libflac->set_bits_per_sample(encoder, layout->bits_per_sample) &&
	       libflac->set_sample_rate(encoder, SAMPLE_RATE) &&
	       libflac->set_compression_level(encoder, packer->level) &&
	       libflac->set_exhaustive(encoder, packer->exhaustive) &&
	       libflac->set_total_samples(encoder, frames);
}

static int fail_encoder(const struct flac_packer *packer,
			const FLAC__StreamEncoder *encoder, const struct sink *sink,
			dwarfs_error **err)
{
	FLAC__StreamEncoderState state = packer->libflac.get_state(encoder);

	if (sink->nomem || state == FLAC__STREAM_ENCODER_MEMORY_ALLOCATION_ERROR)
		return dw_fail_nomem(err);
	return dw_fail(err, DWARFS_ERR_INVALID, "the compressor has failed (%s)",
		       (*packer->libflac.state_text)[state]);
}

/* Frame by frame; *fits_out: whether everything could be represented, and fits. */
static int flac_encode(FLAC__StreamEncoder *encoder, const struct flac_packer *packer,
		       struct span in, struct sink *sink, bool *fits_out,
		       struct codec_watch *watch, dwarfs_error **err)
{
	const struct codec_samples *layout = &packer->layout;
	const size_t frame_bytes = (size_t)layout->channels * layout->bytes_per_sample;
	const size_t most = SLICE_SAMPLES / layout->channels;
	FLAC__int32 samples[SLICE_SAMPLES];

	for (size_t left = in.size / frame_bytes, count; left > 0; left -= count) {
		int ret = dw_codec_go_on(watch, in.size - left * frame_bytes, err);

		if (ret < 0)
			return ret;
		count = left < most ? left : most;
		if (load_frames(layout, in.data, count * layout->channels, samples))
			return 0;
		in.data += count * frame_bytes;
		if (!packer->libflac.process_interleaved(encoder, samples,
							 (uint32_t)count))
			return sink->is_full ? 0
					     : fail_encoder(packer, encoder, sink, err);
	}
	if (!packer->libflac.finish(encoder))
		return sink->is_full ? 0 : fail_encoder(packer, encoder, sink, err);
	*fits_out = true;
	return 0;
}

/* The size and the layout of the samples. */
static int put_flac_header(const struct codec_samples *layout, size_t size,
			   struct buffer *out, dwarfs_error **err)
{
	struct thrift_writer writer;
	unsigned flags = (layout->big_endian ? DW_FLAC_FLAG_BIG_ENDIAN : 0) |
			 (layout->is_unsigned ? 0 : DW_FLAC_FLAG_SIGNED) |
			 (layout->lsb_padding ? DW_FLAC_FLAG_LOW_PADDED : 0) |
			 (layout->bytes_per_sample - 1u);

	dw_thrift_put_start(&writer, out);
	dw_thrift_put_varint(&writer, size);
	dw_thrift_put_int(&writer, DW_FLAC_H_CHANNELS, THRIFT_I16, layout->channels);
	dw_thrift_put_byte(&writer, DW_FLAC_H_BITS, layout->bits_per_sample);
	dw_thrift_put_byte(&writer, DW_FLAC_H_FLAGS, (uint8_t)flags);
	return dw_thrift_put_stop(&writer, err);
}

static int flac_pack(void *state, struct span in, struct buffer *out,
		     struct codec_watch *watch, dwarfs_error **err)
{
	struct flac_packer *packer = state;
	size_t frame_bytes =
		(size_t)packer->layout.channels * packer->layout.bytes_per_sample;
	struct sink sink = { .out = out, .room = in.size };
	FLAC__StreamEncoder *encoder;
	bool fits = false;
	int ret;

	if (in.size % frame_bytes != 0)
		return dw_fail(err, DWARFS_ERR_INVALID,
			       "%zu bytes are not a whole number of samples", in.size);
	if (in.size < HEADER_BYTES)
		return 0;
	if ((ret = dw_buffer_reserve(out, in.size, err)) < 0 ||
	    (ret = put_flac_header(&packer->layout, in.size, out, err)) < 0)
		return ret;
	encoder = packer->libflac.create();
	if (!encoder)
		return dw_fail_nomem(err);
	if (!set_up_encoder(encoder, packer, in.size / frame_bytes) ||
	    packer->libflac.init_stream(encoder, on_packed, NULL, NULL, NULL, &sink) !=
		    FLAC__STREAM_ENCODER_INIT_STATUS_OK)
		ret = sink.is_full ? 0 : fail_encoder(packer, encoder, &sink, err);
	else
		ret = flac_encode(encoder, packer, in, &sink, &fits, watch, err);
	packer->libflac.destroy(
		encoder); /* writes the remaining frames, unless finished */
	if (!fits)
		out->size = 0;
	return ret;
}

static int fill_libflac(struct libflac *libflac, dwarfs_error **err)
{
	return DW_FILL_SYMBOLS(LIBFLAC_SYMBOLS, libflac, LIBFLAC_FILE,
			       "FLAC needs libFLAC", err);
}

static int flac_check_usable(dwarfs_error **err)
{
	struct libflac libflac;

	return fill_libflac(&libflac, err);
}

static int flac_open_packer(const struct codec_spec *spec, size_t block_bytes,
			    void **state_out, dwarfs_error **err)
{
	auto_free struct flac_packer *packer = NULL;
	int ret;

	if (spec->samples.bits_per_sample > MAX_PACKED_BITS)
		return dw_fail(err, DWARFS_ERR_INVALID,
			       "this libFLAC does not pack samples of %u bits",
			       spec->samples.bits_per_sample);
	packer = dw_calloc(1, sizeof(*packer));
	if (!packer)
		return dw_fail_nomem(err);
	if ((ret = fill_libflac(&packer->libflac, err)) < 0)
		return ret;
	packer->layout = spec->samples;
	packer->level = (unsigned)spec->level;
	packer->exhaustive = spec->exhaustive;
	*state_out = dw_steal(packer);
	return 0;
}

/* Measured: memory that libFLAC uses, in all and for each channel. */
#define BASE_BYTES    (UINT64_C(400) << 10)
#define CHANNEL_BYTES (UINT64_C(120) << 10)

static uint64_t flac_memory(const struct codec_spec *spec, size_t block_bytes)
{
	unsigned channels =
		spec->samples.is_known ? spec->samples.channels : DW_FLAC_MAX_CHANNELS;

	return BASE_BYTES + CHANNEL_BYTES * channels;
}

static const struct codec_option options[] = {
	{ "level", DW_CODEC_FIELD(level), .min = 0, .max = MAX_LEVEL },
	{ "exhaustive", DW_CODEC_FIELD(exhaustive), .is_flag = true },
	{ NULL },
};

static void flac_library(char *out, size_t room)
{
	struct libflac libflac;

	if (fill_libflac(&libflac, NULL) == 0)
		snprintf(out, room, "FLAC-%s", *libflac.version_text);
}

const struct encoder_ops dw_encoder_flac = {
	.check_usable = flac_check_usable,
	.library = flac_library,
	.help = "flac    level=0..8 (5), exhaustive; for audio (pcmaudio/waveform)",
	.defaults = { .id = CODEC_FLAC, .level = DEFAULT_LEVEL },
	.options = options,
	.samples = &dw_samples_audio,
	.packs_as = CODEC_FLAC,
	.open = flac_open_packer,
	.close = dw_free,
	.pack = flac_pack,
	.memory = flac_memory,
};

#endif
