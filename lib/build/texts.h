/* SPDX-License-Identifier: MIT */
/*
 * build/texts: distinct strings and distinct numbers.
 *
 * Each is kept once, whoever uses it, and is known by its number from then on.
 */
#ifndef DW_BUILD_TEXTS_H
#define DW_BUILD_TEXTS_H

#include "base/memory.h"

/* Distinct strings, numbered from 0 in order of their first use. */
struct texts {
	struct buffer text;
	uint64_t *offsets; /* count + 1 of them */
	size_t count, room;
	uint32_t *slots; /* open addressing: number + 1, 0 for empty */
	size_t slot_count;
};

void dw_texts_free(struct texts *strings);
int dw_texts_add(struct texts *strings, struct span string, uint32_t *number_out,
		 dwarfs_error **err);
struct span dw_texts_at(const struct texts *strings, uint32_t number);

/* Distinct numbers, likewise. */
struct numbers {
	struct texts strings; /* each of four bytes */
	uint32_t last;	      /* the one used last, a guess for the next */
};

void dw_numbers_free(struct numbers *numbers);
int dw_numbers_add(struct numbers *numbers, uint32_t value, uint32_t *index_out,
		   dwarfs_error **err);
/* numbers->strings.count of them. */
const uint32_t *dw_numbers_list(const struct numbers *numbers);

#endif
