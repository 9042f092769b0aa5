/* SPDX-License-Identifier: MIT */
/*
 * write/metadata/xattr_section: extended attributes of the tree -> XATTRS section.
 *
 * Only attributes of stored inodes are written, numbered in the order of inode numbers,
 * so the section depends on the image alone and not on the order of the scan.
 */
#include <string.h>

#include "format/xattrs.h"
#include "write/metadata/xattr_section.h"

/* The tables being built. Numbers are new ones, unless called old. */
struct xattr_plan {
	const struct tree *tree;
	const struct xattr_sets *from;
	uint32_t *sets; /* set of each inode; 0: none */
	/* new number of each old one, + 1; 0: unused */
	uint32_t *set_of, *name_of, *value_of;
	uint32_t *set_ends;
	struct xattr_ref *pairs;
	size_t pair_room;
	struct span *names, *values;
	uint32_t *old_names; /* sorted by their bytes */
	uint32_t set_count, pair_count, name_count, value_count;
};

static void free_plan(struct xattr_plan *plan)
{
	dw_free(plan->sets);
	dw_free(plan->set_of);
	dw_free(plan->name_of);
	dw_free(plan->value_of);
	dw_free(plan->set_ends);
	dw_free(plan->pairs);
	dw_free(plan->names);
	dw_free(plan->values);
	dw_free(plan->old_names);
}

static int new_plan(const struct tree *tree, struct xattr_plan *plan, dwarfs_error **err)
{
	const struct xattr_sets *from = &tree->xattrs;

	plan->tree = tree;
	plan->from = from;
	plan->sets = dw_calloc(tree->inode_count, sizeof(uint32_t));
	plan->set_of = dw_calloc(from->sets.count, sizeof(uint32_t));
	plan->name_of = dw_calloc(from->names.count, sizeof(uint32_t));
	plan->value_of = dw_calloc(from->values.count, sizeof(uint32_t));
	plan->set_ends = dw_calloc(from->sets.count, sizeof(uint32_t));
	plan->names = dw_calloc(from->names.count, sizeof(struct span));
	plan->values = dw_calloc(from->values.count, sizeof(struct span));
	plan->old_names = dw_calloc(from->names.count, sizeof(uint32_t));
	if (!plan->sets || !plan->set_of || !plan->name_of || !plan->value_of ||
	    !plan->set_ends || !plan->names || !plan->values || !plan->old_names)
		return dw_fail_nomem(err);
	return 0;
}

/* Add a set. Values are numbered by first use; names are only collected. */
static int add_xattr_set(struct xattr_plan *plan, uint32_t old, dwarfs_error **err)
{
	struct span bytes = dw_string_set_at(&plan->from->sets, old);
	size_t count = bytes.size / sizeof(struct xattr_numbers);
	int ret;

	if (plan->pair_count + count > UINT32_MAX / 2)
		return dw_fail(err, DWARFS_ERR_RANGE,
			       "too many extended attributes for one image");
	if ((ret = dw_grow(&plan->pairs, &plan->pair_room, plan->pair_count + count,
			   err)) < 0)
		return ret;
	for (size_t i = 0; i < count; i++) {
		struct xattr_numbers numbers;

		memcpy(&numbers, bytes.data + i * sizeof(numbers), sizeof(numbers));
		if (plan->name_of[numbers.name]++ == 0)
			plan->old_names[plan->name_count++] = numbers.name;
		if (plan->value_of[numbers.value] == 0) {
			plan->values[plan->value_count] =
				dw_string_set_at(&plan->from->values, numbers.value);
			plan->value_of[numbers.value] = ++plan->value_count;
		}
		plan->pairs[plan->pair_count++] =
			(struct xattr_ref){ numbers.name,
					    plan->value_of[numbers.value] - 1 };
	}
	plan->set_ends[plan->set_count] = plan->pair_count;
	plan->set_of[old] = ++plan->set_count;
	return 0;
}

/* Number sets by the first inode that has them. */
static int add_inode_sets(struct xattr_plan *plan, dwarfs_error **err)
{
	const struct tree *tree = plan->tree;

	for (size_t i = 0; i < tree->inode_count; i++)
		plan->sets[tree->inodes[i].number] = tree->inodes[i].xattrs;
	for (size_t i = 0; i < tree->inode_count; i++) {
		uint32_t set = plan->sets[i];
		int ret;

		if (set == DW_NO_XATTRS)
			continue;
		if (plan->set_of[set - 1] == 0 &&
		    (ret = add_xattr_set(plan, set - 1, err)) < 0)
			return ret;
		plan->sets[i] = plan->set_of[set - 1];
	}
	return 0;
}

static int compare_xattr_strings(const void *left, const void *right, void *user)
{
	const struct string_set *names = user;

	return dw_span_compare(dw_string_set_at(names, *(const uint32_t *)left),
			       dw_string_set_at(names, *(const uint32_t *)right));
}

static int compare_pairs(const void *left, const void *right)
{
	const struct xattr_ref *a = left, *b = right;

	return a->name < b->name ? -1 : a->name > b->name;
}

/* Number names in byte order, and sort each set by them. */
static void sort_names(struct xattr_plan *plan)
{
	uint32_t first = 0;

	qsort_r(plan->old_names, plan->name_count, sizeof(plan->old_names[0]),
		compare_xattr_strings, (void *)&plan->from->names);
	for (uint32_t i = 0; i < plan->name_count; i++) {
		plan->names[i] = dw_string_set_at(&plan->from->names, plan->old_names[i]);
		plan->name_of[plan->old_names[i]] = i;
	}
	for (uint32_t i = 0; i < plan->pair_count; i++)
		plan->pairs[i].name = plan->name_of[plan->pairs[i].name];
	for (uint32_t set = 0; set < plan->set_count; set++) {
		qsort(plan->pairs + first, plan->set_ends[set] - first,
		      sizeof(plan->pairs[0]), compare_pairs);
		first = plan->set_ends[set];
	}
}

int dw_xattr_section(const struct tree *tree, uint64_t metadata_xxh3, struct buffer *out,
		     dwarfs_error **err)
{
	__attribute__((cleanup(free_plan))) struct xattr_plan plan = { 0 };
	struct xattr_tables tables;
	int ret;

	if (dw_xattrs_count(&tree->xattrs) == 0)
		return 0;
	if ((ret = new_plan(tree, &plan, err)) < 0 ||
	    (ret = add_inode_sets(&plan, err)) < 0)
		return ret;
	if (plan.set_count == 0)
		return 0;
	sort_names(&plan);
	tables = (struct xattr_tables){
		.metadata_xxh3 = metadata_xxh3,
		.names = plan.names,
		.values = plan.values,
		.name_count = plan.name_count,
		.value_count = plan.value_count,
		.pairs = plan.pairs,
		.pair_count = plan.pair_count,
		.set_ends = plan.set_ends,
		.set_count = plan.set_count,
		.sets = plan.sets,
		.inode_count = (uint32_t)tree->inode_count,
	};
	return dw_xattr_tables_write(&tables, out, err);
}
