/* SPDX-License-Identifier: MIT */
/*
 * read/metadata/view: the metadata of an image, in place.
 *
 * Takes untrusted schema and metadata, whose tables view_load.c finds. Values
 * are read when they are requested; packed tables are unpacked at first use.
 */
#include "read/metadata/view.h"

static void list_free(char **list)
{
	for (char **item = list; item && *item; item++)
		dw_free(*item);
	dw_free(list);
}

void dw_view_free(struct view *view)
{
	if (!view)
		return;
	dw_schema_free(&view->schema);
	dw_strings_free(&view->names);
	dw_strings_free(&view->symlinks);
	dw_lazy_free(&view->first_entries);
	dw_lazy_free(&view->chunk_numbers);
	dw_lazy_free(&view->shared_numbers);
	dw_free(view->dwarfs_version);
	list_free(view->features);
	list_free(view->categories);
	dw_lazy_free(&view->parents);
	dw_lazy_free(&view->nlinks);
	dw_lazy_free(&view->sums);
	dw_lazy_free(&view->prints);
	dw_lazy_free(&view->orders);
	dw_lazy_free(&view->pivots);
	dw_lazy_free(&view->entries);
	dw_lazy_free(&view->positions);
	dw_free(view);
}

/* -- unpacking ----------------------------------------------------------------------- */

/* Prefix sums of the differences in a column; an error if one exceeds the limit. */
static int unpack_sums(const struct table *table, struct column column, uint64_t limit,
		       const char *broken, uint32_t **items_out, dwarfs_error **err)
{
	auto_free uint32_t *items = dw_calloc((size_t)table->count, sizeof(*items));
	uint64_t sum = 0;

	if (!items)
		return dw_fail_nomem(err);
	for (uint64_t i = 0; i < table->count; i++) {
		sum += dw_column_get(table, column, i);
		if (sum > limit)
			return dw_fail(err, DWARFS_ERR_CORRUPT, "metadata: %s", broken);
		items[i] = (uint32_t)sum;
	}
	*items_out = dw_steal(items);
	return 0;
}

static int unpack_directories(const void *owner, uint32_t **items_out, dwarfs_error **err)
{
	const struct view *view = owner;

	return unpack_sums(&view->directories, view->dir_first, view->entry_count,
			   "directories have more entries than there are", items_out,
			   err);
}

static int unpack_chunk_table(const void *owner, uint32_t **items_out, dwarfs_error **err)
{
	const struct view *view = owner;
	uint64_t limit = view->chunks.count;

	return unpack_sums(&view->chunk_table, view->chunk_table_item,
			   limit < UINT32_MAX ? limit : UINT32_MAX,
			   "files have more chunks than there are", items_out, err);
}

/* Each index of the table belongs to two or more files. */
static int unpack_shared(const void *owner, uint32_t **items_out, dwarfs_error **err)
{
	const struct view *view = owner;
	const struct table *table = &view->shared_files;
	auto_free uint32_t *items = dw_calloc((size_t)view->shared_count, sizeof(*items));
	uint64_t at = 0;

	if (!items)
		return dw_fail_nomem(err);
	for (uint64_t i = 0; i < table->count; i++) {
		uint64_t n = dw_column_get(table, view->shared_files_item, i) + 2;

		if (n > view->shared_count - at)
			return dw_fail(err, DWARFS_ERR_CORRUPT,
				       "metadata: more files are shared than there are");
		for (; n > 0; n--)
			items[at++] = (uint32_t)i;
	}
	if (at != view->shared_count)
		return dw_fail(
			err, DWARFS_ERR_CORRUPT,
			"metadata: the chunk table does not fit the number of files");
	*items_out = dw_steal(items);
	return 0;
}

int dw_view_make_directories(const struct view *view, dwarfs_error **err)
{
	return dw_lazy_make(&view->first_entries, unpack_directories, view, err);
}

int dw_view_make_chunk_table(const struct view *view, dwarfs_error **err)
{
	return dw_lazy_make(&view->chunk_numbers, unpack_chunk_table, view, err);
}

int dw_view_make_shared(const struct view *view, dwarfs_error **err)
{
	return dw_lazy_make(&view->shared_numbers, unpack_shared, view, err);
}

int dw_view_unpack(const struct view *view, dwarfs_error **err)
{
	int ret;

	if ((ret = dw_view_need_directories(view, err)) < 0 ||
	    (ret = dw_view_need_chunk_table(view, err)) < 0 ||
	    (ret = dw_view_need_shared(view, err)) < 0 ||
	    (ret = dw_strings_unpack(&view->names, err)) < 0)
		return ret;
	return dw_strings_unpack(&view->symlinks, err);
}

int dw_view_fail(const struct view *view, dwarfs_error **err)
{
	return dw_fail(err, DWARFS_ERR_CHECKSUM, "%s",
		       atomic_load(&((struct view *)view)->failure));
}

int dw_view_new(struct span schema, struct span metadata, uint32_t block_count,
		struct view **view_out, dwarfs_error **err)
{
	auto_view struct view *view = dw_calloc(1, sizeof(*view));
	const struct schema_layout *root;
	int ret;

	if (!view)
		return dw_fail_nomem(err);
	if ((ret = dw_schema_parse(schema, &view->schema, err)) < 0)
		return ret;
	root = &view->schema.layouts[view->schema.root];
	if (root->size > metadata.size || (root->bits + 7) / 8 > metadata.size)
		return dw_fail(err, DWARFS_ERR_CORRUPT,
			       "metadata: it is smaller than its schema says");
	view->frozen = (struct frozen){ &view->schema, metadata.data, metadata.size };
	if ((ret = dw_view_load(view, block_count, err)) < 0)
		return ret;
	*view_out = dw_steal(view);
	return 0;
}

/* -- metadata of categories ---------------------------------------------------------- */

static int find_optional_table(const struct view *view, enum metadata_field field,
			       struct table *table_out, dwarfs_error **err)
{
	const struct frozen *frozen = &view->frozen;
	struct frozen_node node;
	int ret = dw_frozen_optional(
		frozen, dw_frozen_child(frozen, dw_frozen_root(frozen), field), &node,
		NULL, err);

	return ret < 0 ? ret : dw_frozen_table(frozen, node, table_out, err);
}

int dw_view_category_texts(const struct view *view, struct category_texts *texts_out,
			   dwarfs_error **err)
{
	const struct frozen *frozen = &view->frozen;
	struct category_texts *out = texts_out;
	int ret;

	if ((ret = find_optional_table(view, MD_CATEGORY_METADATA_JSON, &out->texts,
				       err)) < 0 ||
	    (ret = dw_frozen_string_column(frozen, &out->texts, &out->text, err)) < 0 ||
	    (ret = find_optional_table(view, MD_BLOCK_CATEGORY_METADATA, &out->pairs,
				       err)) < 0 ||
	    (ret = dw_frozen_column(frozen, &out->pairs, PAIR_FIRST, 32, &out->block,
				    err)) < 0)
		return ret;
	return dw_frozen_column(frozen, &out->pairs, PAIR_SECOND, 32, &out->number, err);
}
