/* SPDX-License-Identifier: MIT */
/*
 * write/segment/anchor_index: positions of anchors by hash, in bounded memory.
 *
 * A position is the offset of a byte among all stored bytes of a stream. A bucket is a cache line
 * of entries of part of the hash and the position; a full bucket drops the entry of the lowest
 * position. Of equal hashes, the first position and the newest ones are stored. If the table as a
 * whole is nearly full, only anchors with one more zero bit in the hash count from then on, and the
 * others are dropped.
 */
#ifndef DW_WRITE_SEGMENT_ANCHOR_INDEX_H
#define DW_WRITE_SEGMENT_ANCHOR_INDEX_H

#include "base/memory.h"

#define INDEX_WAYS 8

/* Positions of equal hashes, at most. With two of four entries, 16 releases of generated text took
 * 3.7 % more, HTML pages of a manual 1.2 %, and other sets up to 0.9 %, in the same time. */
#define INDEX_MOST_EQUAL 6

struct anchor_index;

/* For about that many anchors, in at most that many bytes. */
int dw_anchor_index_new(uint64_t anchors, uint64_t max_bytes,
			struct anchor_index **index_out, dwarfs_error **err);
void dw_anchor_index_free(struct anchor_index *index);
DW_DEFINE_AUTO(anchor_index, struct anchor_index *, dw_anchor_index_free)

/* Whether an anchor of this hash counts at present. */
bool dw_anchor_index_counts(const struct anchor_index *index, uint64_t hash);

/* Prefetch the bucket for dw_anchor_index_find(). */
void dw_anchor_index_prefetch(const struct anchor_index *index, uint64_t hash);

/* Positions whose stored part of the hash is that of this hash: their number,
 * newest first. */
size_t dw_anchor_index_find(const struct anchor_index *index, uint64_t hash,
			    uint64_t places[INDEX_WAYS]);

/* Positions of 2^40 - 1 and up are not stored. */
void dw_anchor_index_add(struct anchor_index *index, uint64_t hash, uint64_t place);

uint64_t dw_anchor_index_bytes(const struct anchor_index *index);

#endif
