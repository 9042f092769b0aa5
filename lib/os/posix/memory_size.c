/* SPDX-License-Identifier: MIT */
/*
 * os/memory_size: memory of this process, by /proc.
 */
#include <fcntl.h>
#include <limits.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#ifdef __linux__
#include <sys/syscall.h>
#endif
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "os/memory_size.h"

/* The second number in /proc/self/statm counts resident pages. */
uint64_t dw_os_resident_bytes(void)
{
	int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	long page_bytes = sysconf(_SC_PAGESIZE);
	char text[128];
	const char *second;
	ssize_t got;

	if (fd < 0)
		return 0;
	got = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (got <= 0 || page_bytes <= 0)
		return 0;
	text[got] = '\0';
	second = strchr(text, ' ');
	return second ? strtoull(second, NULL, 10) * (uint64_t)page_bytes : 0;
}

#ifdef __GLIBC__
/*
 * Where a program has another malloc(), glibc's is first used by malloc_trim(), which
 * initialises it without a lock: two threads that did so at once would damage its arena. So
 * it is initialised while the library is loaded, by mallopt() with a parameter that does not
 * exist: that sets nothing, and does not walk the heap of the program, as malloc_trim() would.
 */
static __attribute__((constructor)) void initialise_malloc_of_glibc(void)
{
	mallopt(INT_MIN, 0);
}
#endif

void dw_os_trim(void)
{
#ifdef __GLIBC__
	malloc_trim(0);
#endif
}

void dw_os_be_nice(int niceness)
{
#ifdef __linux__
	/* On Linux each thread has its own priority. */
	if (niceness != 0)
		(void)setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), niceness);
#else
	(void)niceness;
#endif
}
