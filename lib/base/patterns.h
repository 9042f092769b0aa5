/* SPDX-License-Identifier: MIT */
/*
 * base/patterns: a list of patterns that select paths.
 *
 * Each pattern is matched against the whole path of an entry from the root: ? is one
 * character, * any number within a name, ** any number, [a-z] or [!a-z] one of a set,
 * {one,two} either of them, and \ quotes the next character. A ** that is a whole name
 * may match no name: a / ** / b matches a/b, too. The prefix "i:" ignores the case of
 * ASCII letters. A / at the beginning has no effect; one at the end matches directories
 * only. A caller that selects a directory is expected to select its contents, and the
 * directories above everything selected.
 *
 * Patterns remember whether they have matched, so that unused ones can be reported. For
 * that, match all paths, also those selected anyway.
 */
#ifndef DW_BASE_PATTERNS_H
#define DW_BASE_PATTERNS_H

#include "base/memory.h"

struct patterns;

int dw_patterns_new(struct patterns **patterns_out, dwarfs_error **err);
void dw_patterns_free(struct patterns *patterns); /* NULL is accepted */

/* DWARFS_ERR_INVALID if the pattern is malformed; then nothing changes. */
int dw_patterns_add(struct patterns *patterns, const char *text, dwarfs_error **err);

/* NULL, or no patterns: everything is selected. */
bool dw_patterns_are_none(const struct patterns *patterns);

/* Whether one of them matches a path without / at its beginning and end. Threads: one. */
bool dw_patterns_match(struct patterns *patterns, const char *path, size_t length,
		       bool is_dir);

/* Forget which patterns have matched. */
void dw_patterns_start(struct patterns *patterns);

/* The next pattern from *index on that has matched nothing, as written; NULL if there
 * is none. Sets *index to the one after it. */
const char *dw_patterns_unmatched(const struct patterns *patterns, size_t *index);

#endif
