/* SPDX-License-Identifier: MIT */
/*
 * base/pattern: match paths with one pattern, for filter rules.
 *
 * ? is one character, * any number within a name, ** any number, and \ quotes the next
 * character. [a-z] is one of a set, [!a-z] or [^a-z] one outside of it; a set may
 * contain classes of ASCII characters such as [:digit:]. A pattern that begins with / is
 * matched against the whole path, others against its last names. Characters are those of
 * UTF-8, or bytes in paths that are not UTF-8.
 */
#ifndef DW_BASE_PATTERN_H
#define DW_BASE_PATTERN_H

#include "base/memory.h"

struct pattern;

/* DWARFS_ERR_INVALID if the pattern is malformed. */
int dw_pattern_new(const char *text, size_t length, bool ignore_case,
		   struct pattern **pattern_out, dwarfs_error **err);
void dw_pattern_free(struct pattern *pattern); /* NULL is accepted */

/* Takes time proportional to the length of the path for any pattern. */
bool dw_pattern_matches(const struct pattern *pattern, const char *path, size_t length);

/* The same; the path of a directory is matched as if it ended with a slash. */
bool dw_pattern_matches_entry(const struct pattern *pattern, const char *path,
			      size_t length, bool is_directory);

#endif
