/* SPDX-License-Identifier: MIT */
/*
 * codec/lz4: the size in 32 bits, then one raw LZ4 block. lz4 and lz4hc differ only in
 * their search for matches; both are stored with the id of lz4.
 */
#include "config.h"

#if HAVE_LZ4

#include <limits.h>
#include <string.h>
#include <lz4.h>

#include "base/bytes.h"
#include "codec/lz4.h"
#include "codec/ops.h"

static int lz4_unpacked_size(struct span in, uint64_t *size_out, dwarfs_error **err)
{
	if (in.size < DW_LZ4_SIZE_BYTES)
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
	    in.size - DW_LZ4_SIZE_BYTES > INT_MAX)
		return dw_fail(err, DWARFS_ERR_CORRUPT,
			       "announces %" PRIu64 " bytes where %zu are expected",
			       announced, size);
	got = LZ4_decompress_safe((const char *)in.data + DW_LZ4_SIZE_BYTES,
				  out ? (char *)out : nothing,
				  (int)(in.size - DW_LZ4_SIZE_BYTES), (int)size);
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
#define STRIDE 16 /* bytes copied at once, if there is space */

/* Where the next step continues. */
struct lz4_sequence {
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

static bool read_more(const struct decoder *decoder, struct lz4_sequence *place,
		      unsigned nibble, size_t *length_out)
{
	size_t length = nibble;
	uint8_t byte;

	if (nibble == DW_LZ4_NIBBLE_MAX)
		do {
			if (place->at >= decoder->in.size || length > decoder->size)
				return false;
			byte = decoder->in.data[place->at++];
			length += byte;
		} while (byte == DW_LZ4_LENGTH_BYTE_MAX);
	*length_out = length;
	return true;
}

/* The literals of the next sequence. */
static bool read_sequence(const struct decoder *decoder, struct lz4_sequence *place)
{
	uint8_t token;

	if (place->at >= decoder->in.size)
		return false;
	token = decoder->in.data[place->at++];
	place->match_nibble = token & DW_LZ4_NIBBLE_MAX;
	place->wants_match = true;
	return read_more(decoder, place, token >> 4, &place->literals) &&
	       place->literals <= decoder->in.size - place->at &&
	       place->literals <= decoder->size - decoder->done;
}

/* Its match; in the last sequence there is none. */
static bool read_match(const struct decoder *decoder, struct lz4_sequence *place)
{
	const uint8_t *data = decoder->in.data + place->at;

	place->wants_match = false;
	if (place->at == decoder->in.size)
		return decoder->done == decoder->size;
	if (decoder->in.size - place->at <
		    DW_LZ4_MATCH_OFFSET_BYTES + 1 + DW_LZ4_LAST_LITERALS ||
	    decoder->size - decoder->done < DW_LZ4_LAST_MATCH)
		return false;
	place->offset = (size_t)data[0] | (size_t)data[1] << 8;
	place->at += DW_LZ4_MATCH_OFFSET_BYTES;
	if (place->offset == 0 || place->offset > decoder->done ||
	    !read_more(decoder, place, place->match_nibble, &place->match))
		return false;
	place->match += DW_LZ4_MATCH_MIN;
	return place->match <= decoder->size - decoder->done - DW_LZ4_LAST_LITERALS;
}

static void copy_lz4_literals(struct decoder *decoder, struct lz4_sequence *place,
			      size_t count)
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

static void copy_lz4_match(struct decoder *decoder, struct lz4_sequence *place,
			   size_t count)
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
static bool advance(const struct decoder *decoder, struct lz4_sequence *place)
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
#define FAST_IN                                                                          \
	(1 + 2 * (1 + DW_LZ4_NIBBLE_MAX + DW_LZ4_LENGTH_BYTE_MAX) +                      \
	 DW_LZ4_MATCH_OFFSET_BYTES + STRIDE)
#define FAST_OUT                                                                         \
	(2 * (DW_LZ4_NIBBLE_MAX + DW_LZ4_LENGTH_BYTE_MAX + STRIDE) + DW_LZ4_MATCH_MIN)

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
static void run_fast(struct decoder *decoder, struct lz4_sequence *place, size_t upto)
{
	const uint8_t *in = decoder->in.data + place->at;
	const uint8_t *in_end = decoder->in.data + decoder->in.size;
	uint8_t *out = decoder->out + decoder->done, *out_end = decoder->out + upto;

	while (in_end - in >= FAST_IN && out_end - out >= FAST_OUT) {
		const uint8_t *at = in;
		uint8_t *to = out;
		unsigned token = *at++, count = token >> 4;
		size_t offset;

		if (count == DW_LZ4_NIBBLE_MAX) {
			count += *at;
			if (*at++ == DW_LZ4_LENGTH_BYTE_MAX)
				break;
		}
		copy_strides(to, at, count);
		to += count;
		at += count;
		offset = (size_t)at[0] | (size_t)at[1] << 8;
		at += DW_LZ4_MATCH_OFFSET_BYTES;
		count = token & DW_LZ4_NIBBLE_MAX;
		if (count == DW_LZ4_NIBBLE_MAX) {
			count += *at;
			if (*at++ == DW_LZ4_LENGTH_BYTE_MAX)
				break;
		}
		count += DW_LZ4_MATCH_MIN;
		if (offset < STRIDE || offset > (size_t)(to - decoder->out))
			break;
		copy_strides(to, to - offset, count);
		in = at;
		out = to + count;
	}
	place->at = (size_t)(in - decoder->in.data);
	decoder->done = (size_t)(out - decoder->out);
}

static int decode_sequences(struct decoder *decoder, struct lz4_sequence *place,
			    size_t upto, dwarfs_error **err)
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
			copy_lz4_literals(decoder, place,
					  place->literals < left ? place->literals
								 : left);
		else
			copy_lz4_match(decoder, place,
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
	struct lz4_sequence *place;
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
	place->at = DW_LZ4_SIZE_BYTES;
	decoder->state = place;
	decoder->fixed = sizeof(*place);
	return 0;
}

static void lz4_stop(struct decoder *decoder)
{
	dw_free(decoder->state);
}

const struct codec_ops dw_codec_lz4 = {
	.unpacked_size = lz4_unpacked_size,
	.unpack = lz4_unpack,
	.start = lz4_start,
	.step = lz4_step,
	.stop = lz4_stop,
};

const struct codec_ops dw_codec_lz4hc = {
	.unpacked_size = lz4_unpacked_size,
	.unpack = lz4_unpack,
	.start = lz4_start,
	.step = lz4_step,
	.stop = lz4_stop,
};

#endif
