/* SPDX-License-Identifier: MIT */
/*
 * write/segment/stored_window: the stored bytes of a stream, for comparison by the
 * matcher.
 *
 * A position is the offset of a byte among all stored bytes of the stream. The last
 * blocks are in memory; older bytes are read again from their files. The blocks that were
 * kept from images may come first; they are read from these.
 */
#ifndef DW_WRITE_SEGMENT_STORED_WINDOW_H
#define DW_WRITE_SEGMENT_STORED_WINDOW_H

#include "write/input/source.h"
#include "write/pack/compress.h"
#include "write/segment/kept_window.h"

struct stored_window;

/* Keeps blocks of up to ram_bytes in memory, including those not written yet. */
int dw_stored_window_new(struct build_run *run, const struct tree *tree,
			 const struct contents *contents, struct compressor *compressor,
			 size_t block_bytes, uint64_t ram_bytes,
			 struct stored_window **window_out, dwarfs_error **err);
void dw_stored_window_free(struct stored_window *window);

/* Close the files that are open to be compared. NULL is accepted. */
void dw_stored_window_close_files(struct stored_window *window);
DW_DEFINE_AUTO(window, struct stored_window *, dw_stored_window_free)

/* The stream continues these blocks, the first ones of the image: their bytes have the
 * positions before those of the stream. Call it first. They stay the caller's. */
void dw_stored_window_set_kept(struct stored_window *window, struct kept_window *kept);

/* Begin a block; the one before is full. */
void dw_stored_window_turn(struct stored_window *window, struct block *block);

/* Note the source of the bytes stored next. */
int dw_stored_window_note(struct stored_window *window, uint32_t content, uint64_t offset,
			  dwarfs_error **err);

/*
 * Bytes from a position on, at least one, up to the end of its block; valid until the
 * next call. NULL if there are none or they cannot be read, or are in a kept block that would
 * have to be decompressed again, beyond the limit on that.
 */
const uint8_t *dw_stored_window_at(struct stored_window *window, uint64_t place,
				   size_t *size_out);

/* Cost of reading bytes again so far, in bytes compared. */
uint64_t dw_stored_window_work(const struct stored_window *window);

/* Bytes that end before a position, likewise; the pointer is to the position. */
const uint8_t *dw_stored_window_before(struct stored_window *window, uint64_t place,
				       size_t *size_out);

#endif
