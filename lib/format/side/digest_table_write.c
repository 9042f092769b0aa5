/* SPDX-License-Identifier: MIT */
/*
 * format/side/digest_table_write: write the contents of a DIGESTS section.
 */
#include "format/side/digest_table.h"

static uint8_t *put_numbers(uint8_t *at, const uint32_t *list, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++, at += 4)
		dw_store32(at, list[i]);
	return at;
}

int dw_digest_tables_write(const struct digest_tables *tables, struct buffer *out,
			   dwarfs_error **err)
{
	uint64_t bytes = dw_digest_tables_bytes(tables->file_count, tables->block_count,
						tables->anchor_count);
	size_t digest_bytes = (size_t)tables->file_count * DW_FILE_DIGEST_BYTES;
	uint8_t *at;
	int ret;

	if (bytes > SIZE_MAX)
		return dw_fail_nomem(err);
	if ((ret = dw_buffer_reserve(out, (size_t)bytes, err)) < 0)
		return ret;
	at = out->data + out->size;
	dw_store32(at + DIGESTS_AT_VERSION, DW_DIGESTS_VERSION);
	dw_store32(at + DIGESTS_AT_FILE_COUNT, tables->file_count);
	dw_store64(at + DIGESTS_AT_METADATA_XXH3, tables->metadata_xxh3);
	dw_store32(at + DIGESTS_AT_BLOCK_COUNT, tables->block_count);
	dw_store32(at + DIGESTS_AT_ANCHOR_COUNT, tables->anchor_count);
	at += DW_DIGESTS_HEADER_BYTES;
	if (digest_bytes > 0)
		memcpy(at, tables->digests, digest_bytes);
	at += digest_bytes;
	for (uint32_t i = 0; i < tables->anchor_count; i++, at += 8)
		dw_store64(at, tables->hashes[i]);
	at = put_numbers(at, tables->ends, tables->block_count);
	put_numbers(at, tables->offsets, tables->anchor_count);
	out->size += (size_t)bytes;
	return 0;
}
