/* SPDX-License-Identifier: MIT */
/*
 * codec/lzma/lzma_decode: unpack .xz streams from their start, or a single Block.
 *
 * Streams are parsed here rather than by liblzma's stream decoder, so that Blocks can be
 * decoded with as little memory as the expected size allows, whatever the stream asks
 * for; see lzma_block. The size of the contents is stored in the index at the end of a
 * stream.
 *
 * If a payload is one stream of several Blocks, these are its parts, located by the
 * index. The index is used only if sequential decoding would accept the stream provided
 * its Blocks are valid: each index entry is compared with the header and contents of its
 * Block when that is decoded.
 */
#include "config.h"

#if HAVE_LZMA

#include "base/bytes.h"
#include "codec/lzma/lzma_block.h"

#define PADDING_UNIT	4
#define MIN_BLOCK_BYTES 10		     /* packed, with its entry in the index */
#define MAX_PARTS	4096		     /* with more Blocks there are no parts */
#define DECODER_BYTES	((uint64_t)64 << 10) /* besides the dictionary */

static int fail_lzma(lzma_ret ret, dwarfs_error **err)
{
	switch (ret) {
	case LZMA_MEM_ERROR:
		return dw_fail_nomem(err);
	case LZMA_OPTIONS_ERROR:
		return dw_fail(err, DWARFS_ERR_UNSUPPORTED,
			       "the stream needs what this liblzma does not have");
	case LZMA_FORMAT_ERROR:
		return dw_fail(err, DWARFS_ERR_CORRUPT, "no .xz stream is here");
	default:
		return dw_fail(err, DWARFS_ERR_CORRUPT, "the data is damaged or cut off");
	}
}

static int fail_size(size_t size, dwarfs_error **err)
{
	return dw_fail(err, DWARFS_ERR_CORRUPT, "does not give the expected %zu bytes",
		       size);
}

/* -- the size ------------------------------------------------------------------------ */

/* The size without zero padding at its end, in whole units. Padding may also follow a
 * stream that others follow. */
static size_t without_padding(struct span in, size_t size)
{
	while (size >= PADDING_UNIT && dw_load32(in.data + size - PADDING_UNIT) == 0)
		size -= PADDING_UNIT;
	return size;
}

static lzma_ret decode_index(struct span in, size_t from, size_t to,
			     lzma_index **index_out)
{
	uint64_t limit = lzma_index_memusage(1, to / MIN_BLOCK_BYTES);

	return lzma_index_buffer_decode(index_out, &limit, &dw_lzma_allocator, in.data,
					&from, to);
}

/* Read the footer that ends at this offset, and the index before it. */
static lzma_ret read_index(struct span in, size_t end, lzma_stream_flags *footer,
			   lzma_index **index_out)
{
	lzma_index *index = NULL;
	size_t stop;
	lzma_ret ret;

	if (end < LZMA_STREAM_HEADER_SIZE)
		return LZMA_DATA_ERROR;
	stop = end - LZMA_STREAM_HEADER_SIZE;
	ret = lzma_stream_footer_decode(footer, in.data + stop);
	if (ret != LZMA_OK)
		return ret;
	if (footer->backward_size > stop)
		return LZMA_DATA_ERROR;
	ret = decode_index(in, stop - (size_t)footer->backward_size, stop, &index);
	if (ret != LZMA_OK)
		return ret;
	if (lzma_index_size(index) != footer->backward_size ||
	    lzma_index_stream_size(index) > end) {
		lzma_index_end(index, &dw_lzma_allocator);
		return LZMA_DATA_ERROR;
	}
	*index_out = index;
	return LZMA_OK;
}

/* Of the stream that ends at *end: add its size, move *end to its start. */
static lzma_ret measure_stream(struct span in, size_t *end, uint64_t *size)
{
	lzma_stream_flags footer;
	lzma_index *index = NULL;
	lzma_ret ret = read_index(in, *end, &footer, &index);

	if (ret != LZMA_OK)
		return ret;
	if (!dw_add(*size, lzma_index_uncompressed_size(index), size))
		ret = LZMA_DATA_ERROR;
	else
		*end -= (size_t)lzma_index_stream_size(index);
	lzma_index_end(index, &dw_lzma_allocator);
	return ret;
}

static int lzma_unpacked_size(struct span in, uint64_t *size_out, dwarfs_error **err)
{
	size_t end = in.size;
	uint64_t size = 0;

	do {
		lzma_ret ret;

		end = without_padding(in, end);
		ret = measure_stream(in, &end, &size);
		if (ret != LZMA_OK)
			return fail_lzma(ret, err);
	} while (end > 0);
	*size_out = size;
	return 0;
}

/* -- unpacking ----------------------------------------------------------------------- */

/* The next element of a stream. */
enum stage { STREAM_HEADER, BLOCK_HEADER, BLOCK, INDEX, NOTHING };

struct lzma_unpacker {
	size_t at; /* in the input */
	enum stage stage;
	bool is_part; /* one Block without the stream around it */
	lzma_stream_flags flags;
	struct lzma_run run;
	lzma_index_hash *hash; /* of the blocks, to compare with the index */
};

static size_t left(const struct decoder *decoder)
{
	const struct lzma_unpacker *unpacker = decoder->state;

	return decoder->in.size - unpacker->at;
}

static const uint8_t *here(const struct decoder *decoder)
{
	const struct lzma_unpacker *unpacker = decoder->state;

	return decoder->in.data + unpacker->at;
}

static lzma_ret begin_stream(struct decoder *decoder)
{
	struct lzma_unpacker *unpacker = decoder->state;
	lzma_ret ret;

	if (left(decoder) < LZMA_STREAM_HEADER_SIZE)
		return LZMA_DATA_ERROR;
	ret = lzma_stream_header_decode(&unpacker->flags, here(decoder));
	if (ret != LZMA_OK)
		return ret;
	if (!lzma_check_is_supported(unpacker->flags.check))
		return LZMA_OPTIONS_ERROR;
	unpacker->at += LZMA_STREAM_HEADER_SIZE;
	unpacker->hash = lzma_index_hash_init(unpacker->hash, &dw_lzma_allocator);
	unpacker->stage = BLOCK_HEADER;
	return unpacker->hash ? LZMA_OK : LZMA_MEM_ERROR;
}

/* What a header says comes next. */
static lzma_ret open_block(struct decoder *decoder)
{
	struct lzma_unpacker *unpacker = decoder->state;

	unpacker->stage = BLOCK;
	return dw_lzma_open_block(&unpacker->run, decoder, unpacker->at);
}

/* The index, which follows the last Block, begins with a zero. */
static lzma_ret begin_block(struct decoder *decoder)
{
	struct lzma_unpacker *unpacker = decoder->state;
	lzma_ret ret;

	if (left(decoder) == 0)
		return LZMA_DATA_ERROR;
	if (*here(decoder) == 0) {
		unpacker->stage = INDEX;
		return LZMA_OK;
	}
	ret = dw_lzma_read_header(&unpacker->run, decoder->in, &unpacker->at,
				  unpacker->flags.check);
	return ret == LZMA_OK ? open_block(decoder) : ret;
}

/* The Block is complete; it must match the index, if that was read. */
static lzma_ret end_block(struct decoder *decoder)
{
	struct lzma_unpacker *unpacker = decoder->state;
	const lzma_block *block = &unpacker->run.block;

	if (unpacker->is_part) {
		unpacker->stage = NOTHING;
		return left(decoder) == 0 && decoder->done == decoder->size
			       ? LZMA_OK
			       : LZMA_DATA_ERROR;
	}
	unpacker->stage = BLOCK_HEADER;
	return lzma_index_hash_append(unpacker->hash, lzma_block_unpadded_size(block),
				      block->uncompressed_size);
}

/* Decode up to this offset of the output, or to the end of the block. */
static lzma_ret go_on_with_block(struct decoder *decoder, size_t upto)
{
	struct lzma_unpacker *unpacker = decoder->state;
	lzma_ret ret = dw_lzma_run_block(&unpacker->run, decoder, &unpacker->at, upto);

	return ret == LZMA_STREAM_END ? end_block(decoder) : ret;
}

static void skip_padding(struct decoder *decoder)
{
	struct lzma_unpacker *unpacker = decoder->state;

	while (left(decoder) >= PADDING_UNIT && dw_load32(here(decoder)) == 0)
		unpacker->at += PADDING_UNIT;
}

static lzma_ret end_stream(struct decoder *decoder)
{
	struct lzma_unpacker *unpacker = decoder->state;
	lzma_stream_flags footer;
	lzma_ret ret = lzma_index_hash_decode(unpacker->hash, decoder->in.data,
					      &unpacker->at, decoder->in.size);

	if (ret != LZMA_STREAM_END)
		return ret == LZMA_OK ? LZMA_DATA_ERROR : ret;
	if (left(decoder) < LZMA_STREAM_HEADER_SIZE)
		return LZMA_DATA_ERROR;
	ret = lzma_stream_footer_decode(&footer, here(decoder));
	if (ret != LZMA_OK)
		return ret;
	unpacker->at += LZMA_STREAM_HEADER_SIZE;
	if (footer.backward_size != lzma_index_hash_size(unpacker->hash))
		return LZMA_DATA_ERROR;
	ret = lzma_stream_flags_compare(&unpacker->flags, &footer);
	skip_padding(decoder);
	unpacker->stage = STREAM_HEADER;
	return ret;
}

static lzma_ret decode_stream(struct decoder *decoder, size_t upto)
{
	const struct lzma_unpacker *unpacker = decoder->state;

	switch (unpacker->stage) {
	case STREAM_HEADER:
		return begin_stream(decoder);
	case BLOCK_HEADER:
		return begin_block(decoder);
	case BLOCK:
		return go_on_with_block(decoder, upto);
	default:
		return end_stream(decoder);
	}
}

static bool is_at_end(const struct decoder *decoder)
{
	const struct lzma_unpacker *unpacker = decoder->state;

	if (unpacker->stage == STREAM_HEADER)
		return unpacker->at > 0 && left(decoder) == 0;
	return unpacker->stage == NOTHING;
}

static int lzma_step(struct decoder *decoder, size_t upto, dwarfs_error **err)
{
	const struct lzma_unpacker *unpacker = decoder->state;

	/* When all is decoded, the payload must end, too. */
	while (!is_at_end(decoder) &&
	       (decoder->done < upto || decoder->done == decoder->size)) {
		lzma_ret ret;

		/* The step may have gone further, up to the end of the output. */
		if (upto < decoder->done)
			upto = decoder->done;
		ret = decode_stream(decoder, upto);

		decoder->window = unpacker->run.window;
		if (ret == LZMA_BUF_ERROR)
			return fail_size(decoder->size, err);
		if (ret != LZMA_OK)
			return fail_lzma(ret, err);
	}
	return decoder->done < upto ? fail_size(decoder->size, err) : 0;
}

static void lzma_stop(struct decoder *decoder)
{
	struct lzma_unpacker *unpacker = decoder->state;

	dw_lzma_end_run(&unpacker->run);
	lzma_index_hash_end(unpacker->hash, &dw_lzma_allocator);
	dw_free(unpacker);
}

static int new_unpacker(struct decoder *decoder, dwarfs_error **err)
{
	struct lzma_unpacker *unpacker = dw_calloc(1, sizeof(*unpacker));

	if (!unpacker)
		return dw_fail_nomem(err);
	unpacker->run.stream = (lzma_stream){ .allocator = &dw_lzma_allocator };
	decoder->state = unpacker;
	decoder->fixed = DECODER_BYTES;
	return 0;
}

/* The first Block determines the memory. */
static int lzma_start(struct decoder *decoder, dwarfs_error **err)
{
	int ret = new_unpacker(decoder, err);
	const struct lzma_unpacker *unpacker = decoder->state;
	lzma_ret begun = LZMA_OK;

	while (ret == 0 && begun == LZMA_OK && unpacker->stage < BLOCK)
		begun = decode_stream(decoder, 0);
	if (ret < 0)
		return ret;
	decoder->window = unpacker->run.window;
	if (begun == LZMA_OK)
		return 0;
	lzma_stop(decoder);
	return fail_lzma(begun, err);
}

/* -- where the parts are ------------------------------------------------------------- */

/* Whether the index, apart from the Blocks, is valid for a stream that is the whole
 * input. */
static bool index_is_sound(struct span in, const lzma_index *index,
			   const lzma_stream_flags *footer)
{
	lzma_stream_flags header;

	return lzma_index_stream_size(index) == in.size &&
	       lzma_stream_header_decode(&header, in.data) == LZMA_OK &&
	       lzma_check_is_supported(header.check) &&
	       lzma_stream_flags_compare(&header, footer) == LZMA_OK;
}

/* None if one of them is empty. */
static int list_parts(const lzma_index *index, struct codec_part **parts_out,
		      size_t *count_out, dwarfs_error **err)
{
	size_t count = (size_t)lzma_index_block_count(index), i;
	auto_free struct codec_part *parts = dw_calloc(count, sizeof(*parts));
	lzma_index_iter iter;

	if (!parts)
		return dw_fail_nomem(err);
	lzma_index_iter_init(&iter, index);
	for (i = 0; !lzma_index_iter_next(&iter, LZMA_INDEX_ITER_BLOCK); i++) {
		if (iter.block.uncompressed_size == 0)
			return 0;
		parts[i] = (struct codec_part){
			.stored_from = iter.block.compressed_stream_offset,
			.stored_size = iter.block.unpadded_size,
			.from = iter.block.uncompressed_stream_offset,
			.size = iter.block.uncompressed_size,
		};
	}
	*parts_out = dw_steal(parts);
	*count_out = i;
	return 0;
}

static int lzma_parts(struct span in, struct codec_part **parts_out, size_t *count_out,
		      dwarfs_error **err)
{
	lzma_stream_flags footer;
	lzma_index *index = NULL;
	lzma_ret got = read_index(in, in.size, &footer, &index);
	uint64_t count;
	int ret = 0;

	if (got == LZMA_MEM_ERROR)
		return dw_fail_nomem(err);
	if (got != LZMA_OK)
		return 0;
	count = lzma_index_block_count(index);
	if (count > 1 && count <= MAX_PARTS && index_is_sound(in, index, &footer))
		ret = list_parts(index, parts_out, count_out, err);
	lzma_index_end(index, &dw_lzma_allocator);
	return ret;
}

/* -- one part ------------------------------------------------------------------------ */

/* Its header must agree with the index, or contain no sizes. */
static lzma_ret read_part_header(struct decoder *decoder, const struct codec_part *part)
{
	struct lzma_unpacker *unpacker = decoder->state;
	lzma_block *block = &unpacker->run.block;
	lzma_ret ret = dw_lzma_read_header(&unpacker->run, decoder->in, &unpacker->at,
					   unpacker->flags.check);

	if (ret != LZMA_OK)
		return ret;
	ret = lzma_block_compressed_size(block, part->stored_size);
	if (block->uncompressed_size == LZMA_VLI_UNKNOWN)
		block->uncompressed_size = part->size;
	if (ret == LZMA_OK && block->uncompressed_size != part->size)
		ret = LZMA_DATA_ERROR;
	if (ret != LZMA_OK)
		dw_lzma_drop_header(&unpacker->run);
	return ret;
}

/* The input ends with the Block, so later bytes are not read as part of it. */
static lzma_ret begin_part(struct decoder *decoder, const struct codec_part *part)
{
	struct lzma_unpacker *unpacker = decoder->state;
	uint64_t most = decoder->in.size, stored = part->stored_size + PADDING_UNIT - 1;
	lzma_ret ret;

	stored -= stored % PADDING_UNIT;
	if (most < LZMA_STREAM_HEADER_SIZE || part->stored_from > most ||
	    stored > most - part->stored_from || stored == 0)
		return LZMA_DATA_ERROR;
	ret = lzma_stream_header_decode(&unpacker->flags, decoder->in.data);
	if (ret != LZMA_OK)
		return ret;
	unpacker->is_part = true;
	unpacker->at = (size_t)part->stored_from;
	decoder->in.size = (size_t)(part->stored_from + stored);
	ret = read_part_header(decoder, part);
	return ret == LZMA_OK ? open_block(decoder) : ret;
}

static int lzma_start_part(struct decoder *decoder, const struct codec_part *part,
			   dwarfs_error **err)
{
	int ret = new_unpacker(decoder, err);
	lzma_ret begun;

	if (ret < 0)
		return ret;
	begun = begin_part(decoder, part);
	decoder->window = ((struct lzma_unpacker *)decoder->state)->run.window;
	if (begun == LZMA_OK)
		return 0;
	lzma_stop(decoder);
	return fail_lzma(begun, err);
}

const struct codec_ops dw_codec_lzma = {
	.unpacked_size = lzma_unpacked_size,
	.start = lzma_start,
	.parts = lzma_parts,
	.start_part = lzma_start_part,
	.step = lzma_step,
	.stop = lzma_stop,
	.size_at_end = true,
};

#endif
