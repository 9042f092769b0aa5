/* SPDX-License-Identifier: MIT */
/*
 * base/allocator: all memory of the library. See <dwarfs/allocator.h>.
 *
 * Each block begins with a header of 16 bytes: its allocator and its size. So any thread can
 * free it without knowing where it came from, and the allocator of an object made with
 * dw_malloc() is found from its address. No other file of lib/ calls malloc(), free() and the
 * like, except that os/posix/pages.c makes such blocks of posix_memalign(); what the C library
 * allocates for its caller, as realpath() does, is copied and freed where it was called.
 *
 * The allocator for new blocks is a thread-local variable. A public function with an
 * object sets it and restores it before it returns, so no thread can change
 * it for another.
 */
#ifndef DW_BASE_ALLOCATOR_H
#define DW_BASE_ALLOCATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <dwarfs/allocator.h>

/* Of the calling thread; NULL: malloc(). glibc allocates the variables of a library that a
 * running program has loaded at their first use, and ends the process if it cannot; not with this
 * model, which is also faster. Other C libraries do not load libraries with it. */
#ifdef __GLIBC__
#define DW_THREAD_MODEL __attribute__((tls_model("initial-exec")))
#else
#define DW_THREAD_MODEL
#endif
extern _Thread_local const dwarfs_allocator *dw_current_allocator DW_THREAD_MODEL;

/* In front of each block. The size keeps the alignment of the memory. */
union block_header {
	struct {
		const dwarfs_allocator *allocator;
		size_t bytes; /* with the header, as the allocator knows it */
	};
	unsigned char space[16];
};

/* A block is freed by dw_free() alone; GCC warns of free(). If it inlined or cloned one function
 * of the pair, as it could in dwarfs-reader.c, it would warn of dw_free(), too. */
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 11
#define DW_BLOCK                                                                         \
	__attribute__((malloc, malloc(dw_free, 1), warn_unused_result, noinline, noclone))
#else
#define DW_BLOCK __attribute__((malloc, warn_unused_result))
#endif

/* As the functions of the C library, but a size of 0 gives a block, too, and dw_calloc() one
 * of at least one item. Aligned as malloc() does, or to 16 bytes. When memory runs out they
 * return NULL, and errno is ENOMEM. */
void dw_free(void *block);
DW_BLOCK void *dw_malloc(size_t bytes) __attribute__((alloc_size(1)));
DW_BLOCK void *dw_calloc(size_t count, size_t bytes) __attribute__((alloc_size(1, 2)));
void *dw_realloc(void *block, size_t bytes)
	__attribute__((alloc_size(2), warn_unused_result));
/* A block in memory of malloc() or posix_memalign(), which has this many bytes with the header;
 * NULL and ENOMEM if there is none. */
void *dw_block_in(void *memory, size_t bytes);
DW_BLOCK char *dw_strdup(const char *text);
DW_BLOCK char *dw_strndup(const char *text, size_t most);

#undef DW_BLOCK

/* 0, or DWARFS_ERR_INVALID if it lacks something. NULL is malloc(). */
int dw_allocator_check(const dwarfs_allocator *allocator, dwarfs_error **err);

/* Use the allocator of a block until it is restored; NULL: go on with the current one. The
 * header is read although the address sanitizer has it poisoned. Both give the previous one. */
__attribute__((no_sanitize("address"))) static inline const dwarfs_allocator *
dw_allocator_enter(const void *object)
{
	const dwarfs_allocator *previous = dw_current_allocator;

	if (object)
		dw_current_allocator =
			((const union block_header *)object - 1)->allocator;
	return previous;
}

static inline void dw_allocator_restore(const dwarfs_allocator *const *previous)
{
	dw_current_allocator = *previous;
}

/* Until the end of the block of code, memory comes from the allocator of an object, which may
 * be NULL and otherwise was made by dw_malloc(). At the beginning of public functions. */
#define DW_USE_ALLOCATOR_OF(object)                                                      \
	__attribute__((cleanup(dw_allocator_restore), unused))                           \
	const dwarfs_allocator *const dw_previous_allocator = dw_allocator_enter(object)

/* The same for an allocator itself. */
#define DW_USE_ALLOCATOR(allocator)                                                      \
	__attribute__((cleanup(dw_allocator_restore), unused))                           \
	const dwarfs_allocator *const dw_previous_allocator = dw_current_allocator;      \
	dw_current_allocator = (allocator)

#endif
