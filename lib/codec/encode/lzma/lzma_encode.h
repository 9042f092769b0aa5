/* SPDX-License-Identifier: MIT */
/*
 * codec/encode/lzma/lzma_encode: functions of the encoder for the table in lzma_options.c; see
 * ops.h.
 */
#ifndef DW_CODEC_ENCODE_LZMA_LZMA_ENCODE_H
#define DW_CODEC_ENCODE_LZMA_LZMA_ENCODE_H

#include "codec/encode/ops.h"

#define DW_LZMA_MIN_DICT_LOG 12

/* Choose the filter by the machine code found in a block. */
#define DW_LZMA_ANY_MACHINE 1

int dw_lzma_open(const struct codec_spec *spec, size_t block_bytes, void **state_out,
		 dwarfs_error **err);
void dw_lzma_close(void *state);
void dw_lzma_set_records(void *state, const struct record_ranges *records);
int dw_lzma_pack(void *state, struct span in, struct buffer *out,
		 struct codec_watch *watch, dwarfs_error **err);
uint64_t dw_lzma_memory(const struct codec_spec *spec, size_t block_bytes);
size_t dw_lzma_reach(const struct codec_spec *spec, size_t block_bytes);

bool dw_lzma_shrink(struct codec_spec *spec, size_t block_bytes);

#endif
