/* SPDX-License-Identifier: MIT */
/*
 * pool/tasks: each runs once, by a worker or by the thread that waits for it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
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

/* So that a program that has little to do starts no threads. */
static void two_tasks_are_done_by_waiting(void **state)
{
	struct count counts[40] = { 0 };
	struct tasks *tasks = NULL;

	assert_int_equal(dw_tasks_new(4, &tasks, NULL), 0);
	for (size_t i = 0; i < 40; i += 2) {
		for (size_t k = i; k < i + 2; k++) {
			counts[k].task.run = count_up;
			assert_int_equal(dw_tasks_offer(tasks, &counts[k].task, NULL), 0);
		}
		take_a_pause(); /* in which a thread would run them */
		assert_int_equal(counts[i].runs + counts[i + 1].runs, 0);
		wait_for(tasks, &counts[i]);
		wait_for(tasks, &counts[i + 1]);
	}
	dw_tasks_free(tasks);
}

struct held {
	struct task task;
	pthread_t waiting; /* runs what it finds at once */
	atomic_bool started;
	const atomic_bool *may_end;
};

static void hold(struct task *task)
{
	struct held *held = (struct held *)task;

	if (pthread_equal(pthread_self(), held->waiting))
		return;
	atomic_store(&held->started, true);
	while (!atomic_load(held->may_end))
		take_a_pause();
}

/* A task that another thread has started. So many are offered that one is woken. */
static struct held *find_started(struct held *held, size_t count)
{
	for (;;) {
		for (size_t i = 0; i < count; i++)
			if (atomic_load(&held[i].started))
				return &held[i];
		take_a_pause();
	}
}

static void a_wait_ends_in_time(void **state)
{
	atomic_bool may_end = false;
	struct held held[8] = { 0 };
	struct tasks *tasks = NULL;
	struct held *started;

	assert_int_equal(dw_tasks_new(2, &tasks, NULL), 0);
	for (size_t i = 0; i < 8; i++) {
		held[i].task.run = hold;
		held[i].waiting = pthread_self();
		held[i].may_end = &may_end;
		assert_int_equal(dw_tasks_offer(tasks, &held[i].task, NULL), 0);
	}
	started = find_started(held, 8);
	for (int i = 0; i < 3; i++)
		assert_false(dw_tasks_wait(tasks, &started->task, WAIT_NS));
	atomic_store(&may_end, true);
	for (size_t i = 0; i < 8; i++)
		while (!dw_tasks_wait(tasks, &held[i].task, WAIT_NS))
			continue;
	dw_tasks_free(tasks);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_are_done_once),
		cmocka_unit_test(what_was_not_offered_is_done_by_waiting),
		cmocka_unit_test(what_nobody_waits_for_may_stay_undone),
		cmocka_unit_test(two_tasks_are_done_by_waiting),
		cmocka_unit_test(a_wait_ends_in_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
