/* SPDX-License-Identifier: MIT */
/*
 * os/memory_size for Windows.
 */
#include "os/memory_size.h"
#include "os/windows/wide_path.h"

#include <psapi.h>

uint64_t dw_os_resident_bytes(void)
{
	PROCESS_MEMORY_COUNTERS counters;

	return K32GetProcessMemoryInfo(GetCurrentProcess(), &counters, sizeof(counters))
		       ? counters.WorkingSetSize
		       : 0;
}

void dw_os_trim(void)
{
}

void dw_os_be_nice(int niceness)
{
	if (niceness != 0)
		SetThreadPriority(GetCurrentThread(),
				  niceness > 0 ? THREAD_PRIORITY_BELOW_NORMAL
					       : THREAD_PRIORITY_NORMAL);
}
