/* SPDX-License-Identifier: MIT */
/*
 * format/freeze_types: how the structs of freeze.h map to frozen ones.
 */
#ifndef DW_FORMAT_FREEZE_TYPES_H
#define DW_FORMAT_FREEZE_TYPES_H

#include "format/freeze.h"

enum freeze_kind { KIND_U32, KIND_U64, KIND_BOOL, KIND_STRING, KIND_LIST, KIND_STRUCT };

/* How a C type maps to a frozen one. */
struct freeze_type {
	enum freeze_kind kind;
	size_t bytes;			     /* size in memory */
	bool plain;			     /* contains no string and no list */
	const struct freeze_type *item;	     /* list */
	unsigned align;			     /* list: of the array of items, in bytes */
	const struct freeze_member *members; /* struct: ascending by id */
	size_t member_count;
};

struct freeze_member {
	uint16_t id;
	bool optional;
	const struct freeze_type *type;
	size_t at;	   /* offset in the struct */
	size_t present_at; /* offset of its has_ member, if optional */
};

/* Of struct freeze_metadata. */
extern const struct freeze_type dw_freeze_metadata_type;

#endif
