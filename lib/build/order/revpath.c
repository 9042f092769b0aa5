/* SPDX-License-Identifier: MIT */
/*
 * order/revpath: by the path read from its end, so that files with the same ending, then
 * the same name, come together.
 */
#include "build/order/order.h"

/* Reads a path backwards, one byte at a time. */
struct backwards {
	const struct tree *tree;
	uint32_t entry; /* 0: the path is at its end */
	struct span name;
	size_t left; /* of the name */
};

static struct backwards start(const struct order_input *input, uint32_t number)
{
	const struct tree *tree = input->tree;
	uint32_t entry = dw_order_entry(input, number);
	struct span name = dw_texts_at(&tree->names, tree->entries[entry].name);

	return (struct backwards){ tree, entry, name, name.size };
}

/* The byte before; -1 at the start of the path. */
static int step(struct backwards *path)
{
	if (path->left > 0)
		return path->name.data[--path->left];
	path->entry = path->tree->entries[path->entry].parent;
	if (path->entry == 0)
		return -1;
	path->name =
		dw_texts_at(&path->tree->names, path->tree->entries[path->entry].name);
	path->left = path->name.size;
	return '/';
}

static int compare(const void *left, const void *right, void *user)
{
	const uint32_t *numbers[] = { left, right };
	struct backwards a = start(user, *numbers[0]);
	struct backwards b = start(user, *numbers[1]);

	for (;;) {
		int x = step(&a), y = step(&b);

		if (x != y)
			return x < y ? -1 : 1;
		if (x < 0) /* the same file */
			return *numbers[0] < *numbers[1] ? -1 : 1;
	}
}

static int sort(const struct order_input *input, uint32_t *numbers, size_t count,
		dwarfs_error **err)
{
	if (count > 1)
		qsort_r(numbers, count, sizeof(numbers[0]), compare, (void *)input);
	return 0;
}

const struct order_ops dw_order_revpath = { .name = "revpath", .sort = sort };
