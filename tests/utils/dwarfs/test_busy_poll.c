/* SPDX-License-Identifier: MIT */
/*
 * utils/dwarfs/busy_poll: when a thread polls for the next request.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dwarfs/busy_poll.h"

#define SOON	   (BUSY_POLL_NS / 2)
#define LATE	   (BUSY_POLL_NS * 2)
#define MANY	   100000
#define LONG_PAUSE 3000000 /* ns */

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

/* A state in which the thread polls. */
static struct busy_poll polling(void)
{
	struct busy_poll poll = { 0 };

	for (int i = 0; i < 4; i++)
		busy_poll_note(&poll, SOON);
	assert_true(busy_poll_is_due(&poll));
	return poll;
}

static void a_poll_in_vain_now_and_then_does_no_harm(void **state)
{
	struct busy_poll poll = polling();

	(void)state;
	for (int i = 0; i < MANY; i++) {
		busy_poll_note_end(&poll, i % 20 != 0, i % 100 == 0 ? LONG_PAUSE : 1000);
		assert_false(busy_poll_is_refused(&poll));
	}
}

/* Requests for which polling is refused after many polls were in vain, or had pauses. */
static int refused_requests(struct busy_poll *poll, bool found, int64_t pause)
{
	int requests = 0;

	for (int i = 0; !busy_poll_is_refused(poll); i++) {
		assert_in_range(i, 0, 20);
		busy_poll_note_end(poll, found, pause);
	}
	assert_false(busy_poll_is_due(poll));
	for (; busy_poll_is_refused(poll); requests++)
		busy_poll_note(poll, SOON);
	assert_true(busy_poll_is_due(poll));
	return requests;
}

static void polls_in_vain_or_with_pauses_end_polling_for_longer_and_longer(void **state)
{
	(void)state;
	for (int has_pauses = 0; has_pauses < 2; has_pauses++) {
		struct busy_poll poll = polling();
		int64_t pause = has_pauses ? LONG_PAUSE : 1000;
		int first = refused_requests(&poll, has_pauses, pause), last = first;

		assert_in_range(first, 500, 5000);
		for (int i = 0; i < 12; i++) {
			int requests = refused_requests(&poll, has_pauses, pause);

			assert_true(requests == 2 * last || i > 4);
			last = requests;
		}
		assert_in_range(last, 16 * first, 100 * first);
		/* Many requests for which polling was not refused. */
		for (int i = 0; i < MANY; i++)
			busy_poll_note(&poll, SOON);
		assert_int_equal(refused_requests(&poll, has_pauses, pause), first);
	}
}

static void forced_polling_is_never_refused(void **state)
{
	struct busy_poll poll = { .is_forced = true };

	(void)state;
	for (int i = 0; i < MANY; i++) {
		assert_true(busy_poll_is_due(&poll));
		assert_false(busy_poll_is_refused(&poll));
		busy_poll_note(&poll, LATE);
		busy_poll_note_end(&poll, false, LONG_PAUSE);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_that_come_soon_are_polled_for),
		cmocka_unit_test(one_late_request_ends_polling_until_two_come_soon),
		cmocka_unit_test(requests_that_are_always_late_are_not_polled_for),
		cmocka_unit_test(forced_polling_is_never_refused),
		cmocka_unit_test(a_poll_in_vain_now_and_then_does_no_harm),
		cmocka_unit_test(
			polls_in_vain_or_with_pauses_end_polling_for_longer_and_longer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
