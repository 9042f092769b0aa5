/* SPDX-License-Identifier: MIT */
/*
 * base/patterns: which paths somebody has asked for.
 *
 * Each pattern is matched against the whole path of an entry, from the root on: ? is one
 * character, * any number within a name, ** any number, [a-z] or [!a-z] one of a set,
 * {one,two} either of them, and \ takes the next character as it is. Where ** is a name
 * of its own it may stand for none: a / ** / b is a/b, too. "i:" in front of a pattern
 * lets it ignore the case of ASCII letters. A / at its beginning does not matter; one at
 * its end is for directories only. Who takes a directory is expected to take what is in
 * it, and the directories above whatever he takes.
 *
 * Patterns remember whether they have matched anything, so that one that never has can be
 * named. Whoever wants to know that asks for all paths, also for those that he takes
 * anyhow.
 */
#ifndef DW_BASE_PATTERNS_H
#define DW_BASE_PATTERNS_H

#include "base/memory.h"

struct patterns;

int dw_patterns_new(struct patterns **patterns_out, dwarfs_error **err);
void dw_patterns_free(struct patterns *patterns); /* NULL is accepted */

/* DWARFS_ERR_INVALID when it makes no sense; then all stays as it was. */
int dw_patterns_add(struct patterns *patterns, const char *text, dwarfs_error **err);

/* No patterns, or NULL: nothing was asked for in particular. */
bool dw_patterns_are_none(const struct patterns *patterns);

/* Whether one of them matches a path without / at its beginning and end. Threads: one. */
bool dw_patterns_match(struct patterns *patterns, const char *path, size_t length,
		       bool is_dir);

/* Forget what has matched. */
void dw_patterns_start(struct patterns *patterns);

/* A pattern, as it was written, that has matched nothing, from *index on, which is set to
 * what comes after it; NULL when there is none. */
const char *dw_patterns_unmatched(const struct patterns *patterns, size_t *index);

#endif
