/* SPDX-License-Identifier: MIT */
/*
 * write/segment/kept_window: which bytes of the blocks kept from images may be read to be
 * compared, and reading them.
 *
 * Blocks of at most DW_SOURCE_CACHED_BYTES together are decompressed when they are read, and stay in the
 * cache of their image. Of more, each that is read is decompressed once, into a temporary file
 * (images/decoded_blocks). Where that cannot be, they are in the cache for a while, and the limit
 * on decompressing them again counts. What the cache holds is estimated: it also depends on other
 * threads, and what is compared must not. Used by one thread.
 */
#ifndef DW_WRITE_SEGMENT_KEPT_WINDOW_H
#define DW_WRITE_SEGMENT_KEPT_WINDOW_H

#include "write/build_run.h"
#include "write/images/kept_blocks.h"
#include "write/pack/compress.h"

struct kept_window;

/* The arguments outlive it. The compressor is that of the new blocks. */
int dw_kept_window_new(const struct build_run *run, const struct kept_blocks *kept,
		       struct compressor *compressor, size_t block_bytes,
		       struct kept_window **window_out, dwarfs_error **err);
void dw_kept_window_free(struct kept_window *window);
DW_DEFINE_AUTO(kept_window, struct kept_window *, dw_kept_window_free)

/* Number of the blocks. */
uint32_t dw_kept_window_count(const struct kept_window *window);

/*
 * Read bytes of a block at an offset: their number, less than size at its end; or -1 if they cannot
 * be read, or may not, as the block would have to be decompressed again, beyond the limit on that.
 */
int64_t dw_kept_window_read(struct kept_window *window, uint32_t number, uint8_t *buffer,
			    size_t size, uint64_t offset);

/* Matches for so many bytes of new data will be searched for. This raises the limit on
 * how many bytes of blocks may be decompressed again. NULL is accepted. */
void dw_kept_window_earn(struct kept_window *window, size_t size);

/* Bytes of blocks that were decompressed again, when their cache is as large as the image
 * says: for tests. */
uint64_t dw_kept_window_decoded(const struct kept_window *window);

/* -- reading all of a block -------------------------------------------------------------- */

/*
 * Read bytes of a block at an offset, without a limit, to find the anchors of all of it: their
 * number, less than size at its end, or a negative error code. `is_known`: a match in it is known.
 * Call dw_kept_window_was_scanned() afterwards.
 */
int64_t dw_kept_window_scan(struct kept_window *window, uint32_t number, bool is_known,
			    uint8_t *buffer, size_t size, uint64_t offset,
			    dwarfs_error **err);

/* All of a block was read, so the cache may hold it. If no match in it is known yet, it need not, and
 * a large block is freed, as each one if they do not fit into the cache together: if none is
 * found, the memory is not needed at the same time as that of codecs. Such a block may be
 * decompressed once more, at no cost. */
void dw_kept_window_was_scanned(struct kept_window *window, uint32_t number,
				bool is_known);

/* -- memory shared with codecs ---------------------------------------------------------- */

/* Whether the blocks are large. */
bool dw_kept_window_has_large(const struct kept_window *window);

/*
 * Bound the memory of these blocks and of codecs together: they are freed before a new block
 * is compressed, and decompressed again only while at least `spared` of the workers compress
 * nothing, whose memory they take. Without this call, or with 0, neither happens.
 */
void dw_kept_window_spare_workers(struct kept_window *window, uint32_t workers,
				  uint32_t spared);

/* A new block was begun. */
void dw_kept_window_turn(struct kept_window *window);

/* A new block will be compressed: free those that are decompressed if
 * dw_kept_window_spare_workers() was called. NULL is accepted. */
void dw_kept_window_free_decoded(struct kept_window *window);

#endif
