/* SPDX-License-Identifier: MIT */
/*
 * os/pages: memory from the system, to which it is returned at once when freed.
 */
#ifndef DW_OS_PAGES_H
#define DW_OS_PAGES_H

#include "base/memory.h"

/* Zeroed memory, or NULL. */
void *dw_pages_new(size_t bytes);

/* The same for pages that are zero again in a child process; NULL if the system lacks
 * that. */
void *dw_pages_new_wiped_by_fork(size_t bytes);

/* A range is about to be written: populate it at once instead of page by page. */
void dw_pages_prepare(void *from, size_t bytes);

/* Return pages to the system, with the same size. NULL is accepted. */
void dw_pages_free(void *pages, size_t bytes);

/* Map a file for reading, or NULL if that is not possible. */
const uint8_t *dw_pages_map(int fd, uint64_t bytes);
void dw_pages_unmap(const uint8_t *pages, uint64_t bytes);

/* Read a range of a mapped file into memory, so that an I/O error is returned here
 * instead of raising a signal later. False if that fails or is not supported. */
bool dw_pages_populate(const uint8_t *from, size_t bytes);

/* The range is no longer needed; pages that it shares with others are kept. */
void dw_pages_drop(const uint8_t *from, size_t bytes);

/* Lock pages in memory until they are unmapped: 0 or an errno. */
int dw_pages_lock(const void *from, size_t bytes);

#endif
