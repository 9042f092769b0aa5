/* SPDX-License-Identifier: MIT */
/*
 * os/system_name for Windows. Windows reports at most version 6.2 to programs without a
 * manifest.
 */
#include <stdio.h>

#include "os/system_name.h"
#include "os/windows/wide_path.h"

void dw_os_system_name(char *text, size_t size)
{
	const DWORD version = GetVersion();
	SYSTEM_INFO info;

	GetNativeSystemInfo(&info);
	snprintf(text, size, "Windows-%u.%u [%s]", LOBYTE(LOWORD(version)),
		 HIBYTE(LOWORD(version)),
		 info.wProcessorArchitecture == PROCESSOR_ARCHITECTURE_AMD64   ? "x86_64"
		 : info.wProcessorArchitecture == PROCESSOR_ARCHITECTURE_ARM64 ? "aarch64"
									       : "x86");
}
