/* SPDX-License-Identifier: MIT */
/*
 * api/nomem: memory that runs out, at every place in turn.
 *
 * Linked with the library's objects and --wrap, so that the allocations of the library
 * (not those of other libraries) can fail. Whatever fails must come out as
 * DWARFS_ERR_NOMEM, or be done without; the sanitizers see what leaks.
 */
#ifndef TESTS_API_NOMEM_H
#define TESTS_API_NOMEM_H

#include "support.h"

/* As fixture_setup(), with the image of its directory, which has extended attributes
 * where the file system has them. */
int nomem_setup(void **state);

/* 0 or the code of the failure, all of its own freed. */
typedef int (*nomem_operation)(const struct fixture *fixture, dwarfs_error **err);

/* Run it with each of its allocations failing in turn: only this one, or all from there.
 */
void nomem_everywhere(const struct fixture *fixture, nomem_operation run, bool all);

#endif
