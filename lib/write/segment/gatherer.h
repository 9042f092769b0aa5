/* SPDX-License-Identifier: MIT */
/*
 * write/segment/gatherer: keep the files of a directory within few blocks.
 */
#ifndef DW_WRITE_SEGMENT_GATHERER_H
#define DW_WRITE_SEGMENT_GATHERER_H

#include "write/segment/block_filler.h"
#include "write/segment/matcher.h"

/* Blocks that are stored between two checks. */
#define GATHERER_BATCH_BLOCKS 4

struct gatherer;

/* The arguments outlive it. The block filler must have a stored window; piece has
 * MATCH_PIECE_BYTES, and others may use it between calls. */
int dw_gatherer_new(const struct segment_input *in, struct block_filler *filler,
		    struct matcher *matcher, size_t granularity, uint8_t *piece,
		    struct gatherer **gatherer_out, dwarfs_error **err);
void dw_gatherer_free(struct gatherer *gatherer);
DW_DEFINE_AUTO(gatherer, struct gatherer *, dw_gatherer_free)
#define auto_gatherer DW_AUTO(gatherer)

/* Call before the fragment at index at is stored; chunks of earlier fragments may
 * change. */
int dw_gatherer_turn(struct gatherer *gatherer, size_t at, dwarfs_error **err);

/* Call after the last fragment. */
int dw_gatherer_end(struct gatherer *gatherer, dwarfs_error **err);

#endif
