/* SPDX-License-Identifier: MIT */
/*
 * read/check/category_rules: metadata that categorizers store for blocks.
 *
 * Takes a view; finds these tables, which no reader needs, and checks their bounds.
 */
#include "read/check/category_rules.h"

static int optional_table(const struct view *view, int id, struct frozen_node *node_out,
			  dwarfs_error **err)
{
	const struct frozen *frozen = &view->frozen;

	return dw_frozen_optional(frozen,
				  dw_frozen_child(frozen, dw_frozen_root(frozen), id),
				  node_out, NULL, err);
}

/* Blocks in ascending order, each with the index of a text. */
static int check_block_texts(const struct view *view, uint32_t block_count,
			     uint64_t texts, dwarfs_error **err)
{
	struct column key_column, value_column;
	struct frozen_node node;
	struct table table;
	uint64_t next = 0;
	int ret;

	if ((ret = optional_table(view, MD_BLOCK_CATEGORY_METADATA, &node, err)) < 0 ||
	    (ret = dw_frozen_table(&view->frozen, node, &table, err)) < 0 ||
	    (ret = dw_frozen_column(&view->frozen, &table, PAIR_FIRST, 32, &key_column,
				    err)) < 0 ||
	    (ret = dw_frozen_column(&view->frozen, &table, PAIR_SECOND, 32, &value_column,
				    err)) < 0)
		return ret;
	for (uint64_t i = 0; i < table.count; i++) {
		uint64_t block = dw_column_get(&table, key_column, i);

		if (block < next)
			return dw_fail_metadata(
				err, "metadata of categories is not sorted by block");
		if (block >= block_count)
			return dw_fail(err, DWARFS_ERR_CORRUPT,
				       "metadata: a category has metadata for block "
				       "%" PRIu64 " of %" PRIu32,
				       block, block_count);
		if (dw_column_get(&table, value_column, i) >= texts)
			return dw_fail(err, DWARFS_ERR_CORRUPT,
				       "metadata: block %" PRIu64
				       " has category metadata that does not exist",
				       block);
		next = block + 1;
	}
	return 0;
}

int dw_rules_check_category_metadata(const struct view *view, uint32_t block_count,
				     dwarfs_error **err)
{
	struct frozen_node node;
	struct table texts;
	int ret;

	if ((ret = optional_table(view, MD_CATEGORY_METADATA_JSON, &node, err)) < 0 ||
	    (ret = dw_frozen_table(&view->frozen, node, &texts, err)) < 0)
		return ret;
	return check_block_texts(view, block_count, texts.count, err);
}
