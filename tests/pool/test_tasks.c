/* SPDX-License-Identifier: MIT */
/*
 * pool/tasks: each runs once, by a worker or by the thread that waits for it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdatomic.h>
#include <time.h>

#include "pool/tasks.h"

#define WAIT_NS 1000000

struct count {
	struct task task;
	atomic_uint runs;
	long sleep_ns;
};

static void count_up(struct task *task)
{
	struct count *count = (struct count *)task;
	struct timespec pause = { 0, count->sleep_ns };

	if (count->sleep_ns)
		nanosleep(&pause, NULL);
	atomic_fetch_add(&count->runs, 1);
}

static void wait_for(struct tasks *tasks, struct count *count)
{
	while (!dw_tasks_wait(tasks, &count->task, WAIT_NS))
		continue;
	assert_int_equal(count->runs, 1);
}

static void all_are_done_once(void **state)
{
	for (uint32_t threads = 0; threads < 5; threads++) {
		struct count counts[500] = { 0 };
		struct tasks *tasks = NULL;

		assert_int_equal(dw_tasks_new(threads, &tasks, NULL), 0);
		for (size_t i = 0; i < 500; i++) {
			counts[i].task.run = count_up;
			counts[i].sleep_ns = i % 50 == 0 ? 100000 : 0;
			assert_int_equal(dw_tasks_offer(tasks, &counts[i].task, NULL), 0);
		}
		for (size_t i = 0; i < 500; i++)
			wait_for(tasks, &counts[i * 7 % 500]);
		dw_tasks_free(tasks);
	}
}

static void what_was_not_offered_is_done_by_waiting(void **state)
{
	struct count count = { .task.run = count_up };
	struct tasks *tasks = NULL;

	assert_int_equal(dw_tasks_new(2, &tasks, NULL), 0);
	wait_for(tasks, &count);
	wait_for(tasks, &count);
	dw_tasks_free(tasks);
}

static void what_nobody_waits_for_may_stay_undone(void **state)
{
	struct count counts[50] = { 0 };
	struct tasks *tasks = NULL;

	assert_int_equal(dw_tasks_new(1, &tasks, NULL), 0);
	for (size_t i = 0; i < 50; i++) {
		counts[i].task.run = count_up;
		counts[i].sleep_ns = 1000000;
		assert_int_equal(dw_tasks_offer(tasks, &counts[i].task, NULL), 0);
	}
	dw_tasks_free(tasks);
	for (size_t i = 0; i < 50; i++)
		assert_true(counts[i].runs <= 1);
}

static void a_wait_ends_in_time(void **state)
{
	struct count counts[8] = { 0 };
	struct tasks *tasks = NULL;
	struct timespec pause = { 0, 20000000 };

	assert_int_equal(dw_tasks_new(8, &tasks, NULL), 0);
	for (size_t i = 0; i < 8; i++) {
		counts[i].task.run = count_up;
		counts[i].sleep_ns = 300000000;
		assert_int_equal(dw_tasks_offer(tasks, &counts[i].task, NULL), 0);
	}
	nanosleep(&pause, NULL);
	/* If some have not been started by then, this thread runs them. */
	if (!dw_tasks_wait(tasks, &counts[7].task, WAIT_NS))
		assert_int_equal(counts[7].runs, 0);
	for (size_t i = 0; i < 8; i++)
		wait_for(tasks, &counts[i]);
	dw_tasks_free(tasks);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_are_done_once),
		cmocka_unit_test(what_was_not_offered_is_done_by_waiting),
		cmocka_unit_test(what_nobody_waits_for_may_stay_undone),
		cmocka_unit_test(a_wait_ends_in_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
