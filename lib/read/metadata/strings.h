/* SPDX-License-Identifier: MIT */
/*
 * read/metadata/strings: the names and link targets of an image.
 */
#ifndef DW_READ_METADATA_STRINGS_H
#define DW_READ_METADATA_STRINGS_H

#include "format/frozen.h"
#include "format/fsst.h"
#include "read/metadata/lazy_table.h"

/* A list of strings, as stored by format 2.2, or 2.3 and later. */
struct strings {
	uint64_t count;
	bool is_compact;
	bool is_packed; /* the index holds lengths */

	struct table plain;
	struct string_column plain_column;

	struct span buffer;
	struct table index;
	struct column index_column;
	struct lazy offsets; /* count + 1 offsets, if the index is packed */
	struct fsst_decoder
		*decoder; /* owned; NULL when the strings are not compressed */
};

/* Find the strings of the metadata in either form, by the ids of the two fields. More
 * than max_count are refused before memory is allocated for them. */
int dw_strings_load(const struct frozen *frozen, int plain_id, int compact_id,
		    uint64_t max_count, struct strings *strings, dwarfs_error **err);
void dw_strings_free(struct strings *strings);

/* Unpack a packed index. Functions that need it call this. */
int dw_strings_unpack(const struct strings *strings, dwarfs_error **err);

/* Get a string, written to out with a NUL; RANGE if room is too small. */
int dw_strings_get(const struct strings *strings, uint64_t index, char *out, size_t room,
		   size_t *size_out, dwarfs_error **err);
/* The stored size of a string; CORRUPT if it is outside its buffer. */
int dw_strings_stored(const struct strings *strings, uint64_t index,
		      struct span *stored_out, dwarfs_error **err);

/* A string to compare with, padded with zeros. */
#define DW_KEY_BYTES 255
struct key {
	size_t size;
	uint8_t bytes[DW_KEY_BYTES + 9];
};
void dw_key_init(struct key *key, struct span text); /* of at most DW_KEY_BYTES */

/* Compare the key with a string, as memcmp(); a shorter one comes first. Bytes after
 * the first difference are not read. */
int dw_strings_compare(const struct strings *strings, uint64_t index,
		       const struct key *key, int *order_out, dwarfs_error **err);

#endif
