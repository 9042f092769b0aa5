/* SPDX-License-Identifier: MIT */
/*
 * codec/encode/lzma/lzma_records: how lzma packs each of several tables of records.
 */
#ifndef DW_CODEC_ENCODE_LZMA_LZMA_RECORDS_H
#define DW_CODEC_ENCODE_LZMA_LZMA_RECORDS_H

#include "codec/encode/lzma/lzma_ranges.h"
#include "codec/encode/encode.h"

/* Choose for each range of a block, whose bytes these all are, by packing it with the options. */
int dw_lzma_find_records(const struct lzma_probe *probe, const lzma_options_lzma *options,
			 struct span block, const struct record_ranges *records,
			 struct lzma_ranges *ranges_out, dwarfs_error **err);

#endif
