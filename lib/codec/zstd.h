/* SPDX-License-Identifier: MIT */
/*
 * codec/zstd: what decoder and encoder share.
 */
#ifndef DW_CODEC_ZSTD_H
#define DW_CODEC_ZSTD_H

/* For ZSTD_customMem, and more in the files that include this one: the shared library exports
 * these functions. */
#define ZSTD_STATIC_LINKING_ONLY
#include <zstd.h>
#include <zstd_errors.h>

/* Memory from base/allocator. */
extern const ZSTD_customMem dw_zstd_memory;

#endif
