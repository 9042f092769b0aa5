/* SPDX-License-Identifier: MIT */
/*
 * categorize: which contents are of a category.
 */
#include "build/categorize/categorize.h"

void dw_category_list_free(struct category_list *list)
{
	free(list->numbers);
	*list = (struct category_list){ 0 };
}

int dw_categorize(const struct contents *contents, uint32_t category,
		  struct category_list *list_out, dwarfs_error **err)
{
	struct category_list list = {
		.numbers = dw_calloc(contents->count, sizeof(*list.numbers)),
	};

	if (!list.numbers)
		return dw_fail_nomem(err);
	for (size_t i = 0; i < contents->count; i++)
		if (contents->list[i].size && contents->list[i].category == category)
			list.numbers[list.count++] = (uint32_t)i;
	*list_out = list;
	return 0;
}
