/* SPDX-License-Identifier: MIT */
/*
 * codec/zstd: one zstd frame with its content size, without a checksum: sections have
 * stronger ones.
 */
#include "config.h"

#if HAVE_ZSTD

#include "base/bytes.h"
#include "codec/ops.h"
#include "codec/zstd.h"
#include "os/pages.h"

/* The match finders of the encoder access tables of up to 100 MiB at random, for which the processor
 * keeps too few translations of 4 KiB. */
static void *allocate_for_zstd(void *opaque, size_t size)
{
	void *memory = dw_malloc(size);

	if (memory)
		dw_pages_use_huge_if_large(memory, size);
	return memory;
}

static void free_of_zstd(void *opaque, void *address)
{
	dw_free(address);
}

const ZSTD_customMem dw_zstd_memory = {
	.customAlloc = allocate_for_zstd,
	.customFree = free_of_zstd,
};

static int fail_zstd(size_t code, int otherwise, dwarfs_error **err)
{
	if (ZSTD_getErrorCode(code) == ZSTD_error_memory_allocation)
		return dw_fail_nomem(err);
	return dw_fail(err, otherwise, "%s", ZSTD_getErrorName(code));
}

static int zstd_unpacked_size(struct span in, uint64_t *size_out, dwarfs_error **err)
{
	unsigned long long size = ZSTD_getFrameContentSize(in.data, in.size);

	if (size == ZSTD_CONTENTSIZE_ERROR)
		return dw_fail(err, DWARFS_ERR_CORRUPT, "no frame begins here");
	if (size == ZSTD_CONTENTSIZE_UNKNOWN)
		return dw_fail(err, DWARFS_ERR_CORRUPT,
			       "the frame does not say how large its content is");
	*size_out = size;
	return 0;
}

/* As ZSTD_decompress(), with memory from base/allocator. */
static size_t decompress_frames(uint8_t *out, size_t size, struct span in)
{
	ZSTD_DCtx *context = ZSTD_createDCtx_advanced(dw_zstd_memory);
	size_t got = (size_t)-ZSTD_error_memory_allocation;

	if (context)
		got = ZSTD_decompressDCtx(context, out, size, in.data, in.size);
	ZSTD_freeDCtx(context);
	return got;
}

static int zstd_unpack(struct span in, uint8_t *out, size_t size, dwarfs_error **err)
{
	uint8_t nothing[1];
	size_t got = decompress_frames(out ? out : nothing, size, in);

	if (ZSTD_isError(got))
		return fail_zstd(got, DWARFS_ERR_CORRUPT, err);
	if (got != size)
		return dw_fail(err, DWARFS_ERR_CORRUPT,
			       "gives %zu bytes where %zu are expected", got, size);
	return 0;
}

/* -- unpacking step by step --------------------------------------------------------- */

/* The frame is passed to zstd block by block, with the output as its window. Blocks
 * have a header of three bytes: 1 bit for the last one, 2 for the type, 21 for the
 * size (RFC 8878, 3.1.1.2). */
#define BLOCK_HEADER_BYTES 3
#define CHECKSUM_BYTES	   4
#define BLOCK_BYTES	   ((uint64_t)128 << 10)
#define STATE_BYTES	   (BLOCK_BYTES + ((uint64_t)100 << 10))
enum { BLOCK_RAW, BLOCK_RLE, BLOCK_COMPRESSED };

struct walker {
	ZSTD_DCtx *context;
	size_t at; /* offset of the next block in the input; not if that is fed */
	bool ended, has_checksum;
};

static void zstd_stop(struct decoder *decoder)
{
	struct walker *walker = decoder->state;

	ZSTD_freeDCtx(walker->context);
	dw_free(walker);
}

static int fail_cut(dwarfs_error **err)
{
	return dw_fail(err, DWARFS_ERR_CORRUPT, "the frame is cut off");
}

/* Pass a piece of the input to zstd, which must consume it all. *code_out is 0 at the end of a
 * frame. */
static int pass_piece(struct decoder *decoder, struct span piece, size_t *code_out,
		      dwarfs_error **err)
{
	struct walker *walker = decoder->state;
	ZSTD_inBuffer in = { piece.data, piece.size, 0 };
	ZSTD_outBuffer out = { decoder->out, decoder->size, decoder->done };

	while (in.pos < in.size) {
		size_t before = in.pos, had = out.pos;

		*code_out = ZSTD_decompressStream(walker->context, &out, &in);
		if (ZSTD_isError(*code_out))
			return fail_zstd(*code_out, DWARFS_ERR_CORRUPT, err);
		if (in.pos == before && out.pos == had)
			return dw_fail(err, DWARFS_ERR_CORRUPT,
				       "gives more than the expected %zu bytes",
				       decoder->size);
	}
	decoder->done = out.pos;
	return 0;
}

static int feed_decoder(struct decoder *decoder, size_t bytes, dwarfs_error **err)
{
	struct walker *walker = decoder->state;
	struct span piece = { decoder->in.data + walker->at, bytes };
	size_t code;
	int ret;

	if (bytes > decoder->in.size - walker->at)
		return fail_cut(err);
	if ((ret = pass_piece(decoder, piece, &code, err)) < 0)
		return ret;
	walker->at += bytes;
	return 0;
}

/* The output is also the window of zstd. */
static int set_window(ZSTD_DCtx *context, dwarfs_error **err)
{
	size_t code;

	ZSTD_DCtx_setParameter(context, ZSTD_d_windowLogMax, ZSTD_WINDOWLOG_MAX);
	code = ZSTD_DCtx_setParameter(context, ZSTD_d_stableOutBuffer, 1);
	return ZSTD_isError(code) ? fail_zstd(code, DWARFS_ERR_UNSUPPORTED, err) : 0;
}

static int start_block_walk(struct decoder *decoder, dwarfs_error **err)
{
	struct walker *walker = decoder->state;
	ZSTD_frameHeader header;
	size_t code = ZSTD_getFrameHeader(&header, decoder->in.data, decoder->in.size);
	int ret;

	if (ZSTD_isError(code))
		return fail_zstd(code, DWARFS_ERR_CORRUPT, err);
	if (code > 0)
		return fail_cut(err);
	if (header.frameType != ZSTD_frame || header.frameContentSize != decoder->size)
		return dw_fail(err, DWARFS_ERR_CORRUPT,
			       "does not announce the expected %zu bytes", decoder->size);
	walker->has_checksum = header.checksumFlag;
	if ((ret = set_window(walker->context, err)) < 0)
		return ret;
	return feed_decoder(decoder, header.headerSize, err);
}

static int new_walker(struct decoder *decoder, dwarfs_error **err)
{
	struct walker *walker = dw_calloc(1, sizeof(*walker));

	if (!walker)
		return dw_fail_nomem(err);
	if (!(walker->context = ZSTD_createDCtx_advanced(dw_zstd_memory))) {
		dw_free(walker);
		return dw_fail_nomem(err);
	}
	decoder->state = walker;
	decoder->fixed = STATE_BYTES;
	return 0;
}

static int zstd_start(struct decoder *decoder, dwarfs_error **err)
{
	int ret = new_walker(decoder, err);

	if (ret < 0)
		return ret;
	if ((ret = start_block_walk(decoder, err)) < 0)
		zstd_stop(decoder);
	return ret;
}

static int walk_block(struct decoder *decoder, dwarfs_error **err)
{
	struct walker *walker = decoder->state;
	const uint8_t *at = decoder->in.data + walker->at;
	uint32_t header, bytes;

	if (decoder->in.size - walker->at < BLOCK_HEADER_BYTES)
		return fail_cut(err);
	header = at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16;
	bytes = (header >> 1 & 3) == BLOCK_RLE ? 1 : header >> 3;
	walker->ended = header & 1;
	if (walker->ended && walker->has_checksum)
		bytes += CHECKSUM_BYTES;
	return feed_decoder(decoder, BLOCK_HEADER_BYTES + (size_t)bytes, err);
}

/* Data after the frame must not give output, as when all is unpacked at once. */
static int check_rest(const struct decoder *decoder, dwarfs_error **err)
{
	const struct walker *walker = decoder->state;
	const struct span rest = { decoder->in.data + walker->at,
				   decoder->in.size - walker->at };
	uint8_t nothing[1];
	size_t code = rest.size ? decompress_frames(nothing, 0, rest) : 0;

	if (ZSTD_isError(code))
		return fail_zstd(code, DWARFS_ERR_CORRUPT, err);
	return 0;
}

static int zstd_step(struct decoder *decoder, size_t upto, dwarfs_error **err)
{
	struct walker *walker = decoder->state;
	int ret;

	/* The last block may be an empty one. */
	while (!walker->ended && (decoder->done < upto || decoder->done == decoder->size))
		if ((ret = walk_block(decoder, err)) < 0)
			return ret;
	if (!walker->ended)
		return 0;
	if (decoder->done != decoder->size)
		return dw_fail(err, DWARFS_ERR_CORRUPT,
			       "gives %zu bytes where %zu are expected", decoder->done,
			       decoder->size);
	return check_rest(decoder, err);
}

/* -- unpacking what arrives in pieces ------------------------------------------------- */

static int zstd_start_fed(struct decoder *decoder, dwarfs_error **err)
{
	int ret = new_walker(decoder, err);

	if (ret < 0)
		return ret;
	ret = set_window(((struct walker *)decoder->state)->context, err);
	if (ret < 0)
		zstd_stop(decoder);
	return ret;
}

static int zstd_feed(struct decoder *decoder, struct span piece, bool is_last,
		     dwarfs_error **err)
{
	struct walker *walker = decoder->state;
	size_t code = 1;
	int ret = pass_piece(decoder, piece, &code, err);

	if (ret < 0)
		return ret;
	if (piece.size > 0)
		walker->ended = code == 0;
	if (!is_last)
		return 0;
	if (!walker->ended)
		return fail_cut(err);
	if (decoder->done != decoder->size)
		return dw_fail(err, DWARFS_ERR_CORRUPT,
			       "gives %zu bytes where %zu are expected", decoder->done,
			       decoder->size);
	return 0;
}

const struct codec_ops dw_codec_zstd = {
	.unpacked_size = zstd_unpacked_size,
	.unpack = zstd_unpack,
	.start = zstd_start,
	.step = zstd_step,
	.stop = zstd_stop,
	.start_fed = zstd_start_fed,
	.feed = zstd_feed,
};

#endif
