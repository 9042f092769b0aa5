/* SPDX-License-Identifier: MIT */
/*
 * utils/dwarfs/affinity: which sequences of requests are concurrent, and where a task runs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dwarfs/affinity.h"

#define MANY   1000
#define WINDOW 64 /* requests that are remembered */

/* Many requests of two tasks in turn. */
static void alternate(struct callers *callers, enum callers_advice *last_out)
{
	for (uint32_t i = 0; i < WINDOW; i++)
		*last_out = callers_note(callers, 1 + i % 2, false, 0);
}

static void the_cpu_of_one_caller_is_queried_now_and_then(void **state)
{
	struct callers callers = { 0 };
	unsigned queries = 0;

	(void)state;
	assert_int_equal(callers_note(&callers, 7, false, 0), CALLERS_QUERY);
	for (int i = 1; i < WINDOW / 2; i++)
		assert_int_equal(callers_note(&callers, 7, false, 0), CALLERS_SAME);
	for (int i = 0; i < MANY; i++) {
		enum callers_advice advice = callers_note(&callers, 7, false, 4096);

		assert_int_not_equal(advice, CALLERS_ANYWHERE);
		queries += advice == CALLERS_QUERY;
	}
	assert_in_range(queries, 1, 2 * MANY / WINDOW);
}

static void one_process_after_the_other_is_not_concurrent(void **state)
{
	struct callers callers = { 0 };

	(void)state;
	for (uint32_t task = 1; task < MANY; task++) {
		assert_int_equal(callers_note(&callers, task, false, 0), CALLERS_QUERY);
		for (int i = 0; i < 3; i++)
			assert_int_equal(callers_note(&callers, task, false, 0),
					 CALLERS_SAME);
	}
}

static void callers_in_turn_are_concurrent_until_they_stop(void **state)
{
	struct callers callers = { 0 };
	enum callers_advice advice;
	int rest = 0;

	(void)state;
	alternate(&callers, &advice);
	assert_int_equal(advice, CALLERS_ANYWHERE);
	do
		advice = callers_note(&callers, 1, false, 0);
	while (advice == CALLERS_ANYWHERE && ++rest < MANY);
	assert_int_equal(advice, CALLERS_QUERY);
	assert_in_range(rest, 1, WINDOW);
	assert_int_equal(callers_note(&callers, 1, false, 0), CALLERS_SAME);
}

static void new_callers_are_concurrent_only_if_their_requests_overlap(void **state)
{
	struct callers apart = { 0 }, overlapping = { 0 };
	enum callers_advice advice = CALLERS_SAME;

	(void)state;
	for (uint32_t task = 1; task <= WINDOW; task++) {
		assert_int_not_equal(callers_note(&apart, task, false, 0),
				     CALLERS_ANYWHERE);
		advice = callers_note(&overlapping, task, true, 0);
	}
	assert_int_equal(advice, CALLERS_ANYWHERE);
}

static void requests_of_one_caller_may_overlap(void **state)
{
	struct callers callers = { 0 };

	(void)state;
	for (int i = 0; i < MANY; i++)
		assert_int_not_equal(callers_note(&callers, 1, true, 4096),
				     CALLERS_ANYWHERE);
}

static void large_reads_are_concurrent_with_their_caller(void **state)
{
	struct callers callers = { 0 };
	enum callers_advice advice = CALLERS_SAME;

	(void)state;
	for (int i = 0; i < WINDOW; i++)
		advice = callers_note(&callers, 1, false, CALLERS_LARGE_READ);
	assert_int_equal(advice, CALLERS_ANYWHERE);
}

/* Requests of one task until the advice is to query, and whether it was to serve anywhere. */
static bool go_to_query(struct callers *callers, uint32_t caller)
{
	enum callers_advice advice;
	bool was_anywhere = false;

	while ((advice = callers_note(callers, caller, false, 0)) != CALLERS_QUERY)
		was_anywhere |= advice == CALLERS_ANYWHERE;
	return was_anywhere;
}

static void a_caller_that_moves_each_time_is_not_followed_for_a_while(void **state)
{
	struct callers callers = { 0 };
	int rest = 0;

	(void)state;
	for (int i = 0; i < 9; i++) {
		assert_false(go_to_query(&callers, 7));
		callers_queried(&callers, true); /* the first says nothing */
	}
	while (callers_note(&callers, 7, false, 0) == CALLERS_ANYWHERE)
		rest++;
	assert_in_range(rest, MANY, 100 * MANY);
	/* Afterwards it is queried at once, which says nothing, either. */
	callers_queried(&callers, true);
	for (int i = 0; i < 8; i++) {
		assert_false(go_to_query(&callers, 7));
		callers_queried(&callers, true);
	}
	/* Another one is followed. */
	assert_int_equal(callers_note(&callers, 8, false, 0), CALLERS_QUERY);
}

static void a_caller_that_moves_now_and_then_is_followed(void **state)
{
	struct callers callers = { 0 };

	(void)state;
	for (int i = 0; i < MANY; i++) {
		assert_false(go_to_query(&callers, 7));
		callers_queried(&callers, i % 8 != 0);
	}
}

/* The fields after the name up to the CPU, which is the 39th. */
#define FIELDS                                                                           \
	" S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 " \
	"29 30 31 32 33 34 35 "

static void the_cpu_is_field_39_whatever_the_name_contains(void **state)
{
	(void)state;
	assert_int_equal(affinity_parse_cpu("12 (cat)" FIELDS "5 0 0\n"), 5);
	assert_int_equal(affinity_parse_cpu("12 (a) 9 (b c))" FIELDS "11 0"), 11);
	assert_int_equal(affinity_parse_cpu("12 (cat)" FIELDS), -1);
	assert_int_equal(affinity_parse_cpu("12 (cat) S 1 2 3"), -1);
	assert_int_equal(affinity_parse_cpu("12 (cat)" FIELDS "-1 0"), -1);
	assert_int_equal(affinity_parse_cpu("12 (cat)" FIELDS "9999999 0"), -1);
	assert_int_equal(affinity_parse_cpu("12 cat"), -1);
	assert_int_equal(affinity_parse_cpu(""), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_cpu_of_one_caller_is_queried_now_and_then),
		cmocka_unit_test(one_process_after_the_other_is_not_concurrent),
		cmocka_unit_test(callers_in_turn_are_concurrent_until_they_stop),
		cmocka_unit_test(
			new_callers_are_concurrent_only_if_their_requests_overlap),
		cmocka_unit_test(requests_of_one_caller_may_overlap),
		cmocka_unit_test(large_reads_are_concurrent_with_their_caller),
		cmocka_unit_test(
			a_caller_that_moves_each_time_is_not_followed_for_a_while),
		cmocka_unit_test(a_caller_that_moves_now_and_then_is_followed),
		cmocka_unit_test(the_cpu_is_field_39_whatever_the_name_contains),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
