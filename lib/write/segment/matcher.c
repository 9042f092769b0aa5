/* SPDX-License-Identifier: MIT */
/*
 * write/segment/matcher: find bytes that are stored already.
 *
 * Anchors of a piece are looked up in the index of all anchors that were stored. A
 * candidate is compared byte by byte, forward and backward. The number of bytes that are
 * compared without a match is limited in proportion to the data, which keeps the time
 * linear.
 */
#include <string.h>

#include "base/bytes.h"
#include "base/entropy.h"
#include "write/segment/matcher.h"

/*
 * Bytes that may be compared without finding a match: for each byte of data, and saved up
 * at most. Near-equal files need up to 6 for each byte, most of it to read old bytes again,
 * in stretches of many MiB: with 4 and 1 MiB, 16 releases of a compiler (751 MiB of
 * different files) had 70 MiB more to pack and their image was 1.6 times as large, in no
 * less time. With 64 and 256 MiB, 16 releases of generated text took 5 % more with versions of a
 * file side by side (level 3).
 */
#define CREDIT_PER_BYTE 128
#define MAX_CREDIT	((int64_t)512 << 20)

/* What a look costs at least, in bytes compared. */
#define COST_OF_LOOK 64

/* A match this long is taken without looking for a longer one. */
#define LONG_ENOUGH ((size_t)64 << 10)

struct matcher {
	struct matcher_options options;
	struct stored_window *window;
	struct anchor_index *index;
	struct anchor *anchors;
	size_t anchor_count, next_anchor;
	const uint8_t *data;
	size_t size;
	uint64_t fragment_offset; /* of the piece */
	int64_t credit;
	uint64_t compared; /* bytes so far */
	uint64_t least;	   /* see dw_matcher_set_least() */
	struct entropy_table entropy;
};

int dw_matcher_new(const struct matcher_options *options, struct stored_window *window,
		   struct matcher **matcher_out, dwarfs_error **err)
{
	DW_AUTO(matcher) struct matcher *matcher = dw_calloc(1, sizeof(*matcher));
	int ret;

	if (!matcher)
		return dw_fail_nomem(err);
	matcher->options = *options;
	matcher->window = window;
	matcher->credit = (int64_t)MATCH_PIECE_BYTES * CREDIT_PER_BYTE;
	if (options->least_entropy > 0)
		dw_entropy_table_init(&matcher->entropy);
	matcher->anchors =
		dw_malloc(dw_anchors_room(MATCH_PIECE_BYTES) * sizeof(*matcher->anchors));
	if (!matcher->anchors)
		return dw_fail_nomem(err);
	if ((ret = dw_anchor_index_new(options->total_bytes >> options->shift,
				       options->index_bytes, &matcher->index, err)) < 0)
		return ret;
	*matcher_out = dw_steal(matcher);
	return 0;
}

void dw_matcher_free(struct matcher *matcher)
{
	if (!matcher)
		return;
	dw_anchor_index_free(matcher->index);
	dw_free(matcher->anchors);
	dw_free(matcher);
}

void dw_matcher_set_minima(struct matcher *matcher, uint64_t far_minimum,
			   uint64_t near_minimum)
{
	matcher->options.far_minimum = far_minimum;
	matcher->options.near_minimum = near_minimum;
}

void dw_matcher_set_least(struct matcher *matcher, uint64_t bytes)
{
	matcher->least = bytes;
}

void dw_matcher_begin(struct matcher *matcher, const uint8_t *data, size_t size,
		      uint64_t fragment_offset)
{
	matcher->data = data;
	matcher->size = size;
	matcher->fragment_offset = fragment_offset;
	matcher->anchor_count =
		dw_anchors_find(data, size, matcher->options.shift, matcher->anchors);
	matcher->next_anchor = 0;
	for (size_t i = 0; i < matcher->anchor_count; i++)
		dw_anchor_index_prefetch(matcher->index, matcher->anchors[i].hash);
	dw_kept_window_earn(matcher->options.kept, size);
	matcher->credit += (int64_t)size * CREDIT_PER_BYTE;
	if (matcher->credit > MAX_CREDIT)
		matcher->credit = MAX_CREDIT;
}

bool dw_matcher_next(struct matcher *matcher, size_t from, size_t *at_out)
{
	while (matcher->next_anchor < matcher->anchor_count) {
		const struct anchor *anchor = &matcher->anchors[matcher->next_anchor++];

		if (anchor->at < from ||
		    !dw_anchor_index_counts(matcher->index, anchor->hash))
			continue;
		*at_out = anchor->at;
		return true;
	}
	return false;
}

/* -- comparing ---------------------------------------------------------------------- */

static size_t equal_forward(const uint8_t *a, const uint8_t *b, size_t size)
{
	size_t at = 0;

	for (; at + 8 <= size; at += 8) {
		uint64_t differs = dw_load64(a + at) ^ dw_load64(b + at);

		if (differs != 0)
			return at + (size_t)__builtin_ctzll(differs) / 8;
	}
	while (at < size && a[at] == b[at])
		at++;
	return at;
}

/* Both pointers are to the end of the bytes. */
static size_t equal_backward(const uint8_t *a, const uint8_t *b, size_t size)
{
	size_t count = 0;

	for (; count + 8 <= size; count += 8) {
		uint64_t differs = dw_load64(a - count - 8) ^ dw_load64(b - count - 8);

		if (differs != 0)
			return count + (size_t)__builtin_clzll(differs) / 8;
	}
	while (count < size && a[-1 - (ptrdiff_t)count] == b[-1 - (ptrdiff_t)count])
		count++;
	return count;
}

size_t dw_matcher_extend(struct matcher *matcher, uint64_t place, const uint8_t *data,
			 size_t size)
{
	size_t done = 0;

	while (done < size) {
		size_t room, equal;
		const uint8_t *old =
			dw_stored_window_at(matcher->window, place + done, &room);

		if (!old)
			break;
		room = room < size - done ? room : size - done;
		equal = equal_forward(old, data + done, room);
		matcher->compared += equal;
		done += equal;
		if (equal < room)
			break;
	}
	return done;
}

static size_t extend_back(struct matcher *matcher, uint64_t place, const uint8_t *data,
			  size_t size)
{
	size_t done = 0;

	while (done < size) {
		size_t room, equal;
		const uint8_t *old =
			dw_stored_window_before(matcher->window, place - done, &room);

		if (!old)
			break;
		room = room < size - done ? room : size - done;
		equal = equal_backward(old, data - done, room);
		matcher->compared += equal;
		done += equal;
		if (equal < room)
			break;
	}
	return done;
}

uint64_t dw_matcher_work(const struct matcher *matcher)
{
	return matcher->compared + dw_stored_window_work(matcher->window);
}

/* Pay for the work since then, less what it found. */
static void pay(struct matcher *matcher, uint64_t work_before, size_t found)
{
	uint64_t work = dw_matcher_work(matcher) - work_before;

	if (work > found)
		matcher->credit -= (int64_t)(work - found);
}

bool dw_matcher_is_stored(struct matcher *matcher, uint64_t place, const uint8_t *data,
			  size_t size)
{
	uint64_t work = dw_matcher_work(matcher);
	size_t found;

	if (matcher->credit <= 0)
		return false;
	found = dw_matcher_extend(matcher, place, data, size);
	matcher->credit -= COST_OF_LOOK;
	pay(matcher, work, found);
	return found == size;
}

/* -- candidates --------------------------------------------------------------------- */

/* Begin and end where frames do, both here and there. */
static void align(const struct matcher *matcher, size_t at, struct match *match)
{
	size_t grain = matcher->options.granularity, lost;
	uint64_t here = matcher->fragment_offset + at - match->back;

	if (grain == 1)
		return;
	lost = (size_t)((grain - here % grain) % grain);
	if (lost >= match->size || lost > match->back ||
	    (match->place + lost) % matcher->options.block_bytes % grain != 0) {
		match->size = 0;
		return;
	}
	match->place += lost;
	match->back -= lost;
	match->size -= lost;
	match->size -= match->size % grain;
}

/* The end of a match in the next block may be too short to be worth a chunk of its own.
 */
static void trim(const struct matcher *matcher, struct match *match)
{
	uint64_t block_bytes = matcher->options.block_bytes;
	uint64_t tail = (match->place + match->size) % block_bytes;

	if (tail < match->size && tail < ANCHOR_WINDOW)
		match->size -= (size_t)tail;
}

static bool may_refer(const struct matcher *matcher, uint64_t place, uint64_t stored)
{
	uint64_t block = place / matcher->options.block_bytes;
	uint64_t current = stored / matcher->options.block_bytes;

	return block == current || current - block < matcher->options.lookback;
}

/*
 * Whether data goes on as a repeat of what was stored last. It would take a chunk for
 * each period, so more of it is stored until there is a longer run to refer to.
 */
static bool is_short_period(const struct matcher *matcher, size_t at, uint64_t distance)
{
	return distance < LONG_ENOUGH && matcher->size - at >= distance + ANCHOR_WINDOW &&
	       memcmp(matcher->data + at, matcher->data + at + distance, ANCHOR_WINDOW) ==
		       0;
}

/* What there is around a candidate; false when it is not worth a chunk. */
static bool measure_match(struct matcher *matcher, size_t at, uint64_t place,
			  uint64_t stored, size_t back, struct match *match)
{
	uint64_t block_bytes = matcher->options.block_bytes;
	bool is_near = place / block_bytes == stored / block_bytes;
	size_t forward;

	if (is_short_period(matcher, at, stored - place))
		return false;
	forward =
		dw_matcher_extend(matcher, place, matcher->data + at, matcher->size - at);
	if (forward == 0)
		return false;
	if (back > place % block_bytes)
		back = (size_t)(place % block_bytes);
	back = extend_back(matcher, place, matcher->data + at, back);
	/* What is taken back cannot be referred to. */
	if (place + forward > stored - back && place < stored)
		back = place + forward < stored ? (size_t)(stored - place - forward) : 0;
	*match = (struct match){ place - back, back + forward, back };
	align(matcher, at, match);
	trim(matcher, match);
	return match->size >= matcher->least &&
	       match->size >= (is_near ? matcher->options.near_minimum
				       : matcher->options.far_minimum);
}

/* Whether the bytes of a match take more than it costs. Of long matches that is not asked. */
static bool has_entropy(const struct matcher *matcher, size_t at,
			const struct match *match)
{
	const struct span bytes = { matcher->data + at - match->back, match->size };

	return matcher->options.least_entropy == 0 || bytes.size > DW_ENTROPY_FEW ||
	       dw_entropy_of_few(&matcher->entropy, bytes) >=
		       matcher->options.least_entropy;
}

static bool best_match(struct matcher *matcher, const struct anchor *anchor,
		       uint64_t stored, size_t back, struct match *best)
{
	uint64_t places[INDEX_WAYS];
	size_t count = dw_anchor_index_find(matcher->index, anchor->hash, places);
	uint64_t work = dw_matcher_work(matcher);

	best->size = 0;
	for (size_t i = 0; i < count && matcher->credit > 0; i++) {
		struct match match;

		if (!may_refer(matcher, places[i], stored))
			continue;
		if (measure_match(matcher, anchor->at, places[i], stored, back, &match)) {
			if (match.size > best->size)
				*best = match;
			if (match.size >= LONG_ENOUGH)
				break;
		}
		matcher->credit -= COST_OF_LOOK;
	}
	pay(matcher, work, best->size);
	return best->size > 0 && has_entropy(matcher, anchor->at, best);
}

bool dw_matcher_look(struct matcher *matcher, uint64_t stored, size_t back,
		     struct match *match_out)
{
	const struct anchor *anchor = &matcher->anchors[matcher->next_anchor - 1];

	if (back > anchor->at)
		back = anchor->at;
	if (best_match(matcher, anchor, stored, back, match_out))
		return true;
	dw_anchor_index_add(matcher->index, anchor->hash, stored);
	return false;
}

void dw_matcher_note(struct matcher *matcher, const uint8_t *data, size_t size,
		     uint64_t stored)
{
	matcher->anchor_count =
		dw_anchors_find(data, size, matcher->options.shift, matcher->anchors);
	for (size_t i = 0; i < matcher->anchor_count; i++)
		dw_anchor_index_add(matcher->index, matcher->anchors[i].hash,
				    stored + matcher->anchors[i].at);
	matcher->next_anchor = matcher->anchor_count;
}

size_t dw_matcher_find(const struct matcher *matcher, uint64_t hash,
		       uint64_t places[INDEX_WAYS])
{
	return dw_anchor_index_find(matcher->index, hash, places);
}

void dw_matcher_add(struct matcher *matcher, uint64_t hash, uint64_t place)
{
	dw_anchor_index_add(matcher->index, hash, place);
}
