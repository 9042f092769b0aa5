/* SPDX-License-Identifier: MIT */
/*
 * write/metadata/xattr_section: the section depends only on the inodes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "format/xattrs.h"
#include "write/metadata/xattr_section.h"

static struct span span_of(const char *text)
{
	return (struct span){ (const uint8_t *)text, strlen(text) };
}

static struct xattr_pair pair_of(const char *name, const char *value)
{
	return (struct xattr_pair){ span_of(name), span_of(value) };
}

static uint32_t add(struct xattr_sets *sets, const struct xattr_pair *list, size_t count)
{
	uint32_t set = 77;

	assert_int_equal(dw_xattrs_add(sets, list, count, &set, NULL), 0);
	return set;
}

/* An inode of the tree with a number in the image and a set. */
static void add_inode(struct tree *tree, uint32_t number, uint32_t set)
{
	const struct os_stat stat = { .mode = 0100644 };
	uint32_t inode;

	assert_int_equal(dw_tree_add_inode(tree, &stat, false, &inode, NULL), 0);
	tree->inodes[inode].number = number;
	tree->inodes[inode].xattrs = set;
}

static void section_of(const struct tree *tree, struct buffer *out)
{
	assert_int_equal(dw_xattr_section(tree, 99, out, NULL), 0);
}

static void nothing_is_written_of_nothing(void **state)
{
	struct tree tree = { 0 };
	struct buffer out = { 0 };
	const struct xattr_pair unused = pair_of("user.a", "1");

	add_inode(&tree, 0, DW_NO_XATTRS);
	section_of(&tree, &out);
	assert_int_equal(out.size, 0);
	add(&tree.xattrs, &unused, 1); /* of an inode that was left out */
	section_of(&tree, &out);
	assert_int_equal(out.size, 0);
	dw_buffer_free(&out);
	dw_tree_free(&tree);
}

/* The bytes do not depend on the order in which sets were added. */
static void the_bytes_follow_from_the_inodes(void **state)
{
	const struct xattr_pair x[] = { pair_of("user.x", "1"), pair_of("user.y", "2") };
	const struct xattr_pair y[] = { pair_of("trusted.z", "2") };
	const struct xattr_pair unused[] = { pair_of("user.0", "never") };
	struct tree one = { 0 }, two = { 0 };
	struct buffer a = { 0 }, b = { 0 };
	struct xattr_table table;
	uint32_t first, end, set;

	set = add(&one.xattrs, x, 2);
	add_inode(&one, 2, set);
	add_inode(&one, 0, add(&one.xattrs, y, 1));
	add_inode(&one, 1, DW_NO_XATTRS);
	add(&two.xattrs, unused, 1);
	set = add(&two.xattrs, y, 1);
	add_inode(&two, 0, set);
	add_inode(&two, 1, DW_NO_XATTRS);
	add_inode(&two, 2, add(&two.xattrs, x, 2));
	section_of(&one, &a);
	section_of(&two, &b);
	assert_int_equal(a.size, b.size);
	assert_memory_equal(a.data, b.data, a.size);
	assert_int_equal(dw_xattr_table_check(dw_buffer_span(&a), &table, NULL), 0);
	assert_true(table.metadata_xxh3 == 99);
	assert_int_equal(table.name_count, 3);
	assert_int_equal(table.value_count, 2);
	dw_xattr_table_pairs(&table, 2, &first, &end);
	assert_int_equal(end - first, 2);
	assert_string_equal((const char *)dw_xattr_table_name(&table, first).data,
			    "user.x");
	assert_memory_equal(dw_xattr_table_value(&table, first + 1).data, "2", 1);
	dw_xattr_table_pairs(&table, 1, &first, &end);
	assert_int_equal(end - first, 0);
	dw_buffer_free(&a);
	dw_buffer_free(&b);
	dw_tree_free(&one);
	dw_tree_free(&two);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_written_of_nothing),
		cmocka_unit_test(the_bytes_follow_from_the_inodes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
