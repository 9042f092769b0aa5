/* SPDX-License-Identifier: MIT */
/*
 * write/order/auto/trial: which of several orders packs best, found by packing.
 */
#ifndef DW_WRITE_ORDER_AUTO_TRIAL_H
#define DW_WRITE_ORDER_AUTO_TRIAL_H

#include "write/order/auto/auction.h"

#define TRIAL_MAX_CANDIDATES 3

/* Larger streams are not tried, nor those of which more than this is expected in blocks. */
#define TRIAL_MAX_BYTES	     ((uint64_t)512 << 20)
#define TRIAL_MAX_KEPT_BYTES ((uint64_t)128 << 20)

/* Codecs to try with: 16 MiB are packed in a thirtieth or a fortieth of the time of zstd 22. */
#define TRIAL_CODEC_FINE "zstd:level=9"
#define TRIAL_CODEC_FAST "zstd:level=7"

/* Bytes of memory to try a stream of this size, or a part of an input of this size, with this
 * number of workers (0: the calling thread packs). */
uint64_t dw_trial_memory(uint64_t bytes, uint64_t block_bytes, uint32_t workers);

/*
 * Pack all fragments in the order of each candidate, at most TRIAL_MAX_CANDIDATES, with this
 * codec, without the parts that occurred before if the segmenter looks for them. Where all
 * candidates have a score, it counts as much as the packed size. The first candidates are
 * preferred when there is little difference. The winner stays as it is if the codec is not
 * built in, or the stream is larger than TRIAL_MAX_BYTES. It does not depend on the number of
 * workers.
 */
int dw_trial(const struct order_input *input, const char *codec,
	     const struct candidate *candidates, size_t candidate_count, size_t count,
	     size_t *winner_inout, dwarfs_error **err);

#endif
