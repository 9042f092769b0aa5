/* SPDX-License-Identifier: MIT */
/*
 * read/walk: a small tree, and metadata that is not a tree.
 */
#include "read/tree.h"

static void the_tree_is_sound(void **state)
{
	auto_craft struct craft craft = { 0 };
	auto_error dwarfs_error *err = NULL;
	struct freeze_metadata metadata = tree();
	auto_test_image dwarfs_image *image = open_metadata(&craft, &metadata);

	if (dwarfs_image_check(image, DWARFS_CHECK_INTEGRITY, NULL, NULL, NULL, NULL,
			       &err) < 0)
		fail_msg("%s", dwarfs_error_message(err));
}

static void expect_walk(const dwarfs_image *image, dwarfs_entry start, int order,
			const char *const *paths)
{
	dwarfs_walk *walk = NULL;
	dwarfs_entry entry;

	assert_int_equal(dwarfs_walk_new(image, start, order, &walk, NULL), 0);
	for (; *paths; paths++) {
		uint32_t depth = **paths != '\0';

		for (const char *at = *paths; *at; at++)
			depth += *at == '/';
		assert_int_equal(dwarfs_walk_next(walk, &entry, NULL), 1);
		assert_string_equal(dwarfs_walk_path(walk), *paths);
		assert_int_equal(dwarfs_walk_depth(walk), depth);
		if (start.number == 0) {
			dwarfs_entry found;

			assert_int_equal(dwarfs_find(image, *paths, &found, NULL), 0);
			assert_int_equal(found.number, entry.number);
		}
	}
	assert_int_equal(dwarfs_walk_next(walk, &entry, NULL), 0);
	dwarfs_walk_free(walk);
}

static void walks_go_in_their_order(void **state)
{
	static const char *const in_tree[] = {
		"",	     "dir",  "dir/deep", "dir/deep/file", "dir/link",
		"dir/other", "fifo", "file",	 "null",	  NULL
	};
	/* "other" is before "file" in the block. */
	static const char *const in_data[] = { "",	    "dir",	     "dir/deep",
					       "dir/link",  "fifo",	     "null",
					       "dir/other", "dir/deep/file", "file",
					       NULL };
	static const char *const below[] = { "",     "deep",  "deep/file",
					     "link", "other", NULL };
	auto_craft struct craft craft = { 0 };
	struct freeze_metadata metadata = tree();
	auto_test_image dwarfs_image *image = open_metadata(&craft, &metadata);

	expect_walk(image, DWARFS_ROOT_ENTRY, DWARFS_WALK_TREE, in_tree);
	expect_walk(image, DWARFS_ROOT_ENTRY, DWARFS_WALK_DATA, in_data);
	expect_walk(image, dwarfs_entry_at(1), DWARFS_WALK_TREE, below);
}

static void directories_can_be_skipped(void **state)
{
	auto_craft struct craft craft = { 0 };
	struct freeze_metadata metadata = tree();
	auto_test_image dwarfs_image *image = open_metadata(&craft, &metadata);
	dwarfs_walk *walk = NULL;
	dwarfs_entry entry;

	assert_int_equal(dwarfs_walk_new(image, DWARFS_ROOT_ENTRY, 0, &walk, NULL), 0);
	assert_int_equal(dwarfs_walk_next(walk, &entry, NULL), 1);
	assert_int_equal(dwarfs_walk_next(walk, &entry, NULL), 1);
	assert_string_equal(dwarfs_walk_path(walk), "dir");
	dwarfs_walk_skip(walk);
	assert_int_equal(dwarfs_walk_next(walk, &entry, NULL), 1);
	assert_string_equal(dwarfs_walk_path(walk), "fifo");
	dwarfs_walk_skip(walk); /* not a directory: no effect */
	assert_int_equal(dwarfs_walk_next(walk, &entry, NULL), 1);
	assert_string_equal(dwarfs_walk_path(walk), "file");
	dwarfs_walk_free(walk);
}

/* -- no trees ------------------------------------------------------------------------ */

/* Both orders return an error, and end when they are continued. The check reports it. */
static void expect_no_tree(const dwarfs_image *image)
{
	craft_expect_end(120);
	for (int order = DWARFS_WALK_TREE; order <= DWARFS_WALK_DATA; order++) {
		auto_error dwarfs_error *err = NULL;
		dwarfs_walk *walk = NULL;
		dwarfs_entry entry;
		uint64_t steps = 0;
		int ret;

		assert_int_equal(
			dwarfs_walk_new(image, DWARFS_ROOT_ENTRY, order, &walk, NULL), 0);
		while ((ret = dwarfs_walk_next(walk, &entry, &err)) > 0)
			assert_true(steps++ < dwarfs_image_entry_count(image));
		assert_int_equal(ret, DWARFS_ERR_CORRUPT);
		assert_int_equal(dwarfs_error_code(err), DWARFS_ERR_CORRUPT);
		/* A walk that is continued after errors ends, too. */
		steps = 0;
		while ((ret = dwarfs_walk_next(walk, &entry, NULL)) != 0 &&
		       steps++ < 2 * (uint64_t)dwarfs_image_entry_count(image))
			dwarfs_walk_path(walk);
		assert_int_equal(ret, 0);
		dwarfs_walk_free(walk);
	}
	assert_int_equal(dwarfs_image_check(image, DWARFS_CHECK_METADATA, NULL, NULL,
					    NULL, NULL, NULL),
			 DWARFS_ERR_CORRUPT);
	craft_expect_end(0);
}

/* Entry: which inode it names instead. */
static void expect_corrupt_with(size_t entry, uint32_t inode)
{
	auto_craft struct craft craft = { 0 };
	struct freeze_metadata metadata = tree();
	struct freeze_entry entries[COUNT(tree_entries)];
	auto_test_image dwarfs_image *image = NULL;
	dwarfs_inode parent;

	memcpy(entries, tree_entries, sizeof(entries));
	entries[entry].inode_num = inode;
	metadata.dir_entries.data = entries;
	image = open_metadata(&craft, &metadata);
	expect_no_tree(image);
	/* What has an intact name still has a parent. */
	assert_int_equal(dwarfs_dir_parent(image, dwarfs_inode_at(1), &parent, NULL),
			 entry == 1 ? DWARFS_ERR_CORRUPT : 0);
	assert_int_equal(dwarfs_dir_parent(image, dwarfs_inode_at(2), &parent, NULL),
			 entry == 5 ? DWARFS_ERR_CORRUPT : 0);
}

static void circles_end(void **state)
{
	expect_corrupt_with(1, 0); /* /dir is the root */
	expect_corrupt_with(5, 1); /* /dir/deep is /dir */
	expect_corrupt_with(5, 0); /* /dir/deep is the root */
	expect_corrupt_with(8, 2); /* /dir/deep/file is /dir/deep */
	expect_corrupt_with(8, 0);
	expect_corrupt_with(8, 15); /* there is no such inode */
}

/* In both orders the entry is an error in its place, and all others follow. */
static void an_invalid_name_costs_its_entry(void **state)
{
	static const char *const rest[2][9] = {
		{ "", "dir", "dir/deep", "dir/deep/file", "dir/other", "fifo", "file",
		  "null" },
		{ "", "dir", "dir/deep", "fifo", "null", "dir/other", "dir/deep/file",
		  "file" },
	};
	auto_craft struct craft craft = { 0 };
	struct freeze_metadata metadata = tree();
	struct span names[COUNT(tree_names)];
	auto_test_image dwarfs_image *image = NULL;
	dwarfs_entry entry;

	memcpy(names, tree_names, sizeof(names));
	names[4] = (struct span)TEXT("li/nk");
	metadata.names.data = names;
	image = open_metadata(&craft, &metadata);
	for (int order = DWARFS_WALK_TREE; order <= DWARFS_WALK_DATA; order++) {
		dwarfs_walk *walk = NULL;
		size_t found = 0, lost = 0;
		int ret;

		assert_int_equal(
			dwarfs_walk_new(image, DWARFS_ROOT_ENTRY, order, &walk, NULL), 0);
		while ((ret = dwarfs_walk_next(walk, &entry, NULL)) != 0) {
			if (ret > 0) {
				assert_string_equal(dwarfs_walk_path(walk),
						    rest[order][found++]);
				continue;
			}
			assert_int_equal(ret, DWARFS_ERR_CORRUPT);
			assert_string_equal(dwarfs_walk_path(walk), "dir/?");
			assert_int_equal(dwarfs_walk_depth(walk), 2);
			lost++;
		}
		assert_int_equal(found, 8);
		assert_int_equal(lost, 1);
		dwarfs_walk_free(walk);
	}
}

/* Each directory names the next one twice: 2^N paths. */
static void a_tree_that_doubles_ends(void **state)
{
	enum { DIRS = 60, ENTRIES = 2 * DIRS };
	static const struct span two_names[] = { TEXT("a"), TEXT("b") };
	struct freeze_directory directories[DIRS + 2];
	struct freeze_entry entries[ENTRIES + 1] = { { 0 } };
	struct freeze_inode inodes[DIRS + 1] = { { 0 } };
	const uint32_t nothing[] = { 0 };
	struct freeze_metadata metadata = {
		.directories = TABLE(directories, DIRS + 2),
		.inodes = TABLE(inodes, DIRS + 1),
		.chunk_table = TABLE(nothing, 1),
		.modes = TABLE(tree_modes, 1),
		.names = TABLE(two_names, 2),
		.block_size = 1024,
		.has_dir_entries = true,
		.dir_entries = TABLE(entries, ENTRIES + 1),
	};
	auto_craft struct craft craft = { 0 };
	auto_test_image dwarfs_image *image = NULL;

	for (uint32_t i = 0; i < DIRS; i++) {
		directories[i] = (struct freeze_directory){ i ? 2 * i - 1 : 0, 1 + 2 * i,
							    i ? 2 * i - 1 : 0 };
		entries[1 + 2 * i] = (struct freeze_entry){ 0, i + 1 };
		entries[2 + 2 * i] = (struct freeze_entry){ 1, i + 1 };
	}
	directories[DIRS] = directories[DIRS + 1] =
		(struct freeze_directory){ 2 * DIRS - 1, ENTRIES + 1, 2 * DIRS - 1 };
	directories[DIRS + 1].parent_entry = directories[DIRS + 1].self_entry = 0;
	image = open_metadata(&craft, &metadata);
	expect_no_tree(image);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_tree_is_sound),
		cmocka_unit_test(walks_go_in_their_order),
		cmocka_unit_test(directories_can_be_skipped),
		cmocka_unit_test(circles_end),
		cmocka_unit_test(an_invalid_name_costs_its_entry),
		cmocka_unit_test(a_tree_that_doubles_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
