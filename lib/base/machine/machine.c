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
#include "base/machine/machine.h"

/* A process of 32 bits cannot use all memory of a larger machine: of its 4 GiB, the kernel may
 * keep 2. */
#define MAX_ADDRESS_BYTES ((uint64_t)(SIZE_MAX / 2) + 1)

static long count_processors(void)
{
#ifdef __linux__
	cpu_set_t allowed; /* of up to 1024 */

	if (sched_getaffinity(0, sizeof(allowed), &allowed) == 0)
		return CPU_COUNT(&allowed);
#endif
	return sysconf(_SC_NPROCESSORS_ONLN);
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

static uint64_t count_memory(void)
{
	long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
	uint64_t limit = limit_of_addresses();

	if (limit > MAX_ADDRESS_BYTES)
		limit = MAX_ADDRESS_BYTES;
	if (pages > 0 && page_bytes > 0 && (uint64_t)pages < limit / (uint64_t)page_bytes)
		return (uint64_t)pages * (uint64_t)page_bytes;
	return limit;
}

struct machine dw_machine(void)
{
	const long processors = count_processors();
	struct machine machine = {
		.processors = processors > 0 ? (uint32_t)processors : 1,
		.memory_bytes = count_memory(),
	};
#ifdef __linux__
	struct control_group_limits limits;

	dw_control_group_limits("", &limits);
	if (limits.processors < machine.processors)
		machine.processors = limits.processors;
	if (limits.memory_bytes < machine.memory_bytes)
		machine.memory_bytes = limits.memory_bytes;
#endif
	return machine;
}

uint32_t dwarfs_usable_processors(void)
{
	return dw_machine().processors;
}

uint64_t dwarfs_usable_memory(void)
{
	return dw_machine().memory_bytes;
}
