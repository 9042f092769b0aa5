/* SPDX-License-Identifier: MIT */
/**
 * @file
 * Memory of the library from functions of the program instead of malloc().
 *
 * Each object keeps the allocator that it was made with. A context has one, see
 * dwarfs_context_new_with_allocator(), and so has what is made with that context: images and
 * builders, what is made of them, the block cache, and errors of their functions. A function
 * without such an object, as dwarfs_io_open(), takes the allocator that
 * dwarfs_allocator_use() has set for the calling thread. During a call the allocator of the
 * first object among its parameters is the one of the calling thread, also in callbacks, and
 * worker threads have that of the call that started them.
 *
 * A program that wants all memory from its functions sets both. Then malloc() is called only
 *  - by libarchive, FLAC, libb2 and nettle, which cannot be given an allocator;
 *  - by zstd for the parameters of an encoder, less than 512 bytes that are freed at once;
 *  - by the C library for itself: for open directories and files, and for threads.
 * zstd, lzma and brotli take the rest of their memory from the allocator; lz4 takes none.
 *
 * Large buffers, such as decompressed blocks, come from the system (mmap()) only without an
 * allocator. From an allocator they are taken at once and cleared, so a block of which only the
 * beginning is read takes memory for all of it; the budget of the cache counts the decompressed
 * part. One page for each block cache is of the system always: it is wiped by fork(), see
 * <dwarfs/context.h>. Mapped files (dwarfs_image_options_set_mapped()) are no memory of an
 * allocator.
 */
#ifndef DWARFS_ALLOCATOR_H
#define DWARFS_ALLOCATOR_H

#include <dwarfs/error.h>

DWARFS_BEGIN_DECLS

/**
 * Functions for memory. The struct, and what its user points to, must exist until everything
 * that was made with it is freed: objects, errors, and memory that the library has returned.
 *
 * Threads: the functions are called by any thread, several at once, also while the library
 * holds locks, and in a child of fork() if that uses the library. They must not call functions
 * of the library, and must return.
 */
typedef struct dwarfs_allocator {
	/** sizeof(dwarfs_allocator): later versions may have more members. */
	size_t struct_bytes;
	/** Passed to each function. */
	void *user;
	/** Give memory for at least one byte, aligned to 16, or NULL if there is none. The
	 * library adds 16 bytes of its own to each block that it needs. */
	void *(*allocate)(size_t bytes, void *user);
	/** Change the size of a block and keep the contents as far as both sizes go: the block,
	 * which may have moved, or NULL, and then it is as before. NULL instead of a function:
	 * the library allocates, copies and releases. */
	void *(*resize)(void *block, size_t old_bytes, size_t bytes, void *user);
	/** Take a block back, with the size that it was last given. Never NULL. */
	void (*release)(void *block, size_t bytes, void *user);
} dwarfs_allocator;

/**
 * Set the allocator of the calling thread. It is used for objects that are made without a
 * context, for contexts of dwarfs_context_new(), and where NULL is passed as a context. A change
 * that a callback makes ends with the call that called it.
 *
 * @param allocator     the allocator; NULL for malloc(), the default of each thread
 * @param previous_out  receives the one that was set before, NULL for malloc(); may be NULL
 * @param err           receives the details on failure; may be NULL
 * @return 0, or DWARFS_ERR_INVALID for an allocator with another size or without a function,
 *         and then the previous one stays
 *
 * Threads: any; other threads are not affected. Since 0.1.
 */
DWARFS_API int dwarfs_allocator_use(const dwarfs_allocator *allocator,
				    const dwarfs_allocator **previous_out,
				    dwarfs_error **err);

DWARFS_END_DECLS

#endif
