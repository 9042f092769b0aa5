/* SPDX-License-Identifier: MIT */
/*
 * base/machine/machine: processors and memory that this process may use, by sysconf(), and on
 * Linux by the affinity of the thread and the limits of control groups.
 */
#ifdef __linux__
#include <sched.h>
#endif
#include <stddef.h>
#ifndef _WIN32
#include <sys/resource.h>
#endif
#include <unistd.h>

#include <dwarfs/context.h>

#ifdef __linux__
#include "base/machine/control_group.h"
#endif

/* A process of 32 bits cannot use all memory of a larger machine: of its 4 GiB, the kernel may
 * keep 2. */
#define MAX_ADDRESS_BYTES (SIZE_MAX / 2)

static long count_processors(void)
{
#ifdef __linux__
	cpu_set_t allowed; /* of up to 1024 */

	if (sched_getaffinity(0, sizeof(allowed), &allowed) == 0)
		return CPU_COUNT(&allowed);
#endif
	return sysconf(_SC_NPROCESSORS_ONLN);
}

uint32_t dwarfs_usable_processors(void)
{
	long allowed = count_processors();
	uint32_t count = allowed > 0 ? (uint32_t)allowed : 1;
#ifdef __linux__
	struct control_group_limits limits;

	if (count == 1)
		return count;
	dw_control_group_limits("", &limits);
	if (limits.processors < count)
		count = limits.processors;
#endif
	return count;
}

/* The limit of the address space of this process, as by `ulimit -v`. */
static uint64_t limit_of_addresses(void)
{
#ifdef RLIMIT_AS
	struct rlimit limit;

	if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
		return limit.rlim_cur;
#endif
	return UINT64_MAX;
}

uint64_t dwarfs_usable_memory(void)
{
	long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
	uint64_t bytes = MAX_ADDRESS_BYTES, limit;

	if (pages > 0 && page_bytes > 0 &&
	    (uint64_t)pages < MAX_ADDRESS_BYTES / (uint64_t)page_bytes)
		bytes = (uint64_t)pages * (uint64_t)page_bytes;
#ifdef __linux__
	struct control_group_limits limits;

	dw_control_group_limits("", &limits);
	if (limits.memory_bytes < bytes)
		bytes = limits.memory_bytes;
#endif
	limit = limit_of_addresses();
	return limit < bytes ? limit : bytes;
}
