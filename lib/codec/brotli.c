/* SPDX-License-Identifier: MIT */
/*
 * codec/brotli: the size as a varint, then one brotli stream, possibly with a large
 * window.
 *
 * A stream can require more memory than its output, so the decoder gets a budget.
 */
#include "config.h"

#if HAVE_BROTLI

#include <brotli/decode.h>

#include "base/bytes.h"
#include "codec/ops.h"
#include "format/thrift.h"

/* memory of the decoder besides its window: trees and tables of one meta-block */
#define DECODER_BASE_BYTES (UINT64_C(16) << 20)

/* -- memory -------------------------------------------------------------------------- */

/* Stored before each allocation: its size. */
union prefix {
	size_t size;
	max_align_t align;
};

struct decoder_budget {
	uint64_t left;
	bool refused;	/* more was requested than left */
	bool exhausted; /* the system had no memory */
};

static void *allocate_from_budget(void *opaque, size_t size)
{
	struct decoder_budget *budget = opaque;
	union prefix *memory;

	if (size > SIZE_MAX - sizeof(*memory) || size > budget->left) {
		budget->refused = true;
		return NULL;
	}
	memory = dw_malloc(sizeof(*memory) + size);
	if (!memory) {
		budget->exhausted = true;
		return NULL;
	}
	memory->size = size;
	budget->left -= size;
	return memory + 1;
}

static void give_back(void *opaque, void *address)
{
	struct decoder_budget *budget = opaque;
	union prefix *memory = address;

	if (!memory)
		return;
	memory--;
	budget->left += memory->size;
	dw_free(memory);
}

/* -- unpacking ----------------------------------------------------------------------- */

struct brotli_unpacker {
	BrotliDecoderState *brotli;
	struct decoder_budget budget;
	struct span in; /* remaining input */
};

static void brotli_stop(struct decoder *decoder)
{
	struct brotli_unpacker *unpacker = decoder->state;

	BrotliDecoderDestroyInstance(unpacker->brotli);
	dw_free(unpacker);
}

static int brotli_start(struct decoder *decoder, dwarfs_error **err)
{
	struct brotli_unpacker *unpacker;
	struct thrift_reader reader;
	uint64_t announced;

	dw_thrift_start(&reader, decoder->in);
	announced = dw_thrift_varint(&reader);
	if (!dw_thrift_ok(&reader) || announced != decoder->size)
		return dw_fail(err, DWARFS_ERR_CORRUPT,
			       "announces %" PRIu64 " bytes where %zu are expected",
			       announced, decoder->size);
	unpacker = dw_calloc(1, sizeof(*unpacker));
	if (!unpacker)
		return dw_fail_nomem(err);
	unpacker->in = (struct span){ reader.at, dw_thrift_left(&reader) };
	unpacker->budget.left = 4 * (uint64_t)decoder->size + DECODER_BASE_BYTES;
	unpacker->brotli = BrotliDecoderCreateInstance(allocate_from_budget, give_back,
						       &unpacker->budget);
	if (!unpacker->brotli) {
		dw_free(unpacker);
		return dw_fail_nomem(err);
	}
	BrotliDecoderSetParameter(unpacker->brotli, BROTLI_DECODER_PARAM_LARGE_WINDOW, 1);
	decoder->state = unpacker;
	decoder->fixed = DECODER_BASE_BYTES;
	decoder->window = 2 * (uint64_t)decoder->size;
	return 0;
}

static int check_stream_end(const struct decoder *decoder, BrotliDecoderResult result,
			    dwarfs_error **err)
{
	const struct brotli_unpacker *unpacker = decoder->state;

	if (result != BROTLI_DECODER_RESULT_SUCCESS || decoder->done != decoder->size)
		return dw_fail(err, DWARFS_ERR_CORRUPT,
			       "does not give the expected %zu bytes", decoder->size);
	if (unpacker->in.size != 0)
		return dw_fail(err, DWARFS_ERR_CORRUPT, "%zu bytes follow the data",
			       unpacker->in.size);
	return 0;
}

static int brotli_step(struct decoder *decoder, size_t upto, dwarfs_error **err)
{
	struct brotli_unpacker *unpacker = decoder->state;
	uint8_t *out = decoder->out + decoder->done;
	size_t room = upto - decoder->done;
	BrotliDecoderResult result =
		BrotliDecoderDecompressStream(unpacker->brotli, &unpacker->in.size,
					      &unpacker->in.data, &room, &out, NULL);

	decoder->done = upto - room;
	if (result == BROTLI_DECODER_RESULT_ERROR && unpacker->budget.exhausted)
		return dw_fail_nomem(err);
	if (result == BROTLI_DECODER_RESULT_ERROR)
		return dw_fail(err, DWARFS_ERR_CORRUPT, "the data is damaged (%s)",
			       BrotliDecoderErrorString(
				       BrotliDecoderGetErrorCode(unpacker->brotli)));
	if (result == BROTLI_DECODER_RESULT_NEEDS_MORE_INPUT)
		return dw_fail(err, DWARFS_ERR_CORRUPT, "the data is cut off");
	if (decoder->done == decoder->size || result == BROTLI_DECODER_RESULT_SUCCESS)
		return check_stream_end(decoder, result, err);
	return 0;
}

const struct codec_ops dw_codec_brotli = {
	.unpacked_size = dw_codec_varint_size,
	.start = brotli_start,
	.step = brotli_step,
	.stop = brotli_stop,
};

#endif
