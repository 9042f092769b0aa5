/* SPDX-License-Identifier: MIT */
/*
 * format/side/digest_table: the contents of a DIGESTS section, as bytes.
 *
 *	header, then tables without gaps:
 *	digests of contents, in the order of the chunk table	16 bytes each
 *	hashes of anchors, by block and offset			u64 each
 *	ends of the anchors of each block			u32 each
 *	offsets of anchors in their block			u32 each
 *
 * A digest is the XXH3-128 of the contents, high half first, each big-endian; all zero: not
 * known. The high bit of an end says that the anchors of the block are not known. Numbers
 * are little-endian.
 */
#ifndef DW_FORMAT_SIDE_DIGEST_TABLE_H
#define DW_FORMAT_SIDE_DIGEST_TABLE_H

#include "base/bytes.h"
#include "base/memory.h"

#define DW_DIGESTS_VERSION	1
#define DW_DIGESTS_HEADER_BYTES 24
#define DW_FILE_DIGEST_BYTES	16
#define DW_ANCHOR_BYTES		64 /* that an anchor is the hash of */
#define DW_ANCHORS_UNKNOWN	UINT32_C(0x80000000)

/* Offsets of the fields of the header. */
enum {
	DIGESTS_AT_VERSION = 0,
	DIGESTS_AT_FILE_COUNT = 4,
	DIGESTS_AT_METADATA_XXH3 = 8, /* u64; the others are u32 */
	DIGESTS_AT_BLOCK_COUNT = 16,
	DIGESTS_AT_ANCHOR_COUNT = 20,
};

/* -- reading ------------------------------------------------------------------------- */

/* Addresses of the tables. */
struct digest_table {
	uint64_t metadata_xxh3;
	uint32_t file_count, block_count; /* 0: there are no digests, no anchors */
	uint32_t anchor_count;
	const uint8_t *digests, *hashes, *ends, *offsets;
};

/* Find the tables in bytes that were checked before. */
struct digest_table dw_digest_table_look(const uint8_t *data);

/* Find the tables in untrusted bytes, and check all of them; blocks have at most
 * block_bytes. CORRUPT, or UNSUPPORTED for another version. The caller checks which metadata
 * they belong to, and the counts of files and blocks. */
int dw_digest_table_check(struct span data, uint64_t block_bytes,
			  struct digest_table *table_out, dwarfs_error **err);

/* These rely on a checked table. */

/* The digest of contents; false if it is not known. */
bool dw_digest_table_file(const struct digest_table *table, uint64_t file,
			  uint8_t digest_out[DW_FILE_DIGEST_BYTES]);

/* The anchors of a block: [*first_out, *end_out); false if they are not known. */
bool dw_digest_table_block(const struct digest_table *table, uint32_t block,
			   uint32_t *first_out, uint32_t *end_out);
uint32_t dw_digest_table_offset(const struct digest_table *table, uint32_t anchor);
uint64_t dw_digest_table_hash(const struct digest_table *table, uint32_t anchor);

/* -- writing ------------------------------------------------------------------------- */

/* The tables to write; all borrowed. */
struct digest_tables {
	uint64_t metadata_xxh3;
	const uint8_t *digests;
	uint32_t file_count;
	const uint32_t *ends; /* with DW_ANCHORS_UNKNOWN */
	uint32_t block_count;
	const uint64_t *hashes;
	const uint32_t *offsets;
	uint32_t anchor_count;
};

/* The bytes of a section with this many items. */
uint64_t dw_digest_tables_bytes(uint32_t file_count, uint32_t block_count,
				uint32_t anchor_count);

/* Append the contents of a section. */
int dw_digest_tables_write(const struct digest_tables *tables, struct buffer *out,
			   dwarfs_error **err);

#endif
