/* SPDX-License-Identifier: MIT */
/*
 * read/metadata/strings: names and link targets of an image, plain or compact, packed or
 * not.
 *
 * Takes untrusted lists and tables; every string is checked to be within its buffer
 * before it is returned.
 */
#include "format/metadata.h"
#include "read/metadata/strings.h"

void dw_strings_free(struct strings *strings)
{
	dw_lazy_free(&strings->offsets);
	dw_free(strings->decoder);
	*strings = (struct strings){ 0 };
}

/* Before memory is allocated for it. */
static int check_packed_offsets(const struct strings *strings, dwarfs_error **err)
{
	/* Strings are not empty, so their bytes bound what is allocated. */
	if (strings->index.count > strings->buffer.size + 1)
		return dw_fail_metadata(err, "a string table has too many strings");
	if (strings->buffer.size > UINT32_MAX)
		return dw_fail_metadata(err, "a string table is too large");
	return 0;
}

static int unpack_offsets(const void *owner, uint32_t **items_out, dwarfs_error **err)
{
	const struct strings *strings = owner;
	auto_free uint32_t *offsets = NULL;
	uint64_t sum = 0;

	offsets = dw_malloc(((size_t)strings->index.count + 1) * sizeof(*offsets));
	if (!offsets)
		return dw_fail_nomem(err);
	offsets[0] = 0;
	for (uint64_t i = 0; i < strings->index.count; i++) {
		sum += dw_column_get(&strings->index, strings->index_column, i);
		offsets[i + 1] = (uint32_t)sum;
	}
	/* Offsets ascend, so if the last one is right, all are in bounds. */
	if (sum != strings->buffer.size)
		return dw_fail_metadata(
			err, "the lengths of a string table do not fill its buffer");
	*items_out = dw_steal(offsets);
	return 0;
}

int dw_strings_unpack(const struct strings *strings, dwarfs_error **err)
{
	if (!strings->is_packed)
		return 0;
	return dw_lazy_need(&strings->offsets, unpack_offsets, strings, err);
}

/* A string_table. max_count limits the number of strings before memory is allocated. */
static int load_compact(const struct frozen *frozen, struct frozen_node node,
			uint64_t max_count, struct strings *strings, dwarfs_error **err)
{
	struct frozen_node symtab_node;
	struct span symtab;
	bool has_symtab;
	int ret;

	strings->is_compact = true;
	if ((ret = dw_frozen_string(frozen, dw_frozen_child(frozen, node, ST_BUFFER),
				    &strings->buffer, err)) < 0 ||
	    (ret = dw_frozen_table(frozen, dw_frozen_child(frozen, node, ST_INDEX),
				   &strings->index, err)) < 0 ||
	    (ret = dw_frozen_column(frozen, &strings->index, 0, 32,
				    &strings->index_column, err)) < 0 ||
	    (ret = dw_frozen_bool(frozen, dw_frozen_child(frozen, node, ST_PACKED_INDEX),
				  &strings->is_packed, err)) < 0 ||
	    (ret = dw_frozen_optional(frozen, dw_frozen_child(frozen, node, ST_SYMTAB),
				      &symtab_node, &has_symtab, err)) < 0)
		return ret;
	strings->count = strings->index.count;
	if (!strings->is_packed && strings->count > 0)
		strings->count--;
	if (strings->count > max_count)
		return dw_fail_metadata(
			err, "a string table has more strings than can be used");
	if (strings->is_packed && (ret = check_packed_offsets(strings, err)) < 0)
		return ret;
	if (!has_symtab)
		return 0;
	if ((ret = dw_frozen_string(frozen, symtab_node, &symtab, err)) < 0)
		return ret;
	strings->decoder = dw_calloc(1, sizeof(*strings->decoder));
	if (!strings->decoder)
		return dw_fail_nomem(err);
	return dw_fsst_decoder_init(strings->decoder, symtab, err);
}

int dw_strings_load(const struct frozen *frozen, int plain_id, int compact_id,
		    uint64_t max_count, struct strings *strings, dwarfs_error **err)
{
	struct frozen_node root = dw_frozen_root(frozen), node;
	bool is_compact;
	int ret;

	if ((ret = dw_frozen_optional(frozen, dw_frozen_child(frozen, root, compact_id),
				      &node, &is_compact, err)) < 0 ||
	    (ret = dw_frozen_table(frozen, dw_frozen_child(frozen, root, plain_id),
				   &strings->plain, err)) < 0)
		return ret;
	if (is_compact) {
		if (strings->plain.count != 0)
			return dw_fail_metadata(err, "strings are stored twice");
		return load_compact(frozen, node, max_count, strings, err);
	}
	strings->count = strings->plain.count;
	if (strings->count > max_count)
		return dw_fail_metadata(
			err, "a string list has more strings than can be used");
	return dw_frozen_string_column(frozen, &strings->plain, &strings->plain_column,
				       err);
}

int dw_strings_stored(const struct strings *strings, uint64_t index,
		      struct span *stored_out, dwarfs_error **err)
{
	uint64_t first, end;

	if (index >= strings->count)
		return dw_fail(err, DWARFS_ERR_CORRUPT,
			       "metadata: string %" PRIu64 " of %" PRIu64
			       " does not exist",
			       index, strings->count);
	if (!strings->is_compact) {
		if (!dw_column_string(&strings->plain, &strings->plain_column, index,
				      stored_out))
			return dw_fail_metadata(err, "a string lies outside the data");
		return 0;
	}
	if (strings->is_packed) {
		const uint32_t *offsets;
		int ret = dw_strings_unpack(strings, err);

		if (ret < 0)
			return ret;
		offsets = dw_lazy_items(&strings->offsets);
		first = offsets[index];
		end = offsets[index + 1];
	} else {
		first = dw_column_get32(&strings->index, strings->index_column, index);
		end = dw_column_get32(&strings->index, strings->index_column, index + 1);
	}
	if (first > end || end > strings->buffer.size)
		return dw_fail_metadata(err, "a string lies outside its buffer");
	*stored_out =
		(struct span){ strings->buffer.data + first, (size_t)(end - first) };
	return 0;
}

int dw_strings_get(const struct strings *strings, uint64_t index, char *out, size_t room,
		   size_t *size_out, dwarfs_error **err)
{
	struct span stored;
	size_t size;
	int ret = dw_strings_stored(strings, index, &stored, err);

	if (ret < 0)
		return ret;
	if (room == 0)
		return dw_fail(err, DWARFS_ERR_RANGE, "buffer too small for a string");
	if (!strings->decoder) {
		size = stored.size;
		if (size < room)
			memcpy(out, stored.data, size);
	} else {
		size = dw_fsst_decode(strings->decoder, stored, (uint8_t *)out, room - 1);
		if (size == SIZE_MAX)
			return dw_fail_metadata(err, "a string has a broken code");
	}
	if (size >= room)
		return dw_fail(err, DWARFS_ERR_RANGE,
			       "buffer too small for a string of %zu bytes", size);
	out[size] = '\0';
	*size_out = size;
	return 0;
}

/* -- comparing ----------------------------------------------------------------------- */

void dw_key_init(struct key *key, struct span text)
{
	memset(key->bytes, 0, 32);
	memcpy(key->bytes, text.data, text.size);
	memset(key->bytes + text.size, 0, 9);
	key->size = text.size;
}

/* As dw_strings_compare(), for the stored form of a string. */
static int compare_stored(const struct strings *strings, struct span stored,
			  const struct key *key, int *order_out, dwarfs_error **err)
{
	size_t shorter = stored.size < key->size ? stored.size : key->size;
	int order;

	if (strings->decoder) {
		if (!dw_fsst_compare(strings->decoder, stored, key->bytes, key->size,
				     order_out))
			return dw_fail_metadata(err, "a string has a broken code");
		return 0;
	}
	order = memcmp(key->bytes, stored.data, shorter);
	if (order == 0)
		order = (key->size > stored.size) - (key->size < stored.size);
	*order_out = order;
	return 0;
}

int dw_strings_compare(const struct strings *strings, uint64_t index,
		       const struct key *key, int *order_out, dwarfs_error **err)
{
	struct span stored;
	int ret = dw_strings_stored(strings, index, &stored, err);

	if (ret < 0)
		return ret;
	return compare_stored(strings, stored, key, order_out, err);
}
