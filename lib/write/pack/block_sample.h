/* SPDX-License-Identifier: MIT */
/*
 * write/pack/block_sample: a sample of a block, compressed by fast codecs, from which the
 * codec of the block is chosen.
 */
#ifndef DW_WRITE_PACK_BLOCK_SAMPLE_H
#define DW_WRITE_PACK_BLOCK_SAMPLE_H

#include <stdatomic.h>

#include "base/error.h"
#include "base/memory.h"

struct block_sample;
struct codec_spec;

/* Finds repeats at any distance in a block, also short ones, at 20 MB/s. */
#define DW_FORECAST_CODEC "zstd:level=9:wlog=26:hlog=24"

/* dw_codec_memory() of a codec; 0 if it is not built in. */
uint64_t dw_text_codec_memory(const char *text, size_t block_bytes);

/* A fast codec that is built in, for the choice of others; false if there is none. */
bool dw_fast_codec(struct codec_spec *spec_out);
bool dw_has_fast_codec(void);

/* For blocks of this size; stop as in dw_codec_set_stop(). */
int dw_block_sample_new(size_t block_bytes, const atomic_bool *stop,
			struct block_sample **sample_out, dwarfs_error **err);
void dw_block_sample_free(struct block_sample *sample);
DW_DEFINE_AUTO(block_sample, struct block_sample *, dw_block_sample_free)

/* Memory that it takes at most, as dw_codec_memory(): for dw_block_sample_is_dense(), for
 * dw_block_sample_is_numeric() and forecasts if has_forecast, and for the others if has_literal. */
uint64_t dw_block_sample_memory(bool has_forecast, bool has_literal, size_t block_bytes);

/* Take the sample of a block for the other functions; the block must stay valid. */
int dw_block_sample_take(struct block_sample *sample, struct span block,
			 dwarfs_error **err);

/* Whether the block compresses very well. */
bool dw_block_sample_is_dense(const struct block_sample *sample);

/* Whether every piece of the sample is prose: text with blanks, few digits and few control
 * characters, in lines of different lengths. Numbers, samples, programs and most tables are not. */
bool dw_block_sample_is_prose(const struct block_sample *sample);

/* Whether lzma packs a sample of the block, of 1 MiB or more, much better than zstd: numbers and
 * samples, in columns or with little change from one to the next, or tables, also in pieces of
 * the sample; and, if so, whether zstd may be better nevertheless, as the block may have repeats,
 * anywhere, that are not in the sample. */
int dw_block_sample_is_numeric(struct block_sample *sample, bool *numeric_out,
			       bool *repeats_out, dwarfs_error **err);

/* Prepare dw_block_sample_forecast() for a dense block; *can_out is false if the block is too small:
 * less than 1 MiB. */
int dw_block_sample_prepare_forecast(struct block_sample *sample, bool *can_out,
				     dwarfs_error **err);

/* What the best zstd may make of a block, from what DW_FORECAST_CODEC does. Only where
 * dw_block_sample_is_numeric() said that zstd may be better, or of a block that is prepared. */
uint64_t dw_block_sample_forecast(const struct block_sample *sample,
				  uint64_t forecast_codec_bytes);

/* Whether no repeats are found in the sample that make it smaller than its entropy, and hardly any
 * in all of the block. */
int dw_block_sample_is_literal(struct block_sample *sample, bool *literal_out,
			       dwarfs_error **err);

/* Whether a block has so much entropy that no codec for literals makes it smaller by 0.1 % or more, as
 * noise and encrypted data. Only where dw_block_sample_is_literal() said so of the
 * sample. */
bool dw_block_sample_is_noise(const struct block_sample *sample);

/* Whether a fast codec saves hardly anything: less than 1/25. The data may be compressed already, as
 * pictures, sounds and archives. */
bool dw_hardly_compresses(uint64_t packed_bytes, uint64_t bytes);

/* Whether that is so of the sample. */
bool dw_block_sample_is_compressed(const struct block_sample *sample);

/* Whether the size to which a codec that only finds long matches has compressed the whole block
 * shows that it has no repeats either that others would find. Only where
 * dw_block_sample_is_literal() said so of the sample. */
bool dw_block_sample_confirms_literal(const struct block_sample *sample,
				      size_t packed_bytes);

/* Whether a codec that only finds long matches may make the block smaller than this, the
 * size to which another codec has compressed it. */
int dw_block_sample_may_shrink(struct block_sample *sample, size_t packed_bytes,
			       bool *may_out, dwarfs_error **err);

#endif
