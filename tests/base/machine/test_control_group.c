/* SPDX-License-Identifier: MIT */
/*
 * base/machine/control_group: limits from files as version 1 and 2 have them, made below a directory.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <limits.h>

#include "base/machine/control_group.h"
#include "support/temporary.h"

struct file {
	const char *path, *text;
};

static char root[TEMPORARY_BYTES];

static int make_root(void **state)
{
	return temporary_folder(root, "dwarfs-groups") ? 0 : -1;
}

static int remove_root(void **state)
{
	char command[TEMPORARY_BYTES + 16];

	snprintf(command, sizeof(command), "rm -r '%s'", root);
	return system(command) == 0 ? 0 : -1;
}

/* Make files with their directories, and get the limits that they set. */
static struct control_group_limits limits_of(const struct file *files, size_t count)
{
	struct control_group_limits limits;

	for (size_t i = 0; i < count; i++) {
		char command[1024];

		snprintf(command, sizeof(command),
			 "f='%s/%s'; mkdir -p \"${f%%/*}\" && printf %%b '%s' >\"$f\"",
			 root, files[i].path, files[i].text);
		assert_int_equal(system(command), 0);
	}
	dw_control_group_limits(root, &limits);
	return limits;
}

#define LIMITS_OF(...)                                                                   \
	limits_of((const struct file[]){ __VA_ARGS__ },                                  \
		  sizeof((const struct file[]){ __VA_ARGS__ }) / sizeof(struct file))

#define assert_limits(of, processor_count, bytes)                                        \
	do {                                                                             \
		struct control_group_limits limits_ = of;                                \
		assert_int_equal(limits_.processors, processor_count);                   \
		assert_true(limits_.memory_bytes == (bytes));                            \
	} while (0)

static void nothing_is_no_limit(void **state)
{
	assert_limits(limits_of(NULL, 0), UINT32_MAX, UINT64_MAX);
	assert_limits(LIMITS_OF({ "proc/self/cgroup", "0::/a\\n" }), UINT32_MAX,
		      UINT64_MAX);
}

static void groups_above_count(void **state)
{
	assert_limits(LIMITS_OF({ "proc/self/cgroup", "0::/a/b\\n" },
				{ "sys/fs/cgroup/a/b/cpu.max", "max 100000\\n" },
				{ "sys/fs/cgroup/a/b/memory.max", "3000000\\n" },
				{ "sys/fs/cgroup/a/cpu.max", "250000 100000\\n" },
				{ "sys/fs/cgroup/a/memory.max", "max\\n" }),
		      3, 3000000);
	assert_limits(LIMITS_OF({ "sys/fs/cgroup/a/b/cpu.max", "100000 100000\\n" },
				{ "sys/fs/cgroup/a/memory.max", "2000000\\n" }),
		      1, 2000000);
}

/* Less than one processor is one. */
static void a_part_is_one_processor(void **state)
{
	assert_limits(LIMITS_OF({ "proc/self/cgroup", "0::/\\n" },
				{ "sys/fs/cgroup/cpu.max", "1000 100000\\n" }),
		      1, UINT64_MAX);
}

/* A container sees its own group as the root, but may get the path from the real one. */
static void groups_that_are_not_seen_are_passed_over(void **state)
{
	assert_limits(LIMITS_OF({ "proc/self/cgroup", "0::/docker/4f1e\\n" },
				{ "sys/fs/cgroup/cpu.max", "400000 100000\\n" },
				{ "sys/fs/cgroup/memory.max", "536870912\\n" }),
		      4, 536870912);
	assert_limits(LIMITS_OF({ "proc/self/cgroup", "0::/../../other\\n" },
				{ "sys/fs/cgroup/cpu.max", "500000 100000\\n" }),
		      5, 536870912);
}

static void version_1_has_controllers(void **state)
{
	assert_limits(
		LIMITS_OF(
			{ "proc/self/cgroup", "5:cpuset:/c\\n4:memory:/m\\n"
					      "2:cpuacct,cpu:/c/d\\n"
					      "1:name=systemd:/x\\n0::/\\n" },
			{ "sys/fs/cgroup/cpu/c/d/cpu.cfs_quota_us", "-1\\n" },
			{ "sys/fs/cgroup/cpu/c/d/cpu.cfs_period_us", "100000\\n" },
			{ "sys/fs/cgroup/cpu/c/cpu.cfs_quota_us", "75000\\n" },
			{ "sys/fs/cgroup/cpu/c/cpu.cfs_period_us", "50000\\n" },
			{ "sys/fs/cgroup/memory/m/memory.limit_in_bytes", "4096000\\n" },
			{ "sys/fs/cgroup/memory/memory.limit_in_bytes",
			  "9223372036854771712\\n" }),
		2, 4096000);
	/* "cpuset" is another controller, and so is a name that ends as one. */
	assert_limits(LIMITS_OF({ "proc/self/cgroup", "5:cpuset:/c\\n1:xmemory:/m\\n" }),
		      UINT32_MAX, UINT64_MAX);
}

static void nonsense_is_no_limit(void **state)
{
	static const char *const texts[] = {
		"",	     "100000",	  "-5 100000", "5 0", "x y",
		"100000 -1", "100000\\n", " ",	       "0 1",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_limits(LIMITS_OF({ "proc/self/cgroup", "x\\n0:\\n:\\n\\n0::/\\n" },
					{ "sys/fs/cgroup/cpu.max", texts[i] },
					{ "sys/fs/cgroup/memory.max", "max\\n" }),
			      UINT32_MAX, UINT64_MAX);
	assert_limits(
		LIMITS_OF({ "sys/fs/cgroup/cpu.max", "99999999999999999999 100000\\n" },
			  { "sys/fs/cgroup/memory.max", "99999999999999999999\\n" }),
		UINT32_MAX, UINT64_MAX);
}

/* Lines that do not fit are left out, paths that do not fit have no limit. */
static void long_lines_are_survived(void **state)
{
	char path[2 * PATH_MAX], text[2 * PATH_MAX + 64];
	FILE *file;

	limits_of((const struct file[]){ { "proc/self/cgroup", "" },
					 { "sys/fs/cgroup/cpu.max", "7 1" } },
		  2);
	snprintf(path, sizeof(path), "%s/proc/self/cgroup", root);
	memset(text, 'a', sizeof(text));
	memcpy(text, "0::/", 4);
	for (size_t length = 4000; length < sizeof(text) - 1; length += 100) {
		struct control_group_limits limits;

		assert_non_null(file = fopen(path, "w"));
		assert_int_equal(fwrite(text, 1, length, file), length);
		assert_int_equal(fputs("\n", file) < 0, 0);
		assert_int_equal(fclose(file), 0);
		dw_control_group_limits(root, &limits);
		/* The path of the directory, which has all of the line but "0::". */
		assert_int_equal(limits.processors,
				 strlen(root) + 14 + length - 3 < PATH_MAX ? 7
									   : UINT32_MAX);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(nothing_is_no_limit, make_root,
						remove_root),
		cmocka_unit_test_setup_teardown(groups_above_count, make_root,
						remove_root),
		cmocka_unit_test_setup_teardown(a_part_is_one_processor, make_root,
						remove_root),
		cmocka_unit_test_setup_teardown(groups_that_are_not_seen_are_passed_over,
						make_root, remove_root),
		cmocka_unit_test_setup_teardown(version_1_has_controllers, make_root,
						remove_root),
		cmocka_unit_test_setup_teardown(nonsense_is_no_limit, make_root,
						remove_root),
		cmocka_unit_test_setup_teardown(long_lines_are_survived, make_root,
						remove_root),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
