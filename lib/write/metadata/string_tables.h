/* SPDX-License-Identifier: MIT */
/*
 * write/metadata/string_tables: names and link targets -> string tables.
 */
#ifndef DW_WRITE_METADATA_STRING_TABLES_H
#define DW_WRITE_METADATA_STRING_TABLES_H

#include "format/freeze.h"
#include "write/tree/tree.h"

/* Distinct strings sorted by their bytes. Borrows from the strings. */
struct sorted_strings {
	struct span *list;
	size_t count;
	uint32_t *rank; /* position in the list, by number */
};

int dw_string_set_sort(const struct string_set *strings,
		       struct sorted_strings *sorted_out, dwarfs_error **err);
void dw_sorted_strings_free(struct sorted_strings *sorted);

struct string_table_packing {
	bool pack;	 /* compress where smaller */
	bool force;	 /* even where larger */
	bool pack_index; /* store lengths rather than offsets */
};

/* Memory of a string table of the metadata. */
struct string_table {
	struct buffer buffer, symtab;
	uint32_t *index;
	struct freeze_string_table table;
};

int dw_string_table_make(const struct sorted_strings *sorted,
			 struct string_table_packing packing,
			 struct string_table *strtab_out, dwarfs_error **err);
void dw_string_table_free(struct string_table *strtab);

#endif
