/* SPDX-License-Identifier: MIT */
/*
 * read/check/category_rules: what categorizers say about the contents of blocks.
 */
#ifndef DW_READ_CHECK_CATEGORY_RULES_H
#define DW_READ_CHECK_CATEGORY_RULES_H

#include "read/metadata/view.h"

/* Whether each block is named once at most, and its text exists. */
int dw_rules_check_category_metadata(const struct view *view, uint32_t block_count,
				     dwarfs_error **err);

#endif
