/* SPDX-License-Identifier: MIT */
/*
 * read/salvage/salvage: sections whose header, hash or payload is damaged.
 */
#include "read/image.h"
#include "read/known.h"

#include <dwarfs/salvage.h>

/* Each byte of each header: it is recovered from its hashes or from the adjacent
 * sizes. */
static void headers_are_corrected(void **state)
{
	for (size_t part = 0; part < 3; part++)
		for (size_t at = 0; at < DW_HEADER_BYTES; at++) {
			uint8_t copy[sizeof(one_file)];
			auto_test_image dwarfs_image *image = NULL;

			memcpy(copy, one_file, sizeof(copy));
			copy[parts[part].at - DW_HEADER_BYTES + at] ^= 0x80;
			image = open_for_salvage(copy, sizeof(copy),
						 DWARFS_SALVAGE_INTACT);
			assert_reads_hi(image);
			assert_false(dwarfs_image_block_is_lost(image, 0));
			assert_false(dwarfs_image_metadata_is_damaged(image));
		}
}

static void a_damaged_block_is_lost_or_zeros(void **state)
{
	for (int mode = DWARFS_SALVAGE_INTACT; mode <= DWARFS_SALVAGE_ZEROS; mode++) {
		uint8_t copy[sizeof(one_file)];
		auto_test_image dwarfs_image *image = NULL;
		uint64_t lost = 77;
		char text[8] = "########";
		size_t got;
		int ret;

		memcpy(copy, one_file, sizeof(copy));
		copy[parts[0].at] ^= 1;
		image = open_for_salvage(copy, sizeof(copy), mode);
		assert_false(dwarfs_image_block_is_lost(image, 0));
		assert_int_equal(
			dwarfs_file_lost_bytes(image, dwarfs_inode_at(1), &lost, NULL),
			0);
		assert_int_equal(lost, 0);
		ret = dwarfs_read(image, dwarfs_inode_at(1), text, sizeof(text), 0, &got,
				  NULL);
		if (mode == DWARFS_SALVAGE_ZEROS) {
			assert_int_equal(ret, 0);
			assert_int_equal(got, 3);
			assert_memory_equal(text, "\0\0\0#", 4);
		} else {
			assert_int_equal(ret, DWARFS_ERR_CHECKSUM);
		}
		assert_true(dwarfs_image_block_is_lost(image, 0));
		assert_false(dwarfs_image_block_is_lost(image, 1));
		assert_int_equal(
			dwarfs_file_lost_bytes(image, dwarfs_inode_at(1), &lost, NULL),
			0);
		assert_int_equal(lost, 3);
		assert_int_equal(
			dwarfs_file_lost_bytes(image, DWARFS_ROOT_INODE, &lost, NULL),
			DWARFS_ERR_IS_DIR);
	}
}

/* "a.txt" becomes "b.txt": the name is used, and the image reports that it may be
 * wrong. */
static void damaged_metadata_is_used_all_the_same(void **state)
{
	uint8_t copy[sizeof(one_file)], *name;
	auto_test_image dwarfs_image *image = NULL;
	dwarfs_image *none = NULL;
	dwarfs_entry entry;

	memcpy(copy, one_file, sizeof(copy));
	name = memmem(copy, sizeof(copy), "a.txt", 5);
	assert_non_null(name);
	*name = 'b';
	assert_int_equal(craft_try(copy, sizeof(copy), NULL, &none, NULL),
			 DWARFS_ERR_CHECKSUM);
	image = open_for_salvage(copy, sizeof(copy), DWARFS_SALVAGE_INTACT);
	assert_true(dwarfs_image_metadata_is_damaged(image));
	assert_int_equal(dwarfs_find(image, "b.txt", &entry, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(headers_are_corrected),
		cmocka_unit_test(a_damaged_block_is_lost_or_zeros),
		cmocka_unit_test(damaged_metadata_is_used_all_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
