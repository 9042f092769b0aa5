/* SPDX-License-Identifier: MIT */
/*
 * base/machine/machine: processors and memory that this process may use.
 */
#ifndef DW_BASE_MACHINE_MACHINE_H
#define DW_BASE_MACHINE_MACHINE_H

#include <stdint.h>

/* As dwarfs_usable_processors() and dwarfs_usable_memory() return them. */
struct machine {
	uint32_t processors;
	uint64_t memory_bytes;
};

/* Both at once: on Linux the files of control groups are read once. */
struct machine dw_machine(void);

#endif
