/* SPDX-License-Identifier: MIT */
/*
 * pool/crew: each worker runs once, with its own number, and is joined.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>
#include <cmocka.h>

#include "pool/crew.h"

#define MOST 20

struct seen {
	atomic_uint times[MOST];
	atomic_uint all, looks;
	bool waits; /* the condition that a worker waits for */
};

static void work(void *user, uint32_t member)
{
	struct seen *seen = user;
	struct timespec little = { .tv_nsec = 1000000 };

	atomic_fetch_add(&seen->all, 1);
	if (member < MOST)
		atomic_fetch_add(&seen->times[member], 1);
	while (seen->waits && atomic_load(&seen->looks) == 0)
		nanosleep(&little, NULL);
}

static void look(void *user)
{
	struct seen *seen = user;

	atomic_fetch_add(&seen->looks, 1);
}

static void everybody_works_once(void **state)
{
	static const struct crew_ops ops = { .work = work };

	for (uint32_t threads = 0; threads <= MOST; threads++) {
		struct seen seen = { .waits = false };
		uint32_t members = threads ? threads : 1;

		assert_int_equal(dw_crew_run(&ops, &seen, threads, NULL), 0);
		assert_int_equal(seen.all, members);
		for (uint32_t i = 0; i < MOST; i++)
			assert_int_equal(seen.times[i], i < members);
	}
}

static void the_caller_looks_meanwhile(void **state)
{
	static const struct crew_ops ops = { .work = work, .look = look };
	struct seen seen = { .waits = true };

	assert_int_equal(dw_crew_run(&ops, &seen, 3, NULL), 0);
	assert_int_equal(seen.all, 3);
	assert_true(seen.looks > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everybody_works_once),
		cmocka_unit_test(the_caller_looks_meanwhile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
