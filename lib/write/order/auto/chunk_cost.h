/* SPDX-License-Identifier: MIT */
/*
 * write/order/auto/chunk_cost: the size of chunks in the metadata.
 */
#ifndef DW_WRITE_ORDER_AUTO_CHUNK_COST_H
#define DW_WRITE_ORDER_AUTO_CHUNK_COST_H

#include "codec/encode/encode.h"
#include "write/segment/segment.h"

/* The bits of each part of a chunk: as many as the largest of all needs, except for holes. */
struct chunk_bits {
	unsigned block, offset, size;
};

void dw_chunk_bits(const struct chunks *chunks, struct chunk_bits *bits_out);

/* The size of the chunks as they are in metadata that is not compressed. */
uint64_t dw_chunks_bytes(const struct chunks *chunks, const struct chunk_bits *bits);

/* About the size of those that are not holes, in compressed metadata. They are packed in
 * pieces of at most this size, which is the memory that is used, three times. */
int dw_chunks_packed_bytes(const struct chunks *chunks, const struct chunk_bits *bits,
			   const struct codec_spec *spec, size_t piece_bytes,
			   uint64_t *bytes_out, dwarfs_error **err);

#endif
