/* SPDX-License-Identifier: MIT */
/*
 * write/tree/interned: distinct strings and distinct numbers.
 *
 * Each value is stored once and referred to by its number.
 */
#ifndef DW_WRITE_TREE_INTERNED_H
#define DW_WRITE_TREE_INTERNED_H

#include "base/memory.h"

/* Distinct strings, numbered from 0 in order of their first use. */
struct string_set {
	struct buffer text;
	uint64_t *offsets; /* count + 1 of them */
	size_t count, room;
	uint32_t *slots; /* open addressing: number + 1, 0 for empty */
	size_t slot_count;
};

void dw_string_set_free(struct string_set *strings);
int dw_string_set_add(struct string_set *strings, struct span string,
		      uint32_t *number_out, dwarfs_error **err);
struct span dw_string_set_at(const struct string_set *strings, uint32_t number);

/* Distinct numbers, likewise. */
struct number_set {
	struct string_set strings; /* each of four bytes */
	uint32_t last;		   /* the one used last, a guess for the next */
};

void dw_number_set_free(struct number_set *numbers);
int dw_number_set_add(struct number_set *numbers, uint32_t value, uint32_t *index_out,
		      dwarfs_error **err);
/* numbers->strings.count of them. */
const uint32_t *dw_number_set_list(const struct number_set *numbers);

#endif
