/* SPDX-License-Identifier: MIT */
/*
 * os/pages: memory straight from the system, which gets it back at once when it is freed.
 */
#ifndef DW_OS_PAGES_H
#define DW_OS_PAGES_H

#include "base/memory.h"

/* Zeroed memory, or NULL. */
void *dw_pages_new(size_t bytes);

/* Give it back, with the same size. NULL is accepted. */
void dw_pages_free(void *pages, size_t bytes);

#endif
