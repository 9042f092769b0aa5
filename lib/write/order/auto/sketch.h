/* SPDX-License-Identifier: MIT */
/*
 * write/order/auto/sketch: which short runs of bytes the files of a stream have in common.
 *
 * A shingle is a run of bytes that begins at a trigger. Triggers are chosen by the bytes
 * themselves, so equal bytes have the same shingles in every file, however few of the
 * triggers are kept: with one in a thousand, a sketch still shows how much two files have
 * in common (Broder, "On the resemblance and containment of documents", 1997). It is made
 * once, and used for the forecasts of all orders.
 */
#ifndef DW_WRITE_ORDER_AUTO_SKETCH_H
#define DW_WRITE_ORDER_AUTO_SKETCH_H

#include "write/order/order.h"

/* Lengths of shingles, by what finds them again. */
enum shingle_length {
	SHINGLE_SHORT,	/* a codec, with little gain */
	SHINGLE_MEDIUM, /* a codec, with much gain */
	SHINGLE_LONG,	/* the segmenter */
	SHINGLE_LENGTHS
};

/* Numbers of the shingles at one trigger: those of equal bytes are equal. DW_NONE: the data
 * ends before the shingle does, or one that is not short occurs nowhere else. */
struct shingle {
	uint32_t ids[SHINGLE_LENGTHS];
	uint32_t at; /* in the data of the fragment without holes, modulo 2^32 */
};

/* Of a fragment. */
struct sketch_piece {
	uint32_t first, count; /* of the shingles */
	uint64_t bytes;	       /* as dw_fragment_reader_data_bytes() */
	uint64_t read_bytes;   /* of these, all that the shingles are from */
};

struct sketch {
	struct shingle *shingles;
	size_t count, room;
	struct sketch_piece *pieces; /* by the number of the fragment */
	uint32_t id_counts[SHINGLE_LENGTHS];
};

/* A sketch for each order auto, at most; and what each shingle takes in memory, while it is
 * taken and used: up to 30 bytes, and up to 32 in a forecast of what is stored again. */
#define SKETCH_MAX_SHINGLES	 ((size_t)1 << 21)
#define SKETCH_BYTES_PER_SHINGLE 62
#define SKETCH_LEAST_BYTES	 32 /* of data between two shingles */

void dw_sketch_free(struct sketch *sketch);

/*
 * Read fragments, or of large inputs a part of them, and take max_shingles of their shingles
 * at most. Files that cannot be read have none. Reads 4 GiB at most.
 */
int dw_sketch_make(const struct order_input *input, const uint32_t *numbers, size_t count,
		   size_t max_shingles, struct sketch *sketch, dwarfs_error **err);

#endif
