/* SPDX-License-Identifier: MIT */
/*
 * read/metadata/stat: attributes and sizes of inodes.
 */
#include "read/tree.h"
#include "support/model.h"

static void attributes_are_right(void **state)
{
	auto_craft struct craft craft = { 0 };
	struct freeze_metadata metadata = tree();
	auto_test_image dwarfs_image *image = open_metadata(&craft, &metadata);
	dwarfs_stat *stat = NULL;

	assert_int_equal(dwarfs_stat_new(&stat, NULL), 0);
	assert_int_equal(dwarfs_inode_stat(image, dwarfs_inode_at(4), stat, NULL), 0);
	assert_int_equal(dwarfs_stat_uid(stat), 70000);
	assert_int_equal(dwarfs_stat_gid(stat), 1000);
	assert_int_equal(dwarfs_stat_nlink(stat), 2);
	assert_int_equal(dwarfs_stat_bytes(stat), 5);
	assert_int_equal(dwarfs_entry_stat(image, dwarfs_entry_at(4), stat, NULL), 0);
	assert_int_equal(dwarfs_stat_inode(stat).number, 6);
	assert_int_equal(dwarfs_stat_rdev_major(stat), 1);
	assert_int_equal(dwarfs_stat_rdev_minor(stat), 3);
	assert_int_equal(dwarfs_inode_stat(image, DWARFS_ROOT_INODE, stat, NULL), 0);
	assert_int_equal(dwarfs_stat_bytes(stat), 4);
	assert_int_equal(dwarfs_stat_seconds(stat, DWARFS_MTIME), 1005);
	assert_int_equal(dwarfs_stat_seconds(stat, DWARFS_ATIME), 1000);
	assert_int_equal(dwarfs_inode_stat(image, dwarfs_inode_at(3), stat, NULL), 0);
	assert_int_equal(dwarfs_stat_bytes(stat), 7);
	dwarfs_stat_free(stat);
}

static void links_are_counted_where_they_are_not_stored(void **state)
{
	auto_craft struct craft craft = { 0 };
	struct freeze_metadata metadata = tree();
	auto_test_image dwarfs_image *image = NULL;
	dwarfs_stat *stat = NULL;

	metadata.options.inodes_have_nlink = false;
	image = open_metadata(&craft, &metadata);
	assert_int_equal(dwarfs_stat_new(&stat, NULL), 0);
	assert_int_equal(dwarfs_inode_stat(image, dwarfs_inode_at(4), stat, NULL), 0);
	assert_int_equal(dwarfs_stat_nlink(stat), 2);
	assert_int_equal(dwarfs_inode_stat(image, dwarfs_inode_at(5), stat, NULL), 0);
	assert_int_equal(dwarfs_stat_nlink(stat), 1);
	assert_int_equal(dwarfs_inode_stat(image, dwarfs_inode_at(1), stat, NULL), 0);
	assert_int_equal(dwarfs_stat_nlink(stat), 1);
	dwarfs_stat_free(stat);
}

static uint64_t size_of_first(const struct model *model)
{
	static const uint8_t block[1024];
	auto_craft struct craft craft = { 0 };
	auto_test_image dwarfs_image *image = NULL;
	dwarfs_stat *stat = NULL;
	uint64_t bytes;

	craft_section(&craft, DWARFS_SECTION_BLOCK, 0, block, sizeof(block));
	model_craft(model, &craft);
	image = craft_open(&craft, NULL);
	assert_int_equal(dwarfs_stat_new(&stat, NULL), 0);
	assert_int_equal(dwarfs_inode_stat(image, dwarfs_inode_at(2), stat, NULL), 0);
	bytes = dwarfs_stat_bytes(stat);
	assert_int_equal(dwarfs_stat_allocated_bytes(stat), bytes);
	dwarfs_stat_free(stat);
	return bytes;
}

static void stored_sizes_are_used_where_they_can_be_true(void **state)
{
	auto_model struct model *model = model_new(false);
	const uint64_t impossible[] = { LONG_CHUNKS * 1024 + 1, LONG_CHUNKS - 1,
					UINT64_MAX };
	uint64_t sum = size_of_first(model);

	/* A value that is one too large shows that it is used. */
	model_store_size(model, sum + 1, LONG_CHUNKS);
	assert_int_equal(size_of_first(model), sum + 1);
	model_store_size(model, sum + 1, LONG_CHUNKS + 1);
	assert_int_equal(size_of_first(model), sum);
	for (size_t i = 0; i < 3; i++) {
		model_store_size(model, impossible[i], LONG_CHUNKS);
		assert_int_equal(size_of_first(model), sum);
	}
}

/* Owners that no system has; and times that are not stored are not invalid. */
static void invalid_attributes_are_told(void **state)
{
	static const uint32_t owners[] = { 1000, UINT32_MAX };
	auto_craft struct craft craft = { 0 };
	struct freeze_metadata metadata = tree();
	auto_test_image dwarfs_image *image = NULL;
	dwarfs_stat *stat = NULL;

	metadata.uids.data = metadata.gids.data = owners;
	metadata.options.has_time_resolution_sec = true;
	metadata.options.time_resolution_sec = 0;
	image = open_metadata(&craft, &metadata);
	assert_int_equal(dwarfs_stat_new(&stat, NULL), 0);
	assert_int_equal(dwarfs_inode_stat(image, dwarfs_inode_at(4), stat, NULL), 0);
	assert_int_equal(dwarfs_stat_uid(stat), 65534);
	assert_int_equal(dwarfs_stat_gid(stat), 1000);
	assert_int_equal(dwarfs_stat_invalid(stat),
			 DWARFS_ATTRIBUTE_UID | DWARFS_ATTRIBUTE_ATIME |
				 DWARFS_ATTRIBUTE_MTIME | DWARFS_ATTRIBUTE_CTIME);
	assert_int_equal(dwarfs_inode_stat(image, dwarfs_inode_at(5), stat, NULL), 0);
	assert_int_equal(dwarfs_stat_gid(stat), 65534);
	dwarfs_stat_free(stat);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(attributes_are_right),
		cmocka_unit_test(links_are_counted_where_they_are_not_stored),
		cmocka_unit_test(invalid_attributes_are_told),
		cmocka_unit_test(stored_sizes_are_used_where_they_can_be_true),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
