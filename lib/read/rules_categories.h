/* SPDX-License-Identifier: MIT */
/*
 * read/rules_categories: what categorizers say about the contents of blocks.
 */
#ifndef DW_READ_RULES_CATEGORIES_H
#define DW_READ_RULES_CATEGORIES_H

#include "read/view.h"

/* Whether each block is named once at most, and its text exists. */
int dw_rules_check_category_metadata(const struct view *view, uint32_t block_count,
				     dwarfs_error **err);

#endif
