/* SPDX-License-Identifier: MIT */
/*
 * write/pack/block_packer: compress a block with the codec of its stream, or with one
 * that suits the block better.
 */
#ifndef DW_WRITE_PACK_BLOCK_PACKER_H
#define DW_WRITE_PACK_BLOCK_PACKER_H

#include "write/options/build_options.h"

/* Codecs for the blocks of a stream. */
struct packing {
	struct codec_spec codec;
	bool has_fallback, has_dense, has_literal;
	bool dense_has_numbers;	     /* dense is for numbers, too */
	bool dense_only_has_numbers; /* in a trial, for lack of memory */
	bool is_trial;		     /* of an order: in less time, see block_packer.c */
	struct codec_spec fallback;  /* if it compresses better */
	struct codec_spec dense;     /* for blocks that compress very well */
	struct codec_spec literal;   /* for blocks with few repeats, see block_packer.c */
};

/* From the settings of all categories. The layout of samples is left to the caller. */
struct packing dw_packing_of(const struct stream_settings *settings, uint32_t category);

/* Memory of one packer at most, as dw_codec_memory(). */
uint64_t dw_packing_memory(const struct packing *packing, size_t block_bytes);

struct block_packer;

/* For blocks of this size; stop as in dw_codec_set_stop(). */
int dw_block_packer_new(const struct packing *packing, size_t block_bytes,
			const atomic_bool *stop, struct block_packer **packer_out,
			dwarfs_error **err);

/* As dw_codec_set_meter(); each block counts once. */
void dw_block_packer_set_meter(struct block_packer *packer, atomic_uint_fast64_t *meter);
void dw_block_packer_free(struct block_packer *packer);
DW_DEFINE_AUTO(packer, struct block_packer *, dw_block_packer_free)
#define auto_packer DW_AUTO(packer)

/* As dw_codec_pack(). */
int dw_block_packer_pack(struct block_packer *packer, struct span in, struct buffer *out,
			 uint32_t *id_out, dwarfs_error **err);

#endif
