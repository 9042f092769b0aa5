/* SPDX-License-Identifier: MIT */
/*
 * os/pages: memory straight from the system, which gets it back at once when it is freed.
 */
#ifndef DW_OS_PAGES_H
#define DW_OS_PAGES_H

#include "base/memory.h"

/* Zeroed memory, or NULL. */
void *dw_pages_new(size_t bytes);

/* A part of it is about to be written: have it there at once and not page by page. */
void dw_pages_prepare(void *from, size_t bytes);

/* Give it back, with the same size. NULL is accepted. */
void dw_pages_free(void *pages, size_t bytes);

/* A file for reading, or NULL where that is not possible. */
const uint8_t *dw_pages_map(int fd, uint64_t bytes);
void dw_pages_unmap(const uint8_t *pages, uint64_t bytes);

/*
 * Get a part of a mapped file into memory, so that an error of the file comes up here and
 * not as a signal later. False when that fails or the system cannot do it.
 */
bool dw_pages_populate(const uint8_t *from, size_t bytes);

/* The part is not needed any more; what shares its first and last page stays. */
void dw_pages_drop(const uint8_t *from, size_t bytes);

/* Keep pages from being swapped out or dropped, until they are unmapped: 0 or an errno. */
int dw_pages_lock(const void *from, size_t bytes);

#endif
