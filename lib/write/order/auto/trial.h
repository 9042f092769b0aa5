/* SPDX-License-Identifier: MIT */
/*
 * write/order/auto/trial: which of several orders packs best, found by packing.
 */
#ifndef DW_WRITE_ORDER_AUTO_TRIAL_H
#define DW_WRITE_ORDER_AUTO_TRIAL_H

#include "write/budget/budget.h"
#include "write/order/auto/candidates.h"

/* The maximum number of orders to try if at most TRIAL_SMALL_BYTES are expected in blocks, and
 * otherwise. */
#define TRIAL_MAX_CANDIDATES  CANDIDATE_KINDS
#define TRIAL_SOME_CANDIDATES 4
#define TRIAL_SMALL_BYTES     ((uint64_t)32 << 20)

/* Larger streams are not tried. */
#define TRIAL_MAX_BYTES ((uint64_t)2 << 30)

/* Codecs to try with: 16 MiB are packed in a thirtieth of the time of zstd 22. The hash table has
 * room for all positions of a block: with that of level 9 alone, for 4 MiB, what is repeated
 * farther away in a block was not found, and pieces of files side by side, which the real codec
 * packs 4 % larger, seemed to be 14 % smaller. The second one is for codecs that reach as far as
 * ORDER_FAR_REACH_BYTES. */
#define TRIAL_CODEC	"zstd:level=9:hlog=24"
#define TRIAL_CODEC_FAR "zstd:level=7:wlog=26:long"

/* For dense blocks and numbers, in parts as for images. */
#define TRIAL_CODEC_DENSE "lzma:level=0:block_size=21:check=none:adapt"

/* The same for a codec of medium speed that reaches as far as TRIAL_MEDIUM_REACH_BYTES; as many
 * orders are tried with lz4. */
#define TRIAL_CODEC_MEDIUM	 "zstd:level=4:wlog=26"
#define TRIAL_MEDIUM_CANDIDATES	 3
#define TRIAL_MEDIUM_REACH_BYTES ((uint64_t)4 << 20)
#define TRIAL_MEDIUM_MAX_BYTES	 ((uint64_t)1 << 30)

/* The most that may be expected in blocks: more for a codec that reaches far, which takes longer. */
uint64_t dw_trial_max_kept_bytes(const struct order_input *input);

/* lz4 is tried itself, if at most one part in so many is expected in blocks; only the chunks are
 * packed by another codec. */
#define TRIAL_FAST_KEPT_SHARE 8
#define TRIAL_CODEC_CHUNKS    "zstd:level=4"

/* Memory of the codecs of a trial, for each worker, if they are not those of the stream. */
uint64_t dw_trial_codec_memory(struct trial_codecs codecs, size_t block_bytes);

/*
 * Segment and pack all fragments in the order of each candidate, at most TRIAL_MAX_CANDIDATES, with
 * this codec instead of that of the stream, or with that if it is NULL. Each size is increased by the
 * penalty of its candidate; of nearly equal ones, the first is chosen. *best_inout is unchanged if the
 * codec is not built in, the stream is larger than TRIAL_MAX_BYTES, or a file has changed. The result
 * does not depend on the number of workers.
 */
int dw_trial(const struct order_input *input, const char *codec,
	     const struct candidate *candidates, size_t candidate_count, size_t count,
	     size_t *best_inout, dwarfs_error **err);

#endif
