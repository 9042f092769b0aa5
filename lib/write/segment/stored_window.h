/* SPDX-License-Identifier: MIT */
/*
 * write/segment/stored_window: the stored bytes of a stream, to be compared with.
 *
 * A place is a number of a byte among all stored bytes of the stream. The last blocks are
 * still in memory; what is older is read again from the file that it came from.
 */
#ifndef DW_WRITE_SEGMENT_STORED_WINDOW_H
#define DW_WRITE_SEGMENT_STORED_WINDOW_H

#include "write/input/source.h"
#include "write/pack/compress.h"

struct stored_window;

/* Keeps blocks of up to ram_bytes in memory; what is under way to be written counts. */
int dw_stored_window_new(struct build_run *run, const struct tree *tree,
		   const struct contents *contents, struct compressor *compressor,
		   size_t block_bytes, uint64_t ram_bytes, struct stored_window **window_out,
		   dwarfs_error **err);
void dw_stored_window_free(struct stored_window *window);
DW_DEFINE_AUTO(window, struct stored_window *, dw_stored_window_free)

/* The block being filled; the one before is full. */
void dw_stored_window_turn(struct stored_window *window, struct block *block);

/* The bytes that follow in the block being filled come from here. */
int dw_stored_window_note(struct stored_window *window, uint32_t content, uint64_t offset,
		    dwarfs_error **err);

/*
 * Bytes from a place on, at least one and up to the end of a block at most; valid until
 * the next call. NULL when there are none, or they cannot be read any more.
 */
const uint8_t *dw_stored_window_at(struct stored_window *window, uint64_t place, size_t *size_out);

/* What reading bytes again has cost so far, in bytes that could have been compared
 * instead. */
uint64_t dw_stored_window_work(const struct stored_window *window);

/* Bytes that end before a place, likewise: the pointer is to the place. */
const uint8_t *dw_stored_window_before(struct stored_window *window, uint64_t place,
				 size_t *size_out);

#endif
