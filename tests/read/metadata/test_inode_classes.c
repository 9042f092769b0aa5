/* SPDX-License-Identifier: MIT */
/*
 * read/metadata/inode_classes: where each class of inodes begins, by the modes or by the
 * sizes of the tables.
 */
#include "read/tree.h"
#include "support/model.h"

static void a_chunk_table_of_another_size_is_refused(void **state)
{
	for (int kind = BREAK_PLACES_MORE; kind <= BREAK_PLACES_LESS; kind++) {
		auto_model struct model *model = model_new(true);
		auto_craft struct craft craft = { 0 };
		auto_test_image dwarfs_image *image = NULL;

		model_break(model, (enum model_break)kind);
		model_craft(model, &craft);
		assert_int_equal(
			craft_try(craft.bytes.data, craft.bytes.size, NULL, &image, NULL),
			DWARFS_ERR_CORRUPT);
	}
}

/* The types of all inodes of the tree; 0 for one whose mode is invalid. */
static void assert_types(const dwarfs_image *image, const uint32_t types[8])
{
	dwarfs_stat *stat = NULL;

	assert_int_equal(dwarfs_stat_new(&stat, NULL), 0);
	for (uint32_t i = 0; i < 8; i++) {
		int ret = dwarfs_inode_stat(image, dwarfs_inode_at(i), stat, NULL);

		assert_int_equal(ret, types[i] ? 0 : DWARFS_ERR_CORRUPT);
		if (ret == 0)
			assert_int_equal(dwarfs_stat_mode(stat) & 0170000, types[i]);
	}
	dwarfs_stat_free(stat);
}

static const uint32_t types[8] = { 0040000, 0040000, 0040000, 0120000,
				   0100000, 0100000, 0020000, 0010000 };

static void classes_are_found_by_the_modes(void **state)
{
	auto_craft struct craft craft = { 0 };
	struct freeze_metadata metadata = tree();
	auto_test_image dwarfs_image *image = open_metadata(&craft, &metadata);

	assert_types(image, types);
}

/* Each inode in turn has no mode: the sizes of the tables decide. A
 * device or fifo has its type in its mode alone. */
static void a_wrong_mode_affects_one_inode(void **state)
{
	for (size_t i = 0; i < COUNT(tree_inodes); i++) {
		struct freeze_inode inodes[COUNT(tree_inodes)];
		uint32_t expected[8];
		auto_craft struct craft craft = { 0 };
		struct freeze_metadata metadata = tree();
		auto_test_image dwarfs_image *image = NULL;

		memcpy(inodes, tree_inodes, sizeof(inodes));
		memcpy(expected, types, sizeof(expected));
		inodes[i].mode_index = COUNT(tree_modes) + 1;
		if (i > 5)
			expected[i] = 0;
		metadata.inodes.data = inodes;
		image = open_metadata(&craft, &metadata);
		assert_types(image, expected);
	}
}

/* Two classes in the wrong order: no table tells which one is valid. */
static void inodes_that_are_not_sorted_by_class_are_refused(void **state)
{
	for (size_t i = 2; i < 7; i++) {
		struct freeze_inode inodes[COUNT(tree_inodes)];
		struct freeze_metadata metadata = tree();
		uint32_t mode;
		int name, check;

		memcpy(inodes, tree_inodes, sizeof(inodes));
		mode = inodes[i].mode_index;
		inodes[i].mode_index = inodes[i + 1].mode_index;
		inodes[i + 1].mode_index = mode;
		metadata.inodes.data = inodes;
		assert_int_equal(open_changed(&metadata, &name, &check),
				 i == 4 ? 0 : DWARFS_ERR_CORRUPT);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(classes_are_found_by_the_modes),
		cmocka_unit_test(a_wrong_mode_affects_one_inode),
		cmocka_unit_test(inodes_that_are_not_sorted_by_class_are_refused),
		cmocka_unit_test(a_chunk_table_of_another_size_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
