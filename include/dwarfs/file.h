/* SPDX-License-Identifier: MIT */
/**
 * @file
 * Read the contents of files.
 *
 * dwarfs_read() needs only an inode; a dwarfs_file also keeps an index of the chunks of a
 * large file, and can find its holes. All reads are served from the block cache of the
 * context; dwarfs_prefetch() fills the cache in advance.
 *
 * dwarfs_file_borrow() returns pointers into the cache instead of copying.
 * dwarfs_read_in_order() and dwarfs_read_parallel() read many whole files in the order in
 * which they are stored.
 */
#ifndef DWARFS_FILE_H
#define DWARFS_FILE_H

#include <dwarfs/walk.h>

DWARFS_BEGIN_DECLS

typedef struct dwarfs_file dwarfs_file;

/**
 * Read from a file, like pread().
 *
 * @param image      an image
 * @param inode      inode of a regular file
 * @param buffer     destination of the bytes
 * @param bytes      how many to read
 * @param offset     in bytes from the start of the file
 * @param bytes_out  receives how many were read: fewer than requested only at the end of
 *                   the file, 0 at or after its end
 * @param err        receives the details on failure; may be NULL
 * @return 0; DWARFS_ERR_IS_DIR for a directory; DWARFS_ERR_INVALID for anything else that
 *         is not a regular file; DWARFS_ERR_RANGE for an inode that does not exist;
 *         DWARFS_ERR_CORRUPT, _CHECKSUM, _IO, _UNSUPPORTED or _NOMEM when the contents
 *         cannot be read
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API int dwarfs_read(const dwarfs_image *image, dwarfs_inode inode, void *buffer,
			   size_t bytes, uint64_t offset, size_t *bytes_out,
			   dwarfs_error **err);

/**
 * Read a whole file by its path into memory that the library allocates for the caller.
 *
 * @param image      an image
 * @param path       as for dwarfs_find_followed(): symbolic links are followed
 * @param max_bytes  a larger file is refused
 * @param task       cancels, and reports the progress; may be NULL
 * @param data_out   receives the contents, followed by a NUL that does not count; free them
 *                   with dwarfs_memory_free()
 * @param bytes_out  receives the size of the file
 * @param err        receives the details on failure; may be NULL
 * @return 0; DWARFS_ERR_LIMIT for a file of more than max_bytes; DWARFS_ERR_CANCELLED; as
 *         dwarfs_find_followed(); or as dwarfs_read()
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API int dwarfs_load(const dwarfs_image *image, const char *path, size_t max_bytes,
			   const dwarfs_task *task, void **data_out, size_t *bytes_out,
			   dwarfs_error **err);

/**
 * Open a file.
 *
 * @param image     an image; kept alive by the file
 * @param inode     inode of a regular file
 * @param file_out  receives the file; free it with dwarfs_file_free()
 * @param err       receives the details on failure; may be NULL
 * @return 0; DWARFS_ERR_IS_DIR, DWARFS_ERR_INVALID, DWARFS_ERR_RANGE, DWARFS_ERR_CORRUPT or
 *         DWARFS_ERR_NOMEM
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API int dwarfs_file_open(const dwarfs_image *image, dwarfs_inode inode,
				dwarfs_file **file_out, dwarfs_error **err);

/** @return the size of the file in bytes. Threads: any. Since 0.1. */
DWARFS_API uint64_t dwarfs_file_bytes(const dwarfs_file *file);

/**
 * Whether reading a range of an open file would decompress nothing. That is so if all of it is
 * in the block cache, a hole, or past the end of the file. Other threads may change it before
 * the range is read.
 *
 * @param file    a file, or NULL
 * @param bytes   the size of the range
 * @param offset  in bytes from the start of the file
 * @return whether it would; false if part of the range is damaged
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API bool dwarfs_file_is_cached(const dwarfs_file *file, size_t bytes,
				      uint64_t offset);

/** Read from an open file; as dwarfs_read(). Threads: any. Since 0.1. */
DWARFS_API int dwarfs_file_read(const dwarfs_file *file, void *buffer, size_t bytes,
				uint64_t offset, size_t *bytes_out, dwarfs_error **err);

/** A piece of the caller's memory, for dwarfs_file_readv(). */
struct dwarfs_iovec {
	void *data;
	size_t bytes;
};

/**
 * Read consecutive bytes of an open file into several pieces of memory, like preadv().
 *
 * @param file       a file
 * @param pieces     filled in their order
 * @param count      how many
 * @param offset     in bytes from the start of the file
 * @param bytes_out  receives how many bytes were read in all: fewer than requested only at the
 *                   end of the file
 * @param err        receives the details on failure; may be NULL
 * @return as dwarfs_read()
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API int dwarfs_file_readv(const dwarfs_file *file,
				 const struct dwarfs_iovec *pieces, size_t count,
				 uint64_t offset, size_t *bytes_out, dwarfs_error **err);

/**
 * Find data, like lseek() with SEEK_DATA.
 *
 * @param file        a file
 * @param offset      where to start, in bytes from the start of the file
 * @param offset_out  receives the first offset in bytes, at or after the start, that is not
 *                    in a hole
 * @param err         receives the details on failure; may be NULL
 * @return 0; DWARFS_ERR_NOT_FOUND when there is no data at or after offset (as ENXIO)
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API int dwarfs_file_seek_data(const dwarfs_file *file, uint64_t offset,
				     uint64_t *offset_out, dwarfs_error **err);

/**
 * Find a hole, like lseek() with SEEK_HOLE. The end of the file counts as one.
 *
 * @param file        a file
 * @param offset      where to start, in bytes from the start of the file
 * @param offset_out  receives the first offset in bytes, at or after the start, that is in a
 *                    hole
 * @param err         receives the details on failure; may be NULL
 * @return 0; DWARFS_ERR_NOT_FOUND when offset is at or past the end (as ENXIO)
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API int dwarfs_file_seek_hole(const dwarfs_file *file, uint64_t offset,
				     uint64_t *offset_out, dwarfs_error **err);

/** @return how many chunks the file consists of: pieces of blocks, and holes. Threads: any. Since
 * 0.1. */
DWARFS_API uint64_t dwarfs_file_chunk_count(const dwarfs_file *file);

/**
 * Where a chunk of a file is stored.
 *
 * @param file        a file
 * @param index       0 to dwarfs_file_chunk_count() - 1, in the order of the file
 * @param block_out   receives the number of the block, or -1 for a hole
 * @param offset_out  receives where it is in the block, decompressed, in bytes; 0 for a hole
 * @param bytes_out   receives its size
 * @param err         receives the details on failure; may be NULL
 * @return 0, DWARFS_ERR_RANGE for an index that does not exist, or DWARFS_ERR_CORRUPT
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API int dwarfs_file_chunk(const dwarfs_file *file, uint64_t index,
				 int64_t *block_out, uint64_t *offset_out,
				 uint64_t *bytes_out, dwarfs_error **err);

/** Close a file; NULL is accepted. Threads: one. Since 0.1. */
DWARFS_API void dwarfs_file_free(dwarfs_file *file);

/* -- without a copy ------------------------------------------------------------------ */

/** Bytes of a file, in one or more parts, that stay in memory until they are released. */
typedef struct dwarfs_borrowed dwarfs_borrowed;

/**
 * Read from an open file without copying: the parts point into the block cache, and stay
 * there until they are released. If that would leave too little of the cache's budget for
 * other reads, the bytes are copied instead; the result is the same. A range has at most
 * 262144 parts: one or more for each chunk and hole of the file, at least one for each MiB of a
 * large hole.
 *
 * @param file    a file
 * @param bytes   how many to read
 * @param offset  in bytes from the start of the file
 * @param out     receives the bytes, fewer than requested only at the end of the file; release
 *                them soon, with dwarfs_borrowed_free()
 * @param err     receives the details on failure; may be NULL
 * @return as dwarfs_read(); DWARFS_ERR_LIMIT for a range with more parts
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API int dwarfs_file_borrow(const dwarfs_file *file, size_t bytes, uint64_t offset,
				  dwarfs_borrowed **out, dwarfs_error **err);

/** @return how many parts there are; 0 past the end of the file. Threads: any. Since 0.1. */
DWARFS_API size_t dwarfs_borrowed_count(const dwarfs_borrowed *borrowed);

/**
 * One of the parts, in the order of the file.
 *
 * @param borrowed   borrowed bytes
 * @param index      from 0; less than dwarfs_borrowed_count()
 * @param bytes_out  receives the size of the part, at least 1
 * @return its bytes, valid until dwarfs_borrowed_free(); NULL for an index that does not
 *         exist
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API const void *dwarfs_borrowed_part(const dwarfs_borrowed *borrowed, size_t index,
					    size_t *bytes_out);

/** @return the size of all parts together. Threads: any. Since 0.1. */
DWARFS_API size_t dwarfs_borrowed_bytes(const dwarfs_borrowed *borrowed);

/** Release borrowed bytes; NULL is accepted. Threads: one. Since 0.1. */
DWARFS_API void dwarfs_borrowed_free(dwarfs_borrowed *borrowed);

/**
 * Whether holes are so large that they should not be written or read as zeros. An image
 * of a few hundred bytes can describe a file of 2^62 bytes; a program that processes all
 * of its contents byte by byte would not finish.
 *
 * @param hole_bytes  of a file, or of several together
 * @param data_bytes  bytes of the same files outside of holes:
 *                    dwarfs_stat_allocated_bytes()
 * @return whether the holes have more than 64 GiB, and at least 1024 times the bytes of the data
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API bool dwarfs_holes_are_huge(uint64_t hole_bytes, uint64_t data_bytes);

/* -- many files ---------------------------------------------------------------------- */

/**
 * Decompress the data of some files into the cache, up to half of its budget, or a
 * quarter where one block takes most of the budget. If the files are spread over blocks
 * too large to be cached, each block is decompressed once and only the parts that the
 * files need are kept. Data that can be read as fast without prefetching is left out.
 * Files that cannot be read are skipped; the error is returned when they are read.
 *
 * Meant for files that will be read soon and in this order, such as the other files of a
 * directory. The workers of the context share the work.
 *
 * @param image   an image
 * @param inodes  of regular files; others are skipped
 * @param count   how many
 * @param err     receives the details on failure; may be NULL
 * @return how many of the inodes, from the first on, were processed: their data is in the
 *         cache now, unless they were skipped or left out; or DWARFS_ERR_RANGE for an
 *         inode that does not exist, or DWARFS_ERR_NOMEM
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API int dwarfs_prefetch(const dwarfs_image *image, const dwarfs_inode *inodes,
			       size_t count, dwarfs_error **err);

/**
 * Receives pieces of files.
 *
 * The pieces of a file do not overlap and cover all of it. Usually they are in the order
 * of the file, but not if parts of the file are stored in other blocks. After the last
 * piece a call with bytes 0 and the file size as offset signals that the file is
 * complete; for an empty file that is the only call.
 *
 * The callback may read from the image, also other files, by any function.
 *
 * @param inode   the file
 * @param data    the bytes, valid during the call; NULL for a hole and for the last call
 * @param bytes   how many
 * @param offset  in bytes from the start of the file
 * @param err     receives why the callback stops; may be NULL
 * @param user    as given to dwarfs_read_in_order()
 * @return 0 to go on, or a negative DWARFS_ERR_* code to stop
 *
 * Threads: the thread that called dwarfs_read_in_order().
 */
typedef int (*dwarfs_piece_fn)(dwarfs_inode inode, const void *data, size_t bytes,
			       uint64_t offset, dwarfs_error **err, void *user);

/**
 * Called when a file cannot be read; no more pieces of it follow.
 *
 * @param inode  the file
 * @param why    what went wrong, valid during the call
 * @param err    receives why the callback stops; may be NULL
 * @param user   as given to dwarfs_read_in_order()
 * @return 0 to go on with the other files, or a negative DWARFS_ERR_* code to stop
 *
 * Threads: the thread that called dwarfs_read_in_order().
 */
typedef int (*dwarfs_piece_fail_fn)(dwarfs_inode inode, const dwarfs_error *why,
				    dwarfs_error **err, void *user);

/**
 * Read many whole files in the order in which they are stored: every block is read and
 * decompressed once, in advance, by the workers of the context. Takes the memory of one
 * block for each worker and one more, and 32 bytes for each chunk of the files. Blocks
 * that are cached are used, and the cache is not changed.
 *
 * @param image   an image
 * @param inodes  of regular files, others cannot be read; duplicates are read once
 * @param count   how many
 * @param piece   called for each piece, block by block, and within a block in the order of
 *                inodes and of the file
 * @param failed  called for each file that cannot be read; NULL to stop at the first
 * @param user    passed to both
 * @param task    reports the progress, and cancels; may be NULL
 * @param err     receives the details on failure; may be NULL
 * @return 0, the code of a callback that stopped, DWARFS_ERR_CANCELLED, or as
 *         dwarfs_read()
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API int dwarfs_read_in_order(const dwarfs_image *image, const dwarfs_inode *inodes,
				    size_t count, dwarfs_piece_fn piece,
				    dwarfs_piece_fail_fn failed, void *user,
				    const dwarfs_task *task, dwarfs_error **err);

/**
 * The pieces of one file that are in one block; or no pieces, to signal that the file is
 * complete.
 */
typedef struct dwarfs_part dwarfs_part;

/** @return the file. Threads: any. Since 0.1. */
DWARFS_API dwarfs_inode dwarfs_part_inode(const dwarfs_part *part);

/** @return the size of the whole file in bytes. Threads: any. Since 0.1. */
DWARFS_API uint64_t dwarfs_part_file_bytes(const dwarfs_part *part);

/**
 * Whether the file is complete with this part: the calls for all its other parts, if any,
 * have returned. If a whole file is in one block, its only part is also the last one; for
 * other files the last part has no pieces.
 *
 * @param part  a part
 * @return whether it is the last one
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API bool dwarfs_part_is_last(const dwarfs_part *part);

/** @return how many pieces there are; holes do not count. Threads: any. Since 0.1. */
DWARFS_API size_t dwarfs_part_count(const dwarfs_part *part);

/**
 * One of the pieces, in the order of the file.
 *
 * @param part        a part
 * @param index       from 0; less than dwarfs_part_count()
 * @param bytes_out   receives its size, at least 1
 * @param offset_out  receives its offset in the file, in bytes
 * @return its bytes, valid during the call; NULL for an index that does not exist
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API const void *dwarfs_part_piece(const dwarfs_part *part, size_t index,
					 size_t *bytes_out, uint64_t *offset_out);

/**
 * Receives a part of a file. The callback may read from the image, also other files, by any
 * function.
 *
 * @param part    the part, valid during the call
 * @param thread  number of the calling thread, less than dwarfs_read_parallel_threads()
 * @param err     receives why the callback stops; may be NULL
 * @param user    as given to dwarfs_read_parallel()
 * @return 0 to go on, or a negative DWARFS_ERR_* code to stop
 *
 * Threads: any, several at once; calls with the same thread number do not overlap.
 */
typedef int (*dwarfs_part_fn)(const dwarfs_part *part, uint32_t thread,
			      dwarfs_error **err, void *user);

/**
 * Called once for each file that cannot be read. Calls for parts of it may follow, but
 * not for its last one.
 *
 * @param inode   the file
 * @param why     what went wrong, valid during the call
 * @param thread  as for dwarfs_part_fn
 * @param err     receives why the callback stops; may be NULL
 * @param user    as given to dwarfs_read_parallel()
 * @return 0 to go on with the other files, or a negative DWARFS_ERR_* code to stop
 *
 * Threads: as for dwarfs_part_fn.
 */
typedef int (*dwarfs_part_fail_fn)(dwarfs_inode inode, const dwarfs_error *why,
				   uint32_t thread, dwarfs_error **err, void *user);

/**
 * How many threads dwarfs_read_parallel() uses at most.
 *
 * @param image  an image
 * @param more   as for dwarfs_read_parallel()
 * @return the number, at least 1
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API uint32_t dwarfs_read_parallel_threads(const dwarfs_image *image,
						 uint32_t more);

/**
 * Read many whole files as dwarfs_read_in_order() does, but call back from the threads
 * that decompress: the workers of the context, and more if requested. Parts of one file
 * may be delivered in any order and concurrently. Blocks are processed in order, and the
 * files in one block in the order of inodes. Takes the memory of one block for each
 * worker and one more.
 *
 * @param image   an image
 * @param inodes  of regular files, others cannot be read; duplicates are read once
 * @param count   how many
 * @param more    additional threads, which only run callbacks on data that the workers
 *                have decompressed: useful if callbacks block; values above 1024 count as
 *                1024
 * @param part    called for each part
 * @param failed  called for each file that cannot be read; not NULL
 * @param user    passed to both
 * @param task    reports the progress, from the calling thread, and cancels; may be NULL
 * @param err     receives the details on failure; may be NULL
 * @return 0, the code of a callback that stopped, DWARFS_ERR_CANCELLED, or as
 *         dwarfs_read()
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API int dwarfs_read_parallel(const dwarfs_image *image, const dwarfs_inode *inodes,
				    size_t count, uint32_t more, dwarfs_part_fn part,
				    dwarfs_part_fail_fn failed, void *user,
				    const dwarfs_task *task, dwarfs_error **err);

DWARFS_END_DECLS

#endif
