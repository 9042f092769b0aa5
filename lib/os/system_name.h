/* SPDX-License-Identifier: MIT */
/*
 * os/system_name: what the operating system calls itself, for the history of an image.
 */
#ifndef DW_OS_SYSTEM_NAME_H
#define DW_OS_SYSTEM_NAME_H

#include <stddef.h>

/* Name, release and machine, as "Linux-6.1.0 [x86_64]"; cut off at the size. */
void dw_os_system_name(char *text, size_t size);

#endif
