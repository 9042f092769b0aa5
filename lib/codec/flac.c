/* SPDX-License-Identifier: MIT */
/*
 * codec/flac: the size, a header with the layout of the samples in bytes, then PCM
 * samples as a FLAC stream.
 *
 * Uses libFLAC, which is linked, or loaded for each payload.
 */
#include "config.h"

#if HAVE_FLAC

#include <string.h>

#include <FLAC/stream_decoder.h>

#include "codec/flac.h"
#include "codec/ops.h"
#include "format/thrift.h"
#include "base/machine/shared_library.h"

#define MIN_BITS    8
#define MAX_BITS    32
#define STATE_BYTES ((uint64_t)1 << 20) /* maximum of a decoder */

#define LIBFLAC_SYMBOLS(NAMED)                                                           \
	NAMED(create, FLAC__stream_decoder_new)                                          \
	NAMED(init_stream, FLAC__stream_decoder_init_stream)                             \
	NAMED(process_single, FLAC__stream_decoder_process_single)                       \
	NAMED(get_state, FLAC__stream_decoder_get_state)                                 \
	NAMED(destroy, FLAC__stream_decoder_delete)                                      \
	NAMED(state_text, FLAC__StreamDecoderStateString)                                \
	NAMED(error_text, FLAC__StreamDecoderErrorStatusString)

struct libflac {
	LIBFLAC_SYMBOLS(DW_SYMBOL_MEMBER)
};

struct header {
	int64_t channels;
	unsigned bits, flags;
};

struct flac_unpacker {
	struct libflac libflac;
	unsigned channels, bits, bytes; /* of a sample */
	bool big_endian;
	uint32_t offset; /* makes signed samples unsigned */
	unsigned shift;
	struct span in; /* remaining input */
	uint8_t *out;
	size_t left; /* space in out */
	FLAC__StreamDecoder *flac;
	const char *error; /* the error, or NULL */
};

static int read_flac_header(struct thrift_reader *reader, struct header *header,
			    dwarfs_error **err)
{
	struct thrift_field field = { 0 };

	*header = (struct header){ 0 };
	while (dw_thrift_field(reader, &field)) {
		switch (field.id) {
		case DW_FLAC_H_CHANNELS:
			header->channels = dw_thrift_int(reader, &field, THRIFT_I16);
			break;
		case DW_FLAC_H_BITS:
			header->bits = dw_thrift_byte(reader, &field);
			break;
		case DW_FLAC_H_FLAGS:
			header->flags = dw_thrift_byte(reader, &field);
			break;
		default:
			dw_thrift_skip(reader, &field);
		}
	}
	if (!dw_thrift_ok(reader))
		return dw_fail(err, DWARFS_ERR_CORRUPT, "header: %s", reader->error);
	if (header->channels < 1 || header->channels > DW_FLAC_MAX_CHANNELS ||
	    header->bits < MIN_BITS || header->bits > MAX_BITS ||
	    header->bits > 8 * ((header->flags & DW_FLAC_FLAG_BYTES) + 1))
		return dw_fail(err, DWARFS_ERR_CORRUPT,
			       "the header has values that cannot be");
	return 0;
}

/* -- samples ------------------------------------------------------------------------- */

/* Always inlined, so that bytes and order are constants in the loops below. */
static inline __attribute__((always_inline)) void
store_samples(const struct flac_unpacker *unpacker, const FLAC__int32 *const channels[],
	      size_t count, unsigned bytes, bool big_endian)
{
	uint8_t *to = unpacker->out;

	for (size_t i = 0; i < count; i++) {
		for (unsigned c = 0; c < unpacker->channels; c++) {
			uint32_t value = ((uint32_t)channels[c][i] + unpacker->offset)
					 << unpacker->shift;

			for (unsigned b = 0; b < bytes; b++)
				to[b] = (uint8_t)(value >>
						  8 * (big_endian ? bytes - 1 - b : b));
			to += bytes;
		}
	}
}

static void store_frame(const struct flac_unpacker *unpacker,
			const FLAC__int32 *const channels[], size_t count)
{
	switch (unpacker->bytes | (unpacker->big_endian ? DW_FLAC_FLAG_BIG_ENDIAN : 0)) {
	case 1:
	case 1 | DW_FLAC_FLAG_BIG_ENDIAN:
		store_samples(unpacker, channels, count, 1, false);
		return;
	case 2:
		store_samples(unpacker, channels, count, 2, false);
		return;
	case 2 | DW_FLAC_FLAG_BIG_ENDIAN:
		store_samples(unpacker, channels, count, 2, true);
		return;
	case 3:
		store_samples(unpacker, channels, count, 3, false);
		return;
	case 3 | DW_FLAC_FLAG_BIG_ENDIAN:
		store_samples(unpacker, channels, count, 3, true);
		return;
	case 4:
		store_samples(unpacker, channels, count, 4, false);
		return;
	default:
		store_samples(unpacker, channels, count, 4, true);
	}
}

/* -- callbacks of libFLAC ------------------------------------------------------------ */

static FLAC__StreamDecoderReadStatus on_decoder_read(const FLAC__StreamDecoder *decoder,
						     FLAC__byte buffer[], size_t *bytes,
						     void *user)
{
	struct flac_unpacker *unpacker = user;

	if (*bytes > unpacker->in.size)
		*bytes = unpacker->in.size;
	if (*bytes == 0)
		return FLAC__STREAM_DECODER_READ_STATUS_END_OF_STREAM;
	memcpy(buffer, unpacker->in.data, *bytes);
	unpacker->in.data += *bytes;
	unpacker->in.size -= *bytes;
	return FLAC__STREAM_DECODER_READ_STATUS_CONTINUE;
}

static FLAC__StreamDecoderWriteStatus on_write(const FLAC__StreamDecoder *decoder,
					       const FLAC__Frame *frame,
					       const FLAC__int32 *const channels[],
					       void *user)
{
	struct flac_unpacker *unpacker = user;
	size_t size =
		(size_t)frame->header.blocksize * unpacker->channels * unpacker->bytes;

	if (unpacker->error)
		return FLAC__STREAM_DECODER_WRITE_STATUS_ABORT;
	if (frame->header.channels != unpacker->channels ||
	    frame->header.bits_per_sample != unpacker->bits)
		unpacker->error = "stream and header disagree about the samples";
	else if (size > unpacker->left)
		unpacker->error = "gives more bytes than expected";
	if (unpacker->error)
		return FLAC__STREAM_DECODER_WRITE_STATUS_ABORT;
	store_frame(unpacker, channels, frame->header.blocksize);
	unpacker->out += size;
	unpacker->left -= size;
	return FLAC__STREAM_DECODER_WRITE_STATUS_CONTINUE;
}

static void on_error(const FLAC__StreamDecoder *decoder,
		     FLAC__StreamDecoderErrorStatus status, void *user)
{
	struct flac_unpacker *unpacker = user;

	if (!unpacker->error)
		unpacker->error = (*unpacker->libflac.error_text)[status];
}

/* -- libFLAC ------------------------------------------------------------------------- */

static int fill_libflac(struct libflac *libflac, dwarfs_error **err)
{
	return DW_FILL_SYMBOLS(LIBFLAC_SYMBOLS, libflac, LIBFLAC_FILE,
			       "FLAC needs libFLAC", err);
}

static bool flac_is_usable(void)
{
	struct libflac libflac;

	return fill_libflac(&libflac, NULL) == 0;
}

/* -- unpacking ----------------------------------------------------------------------- */

static void flac_stop(struct decoder *decoder)
{
	struct flac_unpacker *unpacker = decoder->state;

	unpacker->libflac.destroy(unpacker->flac);
	dw_free(unpacker);
}

static int read_size_and_header(struct decoder *decoder, struct flac_unpacker *unpacker,
				dwarfs_error **err)
{
	struct header header = { 0 };
	struct thrift_reader reader;
	uint64_t announced;
	int ret;

	dw_thrift_start(&reader, decoder->in);
	announced = dw_thrift_varint(&reader);
	ret = read_flac_header(&reader, &header, err);
	if (ret < 0)
		return ret;
	if (announced != decoder->size)
		return dw_fail(err, DWARFS_ERR_CORRUPT,
			       "announces %" PRIu64 " bytes where %zu are expected",
			       announced, decoder->size);
	unpacker->channels = (unsigned)header.channels;
	unpacker->bits = header.bits;
	unpacker->bytes = (header.flags & DW_FLAC_FLAG_BYTES) + 1;
	unpacker->big_endian = header.flags & DW_FLAC_FLAG_BIG_ENDIAN;
	unpacker->offset =
		header.flags & DW_FLAC_FLAG_SIGNED ? 0 : UINT32_C(1) << (header.bits - 1);
	unpacker->shift = header.flags & DW_FLAC_FLAG_LOW_PADDED
				  ? 8 * unpacker->bytes - header.bits
				  : 0;
	unpacker->in = (struct span){ reader.at, dw_thrift_left(&reader) };
	return 0;
}

static int flac_start(struct decoder *decoder, dwarfs_error **err)
{
	auto_free struct flac_unpacker *unpacker = dw_calloc(1, sizeof(*unpacker));
	int ret;

	if (!unpacker)
		return dw_fail_nomem(err);
	unpacker->out = decoder->out;
	unpacker->left = decoder->size;
	if ((ret = read_size_and_header(decoder, unpacker, err)) < 0)
		return ret;
	if ((ret = fill_libflac(&unpacker->libflac, err)) < 0)
		return ret;
	if (!(unpacker->flac = unpacker->libflac.create()))
		return dw_fail_nomem(err);
	if (unpacker->libflac.init_stream(
		    unpacker->flac, on_decoder_read, NULL, NULL, NULL, NULL, on_write,
		    NULL, on_error, unpacker) != FLAC__STREAM_DECODER_INIT_STATUS_OK) {
		unpacker->libflac.destroy(unpacker->flac);
		return dw_fail_nomem(err);
	}
	decoder->fixed = STATE_BYTES;
	decoder->state = dw_steal(unpacker);
	return 0;
}

/* Frame by frame, so that the first error is reported. */
static int flac_step(struct decoder *decoder, size_t upto, dwarfs_error **err)
{
	struct flac_unpacker *unpacker = decoder->state;
	FLAC__StreamDecoderState state;

	do {
		bool going = unpacker->libflac.process_single(unpacker->flac);

		state = unpacker->libflac.get_state(unpacker->flac);
		if (state == FLAC__STREAM_DECODER_MEMORY_ALLOCATION_ERROR)
			return dw_fail_nomem(err);
		if (unpacker->error)
			return dw_fail(err, DWARFS_ERR_CORRUPT, "%s", unpacker->error);
		if (!going)
			return dw_fail(err, DWARFS_ERR_CORRUPT, "%s",
				       (*unpacker->libflac.state_text)[state]);
		decoder->done = decoder->size - unpacker->left;
	} while (state != FLAC__STREAM_DECODER_END_OF_STREAM &&
		 (decoder->done < upto || unpacker->left == 0));
	if (state == FLAC__STREAM_DECODER_END_OF_STREAM && unpacker->left)
		return dw_fail(err, DWARFS_ERR_CORRUPT,
			       "gives %zu bytes less than expected", unpacker->left);
	return 0;
}

const struct codec_ops dw_codec_flac = {
	.is_usable = flac_is_usable,
	.unpacked_size = dw_codec_varint_size,
	.start = flac_start,
	.step = flac_step,
	.stop = flac_stop,
};

#endif
