/* SPDX-License-Identifier: MIT */
/*
 * base/version: the version of the library that is running.
 */
#include <dwarfs/api.h>

#define TEXT(x)			     #x
#define VERSION(major, minor, patch) TEXT(major) "." TEXT(minor) "." TEXT(patch)

const char *dwarfs_version_string(void)
{
	return VERSION(DWARFS_VERSION_MAJOR, DWARFS_VERSION_MINOR, DWARFS_VERSION_PATCH);
}

uint32_t dwarfs_version_number(void)
{
	return DWARFS_VERSION_NUMBER;
}
