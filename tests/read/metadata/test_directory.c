/* SPDX-License-Identifier: MIT */
/*
 * read/metadata/directory: names, parents and targets that an image cannot have.
 */
#include "read/tree.h"

/* Every second directory has all entries: a pass over each range would take quadratic
 * time. */
static void directories_that_share_entries_end(void **state)
{
	enum { DIRS = 100000 };
	auto_free struct freeze_directory *directories =
		dw_calloc(DIRS + 1, sizeof(*directories));
	auto_free struct freeze_entry *entries = dw_calloc(DIRS, sizeof(*entries));
	auto_free struct freeze_inode *inodes = dw_calloc(DIRS, sizeof(*inodes));
	static const struct span one_name[] = { TEXT("a") };
	const uint32_t nothing[] = { 0 };
	struct freeze_metadata metadata = {
		.directories = TABLE(directories, DIRS + 1),
		.inodes = TABLE(inodes, DIRS),
		.chunk_table = TABLE(nothing, 1),
		.modes = TABLE(tree_modes, 1),
		.names = TABLE(one_name, 1),
		.block_size = 1024,
		.has_dir_entries = true,
		.dir_entries = TABLE(entries, DIRS),
	};
	auto_craft struct craft craft = { 0 };
	auto_test_image dwarfs_image *image = NULL;
	dwarfs_inode parent;

	for (uint32_t i = 0; i < DIRS; i++) {
		directories[i].first_entry = i % 2 ? DIRS : 1;
		entries[i].inode_num = DIRS - 1; /* after all its parents */
	}
	directories[DIRS].first_entry = DIRS;
	image = open_metadata(&craft, &metadata);
	craft_expect_end(60);
	assert_int_equal(dwarfs_dir_parent(image, dwarfs_inode_at(1), &parent, NULL),
			 DWARFS_ERR_CORRUPT);
	assert_int_equal(dwarfs_image_check(image, DWARFS_CHECK_METADATA, NULL, NULL,
					    NULL, NULL, NULL),
			 DWARFS_ERR_CORRUPT);
	craft_expect_end(0);
}

static void impossible_names_are_refused(void **state)
{
	static char long_name[256];
	struct {
		struct span name;
		int expected;
	} cases[] = {
		{ TEXT("g"), 0 },
		{ TEXT(""), DWARFS_ERR_CORRUPT },
		{ TEXT("."), DWARFS_ERR_CORRUPT },
		{ TEXT(".."), DWARFS_ERR_CORRUPT },
		{ TEXT("g/x"), DWARFS_ERR_CORRUPT },
		{ TEXT("g\0x"), DWARFS_ERR_CORRUPT },
		{ TEXT("\xff\xfe"), 0 },
		{ { (const uint8_t *)long_name, 255 }, 0 },
		{ { (const uint8_t *)long_name, 256 }, DWARFS_ERR_CORRUPT },
	};

	memset(long_name, 'g', sizeof(long_name));
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct freeze_metadata metadata = tree();
		struct span names[COUNT(tree_names)];
		int name = 1, check = 1;

		memcpy(names, tree_names, sizeof(names));
		names[3] = cases[i].name; /* was "file" */
		metadata.names.data = names;
		assert_int_equal(open_changed(&metadata, &name, &check), 0);
		assert_int_equal(name, cases[i].expected);
		/* "\xff\xfe" is a name, but is not sorted. */
		if (cases[i].name.data[0] != 0xff)
			assert_int_equal(check, cases[i].expected);
		else
			assert_int_equal(check, DWARFS_ERR_CORRUPT);
	}
}

static void targets_that_are_too_long_are_refused(void **state)
{
	static char target[5000];

	memset(target, 't', sizeof(target));
	for (size_t size = 4095; size < 4099; size++) {
		struct span targets[] = { { (const uint8_t *)target, size } };
		auto_craft struct craft craft = { 0 };
		struct freeze_metadata metadata = tree();
		auto_test_image dwarfs_image *image = NULL;
		char text[6000];
		dwarfs_stat *stat = NULL;
		int expected = size <= 4096 ? 0 : DWARFS_ERR_CORRUPT;

		metadata.symlinks.data = targets;
		image = open_metadata(&craft, &metadata);
		assert_int_equal(dwarfs_link_read(image, dwarfs_inode_at(3), text,
						  DWARFS_LINK_BUFFER_BYTES, NULL, NULL),
				 expected);
		assert_int_equal(dwarfs_link_read(image, dwarfs_inode_at(3), text,
						  sizeof(text), NULL, NULL),
				 expected);
		assert_int_equal(dwarfs_stat_new(&stat, NULL), 0);
		assert_int_equal(dwarfs_inode_stat(image, dwarfs_inode_at(3), stat, NULL),
				 expected);
		dwarfs_stat_free(stat);
	}
}

static void directories_give_their_parents(void **state)
{
	static const uint32_t parents[] = { 0, 0, 1 };
	auto_craft struct craft craft = { 0 };
	struct freeze_metadata metadata = tree();
	auto_test_image dwarfs_image *image = open_metadata(&craft, &metadata);
	dwarfs_inode parent = { 77 };

	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(
			dwarfs_dir_parent(image, dwarfs_inode_at(i), &parent, NULL), 0);
		assert_int_equal(parent.number, parents[i]);
	}
	assert_int_equal(dwarfs_dir_parent(image, dwarfs_inode_at(3), &parent, NULL),
			 DWARFS_ERR_NOT_DIR);
	assert_int_equal(dwarfs_dir_parent(image, dwarfs_inode_at(8), &parent, NULL),
			 DWARFS_ERR_RANGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(directories_that_share_entries_end),
		cmocka_unit_test(impossible_names_are_refused),
		cmocka_unit_test(targets_that_are_too_long_are_refused),
		cmocka_unit_test(directories_give_their_parents),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
