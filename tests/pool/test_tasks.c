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

static void take_a_pause(void)
{
	struct timespec pause = { 0, WAIT_NS };

	nanosleep(&pause, NULL);
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

struct held {
	struct task task;
	atomic_bool started, may_end;
};

static void hold(struct task *task)
{
	struct held *held = (struct held *)task;

	atomic_store(&held->started, true);
	while (!atomic_load(&held->may_end))
		take_a_pause();
}

static void a_wait_ends_in_time(void **state)
{
	struct held held = { .task.run = hold };
	struct tasks *tasks = NULL;

	assert_int_equal(dw_tasks_new(1, &tasks, NULL), 0);
	assert_int_equal(dw_tasks_offer(tasks, &held.task, NULL), 0);
	while (!atomic_load(&held.started))
		take_a_pause();
	for (int i = 0; i < 3; i++)
		assert_false(dw_tasks_wait(tasks, &held.task, WAIT_NS));
	atomic_store(&held.may_end, true);
	while (!dw_tasks_wait(tasks, &held.task, WAIT_NS))
		continue;
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
