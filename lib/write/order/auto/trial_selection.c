/* SPDX-License-Identifier: MIT */
/*
 * write/order/auto/trial_selection: which orders are tried by packing.
 */
#include <string.h>

#include "write/order/auto/trial_selection.h"
#include "write/order/auto/trial.h"
#include "write/segment/density.h"

/* Forecasts that are within this factor of each other do not decide: HTML pages of a manual, 488
 * MiB, are 5 % smaller by path than by nilsimsa, and were forecast as 2.5 % larger. Where little is
 * stored, the metadata and the literals, which no forecast knows, are a larger part. */
#define CLOSE	    1.04
#define CLOSE_SMALL 1.05
#define PREFERENCE                                                                       \
	0.998 /* of the score of a candidate of the same kind that is preferred */

static bool stores_little(const struct candidate *chosen)
{
	return chosen->kept <= (double)TRIAL_SMALL_BYTES;
}

static bool is_worse_in_both(const struct candidate *candidate,
			     const struct candidate *chosen)
{
	return candidate->new_bytes >= chosen->new_bytes &&
	       candidate->segments >= chosen->segments;
}

/* The best candidate of a kind among those that are forecast to be about as small as the
 * chosen one; their number if there is none. */
static size_t find_best(const struct candidate *candidates, size_t count, size_t chosen,
			enum candidate_kind kind, bool by_cost_of_segments)
{
	const struct candidate *reference = &candidates[chosen];
	double least =
		reference->score * (stores_little(reference) ? CLOSE_SMALL : CLOSE);
	size_t best = count;

	if (kind == reference->kind)
		return chosen;
	for (size_t i = 0; i < count; i++)
		if (candidates[i].kind == kind && candidates[i].score < least &&
		    !(by_cost_of_segments &&
		      is_worse_in_both(&candidates[i], reference))) {
			least = candidates[i].score * PREFERENCE;
			best = i;
		}
	return best;
}

/* Never the chosen one: there are at least two. */
static void leave_out_worst(const struct candidate *candidates, size_t chosen,
			    size_t *selected, size_t *count)
{
	size_t worst = selected[0] == chosen ? 1 : 0;

	for (size_t i = worst + 1; i < *count; i++)
		if (selected[i] != chosen &&
		    candidates[selected[i]].score >= candidates[selected[worst]].score)
			worst = i;
	(*count)--;
	memmove(selected + worst, selected + worst + 1,
		(*count - worst) * sizeof(*selected));
}

/* New bytes hardly compress, as pictures: their order decides only about the repeats, which the
 * forecast knows. Four orders of 235 MB of pictures and sounds differ by 0.2 %, and the forecast
 * has the right one. */
static bool is_incompressible(const struct candidate *chosen)
{
	return chosen->density > DENSITY_UNIT - DENSITY_UNIT / 16 &&
	       !stores_little(chosen);
}

size_t dw_select_for_trial(const struct candidate *candidates, size_t count,
			   size_t chosen, size_t most, bool by_cost_of_segments,
			   size_t selected[CANDIDATE_KINDS])
{
	size_t found = 0;

	if (is_incompressible(&candidates[chosen])) {
		selected[0] = chosen;
		return 1;
	}
	if (most > TRIAL_SOME_CANDIDATES && !stores_little(&candidates[chosen]))
		most = TRIAL_SOME_CANDIDATES;
	for (enum candidate_kind kind = 0; kind < CANDIDATE_KINDS; kind++) {
		size_t best =
			find_best(candidates, count, chosen, kind, by_cost_of_segments);

		if (best < count)
			selected[found++] = best;
	}
	while (found > most)
		leave_out_worst(candidates, chosen, selected, &found);
	return found;
}
