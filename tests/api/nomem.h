/* SPDX-License-Identifier: MIT */
/*
 * api/nomem: out of memory, at each allocation in turn.
 *
 * Linked with the library's objects and --wrap, so that the allocations of the library, also
 * those for zstd, lzma and brotli, can fail, but none of other libraries. A failed allocation
 * must be reported as DWARFS_ERR_NOMEM, or the operation succeeds without it; sanitizers detect
 * leaks.
 */
#ifndef TESTS_API_NOMEM_H
#define TESTS_API_NOMEM_H

#include "support.h"

/* As fixture_setup(), with the image of its directory, which has extended attributes
 * where the file system has them. */
int nomem_setup(void **state);

/* 0 or the error code; everything allocated by it is freed. */
typedef int (*nomem_operation)(const struct fixture *fixture, dwarfs_error **err);

/* Run it with each of its allocations failing in turn: only this one, or this and all
 * later ones. */
void nomem_everywhere(const struct fixture *fixture, nomem_operation run, bool all);

/* A builder at a level; without workers, the order of its allocations is the same each time. Both
 * pointers are NULL before. */
int nomem_new_builder(int level, dwarfs_context **context_out,
		      dwarfs_builder **builder_out, dwarfs_error **err);

/* No allocation fails for the rest of this run: an operation removes what it made. */
void nomem_stop(void);

#endif
