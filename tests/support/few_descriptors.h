/* SPDX-License-Identifier: MIT */
/*
 * A limit for the descriptors of this process.
 */
#ifndef TESTS_SUPPORT_FEW_DESCRIPTORS_H
#define TESTS_SUPPORT_FEW_DESCRIPTORS_H

#include <stdbool.h>
#include <sys/resource.h>
#include <unistd.h>

/* Let this many more be opened, where no descriptor is closed: the old limit. */
static inline struct rlimit leave_descriptors(unsigned count)
{
	struct rlimit old, few;
	int opened[64], last = -1;

	for (unsigned i = 0; i <= count; i++)
		last = opened[i] = dup(0);
	for (unsigned i = 0; i <= count; i++)
		close(opened[i]);
	getrlimit(RLIMIT_NOFILE, &old);
	few = old;
	few.rlim_cur = (rlim_t)last;
	setrlimit(RLIMIT_NOFILE, &few);
	return old;
}

/* Whether none is left. valgrind has no such limit. */
static inline bool has_no_descriptor(void)
{
	int fd = dup(0);

	if (fd >= 0)
		close(fd);
	return fd < 0;
}

static inline void allow_descriptors(struct rlimit old)
{
	setrlimit(RLIMIT_NOFILE, &old);
}

#endif
