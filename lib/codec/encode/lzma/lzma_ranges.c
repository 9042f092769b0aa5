/* SPDX-License-Identifier: MIT */
/*
 * codec/encode/lzma/lzma_ranges: the ranges of a block that lzma packs in different ways.
 *
 * A block may contain several files, such as arrays of numbers of different types, and a
 * file several of these. Each array has a distance of similar bytes and an alignment; see
 * positions. Both are determined for each window of the block. Consecutive windows with
 * the same values are a range, if there are enough of them, and so are the windows
 * between two such ranges. Text and programs have the same values throughout: most blocks
 * are a single range.
 *
 * A range that is packed as differences is a Block; its dictionary and that of the next
 * Block begin empty. The differences must save more than this costs: lzma_encode compares
 * the sizes of the whole block with and without the division.
 */
#include "config.h"

#if HAVE_LZMA

#include "codec/encode/lzma/lzma_ranges.h"
#include "codec/encode/positions.h"

#define MAX_WINDOWS  256
#define WINDOW_BYTES ((size_t)256 << 10)
#define ROW_WINDOWS  4 /* fewer windows that agree are no range of their own */

/* What a range saves at least as differences. */
#define LEAST_SAVED ((uint64_t)64 << 10)

/* Parts that are sampled before others are taken to be like these. */
#define MAX_ATTEMPTS 16

#define PIECE_COUNT 4
#define PIECE_BYTES ((size_t)128 << 10)

/* Of a window. */
struct hint {
	uint16_t distance;
	bool is_aligned;
	bool is_mixed; /* it does not agree with enough others */
};

static const struct hint mixed = { .is_mixed = true };

struct hints {
	struct span block;
	size_t window_bytes;
	size_t count;
	struct hint list[MAX_WINDOWS];
};

static bool agree(struct hint a, struct hint b)
{
	return a.is_mixed == b.is_mixed &&
	       (a.is_mixed || (a.distance == b.distance && a.is_aligned == b.is_aligned));
}

static struct hint hint_of(struct span window)
{
	return (struct hint){
		.distance = (uint16_t)dw_similar_distance(window),
		.is_aligned = dw_has_alignment(window),
	};
}

static struct hint hint_at(const struct hints *hints, size_t number)
{
	return hint_of((struct span){ hints->block.data + number * hints->window_bytes,
				      hints->window_bytes });
}

/* Windows between two that agree are not examined: they are fewer than a row. */
static void find_hints(struct span block, struct hints *hints)
{
	size_t step;

	hints->block = block;
	hints->window_bytes = WINDOW_BYTES;
	while (block.size / hints->window_bytes > MAX_WINDOWS)
		hints->window_bytes *= 2;
	hints->count = block.size / hints->window_bytes;
	for (size_t i = 0; i < hints->count; i += ROW_WINDOWS)
		hints->list[i] = hint_at(hints, i);
	for (size_t i = 0; i < hints->count; i += ROW_WINDOWS) {
		const bool is_inside =
			i + ROW_WINDOWS < hints->count &&
			agree(hints->list[i], hints->list[i + ROW_WINDOWS]);

		for (step = 1; step < ROW_WINDOWS && i + step < hints->count; step++)
			hints->list[i + step] =
				is_inside ? hints->list[i] : hint_at(hints, i + step);
	}
}

/* The end of the windows in a row that agree with this one. */
static size_t row_end(const struct hints *hints, size_t first)
{
	size_t end = first + 1;

	while (end < hints->count && agree(hints->list[first], hints->list[end]))
		end++;
	return end;
}

static void mark_mixed(struct hints *hints)
{
	for (size_t i = 0, end; i < hints->count; i = end) {
		end = row_end(hints, i);
		if (end - i < ROW_WINDOWS)
			for (size_t k = i; k < end; k++)
				hints->list[k].is_mixed = true;
	}
}

/* Of the windows between two rows, the end of what agrees with the first row. */
static size_t border_between(const struct hints *hints, size_t first, size_t end)
{
	const size_t most = end * hints->window_bytes, step = hints->window_bytes / 4;
	size_t border = first * hints->window_bytes;

	while (border < most &&
	       agree(hints->list[first - 1],
		     hint_of((struct span){ hints->block.data + border, step })))
		border += step;
	return border;
}

/* A range of the block before its choice is made. */
struct part {
	size_t upto;
	struct hint hint;
};

struct parts {
	struct part list[DW_LZMA_MAX_RANGES];
	size_t count;
};

/* What is less than a window at the end belongs to the last part. A few windows between two rows
 * are divided between these. */
static void list_parts(const struct hints *hints, struct parts *parts)
{
	size_t end;

	parts->count = 0;
	for (size_t i = 0; i < hints->count && parts->count < DW_LZMA_MAX_RANGES;
	     i = end) {
		end = row_end(hints, i);
		if (parts->count > 0 && end < hints->count && end - i < ROW_WINDOWS)
			parts->list[parts->count - 1].upto =
				border_between(hints, i, end);
		else
			parts->list[parts->count++] =
				(struct part){ end * hints->window_bytes,
					       hints->list[i] };
	}
	if (parts->count == 0)
		parts->list[parts->count++].hint = mixed;
	parts->list[parts->count - 1].upto = hints->block.size;
}

/* -- their choices ------------------------------------------------------------------- */

size_t dw_lzma_range_sample(size_t block_bytes)
{
	return block_bytes > PIECE_COUNT * PIECE_BYTES ? PIECE_COUNT * PIECE_BYTES : 0;
}

struct chooser {
	const struct lzma_probe *probe;
	uint32_t nice_len;
	lzma_mode mode;
	struct buffer *buffer; /* for samples */
	struct span sample;    /* of the last part */
	struct lzma_choice undivided;
};

/* The windows of a part tell its distance better than a sample, which has bytes of other parts
 * at its ends: those of 4 and of 21 bytes together look like 84. */
static int choose(struct chooser *chooser, struct span part, struct hint hint,
		  struct lzma_choices *choices_out, dwarfs_error **err)
{
	unsigned distance = hint.distance;
	int ret = 0;

	chooser->sample = part;
	if (dw_lzma_range_sample(part.size)) {
		ret = dw_codec_take_sample(part, PIECE_COUNT, PIECE_BYTES,
					   chooser->buffer, err);
		chooser->sample = dw_buffer_span(chooser->buffer);
	}
	if (ret < 0)
		return ret;
	if (hint.is_mixed)
		distance = dw_similar_distance(chooser->sample);
	return dw_lzma_adapt(chooser->probe, part, chooser->sample, distance,
			     chooser->nice_len, chooser->mode, choices_out, err);
}

static struct span bytes_of(struct span block, const struct parts *parts, size_t number)
{
	const size_t from = number > 0 ? parts->list[number - 1].upto : 0;

	return (struct span){ block.data + from, parts->list[number].upto - from };
}

/* After enough attempts, use the choice for a part before this one that agrees with it. Mixed parts
 * have nothing in common. */
static bool choose_like_another(struct span block, const struct parts *parts,
				size_t number, struct lzma_choices *choices)
{
	const uint64_t size = bytes_of(block, parts, number).size;

	if (number < MAX_ATTEMPTS || parts->list[number].hint.is_mixed)
		return false;
	for (size_t i = 0; i < number; i++) {
		if (!agree(parts->list[i].hint, parts->list[number].hint))
			continue;
		choices[number] = choices[i];
		choices[number].saved =
			choices[i].saved * size / bytes_of(block, parts, i).size;
		return true;
	}
	return false;
}

/* Contexts that suit a part are those of the block, unless others are clearly better. */
static int choose_each(struct chooser *chooser, struct span block,
		       const struct parts *parts, struct lzma_choices *choices,
		       dwarfs_error **err)
{
	struct lzma_choices all;
	int ret = choose(chooser, block, mixed, &all, err);

	if (ret < 0)
		return ret;
	chooser->undivided = all.best;
	if (parts->count == 1) {
		choices[0] = all;
		return 0;
	}
	for (size_t i = 0; ret == 0 && i < parts->count; i++) {
		if (choose_like_another(block, parts, i, choices))
			continue;
		ret = choose(chooser, bytes_of(block, parts, i), parts->list[i].hint,
			     &choices[i], err);
		if (ret == 0)
			ret = dw_lzma_prefer_contexts(chooser->probe, chooser->sample,
						      all.plain.contexts,
						      &choices[i].plain, err);
	}
	return ret;
}

/* The end of the ranges in a row that are best as differences at the same distance, or plain. */
static size_t same_end(const struct lzma_choices *choices, size_t first, size_t count,
		       uint64_t *saved_out)
{
	size_t end = first;

	*saved_out = 0;
	while (end < count && choices[end].best.distance == choices[first].best.distance)
		*saved_out += choices[end++].saved;
	return end;
}

void dw_lzma_add_range(struct lzma_ranges *ranges, size_t upto,
		       const struct lzma_choice *choice)
{
	struct lzma_range *last = ranges->list + ranges->count - 1;

	if (ranges->count > 0 && last->choice.distance == choice->distance &&
	    dw_lzma_same_contexts(last->choice.contexts, choice->contexts))
		last->upto = upto;
	else
		ranges->list[ranges->count++] = (struct lzma_range){ upto, *choice };
}

static void use_choices(const struct parts *parts, const struct lzma_choices *choices,
			struct lzma_ranges *ranges)
{
	const size_t count = parts->count;
	uint64_t saved;

	ranges->count = 0;
	for (size_t i = 0, end; i < count; i = end) {
		bool is_best = choices[i].best.distance != 0;

		end = same_end(choices, i, count, &saved);
		is_best = is_best && (saved >= LEAST_SAVED || end - i == count);
		for (size_t k = i; k < end; k++)
			dw_lzma_add_range(ranges, parts->list[k].upto,
					  is_best ? &choices[k].best : &choices[k].plain);
	}
}

int dw_lzma_find_ranges(const struct lzma_probe *probe, struct span block,
			uint32_t nice_len, lzma_mode mode, struct buffer *sample,
			struct lzma_ranges *ranges_out, dwarfs_error **err)
{
	struct chooser chooser = {
		.probe = probe, .nice_len = nice_len, .mode = mode, .buffer = sample
	};
	struct lzma_choices choices[DW_LZMA_MAX_RANGES] = { 0 };
	struct hints hints;
	struct parts parts;
	int ret;

	find_hints(block, &hints);
	mark_mixed(&hints);
	list_parts(&hints, &parts);
	ret = choose_each(&chooser, block, &parts, choices, err);
	if (ret == 0)
		use_choices(&parts, choices, ranges_out);
	ranges_out->undivided = chooser.undivided;
	return ret;
}

#endif
