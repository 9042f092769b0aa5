/* SPDX-License-Identifier: MIT */
/*
 * read/metadata/name_lookup: each name is found, by each kind of search.
 */
#include "read/image/image.h"
#include "support/model.h"

#include <dwarfs/walk.h>

static dwarfs_image *open_model(struct craft *craft, const struct model *model)
{
	static const uint8_t block[1024];

	craft_section(craft, DWARFS_SECTION_BLOCK, 0, block, sizeof(block));
	model_craft(model, craft);
	return craft_open(craft, NULL);
}

static int find(const dwarfs_image *image, uint32_t first, uint32_t count,
		const char *name, size_t size, uint32_t *entry_out)
{
	return dw_view_find_name(image->view, first, count, name, size, entry_out, NULL);
}

/* Each file, and names that sort before and after it, in directories of `range`
 * entries. */
static void look_for_all(const dwarfs_image *image, const struct model *model,
			 uint32_t range)
{
	char long_name[300];
	uint32_t entry;

	memset(long_name, 'n', sizeof(long_name));
	for (uint32_t file = 0; file < FILES; file++) {
		struct span text = model_name(model, file);
		const char *name = (const char *)text.data;
		uint32_t first = 2 + file / range * range;
		uint32_t left = FILES + 2 - first, count = left < range ? left : range;
		char changed[NAME_BYTES + 1];
		size_t size = text.size;

		assert_int_equal(find(image, first, count, name, size, &entry), 0);
		assert_int_equal(entry, file + 2);
		memcpy(changed, name, size);
		changed[size] = '!';
		assert_int_equal(find(image, first, count, changed, size + 1, &entry),
				 DWARFS_ERR_NOT_FOUND);
		changed[size - 1]--;
		assert_int_equal(find(image, first, count, changed, size, &entry),
				 DWARFS_ERR_NOT_FOUND);
		changed[2]++;
		changed[5] = 'a';
		assert_int_equal(find(image, first, count, changed, size, &entry),
				 DWARFS_ERR_NOT_FOUND);
		if (first > 2)
			assert_int_equal(find(image, 2, first - 2, name, size, &entry),
					 DWARFS_ERR_NOT_FOUND);
	}
	for (size_t size = 0; size < sizeof(long_name); size++)
		assert_int_equal(find(image, 2, range, long_name, size, &entry),
				 DWARFS_ERR_NOT_FOUND);
}

/* The kind of search depends on the number of earlier searches, on the size of the
 * directory, and on whether all names of the image are sorted. */
static void names_are_found_however_often(void **state)
{
	const uint32_t ranges[] = { FILES, 300, 100, 20, 7, 1 };

	for (int kind = 0; kind < 3; kind++) {
		auto_model struct model *model = model_new(kind == 1);
		auto_craft struct craft craft = { 0 };
		auto_test_image dwarfs_image *image = NULL;
		dwarfs_entry entry;

		if (kind == 2)
			model_mix(model);
		image = open_model(&craft, model);
		for (int round = 0; round < 4; round++)
			for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
				look_for_all(image, model, ranges[i]);
		assert_int_equal(
			dwarfs_dir_find(image, DWARFS_ROOT_INODE, "dir", 3, &entry, NULL),
			0);
		assert_int_equal(entry.number, 1);
		assert_int_equal(dwarfs_dir_find(image, dwarfs_inode_at(1), "dir", 3,
						 &entry, NULL),
				 DWARFS_ERR_NOT_FOUND);
		assert_int_equal(dwarfs_dir_find(image, dwarfs_inode_at(2), "dir", 3,
						 &entry, NULL),
				 DWARFS_ERR_NOT_DIR);
		assert_non_null(dw_lazy_items(&image->view->prints));
		assert_int_equal(image->view->names_are_mixed, kind == 2);
	}
}

/* Of 200 files in reverse order, each is found, and no other. */
static void names_are_found_in_any_order(void **state)
{
	auto_model struct model *model = model_new(false);
	auto_craft struct craft craft = { 0 };
	auto_test_image dwarfs_image *image = NULL;
	dwarfs_entry entry;

	model_reverse(model, 200);
	image = open_model(&craft, model);
	for (int round = 0; round < 20; round++)
		for (uint32_t file = 0; file < 300; file++) {
			struct span name = model_name(model, file);

			assert_int_equal(dwarfs_dir_find(image, dwarfs_inode_at(1),
							 (const char *)name.data,
							 name.size, &entry, NULL),
					 0);
			assert_int_equal(entry.number, file + 2);
			assert_int_equal(dwarfs_dir_find(image, dwarfs_inode_at(1),
							 (const char *)name.data,
							 name.size - 1, &entry, NULL),
					 DWARFS_ERR_NOT_FOUND);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_found_however_often),
		cmocka_unit_test(names_are_found_in_any_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
