/* SPDX-License-Identifier: MIT */
/**
 * @file
 * Let the library allocate with functions of the program instead of malloc().
 *
 * Each object keeps the allocator that it was made with. The allocator of a context, see
 * dwarfs_context_new_with_allocator(), is also used for everything that is made with that
 * context: images and builders, objects made from these, the block cache, and errors that
 * their functions return. A function without such an object, such as dwarfs_io_open(), uses
 * the allocator that dwarfs_allocator_use() has set for the calling thread. While a function
 * with such an object runs, the allocator of its first object is set for the calling thread,
 * also in callbacks. A worker thread uses the allocator of the call that started it.
 *
 * A program that needs all memory to come from its functions sets the allocator of the thread
 * and of the context. Then malloc() is called only
 *  - by libarchive, FLAC, libb2 and nettle, which cannot be given an allocator;
 *  - by zstd for the parameters of an encoder, less than 512 bytes that are freed at once;
 *  - by the C library for itself: for open directories and files, and for threads.
 * zstd, lzma and brotli take the rest of their memory from the allocator; lz4 takes none.
 *
 * Without an allocator, large buffers, such as those of decompressed blocks, come from the
 * system (mmap()). From an allocator they are allocated in full and cleared, so a block of which
 * only the beginning is read takes memory for all of it, of which the budget of the cache counts
 * only the decompressed part. One page for each block cache always comes from the system: fork()
 * wipes it, see <dwarfs/context.h>. Mapped files (dwarfs_image_options_set_mapped()) do not use
 * the allocator.
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
	/** Allocate `bytes`, at least 1, aligned to 16 bytes; NULL if that is not possible.
	 * `bytes` includes 16 bytes that the library adds to each block for itself. */
	void *(*allocate)(size_t bytes, void *user);
	/** Change the size of a block, which keeps its contents up to the smaller size. Returns
	 * the block, which may have moved, or NULL, and then the old block is unchanged. If this
	 * member is NULL, the library allocates, copies and releases instead. */
	void *(*resize)(void *block, size_t old_bytes, size_t bytes, void *user);
	/** Free a block, which is never NULL; `bytes` is its current size. */
	void (*release)(void *block, size_t bytes, void *user);
} dwarfs_allocator;

/**
 * Set the allocator of the calling thread. It is used for objects that are made without a
 * context, for contexts of dwarfs_context_new(), and where NULL is passed as a context. If a
 * callback changes it, the change ends when the function that called the callback returns.
 *
 * @param allocator     the allocator; NULL for malloc(), the default of each thread
 * @param previous_out  receives the one that was set before, borrowed from the program that set
 *                      it, NULL for malloc(); may be NULL
 * @param err           receives the details on failure; may be NULL
 * @return 0, or DWARFS_ERR_INVALID if struct_bytes is too small or allocate or release is NULL,
 *         and then the previous allocator stays
 *
 * Threads: any; other threads are not affected. Since 0.1.
 */
DWARFS_API int dwarfs_allocator_use(const dwarfs_allocator *allocator,
				    const dwarfs_allocator **previous_out,
				    dwarfs_error **err);

DWARFS_END_DECLS

#endif
