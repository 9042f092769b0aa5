/* SPDX-License-Identifier: MIT */
/*
 * read/metadata/lazy_table: tables that are built at their first use, by the first
 * thread.
 *
 * Other threads of the process wait meanwhile; a child process builds its own. If building
 * fails because of damage, later uses fail at once; after any other failure, such as running
 * out of memory, it is tried again.
 */
#ifndef DW_READ_METADATA_LAZY_TABLE_H
#define DW_READ_METADATA_LAZY_TABLE_H

#include <stdatomic.h>

#include "base/memory.h"

/* A table that is not built is all zeros. */
struct lazy {
	_Atomic(uint32_t *) items; /* NULL until built */
	atomic_long builder;	   /* the process of the thread that builds, or 0 */
	atomic_int failed;	   /* the error of a failed build, or 0 */
	char *message;		   /* set before it */
};

/* Builds the items of a table. */
typedef int (*dw_lazy_fn)(const void *owner, uint32_t **items_out, dwarfs_error **err);

void dw_lazy_free(struct lazy *lazy);
/* Build the items, or wait until another thread of this process has built them. */
int dw_lazy_make(const struct lazy *lazy, dw_lazy_fn make, const void *owner,
		 dwarfs_error **err);

/* The items, or NULL. */
static inline const uint32_t *dw_lazy_items(const struct lazy *lazy)
{
	return atomic_load_explicit(&((struct lazy *)lazy)->items, memory_order_acquire);
}

/* Build the items unless they are. */
static inline int dw_lazy_need(const struct lazy *lazy, dw_lazy_fn make,
			       const void *owner, dwarfs_error **err)
{
	return dw_lazy_items(lazy) ? 0 : dw_lazy_make(lazy, make, owner, err);
}

#endif
