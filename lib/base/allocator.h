/* SPDX-License-Identifier: MIT */
/*
 * base/allocator: all memory of the library.
 *
 * Each block begins with a header of 16 bytes, which has its size. So no other file of lib/
 * calls malloc(), free() and the like, and what the C library allocates for its caller, as
 * realpath() does, is copied and freed where it was called.
 */
#ifndef DW_BASE_ALLOCATOR_H
#define DW_BASE_ALLOCATOR_H

#include <stddef.h>

/* A block is freed by dw_free() alone; GCC warns of free(). */
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 11
#define DW_BLOCK __attribute__((malloc, malloc(dw_free, 1), warn_unused_result))
#else
#define DW_BLOCK __attribute__((malloc, warn_unused_result))
#endif

/* As the functions of the C library, but a size of 0 gives a block, too, and dw_calloc() one
 * of at least one item. Aligned to 16 bytes. When memory runs out they return NULL, and errno
 * is ENOMEM. */
void dw_free(void *block);
DW_BLOCK void *dw_malloc(size_t bytes) __attribute__((alloc_size(1)));
DW_BLOCK void *dw_calloc(size_t count, size_t bytes) __attribute__((alloc_size(1, 2)));
void *dw_realloc(void *block, size_t bytes)
	__attribute__((alloc_size(2), warn_unused_result));
DW_BLOCK char *dw_strdup(const char *text);
DW_BLOCK char *dw_strndup(const char *text, size_t most);

#undef DW_BLOCK

#endif
