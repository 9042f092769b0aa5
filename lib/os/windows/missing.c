/* SPDX-License-Identifier: MIT */
/*
 * os/windows/missing: see the header; dw_qsort_r() and dw_memrchr() are in os/missing.c.
 */
#include <stdbool.h>
#include <stdint.h>

#include "os/windows/wide_path.h"

void *dw_memmem(const void *data, size_t bytes, const void *wanted, size_t wanted_bytes)
{
	const unsigned char *at = data, *end = at + bytes;

	if (wanted_bytes == 0)
		return (void *)(uintptr_t)data;
	while ((size_t)(end - at) >= wanted_bytes) {
		at = memchr(at, *(const unsigned char *)wanted,
			    (size_t)(end - at) - wanted_bytes + 1);
		if (!at)
			return NULL;
		if (memcmp(at, wanted, wanted_bytes) == 0)
			return (void *)(uintptr_t)at;
		at++;
	}
	return NULL;
}

char *dw_strsep(char **text, const char *ends)
{
	char *part = *text, *end;

	if (!part)
		return NULL;
	end = part + strcspn(part, ends);
	*text = *end ? end + 1 : NULL;
	*end = '\0';
	return part;
}

int dw_strerror_r(int errnum, char *text, size_t bytes)
{
	switch (errnum) {
	case ESTALE:
		snprintf(text, bytes, "The file was replaced");
		return 0;
	case EDQUOT:
		snprintf(text, bytes, "Disk quota exceeded");
		return 0;
	default:
		return strerror_s(text, bytes, errnum);
	}
}

static long memory_pages(DWORD page_bytes)
{
	MEMORYSTATUSEX status = { .dwLength = sizeof(status) };

	return GlobalMemoryStatusEx(&status) ? (long)(status.ullTotalPhys / page_bytes)
					     : -1;
}

long dw_sysconf(int name)
{
	SYSTEM_INFO info;

	GetSystemInfo(&info);
	switch (name) {
	case _SC_NPROCESSORS_ONLN:
		return (long)info.dwNumberOfProcessors;
	case _SC_PAGESIZE:
		return (long)info.dwPageSize;
	case _SC_PHYS_PAGES:
		return memory_pages(info.dwPageSize);
	default:
		return -1;
	}
}

/* Whether a byte is in the set that begins at pattern, after the bracket; *end_out is after
 * the set, NULL if it has no end. */
static bool is_in_set(const char *pattern, char byte, const char **end_out)
{
	bool negated = *pattern == '!' || *pattern == '^', found = false;
	const char *at = pattern + negated;

	do {
		char low = *at, high = low;

		if (low == '\0') {
			*end_out = NULL;
			return false;
		}
		at++;
		if (at[0] == '-' && at[1] != ']' && at[1] != '\0') {
			high = at[1];
			at += 2;
		}
		found |= byte >= low && byte <= high;
	} while (*at != ']');
	*end_out = at + 1;
	return found != negated;
}

/* Match one element, not *: 1 with both moved past it, or 0. */
static bool match_one(const char **pattern, const char *text)
{
	const char *end;

	if (*text == '\0')
		return false;
	if (**pattern == '[') {
		bool found = is_in_set(*pattern + 1, *text, &end);

		if (end) {
			*pattern = end;
			return found;
		}
	}
	if (**pattern == '\\' && (*pattern)[1] != '\0')
		++*pattern;
	else if (**pattern == '?') {
		++*pattern;
		return true;
	}
	return *(*pattern)++ == *text;
}

int dw_fnmatch(const char *pattern, const char *text, int flags)
{
	const char *star = NULL, *retry = NULL;

	while (*text || *pattern) {
		const char *next = pattern;

		if (*pattern == '*') {
			star = ++pattern;
			retry = text;
		} else if (*pattern && match_one(&next, text)) {
			pattern = next;
			text++;
		} else if (star && *retry) {
			pattern = star;
			text = ++retry;
		} else {
			return 1;
		}
	}
	return 0;
}
