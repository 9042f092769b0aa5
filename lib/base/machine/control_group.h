/* SPDX-License-Identifier: MIT */
/*
 * base/machine/control_group: limits that a container, or a service, has by its control group.
 */
#ifndef DW_BASE_MACHINE_CONTROL_GROUP_H
#define DW_BASE_MACHINE_CONTROL_GROUP_H

#include <stdint.h>

/* UINT32_MAX and UINT64_MAX: no limit. */
struct control_group_limits {
	uint32_t processors; /* a quota of processor time, rounded up; at least 1 */
	uint64_t memory_bytes;
};

/*
 * Limits of this process.
 *
 * root: what is before "/proc" and "/sys" in paths: "" but for tests. What cannot be read sets no
 * limit.
 */
void dw_control_group_limits(const char *root, struct control_group_limits *limits_out);

#endif
