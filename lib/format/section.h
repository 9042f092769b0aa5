/* SPDX-License-Identifier: MIT */
/*
 * format/section: headers of sections and the section index, as bytes.
 *
 * Knows the offsets of fields; reads no file and computes no hash.
 */
#ifndef DW_FORMAT_SECTION_H
#define DW_FORMAT_SECTION_H

#include <dwarfs/image.h>

#include "base/bytes.h"
#include "base/memory.h"

#define DW_FORMAT_MAJOR		2
#define DW_FORMAT_MINOR_WRITTEN 5
#define DW_FORMAT_MINOR_MAX	6

#define DW_MAGIC       "DWARFS"
#define DW_MAGIC_BYTES 6

/* Version 2 of the header (minor 2 and later) and where its hashes begin. */
#define DW_HEADER_BYTES	    64
#define DW_HEADER_SHA_AT    0x08
#define DW_HEADER_SHA_FROM  0x28 /* SHA-512/256 covers the section from here */
#define DW_HEADER_XXH3_AT   0x28
#define DW_HEADER_XXH3_FROM 0x30 /* XXH3 covers the section from here */

/* Version 1 (minor 0 and 1): one file header, then short section headers without hashes.
 */
#define DW_V1_FILE_HEADER_BYTES 8
#define DW_V1_HEADER_BYTES	8
#define DW_V1_MAX_COMPRESSION	4 /* LZ4HC: the last one that version 1 had */

/* An entry of the index: type in the high 16 bits, offset of the header in the low 48. */
#define DW_INDEX_OFFSET_BITS 48
#define DW_INDEX_OFFSET_MASK ((UINT64_C(1) << DW_INDEX_OFFSET_BITS) - 1)

/* Readers refuse metadata and extended attributes that have more bytes than this, and more than
 * this many times their stored size. */
#define DW_METADATA_LIMIT (UINT64_C(16) << 20)
#define DW_METADATA_RATIO 256

struct section_header {
	uint32_t minor;
	uint32_t type;
	uint32_t compression;
	uint32_t number; /* version 2 only */
	uint64_t length; /* stored bytes after the header */
	uint64_t xxh3;	 /* version 2 only */
	uint8_t sha512_256[32];
};

/* Parse DW_HEADER_BYTES. False if magic or major version are wrong; the minor version
 * is returned unchecked. */
bool dw_section_header_parse(const uint8_t *bytes, struct section_header *header_out);

/* Parse DW_V1_HEADER_BYTES. */
void dw_section_header_parse_v1(const uint8_t *bytes, struct section_header *header_out);

/* Write DW_HEADER_BYTES of version 2 with DW_FORMAT_MINOR_WRITTEN; hashes as in header.
 */
void dw_section_header_store(const struct section_header *header, uint8_t *bytes);

#endif
