/* SPDX-License-Identifier: MIT */
/*
 * write/metadata/string_tables: names and link targets -> string tables.
 */
#include <string.h>

#include "format/fsst.h"
#include "write/metadata/string_tables.h"

/* -- sorting ------------------------------------------------------------------------- */

static int compare_strings(const void *left, const void *right, void *strings)
{
	return dw_span_compare(dw_string_set_at(strings, *(const uint32_t *)left),
			       dw_string_set_at(strings, *(const uint32_t *)right));
}

int dw_string_set_sort(const struct string_set *strings,
		       struct sorted_strings *sorted_out, dwarfs_error **err)
{
	size_t count = strings->count;
	auto_free uint32_t *numbers = dw_calloc(count, sizeof(*numbers));
	auto_free uint32_t *rank = dw_calloc(count, sizeof(*rank));
	auto_free struct span *list = dw_calloc(count, sizeof(*list));

	if (!numbers || !rank || !list)
		return dw_fail_nomem(err);
	for (size_t i = 0; i < count; i++)
		numbers[i] = (uint32_t)i;
	qsort_r(numbers, count, sizeof(numbers[0]), compare_strings,
		(void *)(uintptr_t)strings);
	for (size_t i = 0; i < count; i++) {
		rank[numbers[i]] = (uint32_t)i;
		list[i] = dw_string_set_at(strings, numbers[i]);
	}
	sorted_out->list = dw_steal(list);
	sorted_out->rank = dw_steal(rank);
	sorted_out->count = count;
	return 0;
}

void dw_sorted_strings_free(struct sorted_strings *sorted)
{
	dw_free(sorted->list);
	dw_free(sorted->rank);
	*sorted = (struct sorted_strings){ 0 };
}

/* -- tables -------------------------------------------------------------------------- */

void dw_string_table_free(struct string_table *strtab)
{
	dw_buffer_free(&strtab->buffer);
	dw_buffer_free(&strtab->symtab);
	dw_free(strtab->index);
	*strtab = (struct string_table){ 0 };
}

static int store_plainly(const struct sorted_strings *sorted, struct string_table *strtab,
			 uint32_t *lengths, dwarfs_error **err)
{
	for (size_t i = 0; i < sorted->count; i++) {
		int ret = dw_buffer_append(&strtab->buffer, sorted->list[i].data,
					   sorted->list[i].size, err);

		if (ret < 0)
			return ret;
		lengths[i] = (uint32_t)sorted->list[i].size;
	}
	return 0;
}

/* Compress with FSST; leaves the table empty if that is not smaller. */
static int store_packed(const struct sorted_strings *sorted, bool force,
			struct string_table *strtab, uint32_t *lengths,
			dwarfs_error **err)
{
	uint64_t bytes = 0;
	int ret;

	for (size_t i = 0; i < sorted->count; i++)
		bytes += sorted->list[i].size;
	if ((ret = dw_fsst_encode(sorted->list, sorted->count, &strtab->symtab,
				  &strtab->buffer, lengths, err)) < 0)
		return ret;
	if (force || strtab->symtab.size + strtab->buffer.size < bytes)
		return 0;
	dw_buffer_free(&strtab->symtab);
	dw_buffer_free(&strtab->buffer);
	return 0;
}

/* Replace count lengths by count + 1 offsets. */
static void lengths_to_offsets(uint32_t *index, size_t count)
{
	uint32_t offset = 0;

	for (size_t i = 0; i < count; i++) {
		uint32_t length = index[i];

		index[i] = offset;
		offset += length;
	}
	index[count] = offset;
}

static int fill_string_table(const struct sorted_strings *sorted,
			     struct string_table_packing packing,
			     struct string_table *strtab, dwarfs_error **err)
{
	int ret;

	strtab->index = dw_calloc(sorted->count + 1, sizeof(*strtab->index));
	if (!strtab->index)
		return dw_fail_nomem(err);
	if (packing.pack &&
	    (ret = store_packed(sorted, packing.force, strtab, strtab->index, err)) < 0)
		return ret;
	if (strtab->symtab.size == 0 &&
	    (ret = store_plainly(sorted, strtab, strtab->index, err)) < 0)
		return ret;
	if (strtab->buffer.size > UINT32_MAX)
		return dw_fail(err, DWARFS_ERR_RANGE, "too many names for one image");
	if (!packing.pack_index)
		lengths_to_offsets(strtab->index, sorted->count);
	strtab->table = (struct freeze_string_table){
		.buffer = dw_buffer_span(&strtab->buffer),
		.symtab = dw_buffer_span(&strtab->symtab),
		.index = { strtab->index, sorted->count + !packing.pack_index },
		.has_symtab = strtab->symtab.size > 0,
		.packed_index = packing.pack_index,
	};
	return 0;
}

int dw_string_table_make(const struct sorted_strings *sorted,
			 struct string_table_packing packing,
			 struct string_table *strtab_out, dwarfs_error **err)
{
	struct string_table strtab = { 0 };
	int ret = fill_string_table(sorted, packing, &strtab, err);

	if (ret < 0) {
		dw_string_table_free(&strtab);
		return ret;
	}
	*strtab_out = strtab;
	return 0;
}
