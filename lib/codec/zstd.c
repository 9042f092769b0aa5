/* SPDX-License-Identifier: MIT */
/*
 * codec/zstd: one zstd frame that knows its content size and has no checksum of its own,
 * since sections have better ones.
 */
#include <stdio.h>
#include "config.h"

#if HAVE_ZSTD

/* For ZSTD_getCParams() and the estimate of memory, which the shared library exports. */
#define ZSTD_STATIC_LINKING_ONLY
#include <zstd.h>
#include <zstd_errors.h>

#include "base/bytes.h"
#include "codec/ops.h"

#define MIN_LEVEL     1
#define MAX_LEVEL     22
#define MIN_WINDOW    10
#define MAX_WINDOW    27 /* what a streaming reader accepts unless told otherwise */
#define LONG_RATE     7	 /* log2 of bytes per entry in the table for long matches */
#define LONG_BYTES    8	 /* an entry of it */
#define ESTIMATE_FAIL (UINT64_C(64) << 20)

static int fail(size_t code, int otherwise, dwarfs_error **err)
{
	if (ZSTD_getErrorCode(code) == ZSTD_error_memory_allocation)
		return dw_fail_nomem(err);
	return dw_fail(err, otherwise, "%s", ZSTD_getErrorName(code));
}

static int unpacked_size(struct span in, uint64_t *size_out, dwarfs_error **err)
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

static int unpack(struct span in, uint8_t *out, size_t size, dwarfs_error **err)
{
	uint8_t nothing[1];
	size_t got = ZSTD_decompress(out ? out : nothing, size, in.data, in.size);

	if (ZSTD_isError(got))
		return fail(got, DWARFS_ERR_CORRUPT, err);
	if (got != size)
		return dw_fail(err, DWARFS_ERR_CORRUPT,
			       "gives %zu bytes where %zu are expected", got, size);
	return 0;
}

/*
 * log2 of a window that reaches over the whole block. It costs nothing, as blocks are
 * packed in one piece. Only who asks for long matches gets more than any reader takes.
 */
static int window_for(const struct codec_spec *spec, size_t block_bytes)
{
	int bits = block_bytes > 1 ? (int)dw_bit_length(block_bytes - 1) : 0;
	int most = spec->long_matches ? ZSTD_WINDOWLOG_MAX : MAX_WINDOW;

	if (bits < MIN_WINDOW)
		return MIN_WINDOW;
	return bits > most ? most : bits;
}

static size_t set_parameters(ZSTD_CCtx *context, const struct codec_spec *spec,
			     size_t block_bytes)
{
	size_t ret =
		ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, spec->level);

	if (!ZSTD_isError(ret))
		ret = ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog,
					     window_for(spec, block_bytes));
	if (!ZSTD_isError(ret) && spec->long_matches)
		ret = ZSTD_CCtx_setParameter(context, ZSTD_c_enableLongDistanceMatching,
					     1);
	return ret;
}

static int open_packer(const struct codec_spec *spec, size_t block_bytes,
		       void **state_out, dwarfs_error **err)
{
	ZSTD_CCtx *context = ZSTD_createCCtx();
	size_t ret;

	if (!context)
		return dw_fail_nomem(err);
	ret = set_parameters(context, spec, block_bytes);
	if (ZSTD_isError(ret)) {
		ZSTD_freeCCtx(context);
		return fail(ret, DWARFS_ERR_RANGE, err);
	}
	*state_out = context;
	return 0;
}

static void close_packer(void *state)
{
	ZSTD_freeCCtx(state);
}

/* Pack the next slice of the input; the last one ends the frame. */
static size_t add_slice(ZSTD_CCtx *context, size_t total, ZSTD_inBuffer *source,
			ZSTD_outBuffer *target)
{
	size_t left = total - source->size, got;
	bool last = left <= DW_CODEC_SLICE_BYTES;

	source->size += last ? left : DW_CODEC_SLICE_BYTES;
	do
		got = ZSTD_compressStream2(context, target, source,
					   last ? ZSTD_e_end : ZSTD_e_continue);
	while (!ZSTD_isError(got) && (last ? got > 0 : source->pos < source->size));
	return got;
}

static int pack(void *state, struct span in, struct buffer *out, const atomic_bool *stop,
		dwarfs_error **err)
{
	size_t room = ZSTD_compressBound(in.size), got;
	ZSTD_inBuffer source = { in.data, 0, 0 };
	ZSTD_outBuffer target = { NULL, room, 0 };
	int ret;

	if (ZSTD_isError(room))
		return fail(room, DWARFS_ERR_RANGE, err);
	if ((ret = dw_buffer_reserve(out, room, err)) < 0)
		return ret;
	target.dst = out->data;
	got = ZSTD_CCtx_reset(state, ZSTD_reset_session_only);
	if (!ZSTD_isError(got))
		got = ZSTD_CCtx_setPledgedSrcSize(state, in.size);
	while (!ZSTD_isError(got) && source.size < in.size) {
		if ((ret = dw_codec_go_on(stop, err)) < 0)
			return ret;
		got = add_slice(state, in.size, &source, &target);
	}
	if (ZSTD_isError(got))
		return fail(got, DWARFS_ERR_RANGE, err);
	out->size = target.pos;
	return 0;
}

static uint64_t memory(const struct codec_spec *spec, size_t block_bytes)
{
	int window = window_for(spec, block_bytes);
	ZSTD_compressionParameters parameters =
		ZSTD_getCParams(spec->level, block_bytes, 0);
	size_t bytes;

	parameters.windowLog = (unsigned)window;
	bytes = ZSTD_estimateCStreamSize_usingCParams(parameters);
	if (ZSTD_isError(bytes))
		return ESTIMATE_FAIL;
	if (spec->long_matches && window > LONG_RATE)
		bytes += (size_t)LONG_BYTES << (window - LONG_RATE);
	return bytes;
}

static void set_long(struct codec_spec *spec, unsigned value)
{
	spec->long_matches = value;
}

static const struct codec_option options[] = {
	{ "level", dw_codec_set_level, .min = MIN_LEVEL, .max = MAX_LEVEL },
	{ "long", set_long, .is_flag = true },
	{ NULL },
};

static void library(char *out, size_t room)
{
	snprintf(out, room, "zstd-%s", ZSTD_versionString());
}

const struct codec_ops dw_codec_zstd = {
	.library = library,
	.help = "zstd    level=1..22 (22), long",
	.defaults = { .id = CODEC_ZSTD, .level = MAX_LEVEL },
	.options = options,
	.unpacked_size = unpacked_size,
	.unpack = unpack,
	.packs_as = CODEC_ZSTD,
	.open = open_packer,
	.close = close_packer,
	.pack = pack,
	.memory = memory,
};

#endif
