/* SPDX-License-Identifier: MIT */
/*
 * read/cache/internal: the data structures of the cache, their states and locks.
 *
 *	cache.c		lookups and hits, parts of blocks, pins, holds
 *	decode_job.c	one decode job per unit: which thread decodes, which wait
 *	decode_step.c	read, verify and decode a unit, step by step
 *	eviction.c	the budget, and which unit is evicted first
 *	extents.c	copies of ranges of units that are not kept
 *	extent_tree.c	those of a unit by offset
 *	fork.c		the cache in a child process
 *	turns.c		which thread may decode while units are decoded again and again
 *	decode_limit.c	refuse to decode when far more is decoded than read
 *
 * A unit is what is decoded independently: a block, or a part of a block whose codec
 * stores parts. Each unit has a slot as long as its image is open, and a resident while
 * decoded bytes of it are in memory. States of a unit:
 *
 *	            miss: decode_unit()
 *	  ABSENT -------------------------> IN FLIGHT ----------------.
 *	  ^ ^ ^                             |   |  ^                  |
 *	  | | |   job fails: its waiters    |   |  | read past        | job ends, unit
 *	  | | |   get the error             |   |  | `ready`          | does not fit
 *	  | | '-----------------------------'   v  |                  v
 *	  | |     evict(): compare and        RESIDENT             TRANSIENT
 *	  | '---- swap, fails if pinned ----- |    ^                  |
 *	  |                    dw_cache_pin() |    | unpin()          | last reader
 *	  |                                   v    |                  | is done
 *	  |                                   PINNED                  |
 *	  '-----------------------------------------------------------'
 *
 *	state      slot->state         slot->job  resident
 *	ABSENT     0                   NULL       none; extents may have copies
 *	IN FLIGHT  IS_RESIDENT + pins  set        once opened; bytes [0, ready) readable
 *	RESIDENT   IS_RESIDENT         NULL       queued; has `decoder` if ready < size
 *	PINNED     IS_RESIDENT + pins  any        queued; cannot be evicted
 *	TRANSIENT  0                   NULL       not queued; its last reader frees it
 *
 * An evicted unit is detached (its state becomes 0 by compare and swap, which fails while
 * there are pins), so no reader can reach it; the evicting thread, which holds
 * cache->lock, frees it at once or turns ranges of it into extents.
 *
 * Locks. There is one mutex, cache->lock, for all images of a context:
 *
 *	without it   slot.state, slot.parts, parts.verified_block, resident.ready, .uses,
 *	             .last_ms, .read_ends, .next_reader, cache.last_read, .counts
 *	             and .memory_waiters, all atomic; bytes of what the
 *	             reader has pinned: resident.bytes below `ready`, extent.bytes
 *	job's thread resident.decoder, .stored, .pages while the unit is IN FLIGHT: the
 *	             thread has a pin and gives up the lock to read, verify and decode
 *	cache->lock  everything else: slot.job, jobs, extents, queues, holds, the budget,
 *	             and the resident of a unit without a job
 *
 * Lock order: cache->lock is innermost. No other mutex is taken while it is held; it is
 * given up before metadata is read (find_siblings, locate_reader) and before any I/O
 * or decoding.
 * Conditions, all with cache->lock: job.progressed (more bytes are ready, the job ended,
 * or may run exclusively), cache.may_start, cache.memory_freed, turn_waiter.changed. A
 * thread waits for its turn (turns.c) before it becomes the one that decodes a unit, with
 * nothing pinned or reserved, so that jobs never wait for a turn.
 *
 * When the hash of a block is wrong, dw_verify_block() (read/image/verify.c) fails with
 * DWARFS_ERR_CHECKSUM: the job ends with that error, every waiter gets a copy, nothing of
 * the block is kept, and the next read tries again. An image that is opened with
 * DWARFS_VERIFY_LAZY may return bytes before the block's hash is known: on a mismatch
 * distrust() (decode_step.c) drops what is decoded of the block and marks it is_damaged,
 * so that later reads verify first and fail.
 */
#ifndef DW_READ_CACHE_INTERNAL_H
#define DW_READ_CACHE_INTERNAL_H

#include <pthread.h>

#include "read/cache/cache.h"
#include "read/image/image.h"

/* slot.state: a flag, and the number of pins times PIN. */
#define IS_RESIDENT 1u
#define PIN	    2u

/* Maximum of resident.uses. */
#define MAX_USES 3

/* Concurrent readers of a resident whose offsets are tracked. */
#define MAX_READERS 4

/* Decoded independently: a block, or a part of one. */
struct unit {
	struct dwarfs_image *image;
	uint32_t block;
	const struct codec_part *part; /* NULL: the whole block */
	struct slot *slot;
};

/* The beginning of a block's payload, which decoders of its parts need. */
#define HEAD_BYTES 12

/*
 * Hashes of the parts of a verified block. The hash in the section header covers all
 * stored bytes; to compute it again for each part would take longer than decoding the
 * part. So when the block's hash matches, an XXH3 of each part is computed from the same
 * bytes. From then on only the stored bytes of a part are read, and compared with its
 * hash, because a source may give other bytes the second time.
 *
 * Without them one day of *logs* (level 7, parts of 2 MiB) takes 1.2 times the processor
 * time in blocks of 16 MiB, 1.4 times in blocks of 64 MiB.
 */
struct verified_block {
	struct section_header header;
	uint8_t head[HEAD_BYTES];
	uint64_t xxh3[]; /* by part; 0 in images whose blocks are not verified */
};

/* The parts of a block, each with a slot of its own. */
struct parts {
	size_t count;
	struct codec_part *list;
	struct slot *slots;
	struct verified_block *_Atomic verified_block; /* NULL: not verified yet */
};

struct queue {
	struct resident *oldest, *newest;
	uint64_t bytes;
	uint32_t count;
};

/* A unit in memory, decoded up to `ready`. */
struct resident {
	struct slot *slot;
	uint64_t size; /* of the whole unit, decoded */
	const uint8_t *bytes;
	atomic_size_t ready; /* bytes that are decoded and may be read */
	uint8_t *pages;	     /* NULL: stored uncompressed, `bytes` is in `stored` */
	size_t page_bytes;
	struct stored stored;
	struct decoder *decoder; /* NULL: completely decoded */
	uint64_t charged;	 /* bytes of the budget */
	uint64_t max_bytes;	 /* memory it may need from now on */
	bool verifies_late;	 /* hash is verified when all is decoded */
	bool is_part_read;	 /* `stored` has only this part of its block */
	atomic_uchar uses;
	_Atomic uint64_t last_ms; /* time of the last read */
	/* Offsets at which the last sequential readers stopped. */
	_Atomic uint64_t read_ends[MAX_READERS];
	atomic_uchar next_reader;   /* index in read_ends to overwrite */
	bool is_redecode;	    /* was decoded before and evicted not long ago */
	uint32_t holds;		    /* pins for an unlimited time, see dw_cache_hold() */
	uint32_t transient_readers; /* threads that still use a TRANSIENT unit */
	struct queue *queue;
	struct resident *older, *newer;
};

/* A copy of a range of a unit. */
struct extent {
	struct range range;
	uint32_t pins;
	uint32_t batch;			/* extents made at the same time have the same */
	uint64_t read_bytes;		/* how many bytes of it were read */
	struct slot *slot;		/* NULL: dropped, freed with its last pin */
	struct extent *left, *right;	/* in the tree of the slot, by offset */
	struct extent *previous, *next; /* in order of eviction */
	uint64_t last_ms;
	uint8_t *bytes; /* in pages, or after this struct */
};

/* A range that a reader of a decode job needs. */
struct request {
	struct range range;
	bool must_keep; /* as an extent, even if the unit stays */
};

/* A unit that is being decoded. Freed by the decoding thread, or by the last one that waited. */
struct decode_job {
	uint64_t needed_bytes;	   /* memory to decode to the target, as far as known */
	uint64_t complete_bytes;   /* memory to decode the whole unit */
	uint64_t required_end;	   /* decode up to here */
	uint64_t wanted_end;	   /* and up to here if the unit cannot be kept */
	uint64_t first_ready;	   /* `ready` at the start */
	uint32_t waiters;	   /* threads that wait for this job */
	uint64_t wake_at;	   /* the first of them needs bytes up to here */
	pthread_cond_t progressed; /* more is ready; the job ended; it may run */
	struct decode_job *next_exclusive; /* in the queue for an exclusive run */
	bool is_waiting;		   /* to be admitted: the unit may be evicted */
	bool is_exclusive;		   /* no other job runs */
	bool is_redecode;		   /* evicted not long ago, and will be again */
	bool created_resident;		   /* the unit was ABSENT */
	bool has_parts;			   /* the block turned out to have parts */
	bool extents_only;		   /* started by dw_cache_keep_ranges() */
	bool is_pinned;			   /* the unit, until no thread waits */
	bool has_ended;
	int code; /* 0 or DWARFS_ERR_* */
	dwarfs_error *problem;
	struct resident *transient; /* unit that was not kept; waiters still read it */
	struct request *requests;
	size_t request_count, request_capacity;
};

/* Whether blocks are decoded again and again, see turns.c. */
struct thrashing {
	uint64_t decoded, redecoded; /* bytes since the last measurement */
	atomic_bool is_on;	     /* most was decoded before; read without the lock */
};

/* How much may be decoded for what is read, see decode_limit.c. */
struct decode_limit {
	uint32_t times; /* 0: no limit */
	bool is_exceeded;
	/* Counters at the start of the window. */
	uint64_t decoded_before, redecoded_before, read_before;
	uint64_t decoded, read; /* in the last complete window */
	uint64_t refused;
};

/* A thread that waits for its turn; on its stack. */
struct turn_waiter {
	const struct unit *unit;
	struct range range;
	uint64_t position; /* see dw_reader_position() */
	uint64_t number;   /* of the turn in which it came */
	struct turn_reader *reader;
	bool is_chosen;		/* may decode */
	pthread_cond_t changed; /* need not wait any more */
	struct turn_waiter *next, *previous;
};

enum turn_state { TURN_RUNNING, TURN_WAITING, TURN_CHOSEN, TURN_LATE };

/* A thread that takes part in turns. */
struct turn_reader {
	pthread_t thread;
	enum turn_state state;
	uint64_t turn;	       /* number of the last turn in which it was in the group */
	unsigned strikes;      /* how often the others waited for it in vain */
	uint64_t pardon_after; /* decodes until they wait for it again */
};
#define MAX_TURN_READERS 64

/* Whose turn it is to decode, see turns.c. */
struct turns {
	int decoding;	   /* threads that decode for a reader now */
	uint64_t decodes;  /* starts and ends of decodes, to see whether it is idle */
	uint64_t position; /* of the reader for which was decoded last */
	const struct dwarfs_image *image; /* that it reads; may be closed */
	uint64_t number;		  /* of turns so far */
	uint64_t from;	 /* position from which on readers are in the group */
	uint64_t end;	 /* decode_clock at which another group may have the turn */
	uint64_t charge; /* subtracted from `end` for an interval without any decode */
	uint64_t began_ms, decode_ms; /* the last start of a decode; what decodes take */
	struct turn_waiter *first, *last; /* threads that wait, in order */
	uint64_t waits;
	unsigned vain_waits; /* for threads that did not come, since one came */
	uint64_t
		resume_at; /* decode_clock up to which threads that run are not waited for */
	struct turn_reader readers[MAX_TURN_READERS];
	size_t reader_count;
};

/* Each thread counts in one of several cache lines: with one for all, each read would have to
 * fetch it from the processor of another thread. */
struct read_counts {
	_Atomic uint64_t hits, read_bytes;
	char gap[DW_APART_BYTES];
};
#define COUNTS_BITS 3

struct cache {
	struct read_counts counts[1 << COUNTS_BITS];
	pthread_mutex_t lock;
	atomic_uchar *mark;	 /* see fork.c; NULL: forks are not detected */
	uint32_t finish_percent; /* units decoded beyond it are decoded to their end */
	pthread_cond_t memory_freed; /* or a job ended */
	pthread_cond_t may_start;    /* jobs may be admitted again */
	uint64_t budget, used, most_used;
	uint32_t running_jobs;
	uint32_t starved_jobs; /* running jobs that wait for memory */
	uint32_t blocked_jobs; /* jobs that wait to be admitted */
	struct decode_job *exclusive_first, *exclusive_last; /* wait to run alone */
	bool exclusive_runs;				     /* one of them does */
	struct queue probation, main;			     /* as in S3-FIFO */
	struct extent *first_extent, *last_extent;	     /* in order of eviction */
	struct extent *batch_extent; /* the next one of the batch is linked before it */
	uint64_t extent_bytes;
	uint64_t unread_bytes; /* in extents that were not read to their end */
	uint32_t extent_count, batch;
	uint32_t window_shift;	    /* windows kept for readers are shifted right by it */
	uint32_t shift_since_batch; /* first batch made with that window_shift */
	uint32_t fully_read;	    /* extents since then that were read to their end */
	uint64_t last_batch_at;	    /* decode_clock at the last batch of extents */
	uint32_t detached_pinned;   /* dropped extents and TRANSIENT units with readers */
	uint64_t held_bytes;	    /* memory that held units may need */
	uint64_t largest_unit;	    /* memory of the largest decode job so far */
	uint64_t recent_unit;	    /* the same, of recent jobs */
	uint64_t transient_at;	    /* decode_clock when a unit last did not fit */
	uint64_t decode_clock;	    /* bytes decoded so far, the clock of evictions */
	atomic_uint memory_waiters; /* threads that wait for pins to be released */
	struct thrashing thrashing;
	struct turns turns;
	struct decode_limit decode_limit;
	uint64_t misses, evictions, decoded_bytes, redecoded_bytes;
	char gap[DW_APART_BYTES];
	struct slot *_Atomic last_read; /* the unit that was read last */
};

/* -- cache.c ------------------------------------------------------------------------- */

uint64_t dw_cache_now_ms(void);

/* Bytes given to readers of files, by all threads. */
uint64_t dw_cache_read_bytes(const struct cache *cache);

/* The unit that contains an offset; for offsets after the end, the last part. */
struct unit dw_cache_unit_at(struct dwarfs_image *image, uint32_t block, uint64_t offset);

/* Convert a range of the block to one of the unit in which it begins, cut off at the
 * end of a part. */
struct range dw_cache_clip(const struct unit *unit, struct range range);

/* Pin the resident of a slot; NULL when there is none. With or without the lock. */
struct resident *dw_cache_pin(struct slot *slot);

/* Release a pin, with the lock held: no thread is notified. */
static inline void dw_cache_unpin(struct slot *slot)
{
	atomic_fetch_sub(&slot->state, PIN);
}

/* As dw_cache_get(), within a unit; false when the bytes are not present. Under the
 * lock. */
bool dw_cache_find(struct cache *cache, struct slot *slot, struct range range,
		   struct cached *cached_out);

/* -- decode_job.c; all under the lock, which is given up meanwhile ------------------- */

/*
 * Decode a unit, which no job is decoding, up to the end of the range; threads that need
 * it meanwhile wait for this job. Afterwards the range is in the unit; or in
 * *cached_out, when the unit cannot be kept and range is not empty; or the block turned
 * out to have parts, and the caller tries again. ranges, which may be NULL, are decoded
 * as well and kept as extents.
 */
int dw_cache_decode(struct cache *cache, const struct unit *unit, struct range range,
		    const struct range_list *ranges, struct cached *cached_out,
		    dwarfs_error **err);

/* Add a range to the job of a unit and wait until it is decoded or the job has ended.
 * Afterwards it is in the unit or in *cached_out, or the caller tries again. */
int dw_cache_wait(struct cache *cache, const struct unit *unit, struct range range,
		  struct cached *cached_out, dwarfs_error **err);

/* Decode ranges to keep them as extents; if a job is decoding the unit, add them to
 * it, wait for its end, and let the caller try again. */
int dw_cache_decode_extents(struct cache *cache, const struct unit *unit,
			    const struct range_list *ranges, dwarfs_error **err);

/* Whether a range of a unit is decoded, also while a job decodes the rest. */
bool dw_cache_is_ready(struct slot *slot, struct range range);

/* Release a TRANSIENT unit; its last reader frees it. */
void dw_cache_put_transient(struct cache *cache, struct resident *resident);

/* -- decode_step.c; all under the lock, which is given up meanwhile ------------------ */

/* Results of a decode step that did not fail. */
enum outcome {
	DONE,
	OVER_BUDGET, /* try again when no other job runs */
	HAS_PARTS,   /* the block has parts */
};

/* Open a unit that has no resident yet, and decode up to the job's target; an outcome. */
int dw_cache_run_steps(struct cache *cache, const struct unit *unit,
		       struct decode_job *job, struct resident **resident,
		       dwarfs_error **err);

/* Of a block of an image that is closed, or that could not be opened; accepts NULL. */
void dw_cache_free_parts(struct parts *parts);

/* Free the decoder and the stored bytes if the unit is completely decoded, and charge
 * what the unit takes now. */
void dw_cache_release_decoder(struct cache *cache, struct resident *resident);

/* Memory of a resident once it is decoded up to `ready`, with its decoder and stored
 * bytes. */
uint64_t dw_cache_bytes_until(const struct resident *resident, uint64_t ready);

/* -- eviction.c; all under the lock -------------------------------------------------- */

/* Detach the resident from its slot, unless there are other pins than the caller's. */
bool dw_cache_detach(struct resident *resident, unsigned own_pins);

/* Whether a unit was evicted while the last MISSED_BUDGETS budgets were decoded: it is
 * read repeatedly. */
bool dw_cache_was_evicted_recently(const struct cache *cache, const struct slot *slot);

/* Whether a unit was evicted while the last budget of bytes was decoded. */
bool dw_cache_was_just_evicted(const struct cache *cache, const struct slot *slot);

/* Publish a resident in its slot and queue, and pin it for the caller. */
void dw_cache_attach(struct cache *cache, struct resident *resident);

/* Remove from its queue, but do not free. */
void dw_cache_dequeue(struct resident *resident);

/* Free a detached resident, which no reader can reach. */
void dw_cache_free_resident(struct cache *cache, struct resident *resident);

/* Set the bytes of the budget that a resident takes. */
void dw_cache_charge(struct cache *cache, struct resident *resident, uint64_t bytes);

static inline void dw_cache_note_use(struct cache *cache)
{
	if (cache->used > cache->most_used)
		cache->most_used = cache->used;
}

/* Evict until at most limit bytes are used, or nothing else can be evicted. */
void dw_cache_evict_to(struct cache *cache, uint64_t limit);

/*
 * Make space in the budget for `bytes` more, besides `own` bytes that the job has. A job
 * that runs exclusively may need more than the budget; what others keep then stays within
 * the budget. False when all running jobs wait for memory: the caller must free what it
 * has.
 */
bool dw_cache_reserve(struct cache *cache, struct decode_job *job, uint64_t own,
		      uint64_t bytes);

/* Wait until memory may have been freed; 2 ms at most. */
void dw_cache_wait_for_memory(struct cache *cache);

/* Memory a job may use before its unit counts as one that cannot be kept: less than
 * the budget for units larger than it, while there are unread extents. */
uint64_t dw_cache_job_limit(const struct cache *cache, const struct decode_job *job);

/* Budget of all extents together. */
uint64_t dw_cache_extent_budget(const struct cache *cache);

/* The same while a unit of the size of recent ones is being decoded. */
uint64_t dw_cache_extent_budget_beside_job(const struct cache *cache);

/* -- turns.c; all under the lock, which is given up meanwhile ------------------------ */

/* Count the bytes [from, to) of a unit as decoded. */
void dw_cache_count_decoded(struct cache *cache, struct slot *slot, uint64_t from,
			    uint64_t to);

/* Whether threads take turns now. */
bool dw_cache_takes_turns(const struct cache *cache);

/* Wait until this thread may decode bytes for a reader at a position, or another thread
 * has decoded them or begins to. False after a wait: look the bytes up again. */
bool dw_cache_take_turn(struct cache *cache, const struct unit *unit, struct range range,
			uint64_t position);

/* A job has begun: threads that wait for a turn may want bytes of its unit. */
void dw_cache_wake_served(struct cache *cache);

/* A decode for a reader begins or has ended. */
void dw_cache_note_decode(struct cache *cache, bool begins);

/* -- decode_limit.c; all under the lock ---------------------------------------------- */

/* Set the limit, 0 for none, and start a new window. */
void dw_cache_set_decode_limit(struct cache *cache, uint32_t times);

/* After bytes were counted as decoded. */
void dw_cache_check_decode_limit(struct cache *cache);

/* The error of a read that would have to decode while the limit is exceeded. */
int dw_cache_refuse_decode(struct cache *cache, const struct dwarfs_image *image,
			   dwarfs_error **err);

/* -- fork.c; without the lock --------------------------------------------------------- */

/* Of a new cache. */
void dw_cache_mark_process(struct cache *cache);

/* Whether this is a child process, and threads that it does not have were within the
 * cache: then its lock must not be taken. */
bool dw_cache_is_lost(struct cache *cache);
int dw_cache_fail_lost(dwarfs_error **err);

/* -- extents.c; all under the lock --------------------------------------------------- */

/* Keep copies of the requested ranges of a resident, as far as decoded: of all
 * requests, or only of those with must_keep. Total memory stays below limit. */
void dw_cache_keep_requests(struct cache *cache, const struct resident *resident,
			    const struct request *requests, size_t count, bool all,
			    uint64_t limit);

/* Turn the pages after the offsets where an evicted unit was read into extents of at
 * most `most` bytes, without a copy, and free its other pages. The rest of the
 * resident is left to the caller. Memory of an allocator cannot be freed in parts: the extents
 * are copies, and until the resident is freed both exist. */
void dw_cache_convert_to_extents(struct cache *cache, struct resident *resident,
				 uint64_t most);

/* The extent that contains the first byte of the range; NULL: none. */
struct extent *dw_cache_find_extent(const struct slot *slot, struct range range);
void dw_cache_read_extent(struct cache *cache, struct extent *extent, struct range range,
			  struct cached *cached_out);
/* Count bytes that were read from the resident as read in the extents that have them,
 * too. */
void dw_cache_count_extent_read(struct cache *cache, const struct slot *slot,
				struct range range);
/* Whether extents contain the whole range. */
bool dw_cache_has_extents(const struct slot *slot, struct range range);
void dw_cache_put_extent(struct cache *cache, struct extent *extent);
void dw_cache_drop_extent(struct cache *cache, struct extent *extent);

#endif
