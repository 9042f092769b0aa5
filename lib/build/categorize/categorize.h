/* SPDX-License-Identifier: MIT */
/*
 * build/categorize: what kind of bytes contents are.
 *
 * Each category has blocks of its own, with its own order, segmenter and codec. There is
 * one so far, which takes everything, and the image does not name it.
 */
#ifndef DW_BUILD_CATEGORIZE_H
#define DW_BUILD_CATEGORIZE_H

#include "build/contents.h"

enum category { CATEGORY_DEFAULT, CATEGORY_COUNT };

/* The numbers of the contents of one category, in scan order. */
struct category_list {
	uint32_t *numbers;
	size_t count;
};

void dw_category_list_free(struct category_list *list);

/* Gather the contents of a category; empty ones belong to none. */
int dw_categorize(const struct contents *contents, uint32_t category,
		  struct category_list *list_out, dwarfs_error **err);

#endif
