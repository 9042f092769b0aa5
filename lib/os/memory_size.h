/* SPDX-License-Identifier: MIT */
/*
 * os/memory_size: memory of this process, and the priority of a thread.
 */
#ifndef DW_OS_MEMORY_SIZE_H
#define DW_OS_MEMORY_SIZE_H

#include <stdint.h>

/* Resident bytes of the process; 0 if unknown. */
uint64_t dw_os_resident_bytes(void);

/* Let the allocator return freed memory to the system. */
void dw_os_trim(void);

/* Lower the priority of this thread, as nice(1) does for a process. No effect if that
 * is not possible. */
void dw_os_be_nice(int niceness);

#endif
