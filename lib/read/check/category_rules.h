/* SPDX-License-Identifier: MIT */
/*
 * read/check/category_rules: metadata that categorizers store for blocks.
 */
#ifndef DW_READ_CHECK_CATEGORY_RULES_H
#define DW_READ_CHECK_CATEGORY_RULES_H

#include "read/metadata/view.h"

/* Check that each block has at most one text, and that the text exists. */
int dw_rules_check_category_metadata(const struct view *view, uint32_t block_count,
				     dwarfs_error **err);

#endif
