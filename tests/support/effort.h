/* SPDX-License-Identifier: MIT */
/*
 * How much a test does. Valgrind and the thread sanitizer multiply the time of a test by
 * ten and more: there, sizes and settings are left out that run the same code again.
 */
#ifndef TESTS_SUPPORT_EFFORT_H
#define TESTS_SUPPORT_EFFORT_H

#include <stdbool.h>
#include <stdlib.h>

/* Set for the tests of tests/meson.build that run under valgrind. */
static inline bool is_under_valgrind(void)
{
	return getenv("DWARFS_VALGRIND") != NULL;
}

#ifdef __SANITIZE_THREAD__
#define IS_THREAD_SANITIZED 1
#else
#define IS_THREAD_SANITIZED 0
#endif

#endif
