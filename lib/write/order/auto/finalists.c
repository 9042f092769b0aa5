/* SPDX-License-Identifier: MIT */
/*
 * write/order/auto/finalists: which orders are tried by packing.
 */
#include <string.h>

#include "write/order/auto/finalists.h"
#include "write/order/auto/trial.h"

/* Forecasts that are within this factor of each other do not decide. Where little is stored, the
 * metadata and the literals, which no forecast knows, are a larger part. */
#define CLOSE	    1.02
#define CLOSE_SMALL 1.05
#define WORTH_IT                                                                         \
	0.998 /* of the score of a candidate of the same kind that is preferred */

static bool stores_little(const struct candidate *winner)
{
	return winner->kept <= (double)TRIAL_SMALL_BYTES;
}

/* The best candidate of a kind among those that are forecast to be about as small as the
 * winner; their number if there is none. */
static size_t find_best(const struct candidate *candidates, size_t count, size_t winner,
			enum candidate_kind kind)
{
	const struct candidate *won = &candidates[winner];
	double least = won->score * (stores_little(won) ? CLOSE_SMALL : CLOSE);
	size_t best = count;

	if (kind == won->kind)
		return winner;
	for (size_t i = 0; i < count; i++)
		if (candidates[i].kind == kind && candidates[i].score < least) {
			least = candidates[i].score * WORTH_IT;
			best = i;
		}
	return best;
}

/* Never the winner: there are at least two. */
static void leave_out_worst(const struct candidate *candidates, size_t winner,
			    size_t *finalists, size_t *count)
{
	size_t worst = finalists[0] == winner ? 1 : 0;

	for (size_t i = worst + 1; i < *count; i++)
		if (finalists[i] != winner &&
		    candidates[finalists[i]].score >= candidates[finalists[worst]].score)
			worst = i;
	(*count)--;
	memmove(finalists + worst, finalists + worst + 1,
		(*count - worst) * sizeof(*finalists));
}

size_t dw_find_finalists(const struct candidate *candidates, size_t count, size_t winner,
			 size_t most, size_t finalists[CANDIDATE_KINDS])
{
	size_t found = 0;

	if (most > TRIAL_SOME_CANDIDATES && !stores_little(&candidates[winner]))
		most = TRIAL_SOME_CANDIDATES;
	for (enum candidate_kind kind = 0; kind < CANDIDATE_KINDS; kind++) {
		size_t best = find_best(candidates, count, winner, kind);

		if (best < count)
			finalists[found++] = best;
	}
	while (found > most)
		leave_out_worst(candidates, winner, finalists, &found);
	return found;
}
