/* SPDX-License-Identifier: MIT */
/**
 * @file
 * What the images and builders of a program share: a log, worker threads, and one block
 * cache with one budget in bytes.
 *
 * Wherever a context is asked for, NULL means a private one with defaults. Settings are made
 * before the first image or builder uses the context; later changes are refused.
 */
#ifndef DWARFS_CONTEXT_H
#define DWARFS_CONTEXT_H

#include <dwarfs/error.h>

DWARFS_BEGIN_DECLS

typedef struct dwarfs_context dwarfs_context;

/** How much a log message matters; a context passes on its level and everything above it. */
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
 * Threads: called from any thread, one call at a time for each context.
 */
typedef void (*dwarfs_log_fn)(int level, const char *message, void *user);

/**
 * Make a context: no log, workers as many as processors, 512 MiB of block cache.
 *
 * @param context_out  receives the context; free it with dwarfs_context_free()
 * @param err          receives the details on failure; may be NULL
 * @return 0, or DWARFS_ERR_NOMEM
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API int dwarfs_context_new(dwarfs_context **context_out, dwarfs_error **err);

/**
 * Give up a context. It ends when the images and builders that use it are gone, too; they
 * may be freed before or after it.
 *
 * @param context  a context, or NULL
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API void dwarfs_context_free(dwarfs_context *context);

/**
 * Set how many bytes of decoded blocks are kept for reading again, over all images of the
 * context: decoded bytes, the state of decoders, and stored bytes while they are decoded. When
 * one block alone is larger, one at a time may exceed the budget while it is in use.
 *
 * @param context  not in use yet
 * @param bytes    0 or more; default 512 MiB
 * @param err      receives the details on failure; may be NULL
 * @return 0, or DWARFS_ERR_INVALID when an image or builder uses the context already
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API int dwarfs_context_set_cache_bytes(dwarfs_context *context, uint64_t bytes,
					      dwarfs_error **err);

/**
 * Set when a block that is decoded in part is decoded to its end at once: that takes memory,
 * and gives the memory of its decoder back.
 *
 * @param context  not in use yet
 * @param percent  how much of a block a read must need for that, 0 to 100; default 100, which
 *                 means that no more is decoded than is read
 * @param err      receives the details on failure; may be NULL
 * @return 0, DWARFS_ERR_RANGE, or DWARFS_ERR_INVALID when the context is in use already
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API int dwarfs_context_set_finish_percent(dwarfs_context *context, uint32_t percent,
						 dwarfs_error **err);

/**
 * Set how many worker threads a long operation starts.
 *
 * @param context  not in use yet
 * @param workers  0 to run everything in the thread of the caller, up to 1024; default: one
 *                 for each processor
 * @param err      receives the details on failure; may be NULL
 * @return 0, DWARFS_ERR_RANGE, or DWARFS_ERR_INVALID when the context is in use already
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API int dwarfs_context_set_workers(dwarfs_context *context, uint32_t workers,
					  dwarfs_error **err);

/**
 * Set who receives log messages.
 *
 * @param context  not in use yet
 * @param level    a dwarfs_log_level: the least important one to pass on
 * @param log      called for each message; NULL for no log
 * @param user     handed to log
 * @param err      receives the details on failure; may be NULL
 * @return 0, DWARFS_ERR_RANGE, or DWARFS_ERR_INVALID when the context is in use already
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API int dwarfs_context_set_log(dwarfs_context *context, int level, dwarfs_log_fn log,
				      void *user, dwarfs_error **err);

/** Numbers of the block cache, for dwarfs_context_cache_count(). */
enum dwarfs_cache_number {
	DWARFS_CACHE_BUDGET,	    /**< bytes that it may take */
	DWARFS_CACHE_USED,	    /**< bytes that it takes now, decoders and stored bytes too */
	DWARFS_CACHE_MOST_USED,	    /**< the most that it ever took */
	DWARFS_CACHE_BLOCKS,	    /**< blocks that are there now, whole or in part */
	DWARFS_CACHE_EXTENTS,	    /**< parts of other blocks that are there now */
	DWARFS_CACHE_HITS,	    /**< reads whose bytes were there */
	DWARFS_CACHE_MISSES,	    /**< times that a block had to be decoded, or decoded further */
	DWARFS_CACHE_EVICTIONS,	    /**< blocks that left to make room */
	DWARFS_CACHE_DECODED_BYTES, /**< bytes that were decoded into the cache */
};

/**
 * Ask for a number of the block cache, which all images of a context share.
 *
 * @param context  a context
 * @param what     a dwarfs_cache_number
 * @return the number as it is now; 0 for one that does not exist, and, except for the budget,
 *         before the first image was opened
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API uint64_t dwarfs_context_cache_count(const dwarfs_context *context, int what);

/**
 * Give memory of the block cache back to the system: that of all blocks that nobody has read
 * from for a while. What is being read stays.
 *
 * @param context     a context
 * @param max_age_ms  how long, in milliseconds; 0 for all blocks
 * @return 0; it cannot fail
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API int dwarfs_context_trim(dwarfs_context *context, uint64_t max_age_ms);

/**
 * Set whether the library takes the times of what dwarfs_context_latency() tells about: two
 * looks at the clock for each. Otherwise that costs nothing.
 *
 * @param context  not in use yet
 * @param on       whether to; default false
 * @param err      receives the details on failure; may be NULL
 * @return 0, DWARFS_ERR_NOMEM, or DWARFS_ERR_INVALID when the context is in use already
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API int dwarfs_context_set_timing(dwarfs_context *context, bool on,
					 dwarfs_error **err);

/**
 * What takes time, for dwarfs_context_latency(). Reads wait and decode, once for each block
 * that they need and that is not there; what is done ahead decodes, too.
 */
enum dwarfs_latency {
	DWARFS_LATENCY_READ,   /**< reading or borrowing a range of one file */
	DWARFS_LATENCY_WAIT,   /**< waiting for bytes that another thread decodes */
	DWARFS_LATENCY_DECODE, /**< bringing a block so far as is asked for, by who decodes it:
				    waiting for memory, its stored bytes, decoding */
	DWARFS_LATENCY_LOAD,   /**< reading the stored bytes of a block, and checking its hash */
	DWARFS_LATENCY_COUNT,  /**< so many there are; more may come */
};

/** Numbers of a latency, for dwarfs_context_latency(). */
enum dwarfs_latency_number {
	DWARFS_LATENCY_TIMES,	 /**< how often it happened */
	DWARFS_LATENCY_SUM_NS,	 /**< how long it took in all, in nanoseconds */
	DWARFS_LATENCY_LEAST_NS, /**< the shortest time */
	DWARFS_LATENCY_MOST_NS,	 /**< the longest time */
};

/**
 * Ask how often something happened, and how long it took, over all images of a context.
 *
 * @param context  a context
 * @param what     a dwarfs_latency
 * @param number   a dwarfs_latency_number
 * @return the number as it is now; 0 for one that does not exist, before it happened first,
 *         and when no times are taken
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API uint64_t dwarfs_context_latency(const dwarfs_context *context, int what,
					   int number);

/**
 * Ask how long something took at most, in so many of all cases: 500 is for the median, 990 for
 * 99 %.
 *
 * @param context   a context
 * @param what      a dwarfs_latency
 * @param permille  0 to 1000; what is above is as 1000
 * @return nanoseconds, at most an eighth too many; 0 as for dwarfs_context_latency()
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API uint64_t dwarfs_context_latency_quantile(const dwarfs_context *context, int what,
						    uint32_t permille);

/**
 * Is told of something that took time.
 *
 * @param what      a dwarfs_latency
 * @param start_ns  when it began, on the monotonic clock of the system
 * @param ns        how long it took
 * @param user      as given to dwarfs_context_set_span()
 *
 * Threads: any, several at once: those that did it. It should be quick.
 */
typedef void (*dwarfs_span_fn)(int what, uint64_t start_ns, uint64_t ns, void *user);

/**
 * Have each single time told that the library takes, for a trace. Turns timing on, as
 * dwarfs_context_set_timing() does; turning that off afterwards ends it.
 *
 * @param context  not in use yet
 * @param span     called for each; NULL for none
 * @param user     handed to span
 * @param err      receives the details on failure; may be NULL
 * @return as dwarfs_context_set_timing()
 *
 * Threads: one. Since 0.1.
 */
DWARFS_API int dwarfs_context_set_span(dwarfs_context *context, dwarfs_span_fn span,
				       void *user, dwarfs_error **err);

/**
 * Ask how often something took a time within certain bounds: one step of its histogram, of
 * which there are eight for each doubling of the time.
 *
 * @param context       a context
 * @param what          a dwarfs_latency
 * @param index         of the step, from 0
 * @param from_ns_out   receives the shortest time of that step
 * @param until_ns_out  receives the first time that is past it; 0 when there is no such step:
 *                      all are known then
 * @return how often; 0 as for dwarfs_context_latency()
 *
 * Threads: any. Since 0.1.
 */
DWARFS_API uint64_t dwarfs_context_latency_bucket(const dwarfs_context *context, int what,
						  uint32_t index, uint64_t *from_ns_out,
						  uint64_t *until_ns_out);

DWARFS_END_DECLS

#endif
