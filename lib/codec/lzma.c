/* SPDX-License-Identifier: MIT */
/*
 * codec/lzma: .xz streams of LZMA2, with a BCJ filter for machine code where that helps.
 *
 * Streams are taken apart here rather than by liblzma's stream decoder, so that the
 * dictionary can be made as small as the expected size allows, whatever the stream asks
 * for. The size of the contents stands in the index at the end of a stream.
 */
#include <stdio.h>
#include "config.h"

#if HAVE_LZMA

#include <lzma.h>

#include "base/bytes.h"
#include "codec/ops.h"

#define DEFAULT_LEVEL	 9
#define MAX_LEVEL	 9
#define MIN_DICT_LOG	 12
#define MAX_DICT_LOG	 30
#define MAX_NICE	 273
#define MAX_DEPTH	 (1 << 20)
#define PADDING_UNIT	 4
#define MIN_RECORD_BYTES 2		      /* of an index, for each block */
#define DECODER_BYTES	 ((uint64_t)64 << 10) /* besides the dictionary */

static int fail(lzma_ret ret, dwarfs_error **err)
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

/* Zeros in front of the end, in whole units. Also behind a stream that others follow. */
static size_t without_padding(struct span in, size_t size)
{
	while (size >= PADDING_UNIT && dw_load32(in.data + size - PADDING_UNIT) == 0)
		size -= PADDING_UNIT;
	return size;
}

/* From the index in front of a footer at *end: add the size, move *end to the start. */
static lzma_ret measure_stream(struct span in, size_t *end, uint64_t *size)
{
	lzma_stream_flags footer;
	lzma_index *index = NULL;
	size_t at, stop;
	uint64_t limit;
	lzma_ret ret;

	if (*end < LZMA_STREAM_HEADER_SIZE)
		return LZMA_DATA_ERROR;
	stop = *end - LZMA_STREAM_HEADER_SIZE;
	ret = lzma_stream_footer_decode(&footer, in.data + stop);
	if (ret != LZMA_OK)
		return ret;
	if (footer.backward_size > stop)
		return LZMA_DATA_ERROR;
	at = stop - (size_t)footer.backward_size;
	limit = lzma_index_memusage(1, footer.backward_size / MIN_RECORD_BYTES);
	ret = lzma_index_buffer_decode(&index, &limit, NULL, in.data, &at, stop);
	if (ret != LZMA_OK)
		return ret;
	if (at != stop || lzma_index_stream_size(index) > *end ||
	    !dw_add(*size, lzma_index_uncompressed_size(index), size))
		ret = LZMA_DATA_ERROR;
	else
		*end -= (size_t)lzma_index_stream_size(index);
	lzma_index_end(index, NULL);
	return ret;
}

static int unpacked_size(struct span in, uint64_t *size_out, dwarfs_error **err)
{
	size_t end = in.size;
	uint64_t size = 0;

	do {
		lzma_ret ret;

		end = without_padding(in, end);
		ret = measure_stream(in, &end, &size);
		if (ret != LZMA_OK)
			return fail(ret, err);
	} while (end > 0);
	*size_out = size;
	return 0;
}

/* -- unpacking ----------------------------------------------------------------------- */

/* What of a stream comes next. */
enum part { STREAM_HEADER, BLOCK_HEADER, BLOCK, INDEX };

struct unpacker {
	size_t at; /* in the input */
	enum part part;
	lzma_stream_flags flags;
	lzma_stream stream;
	lzma_block block;
	lzma_filter filters[LZMA_FILTERS_MAX + 1];
	lzma_index_hash *hash; /* of the blocks that the index must list */
};

static size_t left(const struct decoder *decoder)
{
	const struct unpacker *unpacker = decoder->state;

	return decoder->in.size - unpacker->at;
}

static const uint8_t *here(const struct decoder *decoder)
{
	const struct unpacker *unpacker = decoder->state;

	return decoder->in.data + unpacker->at;
}

/* The smallest dictionary, in a size that .xz can express, for this much data. */
static uint32_t dictionary_for(uint64_t bytes)
{
	uint64_t size = LZMA_DICT_SIZE_MIN;

	while (size < bytes && size < UINT32_MAX)
		size = (size & (size - 1)) == 0 ? size + size / 2 : size / 3 * 4;
	return size < UINT32_MAX ? (uint32_t)size : UINT32_MAX;
}

/* Matches cannot reach further back than the output does. */
static void shrink_dictionary(lzma_filter *filters, size_t size)
{
	uint32_t enough = dictionary_for(size);

	for (; filters->id != LZMA_VLI_UNKNOWN; filters++) {
		lzma_options_lzma *options = filters->options;

		if (filters->id == LZMA_FILTER_LZMA2 && options->dict_size > enough)
			options->dict_size = enough;
	}
}

static lzma_ret begin_stream(struct decoder *decoder)
{
	struct unpacker *unpacker = decoder->state;
	lzma_ret ret;

	if (left(decoder) < LZMA_STREAM_HEADER_SIZE)
		return LZMA_DATA_ERROR;
	ret = lzma_stream_header_decode(&unpacker->flags, here(decoder));
	if (ret != LZMA_OK)
		return ret;
	if (!lzma_check_is_supported(unpacker->flags.check))
		return LZMA_OPTIONS_ERROR;
	unpacker->at += LZMA_STREAM_HEADER_SIZE;
	unpacker->hash = lzma_index_hash_init(unpacker->hash, NULL);
	unpacker->part = BLOCK_HEADER;
	return unpacker->hash ? LZMA_OK : LZMA_MEM_ERROR;
}

/* What the dictionary will take, which is at most as large as all of the output. */
static void note_window(struct decoder *decoder)
{
	struct unpacker *unpacker = decoder->state;
	const lzma_filter *filter = unpacker->filters;

	for (; filter->id != LZMA_VLI_UNKNOWN; filter++) {
		const lzma_options_lzma *options = filter->options;

		if (filter->id == LZMA_FILTER_LZMA2 &&
		    options->dict_size > decoder->window)
			decoder->window = options->dict_size;
	}
}

/* A block header begins with its size, the index with a zero. */
static lzma_ret begin_block(struct decoder *decoder)
{
	struct unpacker *unpacker = decoder->state;
	lzma_block *block = &unpacker->block;
	lzma_ret ret;

	if (left(decoder) == 0)
		return LZMA_DATA_ERROR;
	if (*here(decoder) == 0) {
		unpacker->part = INDEX;
		return LZMA_OK;
	}
	*block = (lzma_block){
		.version = 1,
		.check = unpacker->flags.check,
		.filters = unpacker->filters,
		.header_size = lzma_block_header_size_decode(*here(decoder)),
	};
	if (block->header_size > left(decoder))
		return LZMA_DATA_ERROR;
	ret = lzma_block_header_decode(block, NULL, here(decoder));
	if (ret != LZMA_OK)
		return ret;
	unpacker->at += block->header_size;
	shrink_dictionary(unpacker->filters, decoder->size);
	note_window(decoder);
	ret = lzma_block_decoder(&unpacker->stream, block);
	lzma_filters_free(unpacker->filters, NULL);
	unpacker->part = BLOCK;
	return ret;
}

/* Output up to that place, or to the end of the block. */
static lzma_ret go_on_with_block(struct decoder *decoder, size_t upto)
{
	struct unpacker *unpacker = decoder->state;
	lzma_stream *stream = &unpacker->stream;
	lzma_ret ret;

	stream->next_in = here(decoder);
	stream->avail_in = left(decoder);
	stream->next_out = decoder->out + decoder->done;
	stream->avail_out = upto - decoder->done;
	ret = lzma_code(stream, LZMA_RUN);
	unpacker->at = decoder->in.size - stream->avail_in;
	decoder->done = upto - stream->avail_out;
	if (ret != LZMA_STREAM_END)
		return ret;
	unpacker->part = BLOCK_HEADER;
	return lzma_index_hash_append(unpacker->hash,
				      lzma_block_unpadded_size(&unpacker->block),
				      unpacker->block.uncompressed_size);
}

static void skip_padding(struct decoder *decoder)
{
	struct unpacker *unpacker = decoder->state;

	while (left(decoder) >= PADDING_UNIT && dw_load32(here(decoder)) == 0)
		unpacker->at += PADDING_UNIT;
}

static lzma_ret end_stream(struct decoder *decoder)
{
	struct unpacker *unpacker = decoder->state;
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
	unpacker->part = STREAM_HEADER;
	return ret;
}

static lzma_ret go_on(struct decoder *decoder, size_t upto)
{
	const struct unpacker *unpacker = decoder->state;

	switch (unpacker->part) {
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
	const struct unpacker *unpacker = decoder->state;

	return unpacker->part == STREAM_HEADER && unpacker->at > 0 && left(decoder) == 0;
}

static int step(struct decoder *decoder, size_t upto, dwarfs_error **err)
{
	/* When all is there, the end of the payload must be, too. */
	while (!is_at_end(decoder) &&
	       (decoder->done < upto || decoder->done == decoder->size)) {
		lzma_ret ret = go_on(decoder, upto);

		if (ret == LZMA_BUF_ERROR && decoder->done == decoder->size)
			return fail_size(decoder->size, err);
		if (ret != LZMA_OK)
			return fail(ret, err);
	}
	return decoder->done < upto ? fail_size(decoder->size, err) : 0;
}

static void stop(struct decoder *decoder)
{
	struct unpacker *unpacker = decoder->state;

	lzma_end(&unpacker->stream);
	lzma_index_hash_end(unpacker->hash, NULL);
	free(unpacker);
}

static int start(struct decoder *decoder, dwarfs_error **err)
{
	struct unpacker *unpacker = dw_calloc(1, sizeof(*unpacker));

	if (!unpacker)
		return dw_fail_nomem(err);
	unpacker->stream = (lzma_stream)LZMA_STREAM_INIT;
	decoder->state = unpacker;
	decoder->fixed = DECODER_BYTES;
	return 0;
}

/* -- packing ------------------------------------------------------------------------- */

/*
 * Where machine code is to be expected, a sample of a large block tells whether a BCJ
 * filter helps: pieces at equal distances, packed both ways, fast and with a small
 * dictionary. The filter works on the code around it, so pieces say what the whole would.
 */
#define PIECE_BYTES ((size_t)128 << 10)
#define PIECE_COUNT 16
#define SMALL_BYTES (PIECE_BYTES * PIECE_COUNT) /* packed both ways as a whole */
#define PROBE_DICT  ((uint32_t)256 << 10)

/* Asks for the filter that the code in a block looks like. */
#define ANY_MACHINE 1

/* In memory, what is around the filters. */
#define STREAM_BYTES ((uint64_t)64 << 10)

struct attempt {
	lzma_stream stream; /* keeps its tables from block to block */
	lzma_options_lzma options;
	lzma_filter plain[2];
	lzma_filter branch[3]; /* with a BCJ filter in front, when asked for */
};

struct packer {
	struct attempt best;
	struct attempt probe;
	int bcj; /* that is asked for: 0, ANY_MACHINE, or a filter */
	struct buffer sample;
	struct buffer other; /* the second attempt */
};

static bool set_options(lzma_options_lzma *options, const struct codec_spec *spec,
			size_t block_bytes)
{
	uint32_t preset =
		(uint32_t)spec->level | (spec->extreme ? LZMA_PRESET_EXTREME : 0);
	uint32_t enough = dictionary_for(block_bytes);

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

/* What an attempt takes in memory; UINT64_MAX when the options do not go together. */
static uint64_t set_filters(struct attempt *attempt, const struct codec_spec *spec,
			    size_t block_bytes)
{
	const lzma_filter lzma2 = { LZMA_FILTER_LZMA2, &attempt->options };
	const lzma_filter last = { LZMA_VLI_UNKNOWN, NULL };

	if (!set_options(&attempt->options, spec, block_bytes))
		return UINT64_MAX;
	attempt->stream = (lzma_stream)LZMA_STREAM_INIT;
	attempt->plain[0] = attempt->branch[1] = lzma2;
	attempt->plain[1] = attempt->branch[2] = last;
	attempt->branch[0] = (lzma_filter){ LZMA_FILTER_X86, NULL };
	if (spec->bcj != ANY_MACHINE)
		attempt->branch[0].id = (lzma_vli)spec->bcj;
	return lzma_raw_encoder_memusage(spec->bcj ? attempt->branch : attempt->plain);
}

static uint64_t set_probe(struct attempt *probe, int bcj)
{
	struct codec_spec spec = { .bcj = bcj, .level = 1 };

	return set_filters(probe, &spec, PROBE_DICT);
}

static void close_packer(void *state)
{
	struct packer *packer = state;

	lzma_end(&packer->best.stream);
	lzma_end(&packer->probe.stream);
	dw_buffer_free(&packer->sample);
	dw_buffer_free(&packer->other);
	free(packer);
}

static int open_packer(const struct codec_spec *spec, size_t block_bytes,
		       void **state_out, dwarfs_error **err)
{
	struct packer *packer = dw_calloc(1, sizeof(*packer));

	if (!packer)
		return dw_fail_nomem(err);
	packer->bcj = spec->bcj;
	if (set_filters(&packer->best, spec, block_bytes) == UINT64_MAX ||
	    set_probe(&packer->probe, spec->bcj) == UINT64_MAX) {
		free(packer);
		return dw_fail(err, DWARFS_ERR_INVALID, "the options do not go together");
	}
	*state_out = packer;
	return 0;
}

/* Pack into at most room bytes of out; its size stays 0 when they do not suffice. */
static int pack_with(lzma_stream *stream, const lzma_filter *filters, struct span in,
		     size_t room, struct buffer *out, struct codec_watch *watch,
		     dwarfs_error **err)
{
	size_t all = in.size;
	lzma_ret ret;

	out->size = 0;
	if (dw_buffer_reserve(out, room, err) < 0)
		return DWARFS_ERR_NOMEM;
	ret = lzma_stream_encoder(stream, filters, LZMA_CHECK_CRC64);
	stream->next_in = in.data;
	stream->avail_in = 0;
	stream->next_out = out->data;
	stream->avail_out = room;
	while (ret == LZMA_OK && stream->avail_out > 0) {
		if (stream->avail_in == 0) {
			int go_on = dw_codec_go_on(watch, all - in.size, err);

			if (go_on < 0)
				return go_on;
			stream->avail_in = in.size < DW_CODEC_SLICE_BYTES
						   ? in.size
						   : DW_CODEC_SLICE_BYTES;
			in.size -= stream->avail_in;
		}
		ret = lzma_code(stream, in.size ? LZMA_RUN : LZMA_FINISH);
	}
	if (ret == LZMA_MEM_ERROR)
		return dw_fail_nomem(err);
	if (ret == LZMA_STREAM_END)
		out->size = room - stream->avail_out;
	else if (ret != LZMA_OK && ret != LZMA_BUF_ERROR)
		return dw_fail(err, DWARFS_ERR_INVALID, "the compressor has failed (%d)",
			       (int)ret);
	return 0;
}

/* Pack both ways and keep the smaller result; without a filter when they are equal. */
static int pack_both(struct packer *packer, struct attempt *attempt, struct span in,
		     struct buffer *out, bool *branch_out, struct codec_watch *watch,
		     dwarfs_error **err)
{
	size_t room = in.size - 1;
	int ret = pack_with(&attempt->stream, attempt->plain, in, room, out, watch, err);

	if (ret < 0)
		return ret;
	if (out->size)
		room = out->size - 1;
	ret = pack_with(&attempt->stream, attempt->branch, in, room, &packer->other,
			watch, err);
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

/* Of a block larger than SMALL_BYTES. */
static int take_sample(struct packer *packer, struct span in, dwarfs_error **err)
{
	size_t distance = in.size / PIECE_COUNT;
	int ret;

	packer->sample.size = 0;
	ret = dw_buffer_reserve(&packer->sample, SMALL_BYTES, err);
	for (size_t i = 0; ret == 0 && i < PIECE_COUNT; i++)
		ret = dw_buffer_append(&packer->sample, in.data + i * distance,
				       PIECE_BYTES, err);
	return ret;
}

static struct span sample_or_all(const struct packer *packer, struct span in)
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
static int choose_branch(struct packer *packer, struct span in, bool *try_out,
			 dwarfs_error **err)
{
	lzma_vli filter = (lzma_vli)packer->bcj;
	int ret;

	*try_out = false;
	if (filter == 0)
		return 0;
	if (in.size > SMALL_BYTES && (ret = take_sample(packer, in, err)) < 0)
		return ret;
	if (filter == ANY_MACHINE)
		filter = likely_machine(sample_or_all(packer, in));
	packer->best.branch[0].id = packer->probe.branch[0].id = filter;
	*try_out = filter != 0;
	return 0;
}

static int pack(void *state, struct span in, struct buffer *out,
		struct codec_watch *watch, dwarfs_error **err)
{
	struct packer *packer = state;
	struct attempt *best = &packer->best;
	bool try_branch, branch = false;
	int ret = choose_branch(packer, in, &try_branch, err);

	if (ret < 0)
		return ret;
	if (try_branch && in.size <= SMALL_BYTES)
		return pack_both(packer, best, in, out, &branch, watch, err);
	if (try_branch &&
	    (ret = pack_both(packer, &packer->probe, dw_buffer_span(&packer->sample), out,
			     &branch, watch, err)) < 0)
		return ret;
	return pack_with(&best->stream, branch ? best->branch : best->plain, in,
			 in.size - 1, out, watch, err);
}

/* The second attempt: on a small block, or on a sample. */
static uint64_t memory_of_branch(const struct codec_spec *spec, size_t block_bytes)
{
	struct attempt probe;

	if (!spec->bcj)
		return 0;
	if (block_bytes <= SMALL_BYTES)
		return block_bytes;
	return set_probe(&probe, spec->bcj) + 2 * SMALL_BYTES;
}

static uint64_t memory(const struct codec_spec *spec, size_t block_bytes)
{
	struct attempt attempt;
	uint64_t bytes = set_filters(&attempt, spec, block_bytes);

	if (bytes == UINT64_MAX)
		return 0;
	return sizeof(struct packer) + STREAM_BYTES + bytes +
	       memory_of_branch(spec, block_bytes);
}

static bool shrink(struct codec_spec *spec, size_t block_bytes)
{
	lzma_options_lzma options;

	if (!set_options(&options, spec, block_bytes))
		return false;
	spec->window_log = (int)dw_bit_length(options.dict_size - 1) - 1;
	return spec->window_log >= MIN_DICT_LOG;
}

/* -- options ------------------------------------------------------------------------- */

static const struct codec_word machines[] = {
	{ "auto", ANY_MACHINE },
	{ "x86", LZMA_FILTER_X86 },
	{ "powerpc", LZMA_FILTER_POWERPC },
	{ "ia64", LZMA_FILTER_IA64 },
	{ "arm", LZMA_FILTER_ARM },
	{ "armthumb", LZMA_FILTER_ARMTHUMB },
	{ "sparc", LZMA_FILTER_SPARC },
	{ NULL },
};

static const struct codec_word modes[] = {
	{ "fast", LZMA_MODE_FAST },
	{ "normal", LZMA_MODE_NORMAL },
	{ NULL },
};

static const struct codec_word match_finders[] = {
	{ "hc3", LZMA_MF_HC3 }, { "hc4", LZMA_MF_HC4 }, { "bt2", LZMA_MF_BT2 },
	{ "bt3", LZMA_MF_BT3 }, { "bt4", LZMA_MF_BT4 }, { NULL },
};

static const struct codec_option options[] = {
	{ "level", DW_CODEC_FIELD(level), .min = 0, .max = MAX_LEVEL },
	{ "dict_size", DW_CODEC_FIELD(window_log), .min = MIN_DICT_LOG,
	  .max = MAX_DICT_LOG },
	{ "extreme", DW_CODEC_FIELD(extreme), .is_flag = true },
	{ "binary", DW_CODEC_FIELD(bcj), .words = machines },
	{ "mode", DW_CODEC_FIELD(mode), .words = modes },
	{ "mf", DW_CODEC_FIELD(match_finder), .words = match_finders },
	{ "nice", DW_CODEC_FIELD(nice), .min = 0, .max = MAX_NICE },
	{ "depth", DW_CODEC_FIELD(depth), .min = 0, .max = MAX_DEPTH },
	{ NULL },
};

static void library(char *out, size_t room)
{
	snprintf(out, room, "lzma-%s", lzma_version_string());
}

const struct codec_ops dw_codec_lzma = {
	.library = library,
	.help = "lzma    level=0..9 (9), dict_size=12..30 (log2), extreme, "
		"binary={auto,x86,powerpc,ia64,arm,armthumb,sparc}, mode={fast,normal}, "
		"mf={hc3,hc4,bt2,bt3,bt4}, nice=0..273, depth=N",
	.defaults = { .id = CODEC_LZMA, .level = DEFAULT_LEVEL },
	.options = options,
	.unpacked_size = unpacked_size,
	.start = start,
	.step = step,
	.stop = stop,
	.packs_as = CODEC_LZMA,
	.open = open_packer,
	.close = close_packer,
	.pack = pack,
	.memory = memory,
	.shrink = shrink,
};

#endif
