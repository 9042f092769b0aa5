/* SPDX-License-Identifier: MIT */
/*
 * write/images/shared_blocks: blocks of a source image that its file shares with the output.
 */
#ifndef DW_WRITE_IMAGES_SHARED_BLOCKS_H
#define DW_WRITE_IMAGES_SHARED_BLOCKS_H

#include "os/sink.h"
#include "write/images/kept_blocks.h"

struct shared_blocks {
	size_t end; /* blocks of the list before this one follow each other in the file */
	uint64_t start;		   /* where the first one is in the file, and */
	uint64_t place;		   /* in the output */
	struct shared_bytes bytes; /* empty: none is shared */
};

/* Share those of the list from first on, up to before end at most, with the output, which
 * they are to be written to next. */
int dw_shared_blocks_begin(struct build_run *run, const struct kept_blocks *kept,
			   size_t first, size_t end, struct shared_blocks *shared_out,
			   dwarfs_error **err);

/* Load a block of the list, as load_block of its image: 1, or 0 if it is not shared. */
int dw_shared_blocks_load(struct build_run *run, const struct kept_blocks *kept,
			  const struct shared_blocks *shared, size_t index,
			  struct stored_section *section_out, dwarfs_error **err);

#endif
