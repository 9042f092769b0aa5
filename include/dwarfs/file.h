/* SPDX-License-Identifier: MIT */
/**
 * @file
 * Read the contents of files.
 *
 * dwarfs_read() needs nothing but an inode; a dwarfs_file remembers where the pieces of a
 * large file are, and answers for holes. What is read comes from the block cache of the
 * context; dwarfs_prefetch() puts there what will be read soon.
 *
 * dwarfs_file_borrow() gives the bytes where they are, without a copy. dwarfs_read_in_order()
 * reads whole files, many of them, in the order in which they are stored.
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
 * @param buffer     room for bytes
 * @param bytes      how many are wanted
 * @param offset     from the start of the file
 * @param bytes_out  receives how many were read: fewer than wanted only at the end of the
 *                   file, 0 past it
 * @param err        receives the details on failure; may be NULL
 * @return 0; DWARFS_ERR_IS_DIR for a directory; DWARFS_ERR_INVALID for anything else that is
 *         no file; DWARFS_ERR_RANGE for a bad inode; DWARFS_ERR_CORRUPT, _CHECKSUM, _IO,
 *         _UNSUPPORTED or _NOMEM when the contents cannot be had
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API int dwarfs_read(const dwarfs_image *image, dwarfs_inode inode, void *buffer,
			   size_t bytes, uint64_t offset, size_t *bytes_out,
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

/** Read from an open file; as dwarfs_read(). Threads: any. Since 0.1. */
DWARFS_API int dwarfs_file_read(const dwarfs_file *file, void *buffer, size_t bytes,
				uint64_t offset, size_t *bytes_out, dwarfs_error **err);

/**
 * Find data, like lseek() with SEEK_DATA.
 *
 * @param file        a file
 * @param offset      where to start
 * @param offset_out  receives the first offset at or after the start that is not in a hole
 * @param err         receives the details on failure; may be NULL
 * @return 0; DWARFS_ERR_NOT_FOUND when there is no data from there on (as ENXIO)
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API int dwarfs_file_seek_data(const dwarfs_file *file, uint64_t offset,
				     uint64_t *offset_out, dwarfs_error **err);

/**
 * Find a hole, like lseek() with SEEK_HOLE. The end of the file counts as one.
 *
 * @param file        a file
 * @param offset      where to start
 * @param offset_out  receives the first offset at or after the start that is in a hole
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
DWARFS_API int dwarfs_file_chunk(const dwarfs_file *file, uint64_t index, int64_t *block_out,
				 uint64_t *offset_out, uint64_t *bytes_out, dwarfs_error **err);

/** Close a file; NULL is accepted. Threads: one. Since 0.1. */
DWARFS_API void dwarfs_file_free(dwarfs_file *file);

/* -- without a copy ------------------------------------------------------------------ */

/** Bytes of a file, in one or more parts, that stay in memory until they are given back. */
typedef struct dwarfs_borrowed dwarfs_borrowed;

/**
 * Read from an open file without a copy, where that is possible: the bytes stay where they are
 * decoded. Where keeping them there would leave too little of the cache's budget for others,
 * they are copied all the same, which does not show.
 *
 * @param file    a file
 * @param bytes   how many are wanted
 * @param offset  from the start of the file
 * @param out     receives the bytes, fewer than wanted only at the end of the file; give them
 *                back with dwarfs_borrowed_free(), soon
 * @param err     receives the details on failure; may be NULL
 * @return as dwarfs_read()
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
 * @return its bytes, until dwarfs_borrowed_free(); NULL for an index that does not exist
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API const void *dwarfs_borrowed_part(const dwarfs_borrowed *borrowed, size_t index,
					    size_t *bytes_out);

/** @return the size of all parts together. Threads: any. Since 0.1. */
DWARFS_API size_t dwarfs_borrowed_bytes(const dwarfs_borrowed *borrowed);

/** Give borrowed bytes back; NULL is accepted. Threads: one. Since 0.1. */
DWARFS_API void dwarfs_borrowed_free(dwarfs_borrowed *borrowed);

/**
 * Whether holes are too large to be written or read as zeros by intention. An image can
 * describe a file of 2^62 bytes in some hundred bytes: what goes through all contents byte by byte
 * would never end.
 *
 * @param hole_bytes  of a file, or of several together
 * @param data_bytes  what these have besides holes: dwarfs_stat_allocated_bytes()
 * @return whether the holes have more than 64 GiB, and more than 1024 times the bytes of the data
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API bool dwarfs_holes_are_huge(uint64_t hole_bytes, uint64_t data_bytes);

/* -- many files ---------------------------------------------------------------------- */

/**
 * Put into the cache what some files need, as far as they fit into its budget: they get half
 * of that, or a quarter where one block takes most of it. Where the files lie all over blocks
 * that are too large to stay, each block is decoded once, and what the files need of it stays.
 * What is read as quickly without being here is left out. Files that cannot be read are passed
 * over: that shows when they are read.
 *
 * Meant for what will be read soon and in this order, such as the other files of a directory.
 * The workers of the context help.
 *
 * @param image   an image
 * @param inodes  of regular files; others are passed over
 * @param count   how many
 * @param err     receives the details on failure; may be NULL
 * @return how many of the inodes, from the first on, were dealt with: what they need is in the
 *         cache now, unless they were passed over or left out; or DWARFS_ERR_RANGE for a bad
 *         inode, or DWARFS_ERR_NOMEM
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API int dwarfs_prefetch(const dwarfs_image *image, const dwarfs_inode *inodes,
			       size_t count, dwarfs_error **err);

/**
 * Receives pieces of files.
 *
 * The pieces of a file do not overlap and cover all of it. Most often they come in the order
 * of the file, but where parts of a file are stored elsewhere they need not. After its last
 * piece one call with bytes 0 and, as offset, the size tells that the file is complete; for an
 * empty file that is the only call.
 *
 * @param inode   the file
 * @param data    the bytes, valid during the call; NULL for a hole and for the last call
 * @param bytes   how many
 * @param offset  from the start of the file
 * @param user    as given to dwarfs_read_in_order()
 * @return 0; anything else stops, and is then returned by dwarfs_read_in_order()
 *
 * Threads: that which called dwarfs_read_in_order().
 */
typedef int (*dwarfs_piece_fn)(dwarfs_inode inode, const void *data, size_t bytes,
			       uint64_t offset, void *user);

/**
 * Is told that a file cannot be read; no more pieces of it come.
 *
 * @param inode  the file
 * @param why    what went wrong, valid during the call
 * @param user   as given to dwarfs_read_in_order()
 * @return 0 to go on with the other files; anything else stops, and is then returned by
 *         dwarfs_read_in_order()
 *
 * Threads: that which called dwarfs_read_in_order().
 */
typedef int (*dwarfs_piece_fail_fn)(dwarfs_inode inode, const dwarfs_error *why, void *user);

/**
 * Read whole files, many of them, in the order in which they are stored: every block is read
 * and decoded once, by the workers of the context, which run ahead. Takes the memory of one
 * block for each worker and one more, and 32 bytes for each chunk of the files; the cache is
 * used for what it has, and stays as it is.
 *
 * @param image   an image
 * @param inodes  of regular files, others cannot be read; what is in here twice is read once
 * @param count   how many
 * @param piece   called for each piece, block by block, and within a block in the order of
 *                inodes and of the file
 * @param failed  called for each file that cannot be read; NULL to stop at the first
 * @param user    handed to both
 * @param err     receives the details on failure; may be NULL
 * @return 0, what a callback returned, or as dwarfs_read()
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API int dwarfs_read_in_order(const dwarfs_image *image, const dwarfs_inode *inodes,
				    size_t count, dwarfs_piece_fn piece,
				    dwarfs_piece_fail_fn failed, void *user,
				    dwarfs_error **err);

/**
 * What one block has of a file: one or more pieces, or a call with none that says that the
 * file is complete.
 */
typedef struct dwarfs_part dwarfs_part;

/** @return the file. Threads: any. Since 0.1. */
DWARFS_API dwarfs_inode dwarfs_part_inode(const dwarfs_part *part);

/** @return the size of the whole file in bytes. Threads: any. Since 0.1. */
DWARFS_API uint64_t dwarfs_part_file_bytes(const dwarfs_part *part);

/**
 * Whether the file is complete with this: all its other parts, if there are any, have been
 * taken. Only a file that is in one block as a whole has this part as its first and last one;
 * of other files the last one has no pieces.
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API bool dwarfs_part_is_last(const dwarfs_part *part);

/** @return how many pieces there are. Holes are none. Threads: any. Since 0.1. */
DWARFS_API size_t dwarfs_part_count(const dwarfs_part *part);

/**
 * One of the pieces, in the order of the file.
 *
 * @param part        a part
 * @param index       from 0; less than dwarfs_part_count()
 * @param bytes_out   receives its size, at least 1
 * @param offset_out  receives where it is in the file
 * @return its bytes, valid during the call; NULL for an index that does not exist
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API const void *dwarfs_part_piece(const dwarfs_part *part, size_t index,
					 size_t *bytes_out, uint64_t *offset_out);

/**
 * Receives a part of a file.
 *
 * @param part    the part, valid during the call
 * @param thread  a number of the thread that calls, less than dwarfs_read_parallel_threads()
 * @param user    as given to dwarfs_read_parallel()
 * @return 0; anything else stops, and is then returned by dwarfs_read_parallel()
 *
 * Threads: any, several at once; calls with the same number come one after the other.
 */
typedef int (*dwarfs_part_fn)(const dwarfs_part *part, uint32_t thread, void *user);

/**
 * Is told that a file cannot be read, once for each. Parts of it may still come, but not its
 * last one.
 *
 * @param inode   the file
 * @param why     what went wrong, valid during the call
 * @param thread  as for dwarfs_part_fn
 * @param user    as given to dwarfs_read_parallel()
 * @return 0 to go on with the other files; anything else stops, and is then returned by
 *         dwarfs_read_parallel()
 *
 * Threads: as for dwarfs_part_fn.
 */
typedef int (*dwarfs_part_fail_fn)(dwarfs_inode inode, const dwarfs_error *why,
				   uint32_t thread, void *user);

/**
 * Called about ten times a second while others work, or between files where the same thread
 * does all the work.
 *
 * @param user  as given to dwarfs_read_parallel()
 * @return 0; anything else stops, and is then returned by dwarfs_read_parallel()
 *
 * Threads: that which called dwarfs_read_parallel().
 */
typedef int (*dwarfs_look_fn)(void *user);

/**
 * How many threads dwarfs_read_parallel() uses at most.
 *
 * @param image  an image
 * @param more   as for dwarfs_read_parallel()
 * @return the number, at least 1
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API uint32_t dwarfs_read_parallel_threads(const dwarfs_image *image, uint32_t more);

/**
 * Read whole files, many of them, as dwarfs_read_in_order() does, but hand them out in the
 * threads that decode: the workers of the context, and more if wanted. Parts of one file may
 * come in any order and at the same time. Blocks are taken in their order, and what one has of
 * files in the order of inodes. Takes the memory of one block for each worker and one more.
 *
 * @param image   an image
 * @param inodes  of regular files, others cannot be read; what is in here twice is read once
 * @param count   how many
 * @param more    threads besides the workers of the context, which hand out what these have
 *                decoded: useful where who takes it has to wait; what is above 1024 is as 1024
 * @param part    called for each part
 * @param failed  called for each file that cannot be read
 * @param look    called from time to time; may be NULL
 * @param user    handed to these
 * @param err     receives the details on failure; may be NULL
 * @return 0, what a callback returned, or as dwarfs_read()
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API int dwarfs_read_parallel(const dwarfs_image *image, const dwarfs_inode *inodes,
				    size_t count, uint32_t more, dwarfs_part_fn part,
				    dwarfs_part_fail_fn failed, dwarfs_look_fn look,
				    void *user, dwarfs_error **err);

DWARFS_END_DECLS

#endif
