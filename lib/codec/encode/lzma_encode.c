/* SPDX-License-Identifier: MIT */
/*
 * codec/encode/lzma_encode: pack into an .xz stream, of one Block or of several.
 *
 * A single Block is written as a stream, without sizes in its header. Several have their
 * sizes in their headers and in the index, so that each can be found and unpacked
 * independently.
 */
#include "config.h"

#if HAVE_LZMA

#include <lzma.h>

#include "base/bytes.h"
#include "codec/encode/lzma_adapt.h"
#include "codec/encode/lzma_encode.h"
#include "codec/lzma/lzma_block.h"

/* If machine code is expected, a sample of a large block shows whether a BCJ filter may
 * help: pieces at equal distances, packed with and without it, fast and with a small
 * dictionary. The sample does not contain what the filter destroys, matches with distant
 * data: it turns the equal relative addresses of a function that was moved, as in another
 * build of a library, into different absolute ones. So if the sample is smaller with the
 * filter and the codec is slow, the whole block is packed both ways at the fastest level,
 * with the dictionary of the codec. */
#define PIECE_BYTES ((size_t)128 << 10)
#define PIECE_COUNT 16
#define SMALL_BYTES                                                                      \
	(PIECE_BYTES * PIECE_COUNT) /* packed with and without filter as a whole */
#define PROBE_DICT ((uint32_t)256 << 10)

#define WHOLE_LEVEL 0 /* for the whole block; its result is only counted */

/* With a smaller dictionary, for lack of memory, the attempts would take a large part of it. */
#define ADAPT_LEAST_DICT ((uint32_t)4 << 20)

/* Memory besides the LZMA2 and BCJ filters. */
#define STREAM_BYTES ((uint64_t)64 << 10)

struct attempt {
	lzma_stream stream; /* keeps its tables from block to block */
	lzma_options_lzma options;
	lzma_filter plain[2];
	lzma_filter branch[3]; /* with a BCJ filter first, if requested */
	lzma_options_delta differences;
	lzma_filter delta[3]; /* with a delta filter first, unless its distance is 0 */
};

struct lzma_packer {
	struct attempt best;
	struct attempt probe; /* of a sample */
	struct attempt whole; /* of all, with best's stream; not used if best is fast */
	lzma_check check;
	size_t part_bytes; /* of a Block's contents; SIZE_MAX: all in one Block */
	int bcj;	   /* requested: 0, DW_LZMA_ANY_MACHINE, or a filter */
	bool adapts;
	uint32_t full_nice_len; /* where the data do not ask for another */
	struct buffer sample;
	struct buffer other; /* the second attempt */
};

/* Maximum size of the contents of a Block. */
static size_t part_bytes(const struct codec_spec *spec)
{
	return spec->part_log ? (size_t)1 << spec->part_log : SIZE_MAX;
}

static bool set_lzma_options(lzma_options_lzma *options, const struct codec_spec *spec,
			     size_t block_bytes)
{
	uint32_t preset =
		(uint32_t)spec->level | (spec->extreme ? LZMA_PRESET_EXTREME : 0);
	size_t most = part_bytes(spec);
	uint32_t enough = dw_lzma_dictionary_for(block_bytes < most ? block_bytes : most);

	if (lzma_lzma_preset(options, preset))
		return false;
	if (spec->window_log)
		options->dict_size = UINT32_C(1) << spec->window_log;
	if (options->dict_size > enough)
		options->dict_size = enough;
	if (spec->mode)
		options->mode = (lzma_mode)spec->mode;
	if (spec->match_finder)
		options->mf = (lzma_match_finder)spec->match_finder;
	if (spec->nice)
		options->nice_len = (uint32_t)spec->nice;
	if (spec->depth)
		options->depth = (uint32_t)spec->depth;
	return true;
}

/* Memory of an attempt; UINT64_MAX if the options exclude each other. */
static uint64_t set_filters(struct attempt *attempt, const struct codec_spec *spec,
			    size_t block_bytes)
{
	const lzma_filter lzma2 = { LZMA_FILTER_LZMA2, &attempt->options };
	const lzma_filter last = { LZMA_VLI_UNKNOWN, NULL };

	if (!set_lzma_options(&attempt->options, spec, block_bytes))
		return UINT64_MAX;
	attempt->stream = (lzma_stream){ .allocator = &dw_lzma_allocator };
	attempt->plain[0] = attempt->branch[1] = attempt->delta[1] = lzma2;
	attempt->plain[1] = attempt->branch[2] = attempt->delta[2] = last;
	attempt->differences = (lzma_options_delta){ .type = LZMA_DELTA_TYPE_BYTE };
	attempt->delta[0] = (lzma_filter){ LZMA_FILTER_DELTA, &attempt->differences };
	attempt->branch[0] = (lzma_filter){ LZMA_FILTER_X86, NULL };
	if (spec->bcj != DW_LZMA_ANY_MACHINE)
		attempt->branch[0].id = (lzma_vli)spec->bcj;
	return lzma_raw_encoder_memusage(spec->bcj ? attempt->branch : attempt->plain);
}

static uint64_t set_probe(struct attempt *probe, int bcj)
{
	struct codec_spec spec = { .bcj = bcj, .level = 1 };

	return set_filters(probe, &spec, PROBE_DICT);
}

/* Memory of the attempt on a whole block, 0 if there is none. */
static uint64_t set_whole(struct attempt *whole, const struct attempt *best, int bcj)
{
	struct codec_spec spec = { .bcj = bcj, .level = WHOLE_LEVEL };
	uint64_t bytes;

	if (!bcj || best->options.mode == LZMA_MODE_FAST)
		return 0;
	bytes = set_filters(whole, &spec, PROBE_DICT);
	whole->options.dict_size = best->options.dict_size;
	return bytes == UINT64_MAX ? UINT64_MAX
				   : lzma_raw_encoder_memusage(whole->branch);
}

void dw_lzma_close(void *state)
{
	struct lzma_packer *packer = state;

	lzma_end(&packer->best.stream);
	lzma_end(&packer->probe.stream);
	dw_buffer_free(&packer->sample);
	dw_buffer_free(&packer->other);
	dw_free(packer);
}

int dw_lzma_open(const struct codec_spec *spec, size_t block_bytes, void **state_out,
		 dwarfs_error **err)
{
	struct lzma_packer *packer = dw_calloc(1, sizeof(*packer));

	if (!packer)
		return dw_fail_nomem(err);
	packer->bcj = spec->bcj;
	packer->adapts = spec->adapts;
	packer->check = (lzma_check)spec->check;
	packer->part_bytes = part_bytes(spec);
	if (set_filters(&packer->best, spec, block_bytes) == UINT64_MAX ||
	    set_probe(&packer->probe, spec->bcj) == UINT64_MAX ||
	    set_whole(&packer->whole, &packer->best, spec->bcj) == UINT64_MAX) {
		dw_free(packer);
		return dw_fail(err, DWARFS_ERR_INVALID, "the options do not go together");
	}
	packer->full_nice_len = packer->best.options.nice_len;
	*state_out = packer;
	return 0;
}

/* -- one Block ----------------------------------------------------------------------- */

/* Let the stream's coder consume a piece of the input; LZMA_OK if there is not enough
 * space for the output. */
static int feed_stream(lzma_stream *stream, struct span all, size_t from, size_t upto,
		       struct codec_watch *watch, lzma_ret *coded_out, dwarfs_error **err)
{
	lzma_ret coded = LZMA_OK;
	int ret;

	stream->next_in = all.data + from;
	stream->avail_in = 0;
	while (coded == LZMA_OK && stream->avail_out > 0) {
		if (stream->avail_in == 0) {
			if ((ret = dw_codec_go_on(watch, from, err)) < 0)
				return ret;
			stream->avail_in = upto - from < DW_CODEC_SLICE_BYTES
						   ? upto - from
						   : DW_CODEC_SLICE_BYTES;
			from += stream->avail_in;
		}
		coded = lzma_code(stream, from < upto ? LZMA_RUN : LZMA_FINISH);
	}
	*coded_out = coded;
	return 0;
}

static int pack_whole(const struct lzma_packer *packer, lzma_stream *stream,
		      const lzma_filter *filters, struct span in, size_t room,
		      struct buffer *out, struct codec_watch *watch, dwarfs_error **err)
{
	lzma_ret coded = lzma_stream_encoder(stream, filters, packer->check);
	int ret;

	stream->next_out = out->data;
	stream->avail_out = room;
	if (coded == LZMA_OK &&
	    (ret = feed_stream(stream, in, 0, in.size, watch, &coded, err)) < 0)
		return ret;
	if (coded == LZMA_STREAM_END)
		out->size = room - stream->avail_out;
	return dw_lzma_result(coded, err);
}

/* -- several Blocks ------------------------------------------------------------------ */

/* A stream that is being assembled. */
struct stream_parts {
	lzma_stream *stream;
	const lzma_filter *filters;
	struct codec_watch *watch;
	lzma_check check;
	lzma_index *index;
	uint8_t *out;
	size_t at, room;
};

/* Append one Block; its header is written last, when its sizes are known. */
static int pack_part(struct stream_parts *parts, struct span in, size_t from, size_t upto,
		     lzma_ret *coded_out, dwarfs_error **err)
{
	lzma_stream *stream = parts->stream;
	lzma_block block = {
		.version = 1,
		.check = parts->check,
		.filters = (lzma_filter *)parts->filters,
		/* The header has space for sizes up to these. */
		.compressed_size = lzma_block_buffer_bound(upto - from),
		.uncompressed_size = upto - from,
	};
	size_t header = parts->at;
	lzma_ret coded = lzma_block_header_size(&block);
	int ret;

	*coded_out = LZMA_BUF_ERROR;
	if (coded == LZMA_OK && block.header_size >= parts->room - parts->at)
		return 0;
	if (coded == LZMA_OK)
		coded = lzma_block_encoder(stream, &block);
	parts->at += block.header_size;
	stream->next_out = parts->out + parts->at;
	stream->avail_out = parts->room - parts->at;
	if (coded == LZMA_OK &&
	    (ret = feed_stream(stream, in, from, upto, parts->watch, &coded, err)) < 0)
		return ret;
	parts->at = parts->room - stream->avail_out;
	if (coded == LZMA_STREAM_END)
		coded = lzma_block_header_encode(&block, parts->out + header);
	else if (coded == LZMA_OK)
		coded = LZMA_BUF_ERROR;
	if (coded == LZMA_OK)
		coded = lzma_index_append(parts->index, &dw_lzma_allocator,
					  lzma_block_unpadded_size(&block),
					  block.uncompressed_size);
	*coded_out = coded;
	return 0;
}

static lzma_ret end_parts(struct stream_parts *parts)
{
	lzma_stream_flags flags = {
		.version = 0,
		.check = parts->check,
		.backward_size = lzma_index_size(parts->index),
	};
	lzma_ret coded;

	coded = lzma_index_buffer_encode(parts->index, parts->out, &parts->at,
					 parts->room);
	if (coded != LZMA_OK)
		return coded;
	if (parts->room - parts->at < LZMA_STREAM_HEADER_SIZE)
		return LZMA_BUF_ERROR;
	coded = lzma_stream_footer_encode(&flags, parts->out + parts->at);
	parts->at += LZMA_STREAM_HEADER_SIZE;
	return coded;
}

static int pack_each(struct stream_parts *parts, struct span in, size_t part_bytes,
		     struct buffer *out, dwarfs_error **err)
{
	lzma_stream_flags flags = { .version = 0, .check = parts->check };
	lzma_ret coded = lzma_stream_header_encode(&flags, parts->out);
	int ret;

	parts->at = LZMA_STREAM_HEADER_SIZE;
	for (size_t from = 0; coded == LZMA_OK && from < in.size;) {
		size_t upto = in.size - from > part_bytes ? from + part_bytes : in.size;

		if ((ret = pack_part(parts, in, from, upto, &coded, err)) < 0)
			return ret;
		from = upto;
	}
	if (coded == LZMA_OK)
		coded = end_parts(parts);
	if (coded == LZMA_OK)
		out->size = parts->at;
	return dw_lzma_result(coded, err);
}

static int pack_parts(const struct lzma_packer *packer, lzma_stream *stream,
		      const lzma_filter *filters, struct span in, size_t room,
		      struct buffer *out, struct codec_watch *watch, dwarfs_error **err)
{
	struct stream_parts parts = {
		.stream = stream,
		.filters = filters,
		.watch = watch,
		.check = packer->check,
		.index = lzma_index_init(&dw_lzma_allocator),
		.out = out->data,
		.room = room,
	};
	int ret;

	if (!parts.index)
		return dw_fail_nomem(err);
	ret = room < LZMA_STREAM_HEADER_SIZE
		      ? 0
		      : pack_each(&parts, in, packer->part_bytes, out, err);
	lzma_index_end(parts.index, &dw_lzma_allocator);
	return ret;
}

/* Pack into at most room bytes of out; its size stays 0 if that is too small. */
static int pack_filtered(const struct lzma_packer *packer, lzma_stream *stream,
			 const lzma_filter *filters, struct span in, size_t room,
			 struct buffer *out, struct codec_watch *watch,
			 dwarfs_error **err)
{
	out->size = 0;
	if (dw_buffer_reserve(out, room, err) < 0)
		return DWARFS_ERR_NOMEM;
	return in.size > packer->part_bytes
		       ? pack_parts(packer, stream, filters, in, room, out, watch, err)
		       : pack_whole(packer, stream, filters, in, room, out, watch, err);
}

/* -- with and without a filter ------------------------------------------------------- */

/* Pack both ways and keep the smaller result; that without filter if they are equal. */
static int pack_both(struct lzma_packer *packer, struct attempt *attempt, struct span in,
		     struct buffer *out, bool *branch_out, struct codec_watch *watch,
		     dwarfs_error **err)
{
	size_t room = in.size - 1;
	int ret = pack_filtered(packer, &attempt->stream, attempt->plain, in, room, out,
				watch, err);

	if (ret < 0)
		return ret;
	if (out->size)
		room = out->size - 1;
	ret = pack_filtered(packer, &attempt->stream, attempt->branch, in, room,
			    &packer->other, watch, err);
	if (ret < 0)
		return ret;
	*branch_out = packer->other.size > 0;
	if (*branch_out) {
		struct buffer worse = *out;

		*out = packer->other;
		packer->other = worse;
	}
	return 0;
}

static struct span sample_or_all(const struct lzma_packer *packer, struct span in)
{
	return in.size <= SMALL_BYTES ? in : dw_buffer_span(&packer->sample);
}

/*
 * The filter for the machine whose calls are most frequent, 0 when they are too few. A
 * call has a byte or two that tell it from others, and near targets are the most likely:
 * its highest byte is 0 or 255 on x86. In random data there are 0.006 % of these, 0.4 %
 * of words that look like a call of ARM, and 0.1 % of pairs that look like one of Thumb.
 */
static lzma_vli likely_machine(struct span in)
{
	const uint8_t *data = in.data;
	size_t x86 = 0, arm = 0, thumb = 0;

	for (size_t i = 0; i + 4 < in.size; i++)
		x86 += (data[i] & 0xfe) == 0xe8 && (uint8_t)(data[i + 4] + 1) <= 1;
	for (size_t i = 3; i < in.size; i += 4)
		arm += data[i] == 0xeb;
	for (size_t i = 3; i < in.size; i += 2)
		thumb += (data[i - 2] & 0xf8) == 0xf0 && (data[i] & 0xf8) == 0xf8;
	if (x86 > in.size / 1024)
		return LZMA_FILTER_X86;
	if (arm > in.size / 4 / 64 || thumb > in.size / 2 / 64)
		return arm >= thumb ? LZMA_FILTER_ARM : LZMA_FILTER_ARMTHUMB;
	return 0;
}

/* Whether a filter may help with a block, and which one. */
static void choose_branch(struct lzma_packer *packer, struct span in, bool *try_out)
{
	lzma_vli filter = (lzma_vli)packer->bcj;

	*try_out = false;
	if (filter == 0)
		return;
	if (filter == DW_LZMA_ANY_MACHINE)
		filter = likely_machine(sample_or_all(packer, in));
	packer->best.branch[0].id = packer->probe.branch[0].id =
		packer->whole.branch[0].id = filter;
	*try_out = filter != 0;
}

/* Take the sample that is needed, and adapt the options to it. */
static int adapt_to_sample(struct lzma_packer *packer, struct span in,
			   struct codec_watch *watch, dwarfs_error **err)
{
	const struct lzma_probe probe = { &packer->probe.stream, &packer->other, watch };
	int ret;

	if (!packer->bcj && !packer->adapts)
		return 0;
	if (in.size > SMALL_BYTES &&
	    (ret = dw_codec_take_sample(in, PIECE_COUNT, PIECE_BYTES, &packer->sample,
					err)) < 0)
		return ret;
	return packer->adapts
		       ? dw_lzma_adapt(&probe, in, sample_or_all(packer, in),
				       packer->full_nice_len, &packer->best.options,
				       &packer->best.differences.dist, err)
		       : 0;
}

/* Whether the filter that helps with the sample helps with the whole block. */
static int try_whole(struct lzma_packer *packer, struct span in, bool *branch_out,
		     struct codec_watch *watch, dwarfs_error **err)
{
	const struct lzma_probe probe = { &packer->best.stream, &packer->other, watch };
	uint64_t plain, branch;
	int ret = dw_lzma_count(&probe, packer->whole.plain, in, UINT64_MAX, &plain, err);

	if (ret == 0)
		ret = dw_lzma_count(&probe, packer->whole.branch, in, plain, &branch,
				    err);
	if (ret == 0)
		*branch_out = branch < plain;
	return ret;
}

int dw_lzma_pack(void *state, struct span in, struct buffer *out,
		 struct codec_watch *watch, dwarfs_error **err)
{
	struct lzma_packer *packer = state;
	struct attempt *best = &packer->best;
	bool try_branch, branch = false;
	int ret = adapt_to_sample(packer, in, watch, err);

	if (ret < 0)
		return ret;
	if (best->differences.dist)
		return pack_filtered(packer, &best->stream, best->delta, in, in.size - 1,
				     out, watch, err);
	choose_branch(packer, in, &try_branch);
	if (try_branch && in.size <= SMALL_BYTES)
		return pack_both(packer, best, in, out, &branch, watch, err);
	if (try_branch &&
	    (ret = pack_both(packer, &packer->probe, dw_buffer_span(&packer->sample), out,
			     &branch, watch, err)) < 0)
		return ret;
	if (branch && packer->best.options.mode == LZMA_MODE_NORMAL &&
	    (ret = try_whole(packer, in, &branch, watch, err)) < 0)
		return ret;
	return pack_filtered(packer, &best->stream, branch ? best->branch : best->plain,
			     in, in.size - 1, out, watch, err);
}

/* The attempts: on a small block with the filter, and on a sample. */
static uint64_t memory_of_attempts(const struct codec_spec *spec, lzma_mode mode,
				   size_t block_bytes)
{
	struct attempt probe;
	uint64_t bytes = 0;

	if (spec->adapts)
		bytes = dw_lzma_adapt_memory(block_bytes, mode);
	if (spec->bcj && block_bytes > SMALL_BYTES &&
	    set_probe(&probe, spec->bcj) > bytes)
		bytes = set_probe(&probe, spec->bcj);
	if ((spec->bcj || spec->adapts) && block_bytes > SMALL_BYTES)
		bytes += 2 * SMALL_BYTES;
	else if (spec->bcj)
		bytes += block_bytes;
	return bytes;
}

uint64_t dw_lzma_memory(const struct codec_spec *spec, size_t block_bytes)
{
	struct attempt attempt, whole;
	uint64_t bytes = set_filters(&attempt, spec, block_bytes);
	uint64_t before;

	if (bytes == UINT64_MAX)
		return 0;
	before = set_whole(&whole, &attempt, spec->bcj);
	if (bytes < before)
		bytes = before;
	return sizeof(struct lzma_packer) + STREAM_BYTES + bytes +
	       memory_of_attempts(spec, attempt.options.mode, block_bytes);
}

/* No match begins in another part. */
size_t dw_lzma_reach(const struct codec_spec *spec, size_t block_bytes)
{
	lzma_options_lzma options;
	size_t most = part_bytes(spec);

	if (!set_lzma_options(&options, spec, block_bytes))
		return block_bytes;
	return options.dict_size < most ? options.dict_size : most;
}

bool dw_lzma_shrink(struct codec_spec *spec, size_t block_bytes)
{
	lzma_options_lzma options;

	if (!set_lzma_options(&options, spec, block_bytes))
		return false;
	if (spec->adapts && options.dict_size <= ADAPT_LEAST_DICT) {
		spec->adapts = false;
		return true;
	}
	spec->window_log = (int)dw_bit_length(options.dict_size - 1) - 1;
	return spec->window_log >= DW_LZMA_MIN_DICT_LOG;
}

#endif
