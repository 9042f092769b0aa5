/* SPDX-License-Identifier: MIT */
/*
 * codec/encode/lzma/lzma_adapt: options of LZMA that suit the data of a block, found by packing a
 * sample.
 *
 * The probabilities of a literal depend on the highest lc bits of the byte before it and
 * the lowest lp bits of its position, those of the kinds of symbols on the lowest pb bits
 * of the position. The usual 3, 0 and 2 suit programs. Text has no alignment; in numbers
 * of 4 and 8 bytes the position predicts a byte better than the byte before it. Fast
 * packing of a sample ranks the values as slow packing does, and shows a smaller
 * difference: 6 MiB of floats become 4 % smaller, of records of 64 bytes 11 %, of logs
 * and CSV 1 %.
 *
 * Pictures, sound and numbers that change little from one to the next are packed as differences
 * of bytes at a distance, the size of a pixel or number, where that makes the sample smaller.
 *
 * nice_len is the length from which a match is used without a search for a better one.
 * Large values make logs smaller, and lines with counters 1.6 times as large. With such
 * repetitive data the gain of a sample differs from that of the whole by several percent,
 * so small gains are ignored.
 */
#include "config.h"

#if HAVE_LZMA

#include "codec/encode/lzma/lzma_adapt.h"

#define COUNT_BYTES ((size_t)64 << 10)

#define FAST_LEVEL 1
#define FAST_BYTES ((size_t)512 << 10) /* of the sample */
#define FAST_DICT  ((uint32_t)256 << 10)
#define GOOD_LEVEL 6
#define GOOD_BYTES ((size_t)512 << 10) /* of each of two ranges of the block */

/* For smaller blocks the attempts would take several times as long as packing. */
#define LEAST_BYTES ((size_t)256 << 10)

/* Another choice has to be smaller by this factor. */
#define GAIN	    0.998
#define CHOICE_GAIN 0.99 /* of differences, and where there are long matches */
#define NICE_GAIN   0.85 /* the difference is another one in the whole block */

/* Between these, differences that are smaller by fast packing may be larger by slow packing, by up
 * to 6 %. */
#define CLEAR_GAIN 0.92
#define NO_GAIN	   1.01

/* Where a sample compresses less than this, there are few long matches. */
#define LONG_MATCHES_RATIO 8

#define SHORT_NICE 64

static const struct lzma_contexts usual = { 3, 0, 2 };
static const struct lzma_contexts aligned[] = { { 0, 2, 2 }, { 0, 3, 3 } };
static const struct lzma_contexts byte_wise[] = { { 4, 0, 0 }, { 4, 0, 2 } };
static const struct lzma_contexts aligned_text[] = { { 1, 3, 3 } };
static const struct lzma_contexts of_differences[] = { { 0, 2, 2 }, { 1, 3, 3 } };

int dw_lzma_result(lzma_ret coded, dwarfs_error **err)
{
	if (coded == LZMA_MEM_ERROR)
		return dw_fail_nomem(err);
	if (coded != LZMA_OK && coded != LZMA_STREAM_END && coded != LZMA_BUF_ERROR)
		return dw_fail(err, DWARFS_ERR_INVALID, "the compressor has failed (%d)",
			       (int)coded);
	return 0;
}

int dw_lzma_count(const struct lzma_probe *probe, const lzma_filter *filters,
		  struct span in, uint64_t limit, uint64_t *bytes_out, dwarfs_error **err)
{
	lzma_stream *stream = probe->stream;
	lzma_ret coded = lzma_raw_encoder(stream, filters);
	int ret = dw_buffer_reserve(probe->scratch, COUNT_BYTES, err);

	*bytes_out = 0;
	stream->next_in = in.data;
	stream->avail_in = in.size;
	while (ret == 0 && coded == LZMA_OK && *bytes_out <= limit) {
		stream->next_out = probe->scratch->data;
		stream->avail_out = COUNT_BYTES;
		coded = lzma_code(stream, LZMA_FINISH);
		*bytes_out += COUNT_BYTES - stream->avail_out;
		ret = dw_codec_go_on(probe->watch, 0, err);
	}
	return ret < 0 ? ret : dw_lzma_result(coded, err);
}

/* Packed as differences at the distance, unless that is 0. */
static int count_with(const struct lzma_probe *probe, lzma_options_lzma *options,
		      unsigned distance, struct span in, uint64_t limit,
		      uint64_t *bytes_out, dwarfs_error **err)
{
	lzma_options_delta delta = { .type = LZMA_DELTA_TYPE_BYTE, .dist = distance };
	const lzma_filter filters[] = { { LZMA_FILTER_DELTA, &delta },
					{ LZMA_FILTER_LZMA2, options },
					{ LZMA_VLI_UNKNOWN, NULL } };

	return dw_lzma_count(probe, distance ? filters : filters + 1, in, limit,
			     bytes_out, err);
}

static bool is_usual(struct lzma_contexts contexts)
{
	return dw_lzma_same_contexts(contexts, usual);
}

static void set_fast_options(lzma_options_lzma *options)
{
	lzma_lzma_preset(options, FAST_LEVEL);
	options->dict_size = FAST_DICT;
}

/* Make those contexts of the list that are better than the choice the choice. */
static int try_contexts(const struct lzma_probe *probe, struct span sample,
			const struct lzma_contexts *list, size_t count,
			struct lzma_choice *best, dwarfs_error **err)
{
	lzma_options_lzma options;
	int ret;

	set_fast_options(&options);
	for (size_t i = 0; i < count; i++) {
		uint64_t bytes;

		dw_lzma_set_contexts(&options, list[i]);
		ret = count_with(probe, &options, best->distance, sample, best->bytes,
				 &bytes, err);
		if (ret < 0)
			return ret;
		if (bytes < best->bytes) {
			best->contexts = list[i];
			best->bytes = bytes;
		}
	}
	return 0;
}

#define COUNT_OF(list) (sizeof(list) / sizeof((list)[0]))

/* Data with an alignment is not text: what is for text is not tried with it. */
static int choose_contexts(const struct lzma_probe *probe, struct span sample,
			   struct lzma_choice *choice_out, uint64_t *usual_bytes_out,
			   dwarfs_error **err)
{
	struct lzma_choice best = { usual, .bytes = UINT64_MAX };
	uint64_t usual_bytes;
	int ret = try_contexts(probe, sample, &usual, 1, &best, err);

	usual_bytes = best.bytes;
	if (ret == 0)
		ret = try_contexts(probe, sample, aligned, COUNT_OF(aligned), &best, err);
	if (ret == 0 && best.bytes < usual_bytes)
		ret = try_contexts(probe, sample, aligned_text, COUNT_OF(aligned_text),
				   &best, err);
	else if (ret == 0)
		ret = try_contexts(probe, sample, byte_wise, COUNT_OF(byte_wise), &best,
				   err);
	if (ret < 0)
		return ret;
	if ((double)best.bytes >= (double)usual_bytes * GAIN)
		best = (struct lzma_choice){ usual, .bytes = usual_bytes };
	*choice_out = best;
	*usual_bytes_out = usual_bytes;
	return 0;
}

/* Long matches only show in data as it is, not in the short pieces of a sample. */
struct ranges {
	struct span list[2];
	size_t count;
};

static struct ranges ranges_of(struct span block)
{
	size_t step;

	if (block.size <= 2 * GOOD_BYTES)
		return (struct ranges){ { block }, 1 };
	step = ((block.size - GOOD_BYTES) / 4) & ~(size_t)15;
	return (struct ranges){
		{ { block.data + step, GOOD_BYTES },
		  { block.data + 3 * step, GOOD_BYTES } },
		2,
	};
}

static void set_good_options(lzma_options_lzma *options)
{
	lzma_lzma_preset(options, GOOD_LEVEL);
	options->dict_size = (uint32_t)GOOD_BYTES;
}

static int count_choice(const struct lzma_probe *probe, struct lzma_choice *choice,
			const struct ranges *ranges, uint64_t limit, dwarfs_error **err)
{
	lzma_options_lzma options;
	uint64_t bytes;
	int ret = 0;

	set_good_options(&options);
	options.nice_len = choice->nice_len;
	dw_lzma_set_contexts(&options, choice->contexts);
	choice->bytes = 0;
	for (size_t i = 0; ret == 0 && i < ranges->count && choice->bytes <= limit; i++) {
		ret = count_with(probe, &options, choice->distance, ranges->list[i],
				 limit - choice->bytes, &bytes, err);
		choice->bytes += bytes;
	}
	return ret;
}

/* Make another choice the best if it is smaller by the factor. */
static int keep_better(const struct lzma_probe *probe, struct lzma_choice *best,
		       struct lzma_choice other, double factor,
		       const struct ranges *ranges, dwarfs_error **err)
{
	int ret = count_choice(probe, &other, ranges, best->bytes, err);

	if (ret == 0 && (double)other.bytes < (double)best->bytes * factor)
		*best = other;
	return ret;
}

/* Slow packing decides where fast packing shows no clear difference. */
static int compare_well(const struct lzma_probe *probe, struct span sample,
			struct lzma_choice differences, struct lzma_choices *choices,
			dwarfs_error **err)
{
	const struct ranges all = { { sample }, 1 };
	struct lzma_choice *choice = &choices->best;
	uint64_t plain;
	int ret;

	choice->nice_len = differences.nice_len = SHORT_NICE;
	ret = count_choice(probe, choice, &all, UINT64_MAX, err);
	plain = choice->bytes;
	if (ret == 0)
		ret = keep_better(probe, choice, differences, CHOICE_GAIN, &all, err);
	choices->saved = plain - choice->bytes;
	return ret;
}

/* Make differences at the distance the choice if they are better. */
static int choose_differences(const struct lzma_probe *probe, struct span sample,
			      unsigned distance, lzma_mode mode,
			      struct lzma_choices *choices, dwarfs_error **err)
{
	struct lzma_choice *choice = &choices->best;
	struct lzma_choice best = { usual, distance, .bytes = UINT64_MAX };
	struct lzma_choice other;
	double ratio;
	int ret;

	if (distance == 0)
		return 0;
	ret = try_contexts(probe, sample, &usual, 1, &best, err);
	other = best;
	if (ret == 0)
		ret = try_contexts(probe, sample, of_differences,
				   COUNT_OF(of_differences), &other, err);
	if (ret < 0)
		return ret;
	if ((double)other.bytes < (double)best.bytes * CHOICE_GAIN)
		best = other;
	ratio = (double)best.bytes / (double)choice->bytes;
	if (mode != LZMA_MODE_FAST && ratio > CLEAR_GAIN && ratio < NO_GAIN)
		return compare_well(probe, sample, best, choices, err);
	if (ratio >= CHOICE_GAIN)
		return 0;
	choices->saved = choice->bytes - best.bytes;
	*choice = best;
	return 0;
}

/* Where short matches are much better with the usual contexts, they are so in the whole block, too:
 * then the rest is chosen for them. */
static int choose_for_long_matches(const struct lzma_probe *probe, struct span block,
				   uint32_t full_nice_len, struct lzma_choice *choice,
				   dwarfs_error **err)
{
	const struct ranges ranges = ranges_of(block);
	const bool is_plain = is_usual(choice->contexts) && choice->distance == 0;
	struct lzma_choice best = { usual, .nice_len = full_nice_len };
	int ret = 0;

	if (full_nice_len > SHORT_NICE || !is_plain)
		ret = count_choice(probe, &best, &ranges, UINT64_MAX, err);
	if (ret == 0 && full_nice_len > SHORT_NICE)
		ret = keep_better(probe, &best,
				  (struct lzma_choice){ usual, .nice_len = SHORT_NICE },
				  NICE_GAIN, &ranges, err);
	if (ret == 0 && !is_plain) {
		choice->nice_len = best.nice_len;
		ret = keep_better(probe, &best, *choice, CHOICE_GAIN, &ranges, err);
	}
	*choice = best;
	return ret;
}

int dw_lzma_adapt(const struct lzma_probe *probe, struct span block, struct span sample,
		  unsigned distance, uint32_t full_nice_len, lzma_mode mode,
		  struct lzma_choices *choices_out, dwarfs_error **err)
{
	struct lzma_choices choices = { { usual }, { usual }, 0 };
	uint64_t usual_bytes = 0;
	int ret = 0;

	if (sample.size > FAST_BYTES)
		sample.size = FAST_BYTES;
	if (sample.size >= LEAST_BYTES) {
		ret = choose_contexts(probe, sample, &choices.best, &usual_bytes, err);
		choices.plain = choices.best;
		if (ret == 0)
			ret = choose_differences(probe, sample, distance, mode, &choices,
						 err);
	}
	choices.best.nice_len = full_nice_len;
	if (ret == 0 && sample.size >= LEAST_BYTES && mode != LZMA_MODE_FAST &&
	    usual_bytes <= sample.size / LONG_MATCHES_RATIO)
		ret = choose_for_long_matches(probe, block, full_nice_len, &choices.best,
					      err);
	choices.plain.nice_len = choices.best.nice_len;
	if (choices.best.distance == 0) {
		choices.plain = choices.best;
		choices.saved = 0;
	} else {
		choices.saved = choices.saved * (uint64_t)block.size / sample.size;
	}
	*choices_out = choices;
	return ret;
}

int dw_lzma_prefer_contexts(const struct lzma_probe *probe, struct span sample,
			    struct lzma_contexts contexts, struct lzma_choice *choice,
			    dwarfs_error **err)
{
	struct lzma_choice other = { contexts, .bytes = UINT64_MAX };
	struct lzma_choice own = { choice->contexts, .bytes = UINT64_MAX };
	int ret = 0;

	if (sample.size > FAST_BYTES)
		sample.size = FAST_BYTES;
	if (sample.size >= LEAST_BYTES &&
	    !dw_lzma_same_contexts(contexts, own.contexts)) {
		ret = try_contexts(probe, sample, &contexts, 1, &other, err);
		if (ret == 0)
			ret = try_contexts(probe, sample, &choice->contexts, 1, &own,
					   err);
	}
	if (ret == 0 && (double)own.bytes >= (double)other.bytes * CHOICE_GAIN)
		choice->contexts = contexts;
	return ret;
}

struct lzma_choice dw_lzma_usual_choice(uint32_t nice_len)
{
	return (struct lzma_choice){ usual, .nice_len = nice_len };
}

uint64_t dw_lzma_adapt_memory(size_t block_bytes, lzma_mode mode)
{
	lzma_options_lzma options;
	const lzma_filter filters[] = { { LZMA_FILTER_LZMA2, &options },
					{ LZMA_VLI_UNKNOWN, NULL } };

	if (block_bytes < LEAST_BYTES)
		return 0;
	if (mode == LZMA_MODE_FAST)
		set_fast_options(&options);
	else
		set_good_options(&options);
	return lzma_raw_encoder_memusage(filters) + COUNT_BYTES;
}

#endif
