/* SPDX-License-Identifier: MIT */
/*
 * write/order/auto/interleave: pieces of large files that resemble each other in one block.
 *
 * The four programs of 33 MB of a compiler take 34.4 MB at level 7 one after the other, and
 * 20.9 MB in pieces of 1 MB, and 21.3 and 22.9 MB in pieces of 2 and 4 MB. A file that is read
 * alone needs more blocks then: as many as those that it is interleaved with.
 */
#include <string.h>

#include "base/context.h"
#include "write/budget/budget.h"
#include "write/order/auto/candidates.h"
#include "write/order/auto/file_division.h"
#include "write/order/auto/interleave.h"
#include "write/order/auto/similar_pieces.h"
#include "write/order/auto/trial.h"

/* Pieces that are brought together fill at most this part of a block. */
#define GROUP_PART 2

/* What pieces are to gain, of the size. */
#define FORECAST_GAIN	    0.02 /* forecasts see less than a codec finds */
#define FORECAST_ALONE_GAIN 0.05 /* where nothing is tried */
#define TRIAL_GAIN	    0.03

/* FORECAST_GAIN and TRIAL_GAIN for near-equal files where the forecast is less than the former. */
#define UNSEEN_FORECAST_GAIN -0.02
#define UNSEEN_TRIAL_GAIN    0.05

/* -- pieces that resemble others ---------------------------------------------------- */

/* Find the files of which a piece resembles one of another file; returns whether there are any. */
static bool mark_similar(struct file_division *division)
{
	struct divided *files = division->files;
	bool are_any = false;

	for (size_t i = 0; i < division->piece_count; i++) {
		uint32_t similar = division->similar[i];

		if (similar == DW_NONE)
			continue;
		files[dw_file_division_file_of(division, division->pieces[i])]
			.is_similar = true;
		files[dw_file_division_file_of(division, division->pieces[similar])]
			.is_similar = true;
		are_any = true;
	}
	return are_any;
}

static bool is_of_similar(const struct file_division *division, uint32_t number)
{
	return division->files[dw_file_division_file_of(division, number)].is_similar;
}

/* Leave out the other files, of the interleaved pieces, too. */
static int keep_similar(struct file_division *division, uint32_t *interleaved,
			dwarfs_error **err)
{
	size_t count = division->piece_count, kept = 0, placed = 0;
	auto_free uint32_t *index_of = dw_calloc(count, sizeof(*index_of));

	if (!index_of)
		return dw_fail_nomem(err);
	for (size_t i = 0; i < count; i++)
		if (is_of_similar(division, interleaved[i]))
			interleaved[placed++] = interleaved[i];
	for (size_t i = 0; i < count; i++) {
		uint32_t similar = division->similar[i], number = division->pieces[i];

		index_of[i] = (uint32_t)kept;
		if (!is_of_similar(division, number))
			continue;
		division->pieces[kept] = number;
		division->similar[kept++] =
			similar == DW_NONE ? DW_NONE : index_of[similar];
	}
	division->piece_count = kept;
	for (size_t i = 0; i < division->file_count; i++)
		if (!division->files[i].is_similar)
			dw_file_division_use_whole(division, &division->files[i]);
	return 0;
}

static void cleanup_sketch(struct sketch *sketch)
{
	dw_sketch_free(sketch);
}

/* -- what is smaller ------------------------------------------------------------------ */

/* Two orders of the same pieces. */
enum { IN_TURN, INTERLEAVED, ORDERS };

static void log_decision(const struct order_input *input,
			 const struct file_division *division, bool is_better)
{
	dw_log(input->run->context, DWARFS_LOG_VERBOSE, "%zu pieces of large files: %s",
	       division->piece_count,
	       is_better ? "interleaved" : "one file after the other");
}

/* Two orders of some pieces. */
struct orders {
	struct candidate candidates[ORDERS];
	size_t count;
	double kept_part;     /* of the bytes, expected in blocks */
	double forecast_gain; /* of the size: what INTERLEAVED has to gain to be tried */
	double trial_gain;    /* and in a trial to be chosen */
	bool are_near_equal;  /* at most half of the bytes is expected in blocks */
};

static void free_orders(struct orders *orders)
{
	for (size_t i = 0; i < ORDERS; i++)
		dw_free(orders->candidates[i].numbers);
}

static uint64_t orders_bytes(const struct file_division *division,
			     const struct orders *orders)
{
	return dw_fragments_bytes(division->contents, orders->candidates[IN_TURN].numbers,
				  orders->count);
}

/* Of the interleaved pieces, those that are used, and the same in the order of the files. */
static int new_orders(const struct file_division *division, const uint32_t *interleaved,
		      const bool *is_used, struct orders *orders, dwarfs_error **err)
{
	size_t room = division->piece_count, first = division->fragment_count;
	uint32_t *in_turn = dw_calloc(room, sizeof(*in_turn));
	uint32_t *mixed = dw_calloc(room, sizeof(*mixed));
	size_t count = 0, mixed_count = 0;

	orders->candidates[IN_TURN] =
		(struct candidate){ .name = "large files in turn", .numbers = in_turn };
	orders->candidates[INTERLEAVED] =
		(struct candidate){ .name = "large files interleaved", .numbers = mixed };
	if (!in_turn || !mixed)
		return dw_fail_nomem(err);
	for (size_t i = 0; i < room; i++) {
		if (is_used[division->pieces[i] - first])
			in_turn[count++] = division->pieces[i];
		if (is_used[interleaved[i] - first])
			mixed[mixed_count++] = interleaved[i];
	}
	orders->count = count;
	return 0;
}

/* Use as many of the first interleaved pieces as a trial may have. */
static void limit_trial(const struct order_input *input,
			const struct file_division *division, const struct orders *orders,
			bool *is_used)
{
	double most = (double)dw_trial_max_kept_bytes(input);
	const struct candidate *interleaved = &orders->candidates[INTERLEAVED];
	const struct fragment *fragments = division->contents->fragments;
	uint64_t bytes = 0;

	for (size_t i = 0; i < orders->count; i++) {
		uint32_t number = interleaved->numbers[i];

		bytes += fragments[number].size;
		is_used[number - division->fragment_count] =
			bytes <= TRIAL_MAX_BYTES &&
			(double)bytes * orders->kept_part <= most;
	}
}

/* Whether a trial may have all pieces; of those that stay where they are, all may be new. */
static bool can_try_all(const struct order_input *input, const struct orders *moved,
			uint64_t moved_bytes, uint64_t bytes)
{
	double kept =
		(double)moved_bytes * moved->kept_part + (double)(bytes - moved_bytes);

	return bytes <= TRIAL_MAX_BYTES && kept <= (double)dw_trial_max_kept_bytes(input);
}

/*
 * Pack the pieces in both orders, if a trial may have so many: those of the files that stay as they
 * are, too, because blocks that have both change. Six snapshots of a database, of which half of the
 * large files resemble each other, took 4 % less in a trial of this half, and 7 % more in the image.
 */
static int try_orders(const struct order_input *input,
		      const struct file_division *division, const char *codec,
		      const struct orders *moved, const uint32_t *interleaved,
		      const bool *is_used, bool *is_moved, size_t *winner,
		      dwarfs_error **err)
{
	__attribute__((cleanup(free_orders))) struct orders all = { 0 }, some = { 0 };
	struct orders *tried = &all;
	double gain = moved->candidates[INTERLEAVED].spread_penalty;
	uint64_t bytes, moved_bytes = orders_bytes(division, moved);
	int ret;

	if (gain < moved->trial_gain)
		gain = moved->trial_gain;
	if ((ret = new_orders(division, interleaved, is_used, &all, err)) < 0)
		return ret;
	bytes = orders_bytes(division, &all);
	if (can_try_all(input, moved, moved_bytes, bytes)) {
		gain *= (double)moved_bytes / (double)(bytes + 1);
	} else {
		limit_trial(input, division, moved, is_moved);
		if ((ret = new_orders(division, interleaved, is_moved, &some, err)) < 0)
			return ret;
		tried = &some;
	}
	if (tried->count < 2)
		return 0;
	tried->candidates[INTERLEAVED].spread_penalty = gain;
	return dw_trial(input, codec, tried->candidates, ORDERS, tried->count, winner,
			err);
}

/* Pieces without shingles, such as holes, are the same in each order, and may be most bytes. */
static bool *mark_used(const struct file_division *division, const struct sketch *sketch)
{
	size_t first = division->fragment_count;
	bool *is_used =
		dw_calloc(division->contents->fragment_count - first, sizeof(*is_used));

	for (size_t i = 0; is_used && i < division->piece_count; i++)
		is_used[division->pieces[i] - first] =
			sketch->pieces[division->pieces[i]].count > 0;
	return is_used;
}

/* The same, without pieces of files that stay as they are. */
static bool *mark_moved(const struct file_division *division, const bool *is_used)
{
	size_t first = division->fragment_count;
	bool *is_moved =
		dw_calloc(division->contents->fragment_count - first, sizeof(*is_moved));

	for (size_t i = 0; is_moved && i < division->piece_count; i++) {
		uint32_t number = division->pieces[i];

		is_moved[number - first] =
			is_used[number - first] && is_of_similar(division, number);
	}
	return is_moved;
}

/*
 * Choose how much there has to be gained. Of near-equal files the forecast sees little: both
 * orders store long repeated runs once, and the segmenter leaves shorter ones to the codec,
 * which finds them in the same block only. Six releases of a JSON file of 13 MB were forecast
 * to take 0.05 % less, and take 26 % less.
 */
static void choose_gains(const struct file_division *division, struct orders *orders)
{
	const struct candidate *in_turn = &orders->candidates[IN_TURN];
	const struct candidate *interleaved = &orders->candidates[INTERLEAVED];
	bool is_unseen;

	orders->kept_part = in_turn->kept / ((double)orders_bytes(division, orders) + 1);
	orders->are_near_equal = orders->kept_part <= 0.5;
	is_unseen = orders->are_near_equal &&
		    interleaved->score > in_turn->score * (1 - FORECAST_GAIN);
	orders->forecast_gain = is_unseen ? UNSEEN_FORECAST_GAIN : FORECAST_GAIN;
	orders->trial_gain = is_unseen ? UNSEEN_TRIAL_GAIN : TRIAL_GAIN;
}

/* A slow codec takes much longer than trials. With one of medium speed they add a fifth to a
 * third of the time, and are left out where the forecast says that little is to be gained. It
 * cannot be relied on otherwise: it does not see that repeats within a file are in other blocks
 * when its pieces are apart, which made texts of several languages 10 % larger. */
static bool is_to_be_tried(const struct order_input *input, const struct orders *orders,
			   size_t by_forecast)
{
	return input->speed == CODEC_SLOW || orders->are_near_equal ||
	       by_forecast == INTERLEAVED;
}

/* Frees the sketch, whose memory a trial may need. Where nothing can be tried the forecast
 * decides. */
static int decide(const struct order_input *input, const struct file_division *division,
		  struct sketch *sketch, const char *codec, const uint32_t *interleaved,
		  bool *is_better_out, dwarfs_error **err)
{
	__attribute__((cleanup(free_orders))) struct orders orders = { 0 };
	auto_free bool *is_used = mark_used(division, sketch);
	auto_free bool *is_moved = is_used ? mark_moved(division, is_used) : NULL;
	const struct candidate *candidates = orders.candidates;
	size_t winner = IN_TURN;
	double in_turn, score;
	int ret;

	*is_better_out = false;
	if (!is_moved)
		return dw_fail_nomem(err);
	if ((ret = new_orders(division, interleaved, is_moved, &orders, err)) < 0 ||
	    (ret = dw_candidates_score(input, sketch, orders.candidates, ORDERS,
				       orders.count, err)) < 0)
		return ret;
	dw_sketch_free(sketch);
	in_turn = candidates[IN_TURN].score;
	score = candidates[INTERLEAVED].score;
	choose_gains(division, &orders);
	if (score > in_turn * (1 - orders.forecast_gain))
		return 0;
	if (score <= in_turn * (1 - FORECAST_ALONE_GAIN))
		winner = INTERLEAVED;
	if (codec && is_to_be_tried(input, &orders, winner) &&
	    (ret = try_orders(input, division, codec, &orders, interleaved, is_used,
			      is_moved, &winner, err)) < 0)
		return ret;
	*is_better_out = winner == INTERLEAVED;
	return 0;
}

/* -- the list ------------------------------------------------------------------------- */

/* A divided file is replaced by its pieces, each followed by the similar pieces of
 * others. */
static int change_list(const struct file_division *division, const uint32_t *interleaved,
		       struct fragment_list *list, dwarfs_error **err)
{
	const struct contents *contents = division->contents;
	auto_free size_t *ends = dw_calloc(division->file_count, sizeof(*ends));
	uint32_t *numbers =
		dw_calloc(list->count + division->piece_count, sizeof(*numbers));
	size_t count = 0, placed = 0, file = 0;

	if (!numbers || !ends) {
		dw_free(numbers);
		return dw_fail_nomem(err);
	}
	for (size_t i = 0; i < division->piece_count; i++)
		ends[dw_file_division_file_of(division, interleaved[i])] = i + 1;
	for (size_t i = 0; i < list->count; i++) {
		uint32_t number = list->numbers[i];

		if (contents->fragments[number].stream != DW_NONE) {
			numbers[count++] = number;
			continue;
		}
		while (division->files[file].number != number)
			file++;
		while (placed < ends[file] ||
		       (placed < division->piece_count &&
			dw_file_division_is_follower(division, interleaved[placed])))
			numbers[count++] = interleaved[placed++];
	}
	dw_free(list->numbers);
	*list = (struct fragment_list){ numbers, count };
	return 0;
}

/* After dividing: whether pieces stay, and the list has them. */
static int interleave(const struct order_input *input, const char *codec,
		      struct file_division *division, struct fragment_list *list,
		      bool *is_better_out, dwarfs_error **err)
{
	__attribute__((cleanup(cleanup_sketch))) struct sketch sketch = { 0 };
	auto_free uint32_t *interleaved = NULL;
	int ret;

	if ((ret = dw_sketch_make(input, division->pieces, division->piece_count,
				  input->run->budget->shingles, &sketch, err)) < 0 ||
	    (ret = dw_find_similar_pieces(input, &sketch, division->pieces,
					  division->piece_count, division->similar,
					  err)) < 0)
		return ret;
	if (!mark_similar(division))
		return 0;
	if (!(interleaved = dw_calloc(division->piece_count, sizeof(*interleaved))))
		return dw_fail_nomem(err);
	if ((ret = dw_group_similar_pieces(
		     input, division->pieces, division->similar, division->piece_count,
		     input->block_bytes / GROUP_PART, interleaved, err)) < 0 ||
	    (ret = decide(input, division, &sketch, codec, interleaved, is_better_out,
			  err)) < 0 ||
	    (ret = keep_similar(division, interleaved, err)) < 0)
		return ret;
	log_decision(input, division, *is_better_out);
	if (*is_better_out && (ret = change_list(division, interleaved, list, err)) < 0)
		*is_better_out = false;
	return ret;
}

int dw_interleave(const struct order_input *input, const char *trial_codec,
		  struct fragment_list *list, dwarfs_error **err)
{
	__attribute__((cleanup(dw_file_division_free))) struct file_division division = {
		.contents = input->contents,
		.fragment_count = input->contents->fragment_count,
	};
	bool is_better = false;
	int ret;

	if (input->run->budget->shingles == 0)
		return 0;
	if ((ret = dw_file_division_find(input, list, &division, err)) < 0)
		return ret;
	if (division.file_count < 2 ||
	    dw_file_division_bytes(&division) <= input->block_bytes)
		return 0;
	if ((ret = dw_file_division_divide(input, &division, err)) == 0 &&
	    division.piece_count > 0)
		ret = interleave(input, trial_codec, &division, list, &is_better, err);
	if (!is_better && input->contents->fragment_count > division.fragment_count)
		dw_file_division_undo(&division);
	return ret;
}
