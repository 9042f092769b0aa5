/* SPDX-License-Identifier: MIT */
/*
 * read/cache/extent_tree: the extents of a unit by offset.
 *
 * A treap, which needs only two pointers per extent: Seidel and Aragon, Algorithmica
 * 1996. All functions are called with cache->lock held.
 */
#include "read/cache/extent_tree.h"

/* Which one is nearer to the root. The priority depends on the address, so that the
 * contents of an image cannot unbalance the tree. */
static bool is_above(const struct extent *one, const struct extent *other)
{
	return (uint64_t)(uintptr_t)one * UINT64_C(0x9e3779b97f4a7c15) >
	       (uint64_t)(uintptr_t)other * UINT64_C(0x9e3779b97f4a7c15);
}

static struct extent **child(struct extent *extent, uint64_t place)
{
	return place < extent->range.from ? &extent->left : &extent->right;
}

void dw_extent_tree_insert(struct extent **root, struct extent *extent)
{
	struct extent **left = &extent->left, **right = &extent->right, *rest;
	const uint64_t place = extent->range.from;

	while (*root && is_above(*root, extent))
		root = child(*root, place);
	rest = *root;
	*root = extent;
	while (rest) {
		struct extent ***side = rest->range.from < place ? &left : &right;

		**side = rest;
		*side = child(rest, place);
		rest = **side;
	}
	*left = *right = NULL;
}

void dw_extent_tree_remove(struct extent **root, struct extent *extent)
{
	struct extent *left = extent->left, *right = extent->right;

	while (*root != extent)
		root = child(*root, extent->range.from);
	while (left && right) {
		if (is_above(left, right)) {
			*root = left;
			root = &left->right;
			left = *root;
		} else {
			*root = right;
			root = &right->left;
			right = *root;
		}
	}
	*root = left ? left : right;
}

struct extent *dw_extent_tree_last_at(struct extent *extent, uint64_t place)
{
	struct extent *last = NULL;

	for (; extent; extent = *child(extent, place))
		if (extent->range.from <= place)
			last = extent;
	return last;
}

struct extent *dw_extent_tree_first_after(struct extent *extent, uint64_t place)
{
	struct extent *first = NULL;

	for (; extent; extent = *child(extent, place))
		if (extent->range.from > place)
			first = extent;
	return first;
}
