/* SPDX-License-Identifier: MIT */
/*
 * base/machine/limits: what systems accept for owners, devices and links.
 */
#ifndef DW_BASE_MACHINE_LIMITS_H
#define DW_BASE_MACHINE_LIMITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* For chown(): leave it as it is. No user or group has this number. */
#define DW_NO_ID UINT32_MAX

/* The owner or group if the real one is invalid: the overflow ID of Linux. */
#define DW_NOBODY 65534u

/* Device numbers have 32 bits: 12 for the major and 20 for the minor one. */
#define DW_MAX_MAJOR 0xfffu
#define DW_MAX_MINOR 0xfffffu

static inline bool dw_is_device(uint64_t major, uint64_t minor)
{
	return major <= DW_MAX_MAJOR && minor <= DW_MAX_MINOR;
}

/* Of targets of symbolic links, without a NUL. */
#define DW_MAX_TARGET 4095u
#define DW_BAD_TARGET "the target of the symbolic link has %zu bytes instead of 1 to 4095"

static inline bool dw_is_target(size_t bytes)
{
	return bytes > 0 && bytes <= DW_MAX_TARGET;
}

#endif
