/* SPDX-License-Identifier: MIT */
/*
 * format/xattrs: the contents of an XATTRS section, as bytes.
 *
 *	header, then tables without gaps:
 *	ends of names, of values (bytes), and of sets (pairs)	u32 each
 *	pairs: numbers of a name and a value			2 * u32 each
 *	first inodes of runs					u32 each
 *	sets of runs, or of all inodes when there are no runs	1, 2 or 4 bytes each
 *	names, each with a NUL; values
 *
 * Set 0 is empty; inodes before the first run have it. Numbers are little-endian.
 */
#ifndef DW_FORMAT_XATTRS_H
#define DW_FORMAT_XATTRS_H

#include "base/bytes.h"
#include "base/memory.h"

#define DW_XATTRS_VERSION      1
#define DW_XATTRS_HEADER_BYTES 48
#define DW_XATTR_NAME_MAX      255

/* Offsets of the fields of the header. */
enum {
	XATTRS_AT_VERSION = 0,
	XATTRS_AT_INODE_COUNT = 4,
	XATTRS_AT_METADATA_XXH3 = 8, /* u64; the others are u32 */
	XATTRS_AT_NAME_COUNT = 16,
	XATTRS_AT_VALUE_COUNT = 20,
	XATTRS_AT_SET_COUNT = 24,
	XATTRS_AT_PAIR_COUNT = 28,
	XATTRS_AT_RUN_COUNT = 32,
	XATTRS_AT_NAME_BYTES = 36,
	XATTRS_AT_VALUE_BYTES = 40,
	XATTRS_AT_SET_WIDTH = 44,
};

/* -- reading ------------------------------------------------------------------------- */

/* Addresses of the tables. */
struct xattr_table {
	uint64_t metadata_xxh3;
	uint32_t inode_count;
	uint32_t name_count, value_count, set_count, pair_count, run_count;
	uint32_t name_bytes, value_bytes;
	uint32_t set_width;
	const uint8_t *name_ends, *value_ends, *set_ends, *pairs, *run_firsts, *sets;
	const uint8_t *names, *values;
};

/* Find the tables in bytes that were checked before. */
struct xattr_table dw_xattr_table_look(const uint8_t *data);

/* Find the tables in untrusted bytes, and check all of them: CORRUPT, or UNSUPPORTED
 * for another version. The caller checks which metadata they belong to. */
int dw_xattr_table_check(struct span data, struct xattr_table *table_out,
			 dwarfs_error **err);

/* These rely on a checked table. */

/* The pairs of an existing inode: [*first_out, *end_out). */
void dw_xattr_table_pairs(const struct xattr_table *table, uint32_t inode,
			  uint32_t *first_out, uint32_t *end_out);
/* The name of a pair; with the NUL, which the size does not count. */
struct span dw_xattr_table_name(const struct xattr_table *table, uint32_t pair);
struct span dw_xattr_table_value(const struct xattr_table *table, uint32_t pair);

/* The name with this number, with its NUL. */
const char *dw_xattr_table_any_name(const struct xattr_table *table, uint32_t name);

/* -- writing ------------------------------------------------------------------------- */

struct xattr_ref {
	uint32_t name, value;
};

/* The tables to write; all borrowed. */
struct xattr_tables {
	uint64_t metadata_xxh3;
	const struct span *names, *values; /* names sorted by their bytes */
	uint32_t name_count, value_count;
	const struct xattr_ref *pairs; /* of all sets, concatenated, sorted by name */
	uint32_t pair_count;
	const uint32_t *set_ends; /* in pairs */
	uint32_t set_count;
	const uint32_t *sets; /* of each inode: 0, or the number of its set plus 1 */
	uint32_t inode_count;
};

/* Append the contents of a section. RANGE if they are too large. */
int dw_xattr_tables_write(const struct xattr_tables *tables, struct buffer *out,
			  dwarfs_error **err);

#endif
