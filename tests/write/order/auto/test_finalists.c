/* SPDX-License-Identifier: MIT */
/*
 * order/auto/finalists: the winner of the auction, and the best of each kind that is about as
 * good.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "write/order/auto/finalists.h"
#include "write/order/auto/trial.h"

#define SMALL ((double)TRIAL_SMALL_BYTES)
#define LARGE (SMALL + 1)

/* With a candidate of each kind: the numbers of the finalists, as a text of digits. */
static void expect_most(const double scores[CANDIDATE_KINDS], double kept, size_t winner,
			size_t most, const char *expected)
{
	struct candidate candidates[CANDIDATE_KINDS] = { 0 };
	size_t finalists[CANDIDATE_KINDS], count;
	char found[CANDIDATE_KINDS + 1] = "";

	for (unsigned kind = 0; kind < CANDIDATE_KINDS; kind++)
		candidates[kind] = (struct candidate){
			.kind = (enum candidate_kind)kind,
			.score = scores[kind],
			.kept = kept,
		};
	count = dw_find_finalists(candidates, CANDIDATE_KINDS, winner, most, finalists);
	for (size_t i = 0; i < count; i++)
		found[i] = (char)('0' + finalists[i]);
	assert_string_equal(found, expected);
}

static void expect_finalists(const double scores[CANDIDATE_KINDS], double kept,
			     size_t winner, const char *expected)
{
	expect_most(scores, kept, winner, CANDIDATE_KINDS, expected);
}

static void small_streams_have_more_finalists(void **state)
{
	static const double scores[CANDIDATE_KINDS] = {
		100, 104, 106, 101, 101.5, 105.5
	};

	(void)state;
	expect_finalists(scores, SMALL, 0, "0134");
	expect_finalists(scores, LARGE, 0, "034");
}

static void the_worst_of_a_large_stream_are_left_out(void **state)
{
	static const double equal[CANDIDATE_KINDS] = { 100, 100, 100, 100, 100, 100 };
	static const double scores[CANDIDATE_KINDS] = { 101,   100,   100.1,
							100.5, 100.2, 100.3 };

	(void)state;
	expect_finalists(equal, SMALL, 2, "012345");
	expect_finalists(equal, LARGE, 5, "0125");
	expect_finalists(scores, LARGE, 1, "1245");
	expect_most(scores, SMALL, 1, 2, "12");
	expect_most(scores, LARGE, 1, 1, "1");
}

/* An order that reads better wins though another is forecast to be a little smaller. */
static void the_winner_stays_though_it_is_the_worst(void **state)
{
	static const double scores[CANDIDATE_KINDS] = { 100.1, 100, 100, 100, 100, 100 };

	(void)state;
	expect_finalists(scores, LARGE, 0, "0123");
}

static void one_of_each_kind_is_taken(void **state)
{
	struct candidate candidates[] = {
		{ .kind = CANDIDATE_BY_PATH, .score = 101 },
		{ .kind = CANDIDATE_BY_PATH, .score = 100.9 },
		{ .kind = CANDIDATE_BY_PATH, .score = 100.5 },
		{ .kind = CANDIDATE_BY_REVPATH, .score = 100 },
	};
	size_t finalists[CANDIDATE_KINDS];

	(void)state;
	assert_int_equal(dw_find_finalists(candidates, 4, 3, CANDIDATE_KINDS, finalists),
			 2);
	assert_int_equal(finalists[0], 2);
	assert_int_equal(finalists[1], 3);
	assert_int_equal(dw_find_finalists(candidates, 3, 1, CANDIDATE_KINDS, finalists),
			 1);
	assert_int_equal(finalists[0], 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(small_streams_have_more_finalists),
		cmocka_unit_test(the_worst_of_a_large_stream_are_left_out),
		cmocka_unit_test(the_winner_stays_though_it_is_the_worst),
		cmocka_unit_test(one_of_each_kind_is_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
