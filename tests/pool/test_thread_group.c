/* SPDX-License-Identifier: MIT */
/*
 * pool/thread_group: each worker runs once, with its own number, and is joined.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>
#include <cmocka.h>

#include "pool/thread_group.h"

#define MOST_THREADS 20

struct seen {
	atomic_uint times[MOST_THREADS];
	atomic_uint all, polls;
	bool waits; /* the condition that a worker waits for */
};

static void run(void *user, uint32_t thread)
{
	struct seen *seen = user;
	struct timespec little = { .tv_nsec = 1000000 };

	atomic_fetch_add(&seen->all, 1);
	if (thread < MOST_THREADS)
		atomic_fetch_add(&seen->times[thread], 1);
	while (seen->waits && atomic_load(&seen->polls) == 0)
		nanosleep(&little, NULL);
}

static void poll(void *user)
{
	struct seen *seen = user;

	atomic_fetch_add(&seen->polls, 1);
}

static void each_thread_runs_once(void **state)
{
	static const struct thread_group_ops ops = { .run = run };

	for (uint32_t threads = 0; threads <= MOST_THREADS; threads++) {
		struct seen seen = { .waits = false };
		uint32_t expected = threads ? threads : 1;

		assert_int_equal(dw_thread_group_run(&ops, &seen, threads, NULL), 0);
		assert_int_equal(seen.all, expected);
		for (uint32_t i = 0; i < MOST_THREADS; i++)
			assert_int_equal(seen.times[i], i < expected);
	}
}

static void the_caller_polls_meanwhile(void **state)
{
	static const struct thread_group_ops ops = { .run = run, .poll = poll };
	struct seen seen = { .waits = true };

	assert_int_equal(dw_thread_group_run(&ops, &seen, 3, NULL), 0);
	assert_int_equal(seen.all, 3);
	assert_true(seen.polls > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_thread_runs_once),
		cmocka_unit_test(the_caller_polls_meanwhile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
