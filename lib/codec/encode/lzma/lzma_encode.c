/* SPDX-License-Identifier: MIT */
/*
 * codec/encode/lzma/lzma_encode: pack into an .xz stream, with the options and filters that suit
 * the data; see lzma_ranges for options and lzma_stream for the container.
 */
#include "config.h"

#if HAVE_LZMA

#include <lzma.h>

#include "base/bytes.h"
#include "codec/encode/lzma/lzma_encode.h"
#include "codec/encode/lzma/lzma_records.h"
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
};

struct lzma_packer {
	struct attempt best;
	struct attempt probe; /* of a sample */
	struct attempt whole; /* of all, with best's stream; not used if best is fast */
	lzma_check check;
	size_t part_bytes; /* of a Block's contents; SIZE_MAX: all in one Block */
	int bcj;	   /* requested: 0, DW_LZMA_ANY_MACHINE, or a filter */
	bool adapts;
	const struct record_ranges *records; /* of this block; NULL: not known */
	struct lzma_ranges ranges;	     /* of this block */
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
	attempt->plain[0] = attempt->branch[1] = lzma2;
	attempt->plain[1] = attempt->branch[2] = last;
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
	*state_out = packer;
	return 0;
}

void dw_lzma_set_records(void *state, const struct record_ranges *records)
{
	struct lzma_packer *packer = state;

	packer->records = records;
}

/* -- with and without a filter ------------------------------------------------------- */

static struct lzma_plan plan_of(const struct lzma_packer *packer,
				const lzma_options_lzma *options,
				const struct lzma_ranges *ranges, lzma_vli branch)
{
	return (struct lzma_plan){
		.options = options,
		.branch = branch,
		.branch_contexts = ranges->undivided.distance
					   ? dw_lzma_usual_choice(0).contexts
					   : ranges->undivided.contexts,
		.check = packer->check,
		.part_bytes = packer->part_bytes,
		.ranges = ranges->list,
		.range_count = ranges->count,
	};
}

/* Pack into at most room bytes of out, with a BCJ filter or 0. */
static int pack_ranges(const struct lzma_packer *packer, struct attempt *attempt,
		       const struct lzma_ranges *ranges, lzma_vli branch, struct span in,
		       size_t room, struct buffer *out, struct codec_watch *watch,
		       dwarfs_error **err)
{
	const struct lzma_plan plan = plan_of(packer, &attempt->options, ranges, branch);

	return dw_lzma_write_stream(&attempt->stream, &plan, in, room, out, watch, err);
}

/* Pack both ways and keep the smaller result; that without filter if they are equal. */
static int pack_both(struct lzma_packer *packer, struct attempt *attempt,
		     const struct lzma_ranges *ranges, struct span in, struct buffer *out,
		     bool *branch_out, struct codec_watch *watch, dwarfs_error **err)
{
	size_t room = in.size - 1;
	int ret = pack_ranges(packer, attempt, ranges, 0, in, room, out, watch, err);

	if (ret < 0)
		return ret;
	if (out->size)
		room = out->size - 1;
	ret = pack_ranges(packer, attempt, ranges, attempt->branch[0].id, in, room,
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

/* A block that is packed in one way. */
static struct lzma_ranges single_range(const lzma_options_lzma *options, size_t bytes)
{
	return (struct lzma_ranges){
		.list = { { bytes, dw_lzma_usual_choice(options->nice_len) } },
		.count = 1,
		.undivided = dw_lzma_usual_choice(options->nice_len),
	};
}

static bool has_branches(const struct lzma_ranges *ranges)
{
	for (size_t i = 0; i < ranges->count; i++)
		if (ranges->list[i].choice.distance == 0)
			return true;
	return false;
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

/* Whether a filter may help with a block, and which one; takes a sample of a large block. */
static int choose_branch(struct lzma_packer *packer, struct span in, bool *try_out,
			 dwarfs_error **err)
{
	lzma_vli filter = (lzma_vli)packer->bcj;
	int ret;

	*try_out = false;
	if (filter == 0 || !has_branches(&packer->ranges))
		return 0;
	if (in.size > SMALL_BYTES &&
	    (ret = dw_codec_take_sample(in, PIECE_COUNT, PIECE_BYTES, &packer->sample,
					err)) < 0)
		return ret;
	if (filter == DW_LZMA_ANY_MACHINE)
		filter = likely_machine(sample_or_all(packer, in));
	packer->best.branch[0].id = packer->probe.branch[0].id =
		packer->whole.branch[0].id = filter;
	*try_out = filter != 0;
	return 0;
}

/* The size by the fastest level, with the dictionary of the codec. */
static int count_fast(struct lzma_packer *packer, const struct lzma_ranges *ranges,
		      struct span in, uint64_t *bytes_out, struct codec_watch *watch,
		      dwarfs_error **err)
{
	const struct lzma_probe probe = { &packer->best.stream, &packer->other, watch };
	lzma_options_lzma options;
	const struct lzma_plan plan = plan_of(packer, &options, ranges, 0);

	lzma_lzma_preset(&options, WHOLE_LEVEL);
	options.dict_size = packer->best.options.dict_size;
	return dw_lzma_count_stream(&probe, &plan, in, bytes_out, err);
}

static bool has_distances(const struct lzma_ranges *ranges)
{
	for (size_t i = 1; i < ranges->count; i++)
		if (ranges->list[i].choice.distance != ranges->list[0].choice.distance)
			return true;
	return false;
}

/* A Block does not find what is in the one before it: if that makes the block larger than
 * differences make it smaller, it is not divided. */
static int compare_division(struct lzma_packer *packer, struct span in,
			    struct codec_watch *watch, dwarfs_error **err)
{
	struct lzma_ranges *ranges = &packer->ranges;
	const struct lzma_ranges one = { .list = { { in.size, ranges->undivided } },
					 .count = 1,
					 .undivided = ranges->undivided };
	uint64_t undivided, divided;
	int ret;

	if (!has_distances(ranges))
		return 0;
	if ((ret = count_fast(packer, &one, in, &undivided, watch, err)) == 0 &&
	    (ret = count_fast(packer, ranges, in, &divided, watch, err)) == 0 &&
	    divided >= undivided)
		*ranges = one;
	return ret;
}

/* Records are known exactly, and what is packed of each table is little: the codec's own options
 * decide. */
static int find_record_ranges(struct lzma_packer *packer, struct span in,
			      struct codec_watch *watch, dwarfs_error **err)
{
	const struct lzma_probe probe = { &packer->best.stream, &packer->other, watch };

	return dw_lzma_find_records(&probe, &packer->best.options, in, packer->records,
				    &packer->ranges, err);
}

static int find_ranges(struct lzma_packer *packer, struct span in,
		       struct codec_watch *watch, dwarfs_error **err)
{
	const struct lzma_probe probe = { &packer->probe.stream, &packer->other, watch };
	const lzma_options_lzma *options = &packer->best.options;
	int ret;

	packer->ranges = single_range(options, in.size);
	if (!packer->adapts)
		return 0;
	if (packer->records)
		ret = find_record_ranges(packer, in, watch, err);
	else
		ret = dw_lzma_find_ranges(&probe, in, options->nice_len, options->mode,
					  &packer->sample, &packer->ranges, err);
	return ret < 0 ? ret : compare_division(packer, in, watch, err);
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

/* Whether the filter helps with a large block. */
static int try_large(struct lzma_packer *packer, struct span in, struct buffer *out,
		     bool *branch_out, struct codec_watch *watch, dwarfs_error **err)
{
	const struct lzma_ranges single =
		single_range(&packer->probe.options, packer->sample.size);
	int ret = pack_both(packer, &packer->probe, &single,
			    dw_buffer_span(&packer->sample), out, branch_out, watch, err);

	if (ret == 0 && *branch_out && packer->best.options.mode == LZMA_MODE_NORMAL)
		ret = try_whole(packer, in, branch_out, watch, err);
	return ret;
}

int dw_lzma_pack(void *state, struct span in, struct buffer *out,
		 struct codec_watch *watch, dwarfs_error **err)
{
	struct lzma_packer *packer = state;
	struct attempt *best = &packer->best;
	bool try_branch = false, branch = false;
	int ret = find_ranges(packer, in, watch, err);

	if (ret == 0)
		ret = choose_branch(packer, in, &try_branch, err);
	if (ret < 0)
		return ret;
	if (try_branch && in.size <= SMALL_BYTES)
		return pack_both(packer, best, &packer->ranges, in, out, &branch, watch,
				 err);
	if (try_branch && (ret = try_large(packer, in, out, &branch, watch, err)) < 0)
		return ret;
	return pack_ranges(packer, best, &packer->ranges, branch ? best->branch[0].id : 0,
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
	if (spec->adapts)
		bytes += dw_lzma_range_sample(block_bytes);
	if (spec->bcj && block_bytes > SMALL_BYTES)
		bytes += 2 * SMALL_BYTES;
	else if (spec->bcj)
		bytes += block_bytes;
	return bytes;
}

/* The index of a stream: one Block for each part, and one more for each range. */
static uint64_t index_memory(const struct codec_spec *spec, size_t block_bytes)
{
	const uint64_t parts = block_bytes / part_bytes(spec) + 1;

	return lzma_index_memusage(1, parts + (spec->adapts ? DW_LZMA_MAX_RANGES : 0));
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
	       index_memory(spec, block_bytes) +
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
