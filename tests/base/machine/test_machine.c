/* SPDX-License-Identifier: MIT */
/*
 * base/machine/machine: what this process may use. Limits of control groups are in
 * test_control_group.c.
 */
#ifdef __linux__
#include <sched.h>
#endif
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#ifndef _WIN32
#include <sys/resource.h>
#endif
#include <unistd.h>

#include <cmocka.h>

#include <dwarfs/context.h>

static void processors_are_those_of_the_machine_at_most(void **state)
{
	assert_in_range(dwarfs_usable_processors(), 1,
			(uint64_t)sysconf(_SC_NPROCESSORS_ONLN));
}

#ifdef __linux__
static void affinity_counts(void **state)
{
	cpu_set_t before, one;

	if (sched_getaffinity(0, sizeof(before), &before) != 0)
		skip();
	CPU_ZERO(&one);
	for (size_t i = 0; CPU_COUNT(&one) == 0; i++)
		if (CPU_ISSET(i, &before))
			CPU_SET(i, &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	assert_int_equal(dwarfs_usable_processors(), 1);
	assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
}
#endif

static void memory_is_that_of_the_machine_at_most(void **state)
{
	uint64_t machine =
		(uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t addresses = (uint64_t)(SIZE_MAX / 2) + 1;

	assert_in_range(dwarfs_usable_memory(), 1 << 20,
			machine < addresses ? machine : addresses);
}

#ifdef RLIMIT_AS
static void a_limit_of_addresses_counts(void **state)
{
	uint64_t most = (uint64_t)1 << 30;
	struct rlimit before, limit;

	assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
	limit = before;
	if (dwarfs_usable_memory() <= most)
		skip();
	limit.rlim_cur = most;
	assert_int_equal(setrlimit(RLIMIT_AS, &limit), 0);
	/* qemu-user ignores this limit. */
	if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur != most)
		skip();
	assert_int_equal(dwarfs_usable_memory(), most);
	assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(processors_are_those_of_the_machine_at_most),
#ifdef __linux__
		cmocka_unit_test(affinity_counts),
#endif
		cmocka_unit_test(memory_is_that_of_the_machine_at_most),
#ifdef RLIMIT_AS
		cmocka_unit_test(a_limit_of_addresses_counts),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
