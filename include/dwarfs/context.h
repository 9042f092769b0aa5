/* SPDX-License-Identifier: MIT */
/**
 * @file
 * Resources that the images and builders of a program share: a log, worker threads, and
 * one block cache with one budget in bytes.
 *
 * Every function that takes a context accepts NULL for a private one with defaults.
 * Settings can be changed until the first image or builder uses the context. Later, only
 * dwarfs_context_set_cache_bytes() and dwarfs_context_set_decode_limit() are accepted.
 *
 * After fork(), a child may go on with contexts and images of its parent if no other
 * thread was reading with them at that moment. Otherwise, on Linux 4.14 and later, calls
 * that read contents return DWARFS_ERR_INVALID instead of waiting for threads that the
 * child does not have. Contexts and images can be freed safely then, but the memory of
 * the cache stays allocated. Names and attributes can be read, unless at the moment of
 * the fork another thread was opening the image or reading its first name or extended
 * attribute. A child of a program with threads should open the image anew, with a new
 * context. On other systems, where forks are not detected, it must. The section FORK of
 * libdwarfs(3) has the rules for other objects.
 */
#ifndef DWARFS_CONTEXT_H
#define DWARFS_CONTEXT_H

#include <dwarfs/allocator.h>
#include <dwarfs/error.h>

DWARFS_BEGIN_DECLS

typedef struct dwarfs_context dwarfs_context;

/** Severity of a log message, from the most to the least severe. A context passes on
 * messages of the level that was set, and more severe ones. */
enum dwarfs_log_level {
	DWARFS_LOG_FATAL,
	DWARFS_LOG_ERROR,
	DWARFS_LOG_WARN,
	DWARFS_LOG_INFO,
	DWARFS_LOG_VERBOSE,
	DWARFS_LOG_DEBUG,
	DWARFS_LOG_TRACE,
};

/**
 * Receives log messages.
 *
 * @param level    a dwarfs_log_level
 * @param message  text without a newline, valid during the call
 * @param user     as given to dwarfs_context_set_log()
 *
 * Must not use the context, nor its images and builders: they may log, which would
 * deadlock. Images of another context can be used.
 *
 * Threads: called from any thread, one call at a time for each context.
 */
typedef void (*dwarfs_log_fn)(enum dwarfs_log_level level, const char *message,
			      void *user);

/**
 * Make a context with the defaults: no log, as many workers as dwarfs_usable_processors(), at
 * most 1024, and 512 MiB of block cache, or a quarter of dwarfs_usable_memory() if that is less.
 * Memory comes from the allocator of the calling thread, which is malloc() if
 * dwarfs_allocator_use() has not set another.
 *
 * @param context_out  receives the context; free it with dwarfs_context_free()
 * @param err          receives the details on failure; may be NULL
 * @return 0, or DWARFS_ERR_NOMEM
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API int dwarfs_context_new(dwarfs_context **context_out, dwarfs_error **err);

/**
 * Make a context with an allocator: memory for the context, and for what is made with it, comes
 * from there.
 *
 * @param allocator    the allocator, which stays the caller's and must exist until the last
 *                     object, error and memory that came from it is freed; NULL for malloc()
 * @param context_out  receives the context; free it with dwarfs_context_free()
 * @param err          receives the details on failure; may be NULL
 * @return 0, DWARFS_ERR_NOMEM, or DWARFS_ERR_INVALID for an allocator that
 *         dwarfs_allocator_use() refuses
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API int dwarfs_context_new_with_allocator(const dwarfs_allocator *allocator,
						 dwarfs_context **context_out,
						 dwarfs_error **err);

/**
 * Release a context. Images and builders that use it keep it alive; they may be freed
 * before or after it.
 *
 * @param context  a context, or NULL
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API void dwarfs_context_free(dwarfs_context *context);

/**
 * Set the budget of the block cache, over all images of the context. It covers
 * decompressed bytes, the state of decoders, and compressed bytes while they are
 * decompressed. A block that is larger than the whole budget may exceed it while in use,
 * one such block at a time.
 *
 * It may be changed while images are open and read. A smaller one evicts at once, except
 * bytes that are being read or decompressed, or are borrowed: these are evicted by a later
 * read or by dwarfs_context_trim().
 *
 * With a budget for few blocks, threads that read different parts of an image may evict the
 * blocks that other threads need next. If, with a budget of less than four blocks, most bytes
 * are decompressed repeatedly, one thread decompresses at a time, and only when the others have
 * read what is cached for them. Threads that read files close to each other in the order of the
 * tree form a group, so that a block is decompressed once for all of them. Groups take turns, in
 * which some tens of budgets are decompressed. The wait for a thread is limited: to about the time
 * in which a block is decompressed, 16 milliseconds at most, if it does not read; to some times
 * that, half a second at most, if it reads slowly. A thread for which this limit is reached
 * repeatedly is not waited for during some of its next reads.
 * When the limit of dwarfs_context_set_decode_limit() is exceeded, reads fail instead.
 *
 * So several threads decompress about as much as one thread that reads the same files in the
 * order of the tree, however many there are. How much that is depends on the image: in the order
 * of the tree files may be scattered over many blocks, and with a budget of two blocks up to
 * about 15 times as many bytes were decompressed as one thread reads. See
 * #DWARFS_CACHE_DECODED_BYTES and #DWARFS_CACHE_READ_BYTES.
 *
 * @param context  a context
 * @param bytes    0 or more; default 512 MiB, at most a quarter of dwarfs_usable_memory()
 * @param err      receives the details on failure; may be NULL
 * @return 0; it cannot fail for a valid context
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API int dwarfs_context_set_cache_bytes(dwarfs_context *context, uint64_t bytes,
					      dwarfs_error **err);

/**
 * Set how many bytes may be decompressed for each byte that is read, before reads fail.
 * A program that reads in an order for which the cache is too small then gets an error
 * instead of being slow without notice.
 *
 * What is decompressed is measured in consecutive windows. A window ends when the bytes
 * that were decompressed repeatedly in it (#DWARFS_CACHE_REDECODED_BYTES) have reached both
 * 16 MiB and 16 times the budget of the cache. If all bytes decompressed in it
 * (#DWARFS_CACHE_DECODED_BYTES) are then more than `times` times the bytes read
 * (#DWARFS_CACHE_READ_BYTES), the limit is exceeded: from then on, reads that would have to
 * decompress fail with DWARFS_ERR_LIMIT and a message with the budget, the block
 * size and these numbers; reads of cached bytes succeed, and dwarfs_prefetch() does
 * nothing. Setting the limit or the budget, even to its current value, lets reads decompress
 * again and starts a new window. Bytes that are decompressed for the first time do not end a
 * window: the first read of any part of an image never exceeds the limit, however little is
 * read.
 *
 * dwarfs_read_in_order(), dwarfs_read_parallel() and functions that are based on them, such
 * as extraction, decompress each block once without the cache: they are neither counted
 * nor refused.
 *
 * @param context  a context; images may be open and in use
 * @param times    the limit; 0 for none; default 0
 * @param err      receives the details on failure; may be NULL
 * @return 0; it cannot fail for a valid context
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API int dwarfs_context_set_decode_limit(dwarfs_context *context, uint32_t times,
					       dwarfs_error **err);

/**
 * Set when a block is decompressed to its end instead of only as far as a read needs.
 * This takes memory for the rest of the block, and releases the state of its decoder.
 *
 * @param context  not in use yet
 * @param percent  0 to 100: a block that fits into the cache is decompressed to its end when
 *                 a read needs bytes beyond this share of it, counted from its start; default
 *                 100: decompress no further than reads need
 * @param err      receives the details on failure; may be NULL
 * @return 0, DWARFS_ERR_RANGE, or DWARFS_ERR_INVALID when the context is in use already
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API int dwarfs_context_set_finish_percent(dwarfs_context *context,
						 uint32_t percent, dwarfs_error **err);

/**
 * Set how many worker threads a long operation starts, or, when the context is in use already,
 * how many of them compress blocks from now on.
 *
 * In use, a context keeps the number that it had at first: threads and the memory of a
 * builder are planned for it. With a smaller number, the other workers of its builders
 * wait before their next block, for example while other programs need the processors; it
 * can be raised again. The output does not depend on it. It applies to each builder of
 * the context; a memory limit may allow fewer. Reading is not affected.
 *
 * @param context  in use or not
 * @param workers  0 to run everything in the thread of the caller, up to 1024; default:
 *                 dwarfs_usable_processors() of the thread that made the context. In use: at
 *                 least 1, at most the number that the context had when it was first used
 * @param err      receives the details on failure; may be NULL
 * @return 0 or DWARFS_ERR_RANGE
 *
 * Threads: one; any when the context is in use. Since 0.1.
 */
DWARFS_API int dwarfs_context_set_workers(dwarfs_context *context, uint32_t workers,
					  dwarfs_error **err);

/**
 * Count the processors that this process may use.
 *
 * On Linux these are the processors that the calling thread may run on
 * (sched_getaffinity(2)), but no more than the quota of processor time of its control
 * group, rounded up: the limit of a container or service. Control groups of version 2 are
 * expected at /sys/fs/cgroup, those of version 1 in /sys/fs/cgroup/cpu. On other systems
 * it is the number of processors of the machine.
 *
 * @return at least 1
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API uint32_t dwarfs_usable_processors(void);

/**
 * Get how much memory this process may use.
 *
 * This is the memory of the machine, but no more than the limit of its address space (RLIMIT_AS),
 * on Linux no more than the limit of its control group, as for dwarfs_usable_processors(), and in
 * a process of 32 bits at most 2 GiB. How much of it is in use is not considered.
 *
 * @return bytes; half of the address space if the memory of the machine is not known
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API uint64_t dwarfs_usable_memory(void);

/**
 * Set the callback for log messages.
 *
 * @param context  not in use yet
 * @param level    a dwarfs_log_level: the least severe one to pass on
 * @param log      called for each message; NULL for no log
 * @param user     passed to log
 * @param err      receives the details on failure; may be NULL
 * @return 0, DWARFS_ERR_RANGE, or DWARFS_ERR_INVALID when the context is in use already
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API int dwarfs_context_set_log(dwarfs_context *context,
				      enum dwarfs_log_level level, dwarfs_log_fn log,
				      void *user, dwarfs_error **err);

/** Numbers of the block cache, for dwarfs_context_cache_count(). */
enum dwarfs_cache_number {
	DWARFS_CACHE_BUDGET,	    /**< bytes that it may use */
	DWARFS_CACHE_USED,	    /**< bytes in use now, with decoders and compressed
					 bytes */
	DWARFS_CACHE_MOST_USED,	    /**< the most bytes ever in use */
	DWARFS_CACHE_BLOCKS,	    /**< blocks cached now, whole or in part */
	DWARFS_CACHE_EXTENTS,	    /**< cached parts of other blocks */
	DWARFS_CACHE_HITS,	    /**< reads whose bytes were cached */
	DWARFS_CACHE_MISSES,	    /**< reads that had to decompress a block, or more of
					 it */
	DWARFS_CACHE_EVICTIONS,	    /**< blocks evicted */
	DWARFS_CACHE_DECODED_BYTES, /**< bytes decompressed into the cache */
	DWARFS_CACHE_REDECODED_BYTES, /**< those of them that had been decompressed before
					   and were evicted: many if the budget is too
					   small */
	DWARFS_CACHE_TURN_WAITS, /**< reads that waited until other threads had read what is
				      cached or had their turn, see
				      dwarfs_context_set_cache_bytes() */
	DWARFS_CACHE_READ_BYTES, /**< bytes read or borrowed through the cache */
	DWARFS_CACHE_REFUSED,	 /**< reads that failed because of
				      dwarfs_context_set_decode_limit() */
};

/**
 * Get a number of the block cache, which all images of a context share.
 *
 * @param context  a context
 * @param what     a dwarfs_cache_number
 * @return the current value; 0 for a number that does not exist, and, except for the
 *         budget, before the first image was opened
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API uint64_t dwarfs_context_cache_count(const dwarfs_context *context,
					       enum dwarfs_cache_number what);

/**
 * Return memory of the block cache to the system: evict all blocks that have not been
 * read for some time. Blocks that are being read stay.
 *
 * @param context     a context
 * @param max_age_ms  evict blocks not read for this long, in milliseconds; 0 for all
 *                    blocks
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API void dwarfs_context_trim(dwarfs_context *context, uint64_t max_age_ms);

/**
 * Set whether the library measures the latencies that dwarfs_context_latency() returns.
 * This costs two readings of the clock for each event, and nothing when it is off.
 *
 * @param context  not in use yet
 * @param on       whether to measure; default false
 * @param err      receives the details on failure; may be NULL
 * @return 0, DWARFS_ERR_NOMEM, or DWARFS_ERR_INVALID when the context is in use already
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API int dwarfs_context_set_timing(dwarfs_context *context, bool on,
					 dwarfs_error **err);

/**
 * Events that are timed, for dwarfs_context_latency(). A read waits or decompresses once
 * for each block that it needs and that is not cached; prefetching decompresses, too.
 */
enum dwarfs_latency {
	DWARFS_LATENCY_READ,   /**< reading or borrowing a range of one file */
	DWARFS_LATENCY_WAIT,   /**< waiting for bytes that another thread decompresses */
	DWARFS_LATENCY_DECODE, /**< decompressing a block as far as needed: waiting for
				    memory, loading its stored bytes, decompressing them
				    */
	DWARFS_LATENCY_LOAD,   /**< reading the stored bytes of a block and verifying its
				    hash */
	DWARFS_LATENCY_COUNT,  /**< number of events; may grow in later versions */
};

/** Numbers of a latency, for dwarfs_context_latency(). */
enum dwarfs_latency_number {
	DWARFS_LATENCY_TIMES,	 /**< how often it happened */
	DWARFS_LATENCY_SUM_NS,	 /**< how long it took in all, in nanoseconds */
	DWARFS_LATENCY_LEAST_NS, /**< the shortest time */
	DWARFS_LATENCY_MOST_NS,	 /**< the longest time */
};

/**
 * Get how often an event happened and how long it took, over all images of a context.
 *
 * @param context  a context
 * @param what     a dwarfs_latency
 * @param number   a dwarfs_latency_number
 * @return the current value; 0 for a number that does not exist, before the first event,
 *         and when timing is off
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API uint64_t dwarfs_context_latency(const dwarfs_context *context,
					   enum dwarfs_latency what,
					   enum dwarfs_latency_number number);

/**
 * Get a quantile of a latency: 500 for the median, 990 for the 99th percentile.
 *
 * @param context   a context
 * @param what      a dwarfs_latency
 * @param permille  0 to 1000; larger values count as 1000
 * @return nanoseconds, too large by at most an eighth; 0 as for dwarfs_context_latency()
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API uint64_t dwarfs_context_latency_quantile(const dwarfs_context *context,
						    enum dwarfs_latency what,
						    uint32_t permille);

/**
 * Callback for each timed event.
 *
 * @param what      a dwarfs_latency
 * @param start_ns  when it began, in nanoseconds of the monotonic clock of the system
 * @param ns        how long it took, in nanoseconds
 * @param user      as given to dwarfs_context_set_span()
 *
 * Threads: called by the thread of the event, several at once. It should return quickly.
 */
typedef void (*dwarfs_span_fn)(enum dwarfs_latency what, uint64_t start_ns, uint64_t ns,
			       void *user);

/**
 * Set a callback for each timed event, for a trace. Turns timing on, as
 * dwarfs_context_set_timing() does; turning timing off later also stops these calls.
 *
 * @param context  not in use yet
 * @param span     called for each; NULL for none
 * @param user     passed to span
 * @param err      receives the details on failure; may be NULL
 * @return as dwarfs_context_set_timing()
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API int dwarfs_context_set_span(dwarfs_context *context, dwarfs_span_fn span,
				       void *user, dwarfs_error **err);

/**
 * Get one bucket of the histogram of a latency: how many events took a time within its
 * bounds. There are eight buckets for each doubling of the time.
 *
 * @param context       a context
 * @param what          a dwarfs_latency
 * @param index         of the bucket, from 0
 * @param from_ns_out   receives the lower bound of the bucket
 * @param until_ns_out  receives the upper bound, exclusive; 0 past the last bucket
 * @return the number of events; 0 as for dwarfs_context_latency()
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API uint64_t dwarfs_context_latency_bucket(const dwarfs_context *context,
						  enum dwarfs_latency what,
						  uint32_t index, uint64_t *from_ns_out,
						  uint64_t *until_ns_out);

DWARFS_END_DECLS

#endif
