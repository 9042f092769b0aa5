/* SPDX-License-Identifier: MIT */
/*
 * codec/lzma/lzma: functions of decoder and encoder for the table in lzma.c; see ops.h.
 */
#ifndef DW_CODEC_LZMA_LZMA_H
#define DW_CODEC_LZMA_LZMA_H

#include "codec/ops.h"

#define DW_LZMA_MIN_DICT_LOG 12

/* Choose the filter by the machine code found in a block. */
#define DW_LZMA_ANY_MACHINE 1

/* -- unpacking (lzma_decode.c) ------------------------------------------------------- */

int dw_lzma_unpacked_size(struct span in, uint64_t *size_out, dwarfs_error **err);
int dw_lzma_start(struct decoder *decoder, dwarfs_error **err);
int dw_lzma_parts(struct span in, struct codec_part **parts_out, size_t *count_out,
		  dwarfs_error **err);
int dw_lzma_start_part(struct decoder *decoder, const struct codec_part *part,
		       dwarfs_error **err);
int dw_lzma_step(struct decoder *decoder, size_t upto, dwarfs_error **err);
void dw_lzma_stop(struct decoder *decoder);

/* The smallest dictionary, in a size that .xz can express, for this much data. */
uint32_t dw_lzma_dictionary_for(uint64_t bytes);

/* -- packing (lzma_encode.c) --------------------------------------------------------- */

int dw_lzma_open(const struct codec_spec *spec, size_t block_bytes, void **state_out,
		 dwarfs_error **err);
void dw_lzma_close(void *state);
int dw_lzma_pack(void *state, struct span in, struct buffer *out,
		 struct codec_watch *watch, dwarfs_error **err);
uint64_t dw_lzma_memory(const struct codec_spec *spec, size_t block_bytes);
bool dw_lzma_shrink(struct codec_spec *spec, size_t block_bytes);

#endif
