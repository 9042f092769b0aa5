/* SPDX-License-Identifier: MIT */
/*
 * write/tree/xattr_sets: distinct sets of extended attributes.
 *
 * A set is all attributes of an inode: names with values. An inode stores the number of
 * its set (tree_inode.xattrs); most inodes have none or share one of a few.
 */
#ifndef DW_WRITE_TREE_XATTR_SETS_H
#define DW_WRITE_TREE_XATTR_SETS_H

#include "write/options/xattr_rules.h"
#include "write/tree/interned.h"

/* Number of the empty set. */
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

/* An element of a set: numbers of name and value. */
struct xattr_numbers {
	uint32_t name, value;
};

void dw_xattrs_free(struct xattr_sets *sets);

/*
 * Find or add a set. The order of the list does not matter; an empty list gives
 * DW_NO_XATTRS. INVALID for a name that is empty, longer than 255 bytes, contains a NUL
 * or occurs twice; RANGE if there are too many.
 */
int dw_xattrs_add(struct xattr_sets *sets, const struct xattr_pair *list, size_t count,
		  uint32_t *set_out, dwarfs_error **err);

/* Distinct sets, without the empty one. */
static inline size_t dw_xattrs_count(const struct xattr_sets *sets)
{
	return sets->sets.count;
}

/* Memory in use. */
uint64_t dw_xattrs_bytes(const struct xattr_sets *sets);

/*
 * Append an attribute to a list in one buffer, in which threads hand attributes over: for
 * each the sizes of name and value, four bytes each in the order of the host, then both.
 */
int dw_xattr_list_append(struct buffer *list, struct span name, struct span value,
			 dwarfs_error **err);

/* Change the access control list in such a list, if there is one, by dw_acl_set_mode(). */
void dw_xattr_list_set_mode(struct buffer *list, uint32_t mode);

/* Find or add the set of such a list, without the attributes that the rules exclude;
 * NULL: all of them. */
int dw_xattrs_add_list(struct xattr_sets *sets, struct span list,
		       const struct xattr_rules *rules, uint32_t *set_out,
		       dwarfs_error **err);

#endif
