/* SPDX-License-Identifier: MIT */
/*
 * codec/encode/lzma/lzma_stream: write an .xz stream, of one Block or of several.
 *
 * A single Block is written as a stream, without sizes in its header. Several have their
 * sizes in their headers and in the index, so that each can be found and unpacked
 * independently.
 *
 * LZMA2 allows other values of lc, lp and pb from any chunk on, with the dictionary kept.
 * A filter applies to a whole Block.
 */
#include "config.h"

#if HAVE_LZMA

#include "codec/encode/lzma/lzma_stream.h"
#include "codec/lzma/lzma_block.h"

/* A stream that is being written. */
struct writer {
	const struct lzma_plan *plan;
	lzma_stream *stream;
	struct codec_watch *watch;
	struct span in;
	struct buffer *out;
	size_t at, room;
	lzma_index *index; /* NULL: of a single Block */

	/* Of the Block: */
	size_t from, upto;
	const struct lzma_range *first; /* where it begins */
	lzma_options_lzma options;
	lzma_options_delta differences;
	lzma_filter filters[3];
};

/* -- the extent and the filters of a Block ------------------------------------------- */

static const struct lzma_range *last_range(const struct writer *writer)
{
	return writer->plan->ranges + writer->plan->range_count - 1;
}

/* Coders of machine code cannot end a chunk early: they keep the contexts. */
static bool keeps_contexts(const struct writer *writer)
{
	return writer->plan->branch && writer->first->choice.distance == 0;
}

static void set_filters(struct writer *writer)
{
	const struct lzma_choice *choice = &writer->first->choice;
	const uint32_t enough = dw_lzma_dictionary_for(writer->upto - writer->from);
	lzma_filter *filter = writer->filters;

	writer->options = *writer->plan->options;
	if (writer->options.dict_size > enough)
		writer->options.dict_size = enough;
	writer->options.nice_len = choice->nice_len;
	dw_lzma_set_contexts(&writer->options, choice->contexts);
	if (keeps_contexts(writer) && writer->first->upto < writer->upto)
		dw_lzma_set_contexts(&writer->options, writer->plan->branch_contexts);
	writer->differences = (lzma_options_delta){ .type = LZMA_DELTA_TYPE_BYTE,
						    .dist = choice->distance };
	if (choice->distance)
		*filter++ = (lzma_filter){ LZMA_FILTER_DELTA, &writer->differences };
	else if (writer->plan->branch)
		*filter++ = (lzma_filter){ writer->plan->branch, NULL };
	*filter++ = (lzma_filter){ LZMA_FILTER_LZMA2, &writer->options };
	*filter = (lzma_filter){ LZMA_VLI_UNKNOWN, NULL };
}

/* The Block that begins at this offset. */
static void begin_block(struct writer *writer, size_t from)
{
	const struct lzma_range *range = writer->plan->ranges;
	size_t most = writer->plan->part_bytes;

	while (range->upto <= from)
		range++;
	writer->first = range;
	while (range < last_range(writer) &&
	       range[1].choice.distance == range->choice.distance)
		range++;
	writer->from = from;
	writer->upto = range->upto - from > most ? from + most : range->upto;
	set_filters(writer);
}

/* -- the contents of a Block --------------------------------------------------------- */

/* Let the coder consume a part of the input; LZMA_OK if there is not enough space for the
 * output, LZMA_STREAM_END if the action was completed. */
static int feed_stream(const struct writer *writer, size_t from, size_t upto,
		       lzma_action action, lzma_ret *coded_out, dwarfs_error **err)
{
	lzma_stream *stream = writer->stream;
	lzma_ret coded = LZMA_OK;
	int ret;

	stream->next_in = writer->in.data + from;
	stream->avail_in = 0;
	while (coded == LZMA_OK && stream->avail_out > 0) {
		if (stream->avail_in == 0) {
			if ((ret = dw_codec_go_on(writer->watch, from, err)) < 0)
				return ret;
			stream->avail_in = upto - from < DW_CODEC_SLICE_BYTES
						   ? upto - from
						   : DW_CODEC_SLICE_BYTES;
			from += stream->avail_in;
		}
		coded = lzma_code(stream, from < upto ? LZMA_RUN : action);
	}
	*coded_out = coded;
	return 0;
}

/* The contents, range by range. */
static int feed_block(struct writer *writer, lzma_ret *coded_out, dwarfs_error **err)
{
	const struct lzma_range *range = writer->first;
	size_t from = writer->from;

	while (!keeps_contexts(writer) && range->upto < writer->upto) {
		int ret = feed_stream(writer, from, range->upto, LZMA_SYNC_FLUSH,
				      coded_out, err);

		if (ret < 0 || *coded_out != LZMA_STREAM_END)
			return ret;
		from = range->upto;
		range++;
		dw_lzma_set_contexts(&writer->options, range->choice.contexts);
		*coded_out = lzma_filters_update(writer->stream, writer->filters);
		if (*coded_out != LZMA_OK)
			return 0;
	}
	return feed_stream(writer, from, writer->upto, LZMA_FINISH, coded_out, err);
}

/* -- one Block ----------------------------------------------------------------------- */

static int write_single(struct writer *writer, dwarfs_error **err)
{
	lzma_stream *stream = writer->stream;
	lzma_ret coded =
		lzma_stream_encoder(stream, writer->filters, writer->plan->check);
	int ret;

	stream->next_out = writer->out->data;
	stream->avail_out = writer->room;
	if (coded == LZMA_OK && (ret = feed_block(writer, &coded, err)) < 0)
		return ret;
	if (coded == LZMA_STREAM_END)
		writer->out->size = writer->room - stream->avail_out;
	return dw_lzma_result(coded, err);
}

/* -- several Blocks ------------------------------------------------------------------ */

/* Append the Block; its header is written last, when its sizes are known. */
static int append_block(struct writer *writer, lzma_ret *coded_out, dwarfs_error **err)
{
	lzma_stream *stream = writer->stream;
	const size_t size = writer->upto - writer->from;
	lzma_block block = {
		.version = 1,
		.check = writer->plan->check,
		.filters = writer->filters,
		/* The header has space for sizes up to these. */
		.compressed_size = lzma_block_buffer_bound(size),
		.uncompressed_size = size,
	};
	size_t header = writer->at;
	lzma_ret coded = lzma_block_header_size(&block);
	int ret;

	*coded_out = LZMA_BUF_ERROR;
	if (coded == LZMA_OK && block.header_size >= writer->room - writer->at)
		return 0;
	if (coded == LZMA_OK)
		coded = lzma_block_encoder(stream, &block);
	writer->at += block.header_size;
	stream->next_out = writer->out->data + writer->at;
	stream->avail_out = writer->room - writer->at;
	if (coded == LZMA_OK && (ret = feed_block(writer, &coded, err)) < 0)
		return ret;
	writer->at = writer->room - stream->avail_out;
	if (coded == LZMA_STREAM_END)
		coded = lzma_block_header_encode(&block, writer->out->data + header);
	else if (coded == LZMA_OK)
		coded = LZMA_BUF_ERROR;
	if (coded == LZMA_OK)
		coded = lzma_index_append(writer->index, &dw_lzma_allocator,
					  lzma_block_unpadded_size(&block),
					  block.uncompressed_size);
	*coded_out = coded;
	return 0;
}

static lzma_ret end_stream(struct writer *writer)
{
	lzma_stream_flags flags = {
		.version = 0,
		.check = writer->plan->check,
		.backward_size = lzma_index_size(writer->index),
	};
	lzma_ret coded;

	coded = lzma_index_buffer_encode(writer->index, writer->out->data, &writer->at,
					 writer->room);
	if (coded != LZMA_OK)
		return coded;
	if (writer->room - writer->at < LZMA_STREAM_HEADER_SIZE)
		return LZMA_BUF_ERROR;
	coded = lzma_stream_footer_encode(&flags, writer->out->data + writer->at);
	writer->at += LZMA_STREAM_HEADER_SIZE;
	return coded;
}

static int append_all(struct writer *writer, dwarfs_error **err)
{
	lzma_stream_flags flags = { .version = 0, .check = writer->plan->check };
	lzma_ret coded = lzma_stream_header_encode(&flags, writer->out->data);
	int ret;

	writer->at = LZMA_STREAM_HEADER_SIZE;
	while (coded == LZMA_OK) {
		if ((ret = append_block(writer, &coded, err)) < 0)
			return ret;
		if (writer->upto == writer->in.size)
			break;
		begin_block(writer, writer->upto);
	}
	if (coded == LZMA_OK)
		coded = end_stream(writer);
	if (coded == LZMA_OK)
		writer->out->size = writer->at;
	return dw_lzma_result(coded, err);
}

static int write_several(struct writer *writer, dwarfs_error **err)
{
	int ret;

	writer->index = lzma_index_init(&dw_lzma_allocator);
	if (!writer->index)
		return dw_fail_nomem(err);
	ret = writer->room < LZMA_STREAM_HEADER_SIZE ? 0 : append_all(writer, err);
	lzma_index_end(writer->index, &dw_lzma_allocator);
	return ret;
}

int dw_lzma_write_stream(lzma_stream *stream, const struct lzma_plan *plan,
			 struct span in, size_t room, struct buffer *out,
			 struct codec_watch *watch, dwarfs_error **err)
{
	struct writer writer = {
		.plan = plan,
		.stream = stream,
		.watch = watch,
		.in = in,
		.out = out,
		.room = room,
	};

	out->size = 0;
	if (dw_buffer_reserve(out, room, err) < 0)
		return DWARFS_ERR_NOMEM;
	begin_block(&writer, 0);
	return writer.upto == in.size ? write_single(&writer, err)
				      : write_several(&writer, err);
}

int dw_lzma_count_stream(const struct lzma_probe *probe, const struct lzma_plan *plan,
			 struct span in, uint64_t *bytes_out, dwarfs_error **err)
{
	struct writer writer = { .plan = plan };
	int ret = 0;

	*bytes_out = 0;
	for (size_t from = 0; ret == 0 && from < in.size; from = writer.upto) {
		uint64_t bytes;

		begin_block(&writer, from);
		ret = dw_lzma_count(probe, writer.filters,
				    (struct span){ in.data + from, writer.upto - from },
				    UINT64_MAX, &bytes, err);
		*bytes_out += bytes;
	}
	return ret;
}

#endif
