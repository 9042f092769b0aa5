/* SPDX-License-Identifier: MIT */
/*
 * format/metadata_types: names and types of all fields of the metadata.
 *
 * For readers that take the tables as they are stored; who knows which field it wants
 * uses format/metadata.h.
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
	const char *name;	     /* "u32", "chunk", "list<chunk>" */
	unsigned bits;		     /* number: how wide it may be */
	const struct metadata_type *item; /* list, map */
	const struct metadata_member *members; /* struct: ascending by id */
	size_t member_count;
};

struct metadata_member {
	int id;
	const char *name;
	const struct metadata_type *type;
	bool is_optional;
};

/* The whole of it. */
extern const struct metadata_type dw_metadata_type;

/* How deep a value can be within others, itself included. */
#define DW_METADATA_DEPTH 8

#endif
