/* SPDX-License-Identifier: MIT */
/*
 * codec/encode/brotli_encode: pack into the size as a varint, then one brotli stream.
 *
 * The encoder, as usually built, exits the process if an allocation fails; so our allocator
 * never returns NULL: it jumps back (longjmp) to the start of packing.
 */
#include <stdio.h>
#include "config.h"

#if HAVE_BROTLI_ENCODER

#include <setjmp.h>

#include <brotli/encode.h>

#include "base/bytes.h"
#include "codec/encode/ops.h"
#include "format/thrift.h"

#define MAX_VARINT_BYTES 10

/* Stored before each allocation of an encoder: all are linked. */
union link {
	struct {
		union link *next, **from; /* from: the pointer to this */
	} chain;
	max_align_t align;
};

struct heap {
	union link *first;
	jmp_buf exhausted;
};

static void *heap_take(void *opaque, size_t size)
{
	struct heap *heap = opaque;
	union link *link =
		size <= SIZE_MAX - sizeof(*link) ? dw_malloc(sizeof(*link) + size) : NULL;

	if (!link)
		longjmp(heap->exhausted, 1);
	link->chain.next = heap->first;
	link->chain.from = &heap->first;
	if (heap->first)
		heap->first->chain.from = &link->chain.next;
	heap->first = link;
	return link + 1;
}

static void heap_give_back(void *opaque, void *address)
{
	union link *link = address;

	if (!link)
		return;
	link--;
	*link->chain.from = link->chain.next;
	if (link->chain.next)
		link->chain.next->chain.from = link->chain.from;
	dw_free(link);
}

static void heap_free(struct heap *heap)
{
	while (heap->first)
		heap_give_back(heap, heap->first + 1);
}

struct brotli_packer {
	uint32_t quality, window;
	size_t block_bytes;
};

/* No window is larger than a block, except for the few bytes that a window lacks to
 * its power of two: the next one would take twice the memory. The large-window
 * extension is only used on request. */
static uint32_t brotli_window(const struct codec_spec *spec, size_t block_bytes)
{
	uint32_t most =
		spec->window_log ? (uint32_t)spec->window_log : BROTLI_MAX_WINDOW_BITS;
	uint32_t needed = block_bytes > 1 ? dw_bit_length(block_bytes - 1) : 0;

	if (needed < BROTLI_MIN_WINDOW_BITS)
		needed = BROTLI_MIN_WINDOW_BITS;
	return needed < most ? needed : most;
}

static int brotli_open_packer(const struct codec_spec *spec, size_t block_bytes,
			      void **state_out, dwarfs_error **err)
{
	struct brotli_packer *packer = dw_calloc(1, sizeof(*packer));

	if (!packer)
		return dw_fail_nomem(err);
	packer->quality = (uint32_t)spec->level;
	packer->window = brotli_window(spec, block_bytes);
	*state_out = packer;
	return 0;
}

/* Appends to out; its size becomes 0 if there is not enough space. */
static int brotli_encode(BrotliEncoderState *encoder, const struct brotli_packer *packer,
			 struct span in, size_t room, struct buffer *out,
			 struct codec_watch *watch, dwarfs_error **err)
{
	uint8_t *to = out->data + out->size;
	size_t left = room, all = in.size;
	uint32_t hint = in.size < (1u << 30) ? (uint32_t)in.size : 1u << 30;

	BrotliEncoderSetParameter(encoder, BROTLI_PARAM_QUALITY, packer->quality);
	BrotliEncoderSetParameter(encoder, BROTLI_PARAM_LARGE_WINDOW,
				  packer->window > BROTLI_MAX_WINDOW_BITS);
	BrotliEncoderSetParameter(encoder, BROTLI_PARAM_LGWIN, packer->window);
	BrotliEncoderSetParameter(encoder, BROTLI_PARAM_SIZE_HINT, hint);
	do {
		size_t slice =
			in.size < DW_CODEC_SLICE_BYTES ? in.size : DW_CODEC_SLICE_BYTES;
		bool last = slice == in.size;
		int ret = dw_codec_go_on(watch, all - in.size, err);

		if (ret < 0)
			return ret;
		in.size -= slice;
		while (slice > 0 || last) {
			if (!BrotliEncoderCompressStream(encoder,
							 last ? BROTLI_OPERATION_FINISH
							      : BROTLI_OPERATION_PROCESS,
							 &slice, &in.data, &left, &to,
							 NULL))
				return dw_fail(err, DWARFS_ERR_INVALID,
					       "the compressor has failed");
			if (BrotliEncoderIsFinished(encoder) || left == 0)
				break;
		}
	} while (in.size > 0 && left > 0);
	out->size = BrotliEncoderIsFinished(encoder) ? out->size + room - left : 0;
	return 0;
}

/* All memory of the encoder is on this heap, so nothing leaks. */
static int encode_on(struct heap *heap, const struct brotli_packer *packer,
		     struct span in, struct buffer *out, struct codec_watch *watch,
		     dwarfs_error **err)
{
	BrotliEncoderState *encoder;

	if (setjmp(heap->exhausted))
		return dw_fail_nomem(err);
	encoder = BrotliEncoderCreateInstance(heap_take, heap_give_back, heap);
	if (!encoder)
		return dw_fail(err, DWARFS_ERR_INVALID, "the compressor has failed");
	return brotli_encode(encoder, packer, in, in.size - out->size, out, watch, err);
}

static int brotli_pack(void *state, struct span in, struct buffer *out,
		       struct codec_watch *watch, dwarfs_error **err)
{
	struct heap heap = { .first = NULL };
	struct thrift_writer writer;
	int ret;

	if (in.size < MAX_VARINT_BYTES)
		return 0;
	if ((ret = dw_buffer_reserve(out, in.size, err)) < 0)
		return ret;
	dw_thrift_put_start(&writer, out);
	dw_thrift_put_varint(&writer, in.size);
	ret = encode_on(&heap, state, in, out, watch, err);
	heap_free(&heap);
	return ret;
}

/* Measured and rounded up: peak memory of an encoder, up to this quality. It depends
 * on the data; usually it is less. */
static const struct {
	int quality;
	uint32_t base_kib;
	uint32_t eighths; /* eighths of a byte per byte in use */
} measured[] = {
	{ 0, 1024, 0 },	  { 1, 2048, 0 },     { 3, 2560, 34 },	  { 4, 9728, 34 },
	{ 5, 6656, 48 },  { 6, 8704, 48 },    { 7, 12800, 48 },	  { 8, 20992, 48 },
	{ 9, 39424, 48 }, { 11, 12288, 184 }, { 11, 37888, 112 },
};

static uint64_t line(size_t i, uint64_t bytes)
{
	return ((uint64_t)measured[i].base_kib << 10) + measured[i].eighths * bytes / 8;
}

/* In use is the block, or twice the window if that is less. */
static uint64_t brotli_memory(const struct codec_spec *spec, size_t block_bytes)
{
	uint64_t bytes = UINT64_C(2) << brotli_window(spec, block_bytes), estimate;
	size_t i = 0;

	if (bytes > block_bytes)
		bytes = block_bytes;
	while (measured[i].quality < spec->level)
		i++;
	estimate = line(i, bytes);
	/* If there is another line, the lower one applies. */
	if (measured[i].quality == BROTLI_MAX_QUALITY && line(i + 1, bytes) < estimate)
		return line(i + 1, bytes);
	return estimate;
}

static size_t brotli_reach(const struct codec_spec *spec, size_t block_bytes)
{
	return (size_t)1 << brotli_window(spec, block_bytes);
}

static bool brotli_shrink(struct codec_spec *spec, size_t block_bytes)
{
	spec->window_log = (int)brotli_window(spec, block_bytes) - 1;
	return spec->window_log >= BROTLI_MIN_WINDOW_BITS;
}

static const struct codec_option options[] = {
	{ "quality", DW_CODEC_FIELD(level), .min = BROTLI_MIN_QUALITY,
	  .max = BROTLI_MAX_QUALITY },
	{ "lgwin", DW_CODEC_FIELD(window_log), .min = BROTLI_MIN_WINDOW_BITS,
	  .max = BROTLI_LARGE_MAX_WINDOW_BITS },
	{ NULL },
};

static void brotli_library(char *out, size_t room)
{
	uint32_t version = BrotliEncoderVersion();

	snprintf(out, room, "brotli-%u.%u.%u", version >> 24, version >> 12 & 0xFFF,
		 version & 0xFFF);
}

const struct encoder_ops dw_encoder_brotli = {
	.library = brotli_library,
	.help = "brotli  quality=0..11 (11), lgwin=10..30",
	.defaults = { .id = CODEC_BROTLI, .level = BROTLI_MAX_QUALITY },
	.options = options,
	.finds_matches = true,
	.is_slow = true,
	.packs_as = CODEC_BROTLI,
	.reach = brotli_reach,
	.open = brotli_open_packer,
	.close = dw_free,
	.pack = brotli_pack,
	.memory = brotli_memory,
	.shrink = brotli_shrink,
};

#endif
