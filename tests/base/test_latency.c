/* SPDX-License-Identifier: MIT */
/*
 * base/latency: steps without gaps, quantiles close to the exact values, many threads.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/context.h"

#define THREADS 8
#define EACH	20000

DW_DEFINE_AUTO(latency, struct latency *, dw_latency_free)
#define auto_latency DW_AUTO(latency)

static void nothing_is_known_at_first(void **state)
{
	auto_latency struct latency *latency = dw_latency_new();

	assert_non_null(latency);
	for (int number = -1; number < 10; number++)
		assert_int_equal(dw_latency_number(latency, DWARFS_LATENCY_READ, number),
				 0);
	assert_int_equal(dw_latency_quantile(latency, DWARFS_LATENCY_READ, 500), 0);
	assert_int_equal(dw_latency_number(NULL, DWARFS_LATENCY_READ, 0), 0);
	assert_int_equal(dw_latency_quantile(NULL, DWARFS_LATENCY_READ, 0), 0);
	assert_int_equal(dw_latency_number(latency, DWARFS_LATENCY_COUNT, 0), 0);
	assert_int_equal(dw_latency_number(latency, -1, 0), 0);
	dw_latency_free(NULL);
}

static void steps_follow_each_other(void **state)
{
	auto_latency struct latency *latency = dw_latency_new();
	uint64_t from, until, expected = 0;
	uint32_t index = 0;

	for (;; index++) {
		uint64_t before;

		dw_latency_bucket(latency, DWARFS_LATENCY_LOAD, index, &from, &until);
		if (until == 0)
			break;
		assert_true(from == expected && until > from);
		/* At most an eighth wide, or one. */
		assert_true(until - from <= (from >= 16 ? from / 8 : 1));
		dw_latency_add(latency, DWARFS_LATENCY_LOAD, from);
		dw_latency_add(latency, DWARFS_LATENCY_LOAD, until - 1);
		before = until;
		assert_int_equal(dw_latency_bucket(latency, DWARFS_LATENCY_LOAD, index,
						   &from, &until),
				 2);
		assert_true(until == before);
		expected = until;
	}
	assert_true(expected == UINT64_MAX);
	assert_int_equal(
		dw_latency_number(latency, DWARFS_LATENCY_LOAD, DWARFS_LATENCY_TIMES),
		2 * index);
	assert_int_equal(
		dw_latency_bucket(latency, DWARFS_LATENCY_READ, 3, &from, &until), 0);
}

static uint64_t quantile(const struct latency *latency, uint32_t permille)
{
	return dw_latency_quantile(latency, DWARFS_LATENCY_READ, permille);
}

static void quantiles_are_near(void **state)
{
	auto_latency struct latency *latency = dw_latency_new();

	for (uint64_t i = 1; i <= 10000; i++)
		dw_latency_add(latency, DWARFS_LATENCY_READ, i * 1000);
	assert_int_equal(
		dw_latency_number(latency, DWARFS_LATENCY_READ, DWARFS_LATENCY_TIMES),
		10000);
	assert_true(dw_latency_number(latency, DWARFS_LATENCY_READ,
				      DWARFS_LATENCY_SUM_NS) == 50005000000);
	assert_int_equal(
		dw_latency_number(latency, DWARFS_LATENCY_READ, DWARFS_LATENCY_LEAST_NS),
		1000);
	assert_int_equal(
		dw_latency_number(latency, DWARFS_LATENCY_READ, DWARFS_LATENCY_MOST_NS),
		10000000);
	for (uint32_t permille = 1; permille <= 1000; permille++) {
		uint64_t is = permille * UINT64_C(10000),
			 said = quantile(latency, permille);

		assert_in_range(said, is, is + is / 8);
	}
	assert_int_equal(quantile(latency, 1000), 10000000);
	assert_int_equal(quantile(latency, 5000), 10000000);
	assert_true(quantile(latency, 0) >= 1000 && quantile(latency, 0) <= 1125);
}

static void *add_many(void *user)
{
	struct latency *latency = user;

	for (uint64_t i = 0; i < EACH; i++)
		dw_latency_add(latency, DWARFS_LATENCY_WAIT, 7 + i);
	return NULL;
}

static void threads_lose_nothing(void **state)
{
	auto_latency struct latency *latency = dw_latency_new();
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, add_many, latency), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(
		dw_latency_number(latency, DWARFS_LATENCY_WAIT, DWARFS_LATENCY_TIMES),
		THREADS * EACH);
	assert_int_equal(
		dw_latency_number(latency, DWARFS_LATENCY_WAIT, DWARFS_LATENCY_SUM_NS),
		THREADS * (UINT64_C(7) * EACH + (uint64_t)EACH * (EACH - 1) / 2));
	assert_int_equal(
		dw_latency_number(latency, DWARFS_LATENCY_WAIT, DWARFS_LATENCY_LEAST_NS),
		7);
	assert_int_equal(
		dw_latency_number(latency, DWARFS_LATENCY_WAIT, DWARFS_LATENCY_MOST_NS),
		EACH + 6);
}

static void spans_count_only_when_wanted(void **state)
{
	auto_latency struct latency *latency = dw_latency_new();

	for (int i = 0; i < 3; i++) {
		DW_LATENCY_SPAN(latency, DWARFS_LATENCY_DECODE);
	}
	for (int i = 0; i < 3; i++) {
		DW_LATENCY_SPAN(NULL, DWARFS_LATENCY_DECODE);
		assert_int_equal(dw_latency_begin(NULL), 0);
	}
	assert_int_equal(
		dw_latency_number(latency, DWARFS_LATENCY_DECODE, DWARFS_LATENCY_TIMES),
		3);
}

static void a_context_takes_times_when_asked(void **state)
{
	auto_context dwarfs_context *context = NULL, *used = NULL;
	auto_error dwarfs_error *err = NULL;

	assert_int_equal(dwarfs_context_new(&context, NULL), 0);
	assert_null(dw_context_latency(context));
	assert_int_equal(dwarfs_context_set_timing(context, false, &err), 0);
	assert_int_equal(dwarfs_context_set_timing(context, true, &err), 0);
	assert_non_null(dw_context_latency(context));
	assert_int_equal(dwarfs_context_set_timing(context, false, &err), 0);
	assert_null(dw_context_latency(context));
	assert_int_equal(dwarfs_context_latency(context, 0, 0), 0);
	assert_int_equal(dwarfs_context_set_timing(context, true, &err), 0);
	assert_int_equal(dw_context_use(context, &used, NULL), 0);
	assert_int_equal(dwarfs_context_set_timing(context, false, &err),
			 DWARFS_ERR_INVALID);
	dw_latency_add(dw_context_latency(context), DWARFS_LATENCY_READ, 4711);
	assert_int_equal(dwarfs_context_latency(context, DWARFS_LATENCY_READ,
						DWARFS_LATENCY_TIMES),
			 1);
	assert_int_equal(
		dwarfs_context_latency_quantile(context, DWARFS_LATENCY_READ, 990), 4711);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_known_at_first),
		cmocka_unit_test(steps_follow_each_other),
		cmocka_unit_test(quantiles_are_near),
		cmocka_unit_test(threads_lose_nothing),
		cmocka_unit_test(spans_count_only_when_wanted),
		cmocka_unit_test(a_context_takes_times_when_asked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
