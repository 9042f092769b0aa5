/* SPDX-License-Identifier: MIT */
/*
 * build/strtab: names and link targets -> string tables.
 */
#ifndef DW_BUILD_STRTAB_H
#define DW_BUILD_STRTAB_H

#include "build/tree.h"
#include "format/freeze.h"

/* Distinct strings sorted by their bytes. Borrows from the strings. */
struct sorted_strings {
	struct span *list;
	size_t count;
	uint32_t *rank; /* place in the list by number */
};

int dw_texts_sort(const struct texts *strings, struct sorted_strings *sorted_out,
		  dwarfs_error **err);
void dw_sorted_strings_free(struct sorted_strings *sorted);

struct strtab_packing {
	bool pack;	 /* compress where smaller */
	bool force;	 /* even where larger */
	bool pack_index; /* store lengths rather than offsets */
};

/* What a string table of the metadata points to. */
struct strtab {
	struct buffer buffer, symtab;
	uint32_t *index;
	struct freeze_string_table table;
};

int dw_strtab_make(const struct sorted_strings *sorted, struct strtab_packing packing,
		   struct strtab *strtab_out, dwarfs_error **err);
void dw_strtab_free(struct strtab *strtab);

#endif
