/* SPDX-License-Identifier: MIT */
/*
 * archive/stream_check: verify the checksums of a compressed stream that libarchive
 * reads, but does not verify.
 *
 * libarchive (3.6.2) ignores those of gzip, and of no stream reads what follows the end of
 * the archive in it: for lz4 this is where the checksum is. The stored bytes are decompressed
 * here once more. Those of xz and zstd, which take longer, are verified by libarchive
 * unless more than some 10 KiB of padding are before the end.
 */
#ifndef DW_ARCHIVE_STREAM_CHECK_H
#define DW_ARCHIVE_STREAM_CHECK_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct stream_check;

/* For a filter of libarchive: NULL if it verifies the checksums itself, or the library
 * that decompresses such streams was not built in. */
int dw_stream_check_new(int filter, struct stream_check **check_out, dwarfs_error **err);
void dw_stream_check_free(struct stream_check *check);

/* The next stored bytes. CORRUPT if the decompressed ones do not match their checksum. */
int dw_stream_check_bytes(struct stream_check *check, const uint8_t *data, size_t size,
			  dwarfs_error **err);

/* Whether the stream ended, and only other bytes can follow. */
bool dw_stream_check_is_over(const struct stream_check *check);

/* After the last bytes: CORRUPT if the stream is incomplete. */
int dw_stream_check_end(const struct stream_check *check, dwarfs_error **err);

#endif
