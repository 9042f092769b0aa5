/* SPDX-License-Identifier: MIT */
/*
 * Tests of children that have to notice that they are new processes: they need pages that the
 * kernel wipes.
 */
#ifndef TESTS_SUPPORT_WIPED_PAGES_H
#define TESTS_SUPPORT_WIPED_PAGES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* The emulator qemu-user 7.2 accepts MADV_WIPEONFORK without doing it. */
static inline bool pages_can_be_wiped_by_fork(void)
{
	const size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
	uint8_t *page = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pid_t child;
	int status;

	if (page == MAP_FAILED || madvise(page, bytes, MADV_WIPEONFORK) != 0)
		return true; /* the test says why */
	*page = 1;
	child = fork();
	if (child == 0)
		_exit(*page);
	if (child < 0 || waitpid(child, &status, 0) != child)
		return true;
	munmap(page, bytes);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* At the beginning of a case that needs them. */
static inline void skip_without_wiped_pages(void)
{
	if (pages_can_be_wiped_by_fork())
		return;
	printf("# the emulator ignores MADV_WIPEONFORK\n");
	skip();
}

#endif
