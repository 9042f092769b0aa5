/* SPDX-License-Identifier: MIT */
/*
 * write/tree/xattr_sets: extended attributes, each distinct set of them once.
 *
 * A set is what one inode has: names with values. Inodes keep the number of their set
 * (tree_inode.xattrs); most have none, or share one of a few.
 */
#ifndef DW_WRITE_TREE_XATTR_SETS_H
#define DW_WRITE_TREE_XATTR_SETS_H

#include "write/options/xattr_rules.h"
#include "write/tree/interned.h"

/* The number of the set with nothing in it. */
#define DW_NO_XATTRS 0

/* One attribute; both borrowed. The name has its namespace and no NUL. */
struct xattr_pair {
	struct span name, value;
};

/* All zero is empty. */
struct xattr_sets {
	struct string_set names, values;
	struct string_set sets; /* each a list of struct xattr_numbers */
};

/* What a set is made of: numbers of names and values. */
struct xattr_numbers {
	uint32_t name, value;
};

void dw_xattrs_free(struct xattr_sets *sets);

/*
 * The number of a set, which is copied when it is new. The order of the list does not
 * matter; count 0 gives DW_NO_XATTRS. INVALID for a name that is empty, over 255 bytes,
 * holds a NUL or comes twice; RANGE when there are too many.
 */
int dw_xattrs_add(struct xattr_sets *sets, const struct xattr_pair *list, size_t count,
		  uint32_t *set_out, dwarfs_error **err);

/* Distinct sets, without the empty one. */
static inline size_t dw_xattrs_count(const struct xattr_sets *sets)
{
	return sets->sets.count;
}

/* Memory that all of them take. */
uint64_t dw_xattrs_bytes(const struct xattr_sets *sets);

/*
 * Attributes in one piece of memory, as they are handed from thread to thread: of each
 * the sizes of name and value, four bytes of the host each, then both.
 */
int dw_xattr_list_append(struct buffer *list, struct span name, struct span value,
			 dwarfs_error **err);
/* The set of such a list, which may be empty, as far as rules take what is in it; NULL:
 * all. */
int dw_xattrs_add_list(struct xattr_sets *sets, struct span list,
		       const struct xattr_rules *rules, uint32_t *set_out,
		       dwarfs_error **err);

#endif
