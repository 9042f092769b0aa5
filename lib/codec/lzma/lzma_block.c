/* SPDX-License-Identifier: MIT */
/*
 * codec/lzma/lzma_block: unpack one Block of an .xz stream.
 *
 * Most Blocks have only the LZMA2 filter. They are decoded directly into the output,
 * which is also the dictionary. If another filter follows LZMA2, the dictionary has
 * other bytes than the output: then liblzma decodes, as it does for checks that are not
 * computed here; its dictionary is limited to the expected size.
 */
#include "config.h"

#if HAVE_LZMA

#include "base/bytes.h"
#include "codec/lzma/lzma_block.h"

#define PADDING_UNIT 4

/* -- the header ---------------------------------------------------------------------- */

static void *allocate_for_lzma(void *opaque, size_t count, size_t size)
{
	return dw_mul(count, size, &size) ? dw_malloc(size) : NULL;
}

static void free_of_lzma(void *opaque, void *address)
{
	dw_free(address);
}

const lzma_allocator dw_lzma_allocator = {
	.alloc = allocate_for_lzma,
	.free = free_of_lzma,
};

lzma_ret dw_lzma_read_header(struct lzma_run *run, struct span in, size_t *at,
			     lzma_check check)
{
	lzma_block *block = &run->block;
	lzma_ret ret;

	*block = (lzma_block){
		.version = 1,
		.check = check,
		.filters = run->filters,
		.header_size = lzma_block_header_size_decode(in.data[*at]),
	};
	if (block->header_size > in.size - *at)
		return LZMA_DATA_ERROR;
	ret = lzma_block_header_decode(block, &dw_lzma_allocator, in.data + *at);
	if (ret == LZMA_OK)
		*at += block->header_size;
	return ret;
}

void dw_lzma_drop_header(struct lzma_run *run)
{
	lzma_filters_free(run->filters, &dw_lzma_allocator);
}

/* -- start --------------------------------------------------------------------------- */

uint32_t dw_lzma_dictionary_for(uint64_t bytes)
{
	uint64_t size = LZMA_DICT_SIZE_MIN;

	while (size < bytes && size < UINT32_MAX)
		size = (size & (size - 1)) == 0 ? size + size / 2 : size / 3 * 4;
	return size < UINT32_MAX ? (uint32_t)size : UINT32_MAX;
}

static bool is_plain(const struct lzma_run *run)
{
	lzma_check check = run->block.check;

	return run->filters[0].id == LZMA_FILTER_LZMA2 &&
	       run->filters[1].id == LZMA_VLI_UNKNOWN &&
	       (check == LZMA_CHECK_NONE || check == LZMA_CHECK_CRC32 ||
		check == LZMA_CHECK_CRC64);
}

/* Matches cannot reach further back than the output does. */
static void shrink_dictionary(struct lzma_run *run, uint64_t size)
{
	uint32_t enough = dw_lzma_dictionary_for(size);
	lzma_filter *filter;

	for (filter = run->filters; filter->id != LZMA_VLI_UNKNOWN; filter++) {
		lzma_options_lzma *options = filter->options;

		if (filter->id != LZMA_FILTER_LZMA2)
			continue;
		if (options->dict_size > enough)
			options->dict_size = enough;
		if (options->dict_size > run->window)
			run->window = options->dict_size;
	}
}

static lzma_ret open_plain(struct lzma_run *run, const struct decoder *decoder)
{
	const lzma_options_lzma *options = run->filters[0].options;
	uint32_t dictionary = options->dict_size;

	if (!run->lzma2)
		run->lzma2 = dw_lzma2_new();
	if (!run->lzma2)
		return LZMA_MEM_ERROR;
	dw_lzma2_begin(run->lzma2, decoder->out + decoder->done,
		       decoder->size - decoder->done,
		       dictionary > LZMA_DICT_SIZE_MIN ? dictionary : LZMA_DICT_SIZE_MIN);
	return LZMA_OK;
}

lzma_ret dw_lzma_open_block(struct lzma_run *run, const struct decoder *decoder,
			    size_t at)
{
	lzma_block *block = &run->block;
	lzma_ret ret;

	run->packed = at;
	run->start = decoder->done;
	run->is_plain = is_plain(run);
	if (run->is_plain) {
		ret = open_plain(run, decoder);
	} else {
		shrink_dictionary(run, block->uncompressed_size < decoder->size
					       ? block->uncompressed_size
					       : decoder->size);
		ret = lzma_block_decoder(&run->stream, block);
	}
	lzma_filters_free(run->filters, &dw_lzma_allocator);
	return ret;
}

/* -- the contents -------------------------------------------------------------------- */

/* Compare with the size in the header, or store it. */
static bool has_size(lzma_vli *known, size_t size)
{
	if (*known != LZMA_VLI_UNKNOWN && *known != size)
		return false;
	*known = size;
	return true;
}

static bool check_matches(const struct lzma_run *run, struct span out,
			  const uint8_t *check)
{
	switch (run->block.check) {
	case LZMA_CHECK_CRC32:
		return lzma_crc32(out.data, out.size, 0) == dw_load32(check);
	case LZMA_CHECK_CRC64:
		return lzma_crc64(out.data, out.size, 0) == dw_load64(check);
	default:
		return true;
	}
}

/* After the contents: padding with zeros, and the check. */
static lzma_ret end_plain(struct lzma_run *run, const struct decoder *decoder, size_t *at)
{
	struct span in = decoder->in;
	struct span out = { decoder->out + run->start, decoder->done - run->start };
	size_t packed = *at - run->packed, check = lzma_check_size(run->block.check);

	if (!has_size(&run->block.compressed_size, packed) ||
	    !has_size(&run->block.uncompressed_size, out.size))
		return LZMA_DATA_ERROR;
	for (; packed % PADDING_UNIT != 0; packed++, ++*at) {
		if (*at == in.size || in.data[*at] != 0)
			return LZMA_DATA_ERROR;
	}
	if (in.size - *at < check || !check_matches(run, out, in.data + *at))
		return LZMA_DATA_ERROR;
	*at += check;
	return LZMA_STREAM_END;
}

static lzma_ret run_plain(struct lzma_run *run, struct decoder *decoder, size_t *at,
			  size_t upto)
{
	size_t done;
	enum lzma2_result result =
		dw_lzma2_run(run->lzma2, decoder->in, at, upto - run->start, &done);

	decoder->done = run->start + done;
	switch (result) {
	case LZMA2_MORE:
		return LZMA_OK;
	case LZMA2_END:
		return end_plain(run, decoder, at);
	case LZMA2_FULL:
		return LZMA_BUF_ERROR;
	default:
		return LZMA_DATA_ERROR;
	}
}

static lzma_ret run_filters(struct lzma_run *run, struct decoder *decoder, size_t *at,
			    size_t upto)
{
	lzma_stream *stream = &run->stream;
	lzma_ret ret;

	stream->next_in = decoder->in.data + *at;
	stream->avail_in = decoder->in.size - *at;
	stream->next_out = decoder->out + decoder->done;
	stream->avail_out = upto - decoder->done;
	ret = lzma_code(stream, LZMA_RUN);
	*at = decoder->in.size - stream->avail_in;
	decoder->done = upto - stream->avail_out;
	if (ret == LZMA_BUF_ERROR && decoder->done < decoder->size)
		return LZMA_DATA_ERROR;
	return ret;
}

lzma_ret dw_lzma_run_block(struct lzma_run *run, struct decoder *decoder, size_t *at,
			   size_t upto)
{
	return run->is_plain ? run_plain(run, decoder, at, upto)
			     : run_filters(run, decoder, at, upto);
}

void dw_lzma_end_run(struct lzma_run *run)
{
	lzma_end(&run->stream);
	dw_lzma2_free(run->lzma2);
}

#endif
