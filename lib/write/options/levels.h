/* SPDX-License-Identifier: MIT */
/*
 * write/options/levels: what each compression level chooses.
 */
#ifndef DW_WRITE_OPTIONS_LEVELS_H
#define DW_WRITE_OPTIONS_LEVELS_H

#include "write/options/build_options.h"

#define DW_MAX_LEVEL 9

/* Block size of a level, as log2 of bytes. */
uint32_t dw_level_block_bits(uint32_t number);

/* Codec of a level for a use (DWARFS_CODEC_...): the best one that is built in. */
struct codec_spec dw_level_codec(uint32_t number, int use);

/* The codec that a level tries for metadata besides that one; false if there is none. */
bool dw_level_dense_metadata(uint32_t number, struct codec_spec *spec_out);

/* Set match search, order and the codec for dense blocks, for all categories. */
void dw_level_apply(uint32_t number, struct stream_settings *settings);

/* Change what a level chooses differently for one category; most have no differences. */
void dw_level_apply_category(uint32_t number, uint32_t category,
			     struct stream_settings *settings);

#endif
