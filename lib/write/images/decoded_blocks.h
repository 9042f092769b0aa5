/* SPDX-License-Identifier: MIT */
/*
 * write/images/decoded_blocks: kept blocks that were decompressed, in one unnamed temporary file.
 *
 * For blocks that are read again and again, and do not fit into memory together. Used by one
 * thread.
 */
#ifndef DW_WRITE_IMAGES_DECODED_BLOCKS_H
#define DW_WRITE_IMAGES_DECODED_BLOCKS_H

#include "write/build_run.h"
#include "write/images/kept_blocks.h"

struct decoded_blocks;

/* None is in the file yet, which is not created before the first one is added. It is in the
 * directory that was set for temporary files; if none was, in that of the output; if the output has
 * none, in DW_SPOOL_DIRECTORY. The arguments outlive it. */
int dw_decoded_blocks_new(const struct build_run *run, const struct kept_blocks *kept,
			  struct decoded_blocks **blocks_out, dwarfs_error **err);
void dw_decoded_blocks_free(struct decoded_blocks *blocks);
DW_DEFINE_AUTO(decoded_blocks, struct decoded_blocks *, dw_decoded_blocks_free)

bool dw_decoded_blocks_has(const struct decoded_blocks *blocks, uint32_t number);

/*
 * Decompress a block into the file: 1; 0 if there is no file or no room in it, which takes at most
 * a quarter of dw_scratch_space(); or a negative error code if the block cannot be read.
 */
int dw_decoded_blocks_add(struct decoded_blocks *blocks, uint32_t number);

/* Read bytes of a block in the file at an offset: their number, less than size at its end; or a
 * negative errno value, after which the file has no blocks any more. */
int64_t dw_decoded_blocks_read(struct decoded_blocks *blocks, uint32_t number,
			       void *buffer, size_t size, uint64_t offset);

#endif
