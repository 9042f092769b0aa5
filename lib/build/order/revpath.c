/* SPDX-License-Identifier: MIT */
/*
 * order/revpath: by the path read from its end, so that files with the same ending, then
 * the same name, come together.
 */
#include "build/order/order.h"

struct sorting {
	const struct tree *tree;
	const struct contents *contents;
};

/* Reads a path backwards, one byte at a time. */
struct backwards {
	const struct tree *tree;
	uint32_t entry; /* 0: the path is at its end */
	struct span name;
	size_t left; /* of the name */
};

static struct backwards start(const struct sorting *sorting, uint32_t number)
{
	const struct tree *tree = sorting->tree;
	uint32_t entry = tree->inodes[sorting->contents->list[number].inode].entry;
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
	const struct sorting *sorting = user;
	struct backwards a = start(sorting, *(const uint32_t *)left);
	struct backwards b = start(sorting, *(const uint32_t *)right);

	for (;;) {
		int x = step(&a), y = step(&b);

		if (x != y)
			return x < y ? -1 : 1;
		if (x < 0)
			return 0;
	}
}

static int sort(const struct tree *tree, const struct contents *contents,
		uint32_t *numbers, size_t count, dwarfs_error **err)
{
	struct sorting sorting = { tree, contents };

	if (count > 1)
		qsort_r(numbers, count, sizeof(numbers[0]), compare, &sorting);
	return 0;
}

const struct order_ops dw_order_revpath = { "revpath", sort };
