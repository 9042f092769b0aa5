/* SPDX-License-Identifier: MIT */
/*
 * build/history: the stored bytes of a stream, to be compared with.
 *
 * A place is a number of a byte among all stored bytes of the stream. The last blocks are
 * still in memory; what is older is read again from the file that it came from.
 */
#ifndef DW_BUILD_HISTORY_H
#define DW_BUILD_HISTORY_H

#include "build/compress.h"
#include "build/source.h"

struct history;

/* Keeps blocks of up to ram_bytes in memory; what is under way to be written counts. */
int dw_history_new(struct build_run *run, const struct tree *tree,
		   const struct contents *contents, struct compressor *compressor,
		   size_t block_bytes, uint64_t ram_bytes, struct history **history_out,
		   dwarfs_error **err);
void dw_history_free(struct history *history);
DW_DEFINE_AUTO(history, struct history *, dw_history_free)

/* The block being filled; the one before is full. */
void dw_history_turn(struct history *history, struct block *block);

/* The bytes that follow in the block being filled come from here. */
int dw_history_note(struct history *history, uint32_t content, uint64_t offset,
		    dwarfs_error **err);

/*
 * Bytes from a place on, at least one and up to the end of a block at most; valid until
 * the next call. NULL when there are none, or they cannot be read any more.
 */
const uint8_t *dw_history_at(struct history *history, uint64_t place, size_t *size_out);

/* What reading bytes again has cost so far, in bytes that could have been compared
 * instead. */
uint64_t dw_history_work(const struct history *history);

/* Bytes that end before a place, likewise: the pointer is to the place. */
const uint8_t *dw_history_before(struct history *history, uint64_t place,
				 size_t *size_out);

#endif
