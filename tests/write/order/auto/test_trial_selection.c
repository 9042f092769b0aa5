/* SPDX-License-Identifier: MIT */
/*
 * order/auto/trial_selection: the chosen candidate, and the best of each kind that is about
 * as good.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "write/order/auto/trial_selection.h"
#include "write/order/auto/trial.h"
#include "write/segment/density.h"

#define SMALL ((double)TRIAL_SMALL_BYTES)
#define LARGE (SMALL + 1)

/* With a candidate of each kind: the numbers of the selected ones, as a text of digits. */
static void expect_of_density(uint32_t density, const double scores[CANDIDATE_KINDS],
			      double kept, size_t chosen, size_t most,
			      const char *expected)
{
	struct candidate candidates[CANDIDATE_KINDS] = { 0 };
	size_t selected[CANDIDATE_KINDS], count;
	char found[CANDIDATE_KINDS + 1] = "";

	for (unsigned kind = 0; kind < CANDIDATE_KINDS; kind++)
		candidates[kind] = (struct candidate){
			.kind = (enum candidate_kind)kind,
			.score = scores[kind],
			.kept = kept,
			.density = density,
		};
	count = dw_select_for_trial(candidates, CANDIDATE_KINDS, chosen, most, false,
				    selected);
	for (size_t i = 0; i < count; i++)
		found[i] = (char)('0' + selected[i]);
	assert_string_equal(found, expected);
}

static void expect_most(const double scores[CANDIDATE_KINDS], double kept, size_t chosen,
			size_t most, const char *expected)
{
	expect_of_density(DENSITY_UNIT / 3, scores, kept, chosen, most, expected);
}

static void expect_selected(const double scores[CANDIDATE_KINDS], double kept,
			    size_t chosen, const char *expected)
{
	expect_most(scores, kept, chosen, CANDIDATE_KINDS, expected);
}

static void small_streams_have_more_trials(void **state)
{
	static const double scores[CANDIDATE_KINDS] = { 100,   104.5, 106,
							103.5, 101.5, 105.5 };

	(void)state;
	expect_selected(scores, SMALL, 0, "0134");
	expect_selected(scores, LARGE, 0, "034");
}

static void the_worst_of_a_large_stream_are_left_out(void **state)
{
	static const double equal[CANDIDATE_KINDS] = { 100, 100, 100, 100, 100, 100 };
	static const double scores[CANDIDATE_KINDS] = { 101,   100,   100.1,
							100.5, 100.2, 100.3 };

	(void)state;
	expect_selected(equal, SMALL, 2, "012345");
	expect_selected(equal, LARGE, 5, "0125");
	expect_selected(scores, LARGE, 1, "1245");
	expect_most(scores, SMALL, 1, 2, "12");
	expect_most(scores, LARGE, 1, 1, "1");
}

/* An order that reads better stays though another is forecast to be a little smaller. */
static void the_chosen_one_stays_though_it_is_the_worst(void **state)
{
	static const double scores[CANDIDATE_KINDS] = { 100.1, 100, 100, 100, 100, 100 };

	(void)state;
	expect_selected(scores, LARGE, 0, "0123");
}

static void what_hardly_compresses_is_not_tried(void **state)
{
	static const double scores[CANDIDATE_KINDS] = { 100, 101, 100, 100, 100, 100 };
	const uint32_t most = DENSITY_UNIT / 16 * 15;

	(void)state;
	expect_of_density(most, scores, LARGE, 1, 4, "0123");
	expect_of_density(most + 1, scores, LARGE, 1, 4, "1");
	expect_of_density(DENSITY_UNIT, scores, LARGE, 5, 4, "5");
	expect_of_density(DENSITY_UNIT, scores, SMALL, 1, 4, "0123");
}

static void one_of_each_kind_is_taken(void **state)
{
	struct candidate candidates[] = {
		{ .kind = CANDIDATE_BY_PATH, .score = 101 },
		{ .kind = CANDIDATE_BY_PATH, .score = 100.9 },
		{ .kind = CANDIDATE_BY_PATH, .score = 100.5 },
		{ .kind = CANDIDATE_BY_REVPATH, .score = 100 },
	};
	size_t selected[CANDIDATE_KINDS];

	(void)state;
	assert_int_equal(
		dw_select_for_trial(candidates, 4, 3, CANDIDATE_KINDS, false, selected),
		2);
	assert_int_equal(selected[0], 2);
	assert_int_equal(selected[1], 3);
	assert_int_equal(
		dw_select_for_trial(candidates, 3, 1, CANDIDATE_KINDS, false, selected),
		1);
	assert_int_equal(selected[0], 1);
}

/* Whatever a segment costs, the second and the last one are not better than the first. */
static void what_is_worse_in_both_is_left_out(void **state)
{
	const struct candidate candidates[] = {
		{ .kind = CANDIDATE_BY_PATH,
		  .score = 100,
		  .new_bytes = 50,
		  .segments = 8 },
		{ .kind = CANDIDATE_BY_SIBLINGS,
		  .score = 101,
		  .new_bytes = 51,
		  .segments = 9 },
		{ .kind = CANDIDATE_BY_REVPATH,
		  .score = 101,
		  .new_bytes = 49,
		  .segments = 9 },
		{ .kind = CANDIDATE_BY_NILSIMSA,
		  .score = 101,
		  .new_bytes = 60,
		  .segments = 7 },
		{ .kind = CANDIDATE_BY_SIMILARITY,
		  .score = 101,
		  .new_bytes = 50,
		  .segments = 8 },
	};
	size_t selected[CANDIDATE_KINDS];

	(void)state;
	assert_int_equal(
		dw_select_for_trial(candidates, 5, 0, CANDIDATE_KINDS, false, selected),
		5);
	assert_int_equal(
		dw_select_for_trial(candidates, 5, 0, CANDIDATE_KINDS, true, selected),
		3);
	assert_int_equal(selected[0], 0);
	assert_int_equal(selected[1], 2);
	assert_int_equal(selected[2], 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(small_streams_have_more_trials),
		cmocka_unit_test(the_worst_of_a_large_stream_are_left_out),
		cmocka_unit_test(the_chosen_one_stays_though_it_is_the_worst),
		cmocka_unit_test(what_hardly_compresses_is_not_tried),
		cmocka_unit_test(one_of_each_kind_is_taken),
		cmocka_unit_test(what_is_worse_in_both_is_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
