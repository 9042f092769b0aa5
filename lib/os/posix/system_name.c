/* SPDX-License-Identifier: MIT */
/*
 * os/system_name for POSIX: uname().
 */
#include <stdio.h>
#include <sys/utsname.h>

#include "os/system_name.h"

void dw_os_system_name(char *text, size_t size)
{
	struct utsname system = { 0 };

	uname(&system);
	snprintf(text, size, "%s-%s [%s]", system.sysname, system.release,
		 system.machine);
}
