/* SPDX-License-Identifier: MIT */
/*
 * write/tree/tree: entries, inodes with several names, and paths.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "write/tree/tree.h"

static struct span span_of(const char *text)
{
	return (struct span){ (const uint8_t *)text, strlen(text) };
}

static uint32_t add_inode(struct tree *tree)
{
	struct os_stat stat = { .mode = 0100644, .size = 7, .uid = 1, .gid = 2 };
	uint32_t inode = DW_NONE;

	assert_int_equal(dw_tree_add_inode(tree, &stat, false, &inode, NULL), 0);
	return inode;
}

static void add_entry(struct tree *tree, uint32_t parent, const char *name,
		      uint32_t inode)
{
	assert_int_equal(dw_tree_add_entry(tree, parent, span_of(name), inode, NULL), 0);
}

static void expect_path(const struct tree *tree, uint32_t entry, const char *wanted)
{
	auto_buffer struct buffer path = { 0 };

	assert_int_equal(dw_tree_path(tree, entry, &path, NULL), 0);
	assert_string_equal((const char *)path.data, wanted);
	assert_int_equal(path.size, strlen(wanted));
}

static void paths_are_the_names_from_the_root_on(void **state)
{
	struct tree tree = { 0 };

	add_entry(&tree, 0, "ignored", add_inode(&tree));
	add_entry(&tree, 0, "usr", add_inode(&tree));
	add_entry(&tree, 1, "b", add_inode(&tree));
	add_entry(&tree, 2, "usr", add_inode(&tree));
	expect_path(&tree, 0, "");
	expect_path(&tree, 1, "usr");
	expect_path(&tree, 3, "usr/b/usr");
	assert_int_equal(tree.names.count, 2);
	assert_int_equal(tree.entries[3].name, tree.entries[1].name);
	dw_tree_free(&tree);
	assert_null(tree.entries);
}

static void links_are_counted_and_the_first_entry_is_kept(void **state)
{
	struct tree tree = { 0 };
	uint32_t file;

	add_entry(&tree, 0, "", add_inode(&tree));
	file = add_inode(&tree);
	assert_int_equal(tree.inodes[file].links, 0);
	assert_int_equal(tree.inodes[file].entry, DW_NONE);
	add_entry(&tree, 0, "a", file);
	add_entry(&tree, 0, "b", file);
	assert_int_equal(tree.inodes[file].links, 2);
	assert_int_equal(tree.inodes[file].entry, 1);
	assert_int_equal(tree.inodes[file].size, 7);
	assert_int_equal(tree.inodes[file].next, DW_NONE);
	assert_int_equal(tree.inodes[file].content, DW_NONE);
	assert_int_equal(tree.inodes[file].xattrs, DW_NO_XATTRS);
	dw_tree_free(&tree);
}

static void times_are_stored_on_request(void **state)
{
	struct os_stat stat = { .mode = 0100644, .atime = { 5, 6 }, .btime = { 7, 8 } };
	struct tree tree = { 0 };
	uint32_t inode;

	add_inode(&tree);
	assert_null(tree.times);
	assert_int_equal(dw_tree_add_inode(&tree, &stat, true, &inode, NULL), 0);
	assert_int_equal(tree.times[inode].atime.seconds, 5);
	assert_int_equal(tree.times[inode].btime.nanoseconds, 8);
	dw_tree_free(&tree);
}

static void a_directory_ends_where_the_next_one_begins(void **state)
{
	struct tree_directory list[] = { { 0, 1 }, { 1, 4 }, { 2, 4 } };
	struct tree tree = { .directories = list,
			     .directory_count = 3,
			     .entry_count = 9 };

	assert_int_equal(dw_tree_last_entry(&tree, 0), 4);
	assert_int_equal(dw_tree_last_entry(&tree, 1), 4);
	assert_int_equal(dw_tree_last_entry(&tree, 2), 9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths_are_the_names_from_the_root_on),
		cmocka_unit_test(links_are_counted_and_the_first_entry_is_kept),
		cmocka_unit_test(times_are_stored_on_request),
		cmocka_unit_test(a_directory_ends_where_the_next_one_begins),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
