/* SPDX-License-Identifier: MIT */
/*
 * codec/lz4: the size in 32 bits, then one raw LZ4 block. lz4 and lz4hc differ only in
 * their search for matches; both are stored with the id of lz4.
 */
#include <stdio.h>
#include "config.h"

#if HAVE_LZ4

#include <limits.h>
#include <string.h>
#include <lz4.h>
#include <lz4hc.h>

#include "base/bytes.h"
#include "codec/ops.h"

#define SIZE_BYTES  4
#define MATCH_REACH 65535 /* of the format */

#define DEFAULT_HC_LEVEL 9

/* Input of lz4hc between checks of the stop flag: its slowest level may need a second
 * for a MiB. Each boundary of slices costs about ten bytes. */
#define HC_SLICE_BYTES	 ((size_t)256 << 10)
#define HC_SCRATCH_BYTES LZ4_COMPRESSBOUND(HC_SLICE_BYTES)

struct packer {
	int level;
	_Alignas(max_align_t) uint8_t tables[]; /* of lz4hc, followed by a packed slice */
};

static int lz4_unpacked_size(struct span in, uint64_t *size_out, dwarfs_error **err)
{
	if (in.size < SIZE_BYTES)
		return dw_fail(err, DWARFS_ERR_CORRUPT, "the size is cut off");
	*size_out = dw_load32(in.data);
	return 0;
}

static int lz4_unpack(struct span in, uint8_t *out, size_t size, dwarfs_error **err)
{
	uint64_t announced = 0;
	char nothing[1];
	int ret = lz4_unpacked_size(in, &announced, err), got;

	if (ret < 0)
		return ret;
	if (announced != size || size > LZ4_MAX_INPUT_SIZE ||
	    in.size - SIZE_BYTES > INT_MAX)
		return dw_fail(err, DWARFS_ERR_CORRUPT,
			       "announces %" PRIu64 " bytes where %zu are expected",
			       announced, size);
	got = LZ4_decompress_safe((const char *)in.data + SIZE_BYTES,
				  out ? (char *)out : nothing,
				  (int)(in.size - SIZE_BYTES), (int)size);
	if (got < 0)
		return dw_fail(err, DWARFS_ERR_CORRUPT, "the data is damaged");
	if ((size_t)got != size)
		return dw_fail(err, DWARFS_ERR_CORRUPT,
			       "gives %d bytes where %zu are expected", got, size);
	return 0;
}

/* -- unpacking step by step --------------------------------------------------------- */

/* The library cannot continue where it stopped, and starting again would overwrite
 * bytes that others read: so sequences are decoded here. Nothing before decoder->done
 * is ever written. */
#define MATCH_OFFSET_BYTES 2
#define MATCH_MIN	   4
#define LAST_LITERALS	   5  /* minimum at the end */
#define LAST_MATCH	   12 /* from the end: no match begins later */
#define NIBBLE_MAX	   15 /* of a length; more follows in bytes */
#define LENGTH_BYTE_MAX	   255
#define STRIDE		   16 /* bytes copied at once, if there is space */

/* Where the next step continues. */
struct place {
	size_t at;	 /* in the payload */
	size_t literals; /* of this sequence, not copied yet */
	size_t match;	 /* and of its match, from offset bytes before */
	size_t offset;
	unsigned match_nibble;
	bool wants_match; /* it is read after the literals are copied */
};

static int fail_damaged(dwarfs_error **err)
{
	return dw_fail(err, DWARFS_ERR_CORRUPT, "the data is damaged");
}

static bool read_more(const struct decoder *decoder, struct place *place, unsigned nibble,
		      size_t *length_out)
{
	size_t length = nibble;
	uint8_t byte;

	if (nibble == NIBBLE_MAX)
		do {
			if (place->at >= decoder->in.size || length > decoder->size)
				return false;
			byte = decoder->in.data[place->at++];
			length += byte;
		} while (byte == LENGTH_BYTE_MAX);
	*length_out = length;
	return true;
}

/* The literals of the next sequence. */
static bool read_sequence(const struct decoder *decoder, struct place *place)
{
	uint8_t token;

	if (place->at >= decoder->in.size)
		return false;
	token = decoder->in.data[place->at++];
	place->match_nibble = token & NIBBLE_MAX;
	place->wants_match = true;
	return read_more(decoder, place, token >> 4, &place->literals) &&
	       place->literals <= decoder->in.size - place->at &&
	       place->literals <= decoder->size - decoder->done;
}

/* Its match; in the last sequence there is none. */
static bool read_match(const struct decoder *decoder, struct place *place)
{
	const uint8_t *data = decoder->in.data + place->at;

	place->wants_match = false;
	if (place->at == decoder->in.size)
		return decoder->done == decoder->size;
	if (decoder->in.size - place->at < MATCH_OFFSET_BYTES + 1 + LAST_LITERALS ||
	    decoder->size - decoder->done < LAST_MATCH)
		return false;
	place->offset = (size_t)data[0] | (size_t)data[1] << 8;
	place->at += MATCH_OFFSET_BYTES;
	if (place->offset == 0 || place->offset > decoder->done ||
	    !read_more(decoder, place, place->match_nibble, &place->match))
		return false;
	place->match += MATCH_MIN;
	return place->match <= decoder->size - decoder->done - LAST_LITERALS;
}

static void copy_literals(struct decoder *decoder, struct place *place, size_t count)
{
	const uint8_t *from = decoder->in.data + place->at;
	uint8_t *to = decoder->out + decoder->done;

	if (count <= STRIDE && decoder->in.size - place->at >= STRIDE &&
	    decoder->size - decoder->done >= STRIDE)
		memcpy(to, from, STRIDE);
	else
		memcpy(to, from, count);
	place->at += count;
	place->literals -= count;
	decoder->done += count;
}

static void copy_match(struct decoder *decoder, struct place *place, size_t count)
{
	uint8_t *to = decoder->out + decoder->done, *end = to + count;
	const uint8_t *from = to - place->offset;

	place->match -= count;
	if (place->offset >= STRIDE && decoder->size - decoder->done >= count + STRIDE) {
		for (; to < end; to += STRIDE, from += STRIDE)
			memcpy(to, from, STRIDE);
	} else {
		/* Copied bytes extend the pattern: each time more can be copied. */
		while (to < end) {
			size_t part = (size_t)(to - from), left = (size_t)(end - to);

			memcpy(to, from, part < left ? part : left);
			to += part < left ? part : left;
		}
	}
	decoder->done += count;
}

/* True if there is something to copy, or the end is reached correctly. */
static bool advance(const struct decoder *decoder, struct place *place)
{
	while (place->literals == 0 && place->match == 0) {
		if (place->wants_match) {
			if (!read_match(decoder, place))
				return false;
			if (place->match == 0)
				return true; /* the end */
		} else if (!read_sequence(decoder, place)) {
			return false;
		}
	}
	return true;
}

/* Lengths of up to two bytes, which are most, and the excess of copies. */
#define FAST_IN	 (1 + 2 * (1 + NIBBLE_MAX + LENGTH_BYTE_MAX) + MATCH_OFFSET_BYTES + STRIDE)
#define FAST_OUT (2 * (NIBBLE_MAX + LENGTH_BYTE_MAX + STRIDE) + MATCH_MIN)

static void copy_strides(uint8_t *to, const uint8_t *from, size_t count)
{
	const uint8_t *end = to + count;

	do {
		memcpy(to, from, STRIDE);
		to += STRIDE;
		from += STRIDE;
	} while (to < end);
}

/* Decode sequences with short lengths while there is space for excess; others, invalid
 * ones and the rest are left to the exact functions. */
static void run_fast(struct decoder *decoder, struct place *place, size_t upto)
{
	const uint8_t *in = decoder->in.data + place->at;
	const uint8_t *in_end = decoder->in.data + decoder->in.size;
	uint8_t *out = decoder->out + decoder->done, *out_end = decoder->out + upto;

	while (in_end - in >= FAST_IN && out_end - out >= FAST_OUT) {
		const uint8_t *at = in;
		uint8_t *to = out;
		unsigned token = *at++, count = token >> 4;
		size_t offset;

		if (count == NIBBLE_MAX) {
			count += *at;
			if (*at++ == LENGTH_BYTE_MAX)
				break;
		}
		copy_strides(to, at, count);
		to += count;
		at += count;
		offset = (size_t)at[0] | (size_t)at[1] << 8;
		at += MATCH_OFFSET_BYTES;
		count = token & NIBBLE_MAX;
		if (count == NIBBLE_MAX) {
			count += *at;
			if (*at++ == LENGTH_BYTE_MAX)
				break;
		}
		count += MATCH_MIN;
		if (offset < STRIDE || offset > (size_t)(to - decoder->out))
			break;
		copy_strides(to, to - offset, count);
		in = at;
		out = to + count;
	}
	place->at = (size_t)(in - decoder->in.data);
	decoder->done = (size_t)(out - decoder->out);
}

static int decode_sequences(struct decoder *decoder, struct place *place, size_t upto,
			    dwarfs_error **err)
{
	while (decoder->done < upto) {
		size_t left;

		if (place->literals == 0 && place->match == 0 && !place->wants_match)
			run_fast(decoder, place, upto);
		left = upto - decoder->done;
		if (!advance(decoder, place) ||
		    (place->literals == 0 && place->match == 0))
			return fail_damaged(err);
		if (place->literals > 0)
			copy_literals(decoder, place,
				      place->literals < left ? place->literals : left);
		else
			copy_match(decoder, place,
				   place->match < left ? place->match : left);
	}
	/* Everything was checked when all is decoded. */
	if (upto == decoder->size &&
	    (!advance(decoder, place) || place->literals > 0 || place->match > 0))
		return fail_damaged(err);
	return 0;
}

static int lz4_step(struct decoder *decoder, size_t upto, dwarfs_error **err)
{
	int ret;

	/* All at once is faster, if nothing is read meanwhile. */
	if ((decoder->done == 0 && upto > decoder->size / 2) ||
	    decoder->size > LZ4_MAX_INPUT_SIZE || decoder->in.size > INT_MAX) {
		ret = lz4_unpack(decoder->in, decoder->out, decoder->size, err);
		decoder->done = ret < 0 ? 0 : decoder->size;
		return ret;
	}
	return decode_sequences(decoder, decoder->state, upto, err);
}

static int lz4_start(struct decoder *decoder, dwarfs_error **err)
{
	uint64_t announced = 0;
	struct place *place;
	int ret = lz4_unpacked_size(decoder->in, &announced, err);

	if (ret == 0 && announced != decoder->size)
		ret = dw_fail(err, DWARFS_ERR_CORRUPT,
			      "announces %" PRIu64 " bytes where %zu are expected",
			      announced, decoder->size);
	if (ret < 0)
		return ret;
	place = dw_calloc(1, sizeof(*place));
	if (!place)
		return dw_fail_nomem(err);
	place->at = SIZE_BYTES;
	decoder->state = place;
	decoder->fixed = sizeof(*place);
	return 0;
}

static void lz4_stop(struct decoder *decoder)
{
	free(decoder->state);
}

/* -- packing ------------------------------------------------------------------------ */

static int open_compressor(size_t table_bytes, int level, void **state_out,
			   dwarfs_error **err)
{
	struct packer *packer = malloc(sizeof(*packer) + table_bytes);

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
	if ((ret = dw_buffer_reserve(out, in.size < SIZE_BYTES ? SIZE_BYTES : in.size,
				     err)) < 0)
		return ret;
	dw_store32(out->data, (uint32_t)in.size);
	*room_out = in.size > SIZE_BYTES ? (int)(in.size - SIZE_BYTES) : 0;
	return 0;
}

/* 0 bytes: not enough space. */
static void end_lz4_block(struct buffer *out, int got)
{
	out->size = got > 0 ? SIZE_BYTES + (size_t)got : 0;
}

static int pack_fast(void *state, struct span in, struct buffer *out,
		     struct codec_watch *watch, dwarfs_error **err)
{
	struct packer *packer = state;
	int room, ret = begin_lz4_block(in, out, &room, err);

	if (ret < 0)
		return ret;
	end_lz4_block(out,
		      LZ4_compress_fast_extState(packer->tables, (const char *)in.data,
						 (char *)out->data + SIZE_BYTES,
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

	if (nibble < NIBBLE_MAX)
		return length;
	do
		length += **at;
	while (*(*at)++ == LENGTH_BYTE_MAX);
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

	byte = (uint8_t)((count < NIBBLE_MAX ? count : NIBBLE_MAX) << 4 | match_nibble);
	if (!put_joined(joined, &byte, 1))
		return false;
	if (count >= NIBBLE_MAX) {
		for (rest -= NIBBLE_MAX; rest >= LENGTH_BYTE_MAX;
		     rest -= LENGTH_BYTE_MAX) {
			byte = LENGTH_BYTE_MAX;
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
	if (!put_literals(joined, token & NIBBLE_MAX))
		return false;
	rest = at;
	do {
		at += MATCH_OFFSET_BYTES;
		read_length(&at, token & NIBBLE_MAX);
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
	struct packer *packer = state;
	uint8_t *scratch = packer->tables + LZ4_sizeofStateHC();
	struct joined joined = { .literals = in.data };
	LZ4_streamHC_t *stream;
	size_t all = in.size;
	int room, ret = begin_lz4_block(in, out, &room, err);

	if (ret < 0)
		return ret;
	joined.at = out->data + SIZE_BYTES;
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
	return sizeof(struct packer) + (uint64_t)LZ4_sizeofState();
}

static uint64_t memory_hc(const struct codec_spec *spec, size_t block_bytes)
{
	return sizeof(struct packer) + (uint64_t)LZ4_sizeofStateHC() + HC_SCRATCH_BYTES;
}

static const struct codec_option hc_options[] = {
	{ "level", DW_CODEC_FIELD(level), .min = 0, .max = LZ4HC_CLEVEL_MAX },
	{ NULL },
};

static void lz4_library(char *out, size_t room)
{
	snprintf(out, room, "lz4-%s", LZ4_versionString());
}

const struct codec_ops dw_codec_lz4 = {
	.library = lz4_library,
	.help = "lz4     no options",
	.defaults = { .id = CODEC_LZ4 },
	.unpacked_size = lz4_unpacked_size,
	.unpack = lz4_unpack,
	.start = lz4_start,
	.step = lz4_step,
	.stop = lz4_stop,
	.packs_as = CODEC_LZ4,
	.reach = MATCH_REACH,
	.open = open_fast,
	.close = free,
	.pack = pack_fast,
	.memory = memory_fast,
};

const struct codec_ops dw_codec_lz4hc = {
	.help = "lz4hc   level=0..12 (9)",
	.defaults = { .id = CODEC_LZ4HC, .level = DEFAULT_HC_LEVEL },
	.options = hc_options,
	.unpacked_size = lz4_unpacked_size,
	.unpack = lz4_unpack,
	.start = lz4_start,
	.step = lz4_step,
	.stop = lz4_stop,
	.packs_as = CODEC_LZ4,
	.reach = MATCH_REACH,
	.open = open_hc,
	.close = free,
	.pack = pack_hc,
	.memory = memory_hc,
};

#endif
