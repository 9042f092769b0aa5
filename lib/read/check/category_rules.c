/* SPDX-License-Identifier: MIT */
/*
 * read/check/category_rules: metadata that categorizers store for blocks.
 *
 * Takes a view; finds these tables, which no reader needs, and checks their bounds.
 */
#include "read/check/category_rules.h"

/* Blocks in ascending order, each with the index of a text. */
static int check_block_texts(const struct category_texts *texts, uint32_t block_count,
			     dwarfs_error **err)
{
	uint64_t next = 0;

	for (uint64_t i = 0; i < texts->pairs.count; i++) {
		uint64_t block = dw_column_get(&texts->pairs, texts->block, i);

		if (block < next)
			return dw_fail_metadata(
				err, "metadata of categories is not sorted by block");
		if (block >= block_count)
			return dw_fail(err, DWARFS_ERR_CORRUPT,
				       "metadata: a category has metadata for block "
				       "%" PRIu64 " of %" PRIu32,
				       block, block_count);
		if (dw_column_get(&texts->pairs, texts->number, i) >= texts->texts.count)
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
	struct category_texts texts;
	int ret = dw_view_category_texts(view, &texts, err);

	return ret < 0 ? ret : check_block_texts(&texts, block_count, err);
}
