/* SPDX-License-Identifier: MIT */
/*
 * format/side/digest_table: read the contents of a DIGESTS section.
 *
 * Takes untrusted bytes. They are checked once, completely; lookups then rely on that.
 */
#include "format/side/digest_table.h"

static int fail_digests(dwarfs_error **err, const char *what)
{
	return dw_fail(err, DWARFS_ERR_CORRUPT, "digests: %s", what);
}

uint64_t dw_digest_tables_bytes(uint32_t file_count, uint32_t block_count,
				uint32_t anchor_count)
{
	return DW_DIGESTS_HEADER_BYTES + DW_FILE_DIGEST_BYTES * (uint64_t)file_count +
	       4 * (uint64_t)block_count + 12 * (uint64_t)anchor_count;
}

struct digest_table dw_digest_table_look(const uint8_t *data)
{
	struct digest_table table = {
		.metadata_xxh3 = dw_load64(data + DIGESTS_AT_METADATA_XXH3),
		.file_count = dw_load32(data + DIGESTS_AT_FILE_COUNT),
		.block_count = dw_load32(data + DIGESTS_AT_BLOCK_COUNT),
		.anchor_count = dw_load32(data + DIGESTS_AT_ANCHOR_COUNT),
		.digests = data + DW_DIGESTS_HEADER_BYTES,
	};

	table.hashes = table.digests + (size_t)table.file_count * DW_FILE_DIGEST_BYTES;
	table.ends = table.hashes + (size_t)table.anchor_count * 8;
	table.offsets = table.ends + (size_t)table.block_count * 4;
	return table;
}

/* -- checking ------------------------------------------------------------------------ */

static int check_offsets(const struct digest_table *table, uint32_t first, uint32_t end,
			 uint64_t block_bytes, dwarfs_error **err)
{
	for (uint32_t i = first; i < end; i++) {
		uint64_t offset = dw_digest_table_offset(table, i);

		if (i > first && offset <= dw_digest_table_offset(table, i - 1))
			return fail_digests(err, "the anchors of a block do not ascend");
		if (offset + DW_ANCHOR_BYTES > block_bytes)
			return fail_digests(err, "an anchor is outside of its block");
	}
	return 0;
}

static int check_blocks(const struct digest_table *table, uint64_t block_bytes,
			dwarfs_error **err)
{
	uint32_t before = 0;

	for (uint32_t i = 0; i < table->block_count; i++) {
		uint32_t item = dw_load32(table->ends + (size_t)i * 4);
		uint32_t end = item & ~DW_ANCHORS_UNKNOWN;
		int ret;

		if (end < before || end > table->anchor_count ||
		    (item != end && end != before))
			return fail_digests(err, "a block has impossible anchors");
		if ((ret = check_offsets(table, before, end, block_bytes, err)) < 0)
			return ret;
		before = end;
	}
	if (before != table->anchor_count)
		return fail_digests(err, "there are anchors of no block");
	return 0;
}

int dw_digest_table_check(struct span data, uint64_t block_bytes,
			  struct digest_table *table_out, dwarfs_error **err)
{
	uint32_t version, files, blocks, anchors;

	if (data.size < DW_DIGESTS_HEADER_BYTES)
		return fail_digests(err, "there is no header");
	version = dw_load32(data.data + DIGESTS_AT_VERSION);
	if (version != DW_DIGESTS_VERSION)
		return dw_fail(err, DWARFS_ERR_UNSUPPORTED,
			       "digests: version %" PRIu32 " is not supported", version);
	files = dw_load32(data.data + DIGESTS_AT_FILE_COUNT);
	blocks = dw_load32(data.data + DIGESTS_AT_BLOCK_COUNT);
	anchors = dw_load32(data.data + DIGESTS_AT_ANCHOR_COUNT);
	if (dw_digest_tables_bytes(files, blocks, anchors) != data.size)
		return fail_digests(err, "their tables do not fit");
	*table_out = dw_digest_table_look(data.data);
	return check_blocks(table_out, block_bytes, err);
}

/* -- lookups ------------------------------------------------------------------------- */

bool dw_digest_table_file(const struct digest_table *table, uint64_t file,
			  uint8_t digest_out[DW_FILE_DIGEST_BYTES])
{
	const uint8_t *digest;

	if (file >= table->file_count)
		return false;
	digest = table->digests + (size_t)file * DW_FILE_DIGEST_BYTES;
	if (dw_is_zero(digest, DW_FILE_DIGEST_BYTES))
		return false;
	memcpy(digest_out, digest, DW_FILE_DIGEST_BYTES);
	return true;
}

bool dw_digest_table_block(const struct digest_table *table, uint32_t block,
			   uint32_t *first_out, uint32_t *end_out)
{
	uint32_t end;

	if (block >= table->block_count)
		return false;
	end = dw_load32(table->ends + (size_t)block * 4);
	if (end & DW_ANCHORS_UNKNOWN)
		return false;
	*end_out = end;
	*first_out = block > 0 ? dw_load32(table->ends + (size_t)(block - 1) * 4) &
					 ~DW_ANCHORS_UNKNOWN
			       : 0;
	return true;
}

uint32_t dw_digest_table_offset(const struct digest_table *table, uint32_t anchor)
{
	return dw_load32(table->offsets + (size_t)anchor * 4);
}

uint64_t dw_digest_table_hash(const struct digest_table *table, uint32_t anchor)
{
	return dw_load64(table->hashes + (size_t)anchor * 8);
}
