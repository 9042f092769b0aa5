/* SPDX-License-Identifier: MIT */
/*
 * write/input/descriptor_users: a thread without a descriptor waits for those that have
 * some, and fails when there are none.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <sched.h>

#include "write/input/descriptor_users.h"

enum { THREADS = 8, FILES = 200 };

/* A system of so many descriptors. */
struct lab {
	struct descriptor_users users;
	atomic_int free;
	atomic_uint opened;
	atomic_bool failed;
};

static int take_one(void *user, uint32_t entry, int *fd_out)
{
	struct lab *lab = user;

	if (atomic_fetch_sub(&lab->free, 1) <= 0) {
		atomic_fetch_add(&lab->free, 1);
		return entry % 2 ? -EMFILE : -ENFILE;
	}
	*fd_out = (int)entry;
	return 0;
}

static void *open_files(void *pointer)
{
	struct lab *lab = pointer;

	dw_descriptor_users_enter(&lab->users);
	for (uint32_t i = 0; i < FILES; i++) {
		int fd = -1;

		if (dw_descriptor_users_open(&lab->users, take_one, lab, i, &fd) < 0 ||
		    fd != (int)i) {
			atomic_store(&lab->failed, true);
			continue;
		}
		atomic_fetch_add(&lab->opened, 1);
		if (i % 16 == 0)
			sched_yield();
		atomic_fetch_add(&lab->free, 1);
		if (dw_descriptor_users_waiting(&lab->users))
			dw_descriptor_users_notify(&lab->users);
	}
	dw_descriptor_users_leave(&lab->users);
	return NULL;
}

static void threads_wait_for_each_other(void **state)
{
	pthread_t threads[THREADS];

	(void)state;
	for (int descriptors = 1; descriptors < 4; descriptors++) {
		struct lab lab = { .free = descriptors };

		assert_int_equal(dw_descriptor_users_init(&lab.users), 0);
		for (int i = 0; i < THREADS; i++)
			assert_int_equal(
				pthread_create(&threads[i], NULL, open_files, &lab), 0);
		for (int i = 0; i < THREADS; i++)
			assert_int_equal(pthread_join(threads[i], NULL), 0);
		assert_false(lab.failed);
		assert_int_equal(lab.opened, THREADS * FILES);
		assert_int_equal(lab.users.count, 0);
		dw_descriptor_users_destroy(&lab.users);
	}
}

static void *fail_to_open(void *pointer)
{
	struct lab *lab = pointer;
	int fd;

	dw_descriptor_users_enter(&lab->users);
	if (dw_descriptor_users_open(&lab->users, take_one, lab, 1, &fd) != -EMFILE)
		atomic_store(&lab->failed, true);
	dw_descriptor_users_leave(&lab->users);
	return NULL;
}

static void nothing_to_wait_for_is_an_error(void **state)
{
	struct lab lab = { .free = 0 };
	pthread_t threads[THREADS];

	(void)state;
	assert_int_equal(dw_descriptor_users_init(&lab.users), 0);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, fail_to_open, &lab),
				 0);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	assert_false(lab.failed);
	dw_descriptor_users_destroy(&lab.users);
}

static int find_nothing(void *user, uint32_t entry, int *fd_out)
{
	(void)entry;
	(void)fd_out;
	++*(int *)user;
	return -ENOENT;
}

static void other_errors_are_returned_at_once(void **state)
{
	struct descriptor_users users;
	int fd, calls = 0;

	(void)state;
	assert_int_equal(dw_descriptor_users_init(&users), 0);
	dw_descriptor_users_enter(&users);
	dw_descriptor_users_enter(&users);
	assert_int_equal(dw_descriptor_users_open(&users, find_nothing, &calls, 1, &fd),
			 -ENOENT);
	assert_int_equal(calls, 1);
	dw_descriptor_users_destroy(&users);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_wait_for_each_other),
		cmocka_unit_test(nothing_to_wait_for_is_an_error),
		cmocka_unit_test(other_errors_are_returned_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
