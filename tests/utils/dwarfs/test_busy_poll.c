/* SPDX-License-Identifier: MIT */
/*
 * utils/dwarfs/busy_poll: when a thread polls for the next request.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dwarfs/busy_poll.h"

#define SOON (BUSY_POLL_NS / 2)
#define LATE (BUSY_POLL_NS * 2)
#define MANY 100000

static void requests_that_come_soon_are_polled_for(void **state)
{
	struct busy_poll poll = { 0 };

	(void)state;
	assert_false(busy_poll_is_due(&poll));
	busy_poll_note(&poll, SOON);
	assert_false(busy_poll_is_due(&poll));
	for (int i = 0; i < MANY; i++) {
		busy_poll_note(&poll, SOON);
		assert_true(busy_poll_is_due(&poll));
	}
}

static void one_late_request_ends_polling_until_two_come_soon(void **state)
{
	struct busy_poll poll = { 0 };

	(void)state;
	for (int i = 0; i < 4; i++)
		busy_poll_note(&poll, SOON);
	busy_poll_note(&poll, LATE);
	assert_false(busy_poll_is_due(&poll));
	busy_poll_note(&poll, SOON);
	assert_false(busy_poll_is_due(&poll));
	busy_poll_note(&poll, SOON);
	assert_true(busy_poll_is_due(&poll));
}

/* At most one poll without a request for each late one, however regular they are. */
static void requests_that_are_always_late_are_not_polled_for(void **state)
{
	struct busy_poll poll = { 0 };

	(void)state;
	for (int i = 0; i < MANY; i++) {
		assert_false(busy_poll_is_due(&poll));
		busy_poll_note(&poll, LATE);
	}
}

static void a_thread_that_has_to_wait_for_its_cpu_does_not_poll_for_a_while(void **state)
{
	struct busy_poll poll = { 0 };
	int requests = 0;

	(void)state;
	for (int i = 0; i < 4; i++)
		busy_poll_note(&poll, SOON);
	busy_poll_note_pause(&poll, 1000);
	assert_true(busy_poll_is_due(&poll));
	busy_poll_note_pause(&poll, 3000000);
	for (; !busy_poll_is_due(&poll); requests++)
		busy_poll_note(&poll, SOON);
	assert_in_range(requests, 100, 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_that_come_soon_are_polled_for),
		cmocka_unit_test(one_late_request_ends_polling_until_two_come_soon),
		cmocka_unit_test(requests_that_are_always_late_are_not_polled_for),
		cmocka_unit_test(
			a_thread_that_has_to_wait_for_its_cpu_does_not_poll_for_a_while),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
