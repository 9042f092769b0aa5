/* SPDX-License-Identifier: MIT */
/*
 * utils/dwarfs/descriptors: which descriptors are closed, by close_range() and without it.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "dwarfs/mount.h"

#define CHILD_CANNOT 77

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

/* Have close_range() fail as a kernel without it does. */
static int refuse_close_range(void)
{
#ifdef SYS_close_range
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_close_range, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(*code), code };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) ||
	       syscall(SYS_close_range, ~0u, ~0u, 0) == 0 || errno != ENOSYS;
#else
	return 0;
#endif
}

/* In a process of its own: 0 if the right ones were closed. */
static int close_some(bool by_range)
{
	struct descriptors keep = { .count = 0 };
	struct rlimit limit;
	int first = open("/dev/null", O_RDWR), high, second;

	getrlimit(RLIMIT_NOFILE, &limit);
	if (limit.rlim_max > 3000)
		limit.rlim_cur = 3000;
	setrlimit(RLIMIT_NOFILE, &limit);
	high = fcntl(first, F_DUPFD, (int)(limit.rlim_cur - 1));
	second = dup(first);
	descriptors_keep(&keep, second);
	descriptors_keep_path(&keep, "/dev/fd/40");
	descriptors_keep_path(&keep, "/proc/self/fd/41");
	descriptors_keep_path(&keep, "/dev/fx/42");
	descriptors_keep_path(&keep, NULL);
	for (int fd = 39; fd <= 42; fd++)
		dup2(first, fd);
	if (!by_range && refuse_close_range() != 0)
		return CHILD_CANNOT;
	if (!is_open(high) || !is_open(39))
		return 1;
	descriptors_close(&keep);
	return !is_open(STDIN_FILENO) || !is_open(STDERR_FILENO) || !is_open(second) ||
	       !is_open(40) || !is_open(41) || is_open(first) || is_open(39) ||
	       is_open(42) || is_open(high);
}

static void check(bool by_range)
{
	const pid_t child = fork();
	int status;

	assert_true(child >= 0);
	if (child == 0)
		_exit(close_some(by_range));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == CHILD_CANNOT)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void all_but_those_to_keep_are_closed(void **state)
{
	(void)state;
	check(true);
}

static void also_without_close_range(void **state)
{
	(void)state;
	check(false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_but_those_to_keep_are_closed),
		cmocka_unit_test(also_without_close_range),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
