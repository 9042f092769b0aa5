/* SPDX-License-Identifier: MIT */
/*
 * codec/encode/lz4_encode: pack with lz4 or lz4hc, which differ only in their search for
 * matches; both are stored with the id of lz4.
 */
#include <stdio.h>
#include "config.h"

#if HAVE_LZ4

#include <string.h>
#include <lz4.h>
#include <lz4hc.h>

#include "base/bytes.h"
#include "codec/encode/ops.h"
#include "codec/lz4.h"

#define MATCH_REACH 65535 /* of the format */

#define DEFAULT_HC_LEVEL 9

/* Input of lz4hc between checks of the stop flag: its slowest level may need a second
 * for a MiB. Each boundary of slices costs about ten bytes. */
#define HC_SLICE_BYTES	 ((size_t)256 << 10)
#define HC_SCRATCH_BYTES LZ4_COMPRESSBOUND(HC_SLICE_BYTES)

struct lz4_packer {
	int level;
	_Alignas(max_align_t) uint8_t tables[]; /* of lz4hc, followed by a packed slice */
};

/* -- packing ------------------------------------------------------------------------ */

static int open_compressor(size_t table_bytes, int level, void **state_out,
			   dwarfs_error **err)
{
	struct lz4_packer *packer = dw_malloc(sizeof(*packer) + table_bytes);

	if (!packer)
		return dw_fail_nomem(err);
	packer->level = level;
	*state_out = packer;
	return 0;
}

static int open_fast(const struct codec_spec *spec, size_t block_bytes, void **state_out,
		     dwarfs_error **err)
{
	return open_compressor((size_t)LZ4_sizeofState(), spec->level, state_out, err);
}

static int open_hc(const struct codec_spec *spec, size_t block_bytes, void **state_out,
		   dwarfs_error **err)
{
	return open_compressor((size_t)LZ4_sizeofStateHC() + HC_SCRATCH_BYTES,
			       spec->level, state_out, err);
}

/* Write the size; gives the space after it, less than the input: larger results are
 * useless. None for inputs of a few bytes. */
static int begin_lz4_block(struct span in, struct buffer *out, int *room_out,
			   dwarfs_error **err)
{
	int ret;

	if (in.size > LZ4_MAX_INPUT_SIZE)
		return dw_fail(err, DWARFS_ERR_RANGE, "a block of %zu bytes is too large",
			       in.size);
	if ((ret = dw_buffer_reserve(
		     out, in.size < DW_LZ4_SIZE_BYTES ? DW_LZ4_SIZE_BYTES : in.size,
		     err)) < 0)
		return ret;
	dw_store32(out->data, (uint32_t)in.size);
	*room_out = in.size > DW_LZ4_SIZE_BYTES ? (int)(in.size - DW_LZ4_SIZE_BYTES) : 0;
	return 0;
}

/* 0 bytes: not enough space. */
static void end_lz4_block(struct buffer *out, int got)
{
	out->size = got > 0 ? DW_LZ4_SIZE_BYTES + (size_t)got : 0;
}

static int pack_fast(void *state, struct span in, struct buffer *out,
		     struct codec_watch *watch, dwarfs_error **err)
{
	struct lz4_packer *packer = state;
	int room, ret = begin_lz4_block(in, out, &room, err);

	if (ret < 0)
		return ret;
	end_lz4_block(out,
		      LZ4_compress_fast_extState(packer->tables, (const char *)in.data,
						 (char *)out->data + DW_LZ4_SIZE_BYTES,
						 (int)in.size, room, 1));
	return 0;
}

/* -- lz4hc in slices ----------------------------------------------------------------- */

/*
 * A raw block is a list of sequences: literals, then a match; the last one has only
 * literals. Each slice is packed to such a block, with matches in earlier slices. They
 * are joined by moving the literals at the end of one slice to the first sequence of the
 * next.
 */
struct joined {
	uint8_t *at, *end;
	const uint8_t *literals; /* not written yet, in the input */
	size_t literal_count;
};

static size_t read_length(const uint8_t **at, unsigned nibble)
{
	size_t length = nibble;

	if (nibble < DW_LZ4_NIBBLE_MAX)
		return length;
	do
		length += **at;
	while (*(*at)++ == DW_LZ4_LENGTH_BYTE_MAX);
	return length;
}

/* False if there is no space left. */
static bool put_joined(struct joined *joined, const uint8_t *data, size_t size)
{
	if (size > (size_t)(joined->end - joined->at))
		return false;
	memcpy(joined->at, data, size);
	joined->at += size;
	return true;
}

/* The literals, and the part of the match that shares a byte with their number. */
static bool put_literals(struct joined *joined, unsigned match_nibble)
{
	size_t count = joined->literal_count, rest = count;
	uint8_t byte;

	byte = (uint8_t)((count < DW_LZ4_NIBBLE_MAX ? count : DW_LZ4_NIBBLE_MAX) << 4 |
			 match_nibble);
	if (!put_joined(joined, &byte, 1))
		return false;
	if (count >= DW_LZ4_NIBBLE_MAX) {
		for (rest -= DW_LZ4_NIBBLE_MAX; rest >= DW_LZ4_LENGTH_BYTE_MAX;
		     rest -= DW_LZ4_LENGTH_BYTE_MAX) {
			byte = DW_LZ4_LENGTH_BYTE_MAX;
			if (!put_joined(joined, &byte, 1))
				return false;
		}
		byte = (uint8_t)rest;
		if (!put_joined(joined, &byte, 1))
			return false;
	}
	return put_joined(joined, joined->literals, count);
}

/* Append a packed slice, without the literals at its end. */
static bool join_slices(struct joined *joined, struct span packed,
			const uint8_t *input_end)
{
	const uint8_t *at = packed.data, *end = packed.data + packed.size, *rest, *last;
	uint8_t token = *at++;
	size_t count = read_length(&at, token >> 4);

	joined->literal_count += count;
	at += count;
	if (at == end)
		return true;
	if (!put_literals(joined, token & DW_LZ4_NIBBLE_MAX))
		return false;
	rest = at;
	do {
		at += DW_LZ4_MATCH_OFFSET_BYTES;
		read_length(&at, token & DW_LZ4_NIBBLE_MAX);
		last = at;
		token = *at++;
		count = read_length(&at, token >> 4);
		at += count;
	} while (at < end);
	joined->literals = input_end - count;
	joined->literal_count = count;
	return put_joined(joined, rest, (size_t)(last - rest));
}

static int pack_hc(void *state, struct span in, struct buffer *out,
		   struct codec_watch *watch, dwarfs_error **err)
{
	struct lz4_packer *packer = state;
	uint8_t *scratch = packer->tables + LZ4_sizeofStateHC();
	struct joined joined = { .literals = in.data };
	LZ4_streamHC_t *stream;
	size_t all = in.size;
	int room, ret = begin_lz4_block(in, out, &room, err);

	if (ret < 0)
		return ret;
	joined.at = out->data + DW_LZ4_SIZE_BYTES;
	joined.end = joined.at + room;
	stream = LZ4_initStreamHC(packer->tables, (size_t)LZ4_sizeofStateHC());
	LZ4_resetStreamHC_fast(stream, packer->level);
	for (size_t left = in.size, size; left > 0; left -= size, in.data += size) {
		int got;

		if ((ret = dw_codec_go_on(watch, all - left, err)) < 0)
			return ret;
		size = left < HC_SLICE_BYTES ? left : HC_SLICE_BYTES;
		got = LZ4_compress_HC_continue(stream, (const char *)in.data,
					       (char *)scratch, (int)size,
					       (int)HC_SCRATCH_BYTES);
		if (got <= 0)
			return dw_fail(err, DWARFS_ERR_INVALID,
				       "the compressor has failed");
		if (!join_slices(&joined, (struct span){ scratch, (size_t)got },
				 in.data + size))
			return 0;
	}
	if (put_literals(&joined, 0))
		out->size = (size_t)(joined.at - out->data);
	return 0;
}

static uint64_t memory_fast(const struct codec_spec *spec, size_t block_bytes)
{
	return sizeof(struct lz4_packer) + (uint64_t)LZ4_sizeofState();
}

static uint64_t memory_hc(const struct codec_spec *spec, size_t block_bytes)
{
	return sizeof(struct lz4_packer) + (uint64_t)LZ4_sizeofStateHC() +
	       HC_SCRATCH_BYTES;
}

static const struct codec_option hc_options[] = {
	{ "level", DW_CODEC_FIELD(level), .min = 0, .max = LZ4HC_CLEVEL_MAX },
	{ NULL },
};

static void lz4_library(char *out, size_t room)
{
	snprintf(out, room, "lz4-%s", LZ4_versionString());
}

static size_t lz4_reach(const struct codec_spec *spec, size_t block_bytes)
{
	(void)spec;
	(void)block_bytes;
	return MATCH_REACH;
}

const struct encoder_ops dw_encoder_lz4 = {
	.library = lz4_library,
	.help = "lz4     no options",
	.defaults = { .id = CODEC_LZ4 },
	.packs_as = CODEC_LZ4,
	.reach = lz4_reach,
	.open = open_fast,
	.close = dw_free,
	.pack = pack_fast,
	.memory = memory_fast,
};

const struct encoder_ops dw_encoder_lz4hc = {
	.help = "lz4hc   level=0..12 (9)",
	.defaults = { .id = CODEC_LZ4HC, .level = DEFAULT_HC_LEVEL },
	.options = hc_options,
	.packs_as = CODEC_LZ4,
	.reach = lz4_reach,
	.open = open_hc,
	.close = dw_free,
	.pack = pack_hc,
	.memory = memory_hc,
};

#endif
