/* SPDX-License-Identifier: MIT */
/*
 * write/segment/anchor_index: where anchors were seen, in bounded memory.
 *
 * A place is a number of a byte among all stored bytes of a stream. Buckets of four
 * entries each hold part of the hash and the place; a bucket that is full forgets its
 * oldest entry. When the table as a whole gets full it thins out: from then on only
 * anchors with one more bit of the hash at zero count, and the others are dropped.
 */
#ifndef DW_WRITE_SEGMENT_ANCHOR_INDEX_H
#define DW_WRITE_SEGMENT_ANCHOR_INDEX_H

#include "base/memory.h"

#define INDEX_WAYS 4

struct anchor_index;

/* For about that many anchors, in at most that many bytes. */
int dw_anchor_index_new(uint64_t anchors, uint64_t max_bytes, struct anchor_index **index_out,
		 dwarfs_error **err);
void dw_anchor_index_free(struct anchor_index *index);
DW_DEFINE_AUTO(anchor_index, struct anchor_index *, dw_anchor_index_free)

/* Whether an anchor of this hash counts at present. */
bool dw_anchor_index_counts(const struct anchor_index *index, uint64_t hash);

/* Have the processor fetch what dw_anchor_index_find() will need. */
void dw_anchor_index_prefetch(const struct anchor_index *index, uint64_t hash);

/* Places where the hash was seen, as far as part of it tells: their number, the newest
 * first. */
size_t dw_anchor_index_find(const struct anchor_index *index, uint64_t hash,
		     uint64_t places[INDEX_WAYS]);

/* Places ascend from call to call; those of 2^40 - 1 and up are not kept. */
void dw_anchor_index_add(struct anchor_index *index, uint64_t hash, uint64_t place);

uint64_t dw_anchor_index_bytes(const struct anchor_index *index);

#endif
