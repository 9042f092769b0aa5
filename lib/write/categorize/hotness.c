/* SPDX-License-Identifier: MIT */
/*
 * write/categorize/hotness: files in the list of hot paths, which are read first or most
 * often.
 *
 * Compares paths; reads no contents.
 */
#include "write/categorize/ops.h"

static int categorize_hotness(const struct categorizers *all, dwarfs_context *context,
			      const struct category_file *file,
			      struct category_parts *parts, dwarfs_error **err)
{
	if (dw_hotness_rank(all->options, file->path) == UINT32_MAX)
		return 0;
	return dw_parts_add(parts, CATEGORY_HOTNESS, 0, file->size, err);
}

const struct categorizer_ops dw_categorizer_hotness = {
	.name = "hotness",
	.categorize = categorize_hotness,
};
