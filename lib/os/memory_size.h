/* SPDX-License-Identifier: MIT */
/*
 * os/memory_size: how much memory there is, and how much of it this process has.
 */
#ifndef DW_OS_MEMORY_SIZE_H
#define DW_OS_MEMORY_SIZE_H

#include <stdint.h>

/* Bytes of the machine; 0 when the system does not say. */
uint64_t dw_os_machine_bytes(void);

/* Bytes of the process that are resident now; 0 when the system does not say. */
uint64_t dw_os_resident_bytes(void);

/* Have the allocator give back what it keeps of freed memory, as far as it can. */
void dw_os_trim(void);

/* Be nice, as nice(1) is, on this thread only. Does nothing where that cannot be. */
void dw_os_be_nice(int niceness);

#endif
