/* SPDX-License-Identifier: MIT */
/*
 * read/metadata/lazy_table: tables that are made at their first use, by whoever comes first.
 *
 * Others who come meanwhile wait. A table that is broken stays broken, so that it is not
 * tried again at each use; one for which there was no memory is tried again.
 */
#ifndef DW_READ_METADATA_LAZY_TABLE_H
#define DW_READ_METADATA_LAZY_TABLE_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/memory.h"

struct lazy {
	_Atomic(uint32_t *) items; /* NULL until they are made */
	pthread_mutex_t lock;	   /* for who makes them, and for the rest */
	int failed;		   /* why they cannot be made, or 0 */
	char *message;
};

/* Makes the items of a table. */
typedef int (*dw_lazy_fn)(const void *owner, uint32_t **items_out, dwarfs_error **err);

int dw_lazy_init(struct lazy *lazy, dwarfs_error **err);
void dw_lazy_free(struct lazy *lazy); /* also one that is all zero */
/* The slow way: make the items, or wait until they are made. */
int dw_lazy_make(const struct lazy *lazy, dw_lazy_fn make, const void *owner,
		 dwarfs_error **err);

/* The items, or NULL. */
static inline const uint32_t *dw_lazy_items(const struct lazy *lazy)
{
	return atomic_load_explicit(&((struct lazy *)lazy)->items, memory_order_acquire);
}

/* See that there are items. */
static inline int dw_lazy_need(const struct lazy *lazy, dw_lazy_fn make,
			       const void *owner, dwarfs_error **err)
{
	return dw_lazy_items(lazy) ? 0 : dw_lazy_make(lazy, make, owner, err);
}

#endif
