/* SPDX-License-Identifier: MIT */
/*
 * order/sample: some of the bytes of a stream, and how small they get in an order.
 */
#ifndef DW_BUILD_ORDER_SAMPLE_H
#define DW_BUILD_ORDER_SAMPLE_H

#include "build/anchors.h"
#include "build/order/auction.h"

/* The first bytes of a fragment, and their anchors. */
struct sample_piece {
	uint32_t start, size; /* of the bytes of the sample */
	uint32_t first_anchor, anchor_count;
};

struct sample {
	uint8_t *bytes;
	size_t size;
	struct anchor *anchors;
	size_t anchor_count, anchor_room;
	struct sample_piece *pieces;
	size_t piece_count, piece_room;
	uint32_t *piece_of; /* of each fragment of the contents: a piece, or DW_NONE */
	size_t block_bytes; /* a block, made as much smaller as the sample is */
};

void dw_sample_free(struct sample *sample);

/* Take as much as max_bytes, where what is together in one of the candidates is together
 * in the sample, too. Files that cannot be read are left out. */
int dw_sample_take(const struct order_input *input, const struct candidate *candidates,
		   size_t candidate_count, size_t count, uint64_t max_bytes,
		   struct sample *sample, dwarfs_error **err);

struct codec;

/* What an order makes of the sample. */
struct sample_result {
	uint64_t kept;	 /* bytes that were not stored already */
	uint64_t packed; /* bytes of blocks and of chunks */
};

int dw_sample_measure(const struct sample *sample, const uint32_t *numbers, size_t count,
		      struct codec *codec, struct sample_result *result,
		      dwarfs_error **err);

#endif
