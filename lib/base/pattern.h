/* SPDX-License-Identifier: MIT */
/*
 * base/pattern: a pattern of paths, as filter rules have it.
 *
 * ? is one character, * any number within a name, ** any number, and \ takes the next one
 * as it is. [a-z] is one of a set, [!a-z] or [^a-z] one outside of it; a set may have classes
 * of ASCII characters such as [:digit:]. With / at its beginning the pattern is matched
 * against the whole path, otherwise against its last names. Characters are those of UTF-8,
 * or bytes in paths that are not UTF-8.
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

/* The same, where the path of a directory has a / at its end (not in the path given). */
bool dw_pattern_matches_entry(const struct pattern *pattern, const char *path,
			      size_t length, bool is_directory);

#endif
