/* SPDX-License-Identifier: MIT */
/*
 * base/pattern: a pattern of paths, as filter rules have it.
 *
 * ? is one character, * any number within a name, ** any number, [a-z] or [!a-z] one of a
 * set, and \ takes the next one as it is. With / at its beginning the pattern is matched
 * against the whole path, otherwise against its last names; what is at its end is for the
 * caller. Characters are those of UTF-8, or bytes in paths that are none.
 */
#ifndef DW_BASE_PATTERN_H
#define DW_BASE_PATTERN_H

#include "base/memory.h"

struct pattern;

/* DWARFS_ERR_INVALID when it makes no sense. */
int dw_pattern_new(const char *text, size_t length, bool ignore_case,
		   struct pattern **pattern_out, dwarfs_error **err);
void dw_pattern_free(struct pattern *pattern); /* NULL is accepted */

/* Takes time in proportion to the length of the path, whatever the pattern. */
bool dw_pattern_matches(const struct pattern *pattern, const char *path, size_t length);

#endif
