/* SPDX-License-Identifier: MIT */
/*
 * format/metadata_types: names and types of all fields of the metadata.
 *
 * For code that visits all tables as stored; code that needs certain fields uses
 * format/metadata.h.
 */
#ifndef DW_FORMAT_METADATA_TYPES_H
#define DW_FORMAT_METADATA_TYPES_H

#include <stdbool.h>
#include <stddef.h>

enum metadata_kind {
	METADATA_NUMBER,
	METADATA_BOOL,
	METADATA_STRING,
	METADATA_LIST, /* a set is stored as a list */
	METADATA_MAP,
	METADATA_STRUCT,
};

struct metadata_member;

struct metadata_type {
	enum metadata_kind kind;
	const char *name;		       /* "u32", "chunk", "list<chunk>" */
	unsigned bits;			       /* of a number: its maximum width */
	const struct metadata_type *item;      /* list, map */
	const struct metadata_member *members; /* struct: ascending by id */
	size_t member_count;
};

struct metadata_member {
	int id;
	const char *name;
	const struct metadata_type *type;
	bool is_optional;
};

/* The root. */
extern const struct metadata_type dw_metadata_type;

/* Maximum depth of nested values, including the outermost. */
#define DW_METADATA_DEPTH 8

#endif
