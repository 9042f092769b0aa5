/* SPDX-License-Identifier: MIT */
/*
 * api/allocator: an allocator that counts and can refuse, and operations of the whole library
 * that take their memory from it.
 */
#ifndef TESTS_API_ALLOCATOR_H
#define TESTS_API_ALLOCATOR_H

#include <stdatomic.h>

#include "support.h"

/* Zero-initialized but for the functions, see pool_init(). */
struct pool {
	dwarfs_allocator functions;
	atomic_size_t blocks, bytes; /* allocated now */
	atomic_size_t most;	     /* the most bytes allocated at once */
	atomic_size_t calls;	     /* of allocate and resize */
	atomic_size_t wrong; /* blocks whose size was another, or that are not ours */
	atomic_long fail_at; /* this call fails, counted from 0; -1: none */
	size_t limit;	     /* bytes at once; 0: no limit */
};

void pool_init(struct pool *pool);

/* All is freed, with the right sizes. */
void assert_pool_is_empty(struct pool *pool);

/* 0 or the code of the failure, all of its own freed. */
typedef int (*operation)(const struct fixture *fixture, dwarfs_context *context,
			 dwarfs_error **err);

struct named_operation {
	const char *name;
	operation run;
};

/* Ends with a NULL. */
extern const struct named_operation operations[];

int list_and_read(const struct fixture *fixture, dwarfs_context *context,
		  dwarfs_error **err);
int pack_from_memory(const struct fixture *fixture, dwarfs_context *context,
		     dwarfs_error **err);

/* With a context of the allocator, which is also the thread's during it; NULL: malloc(). */
int run_with(const struct fixture *fixture, const dwarfs_allocator *allocator,
	     uint32_t workers, operation run, dwarfs_error **err);

#endif
