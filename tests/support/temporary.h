/* SPDX-License-Identifier: MIT */
/*
 * The folder of temporary files: TMPDIR, as scripts/check.py sets it, or /tmp.
 */
#ifndef TESTS_SUPPORT_TEMPORARY_H
#define TESTS_SUPPORT_TEMPORARY_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Enough for a folder of temporary_folder(). */
#define TEMPORARY_BYTES 64

/* Make a new folder whose name begins with `name`; its path, or NULL. */
static inline char *temporary_folder(char path[TEMPORARY_BYTES], const char *name)
{
	const char *parent = getenv("TMPDIR");

	if (!parent ||
	    strlen(parent) + strlen(name) + sizeof("/-XXXXXX") > TEMPORARY_BYTES)
		parent = "/tmp";
	snprintf(path, TEMPORARY_BYTES, "%s/%s-XXXXXX", parent, name);
	return mkdtemp(path);
}

#endif
