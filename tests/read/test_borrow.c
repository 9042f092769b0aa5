/* SPDX-License-Identifier: MIT */
/*
 * read/borrow: bytes in the cache, without a copy.
 */
#include "read/bulk/world.h"

#define HOLE_BLOCK_BYTES 65536
#define HOLE_BYTES	 (512u * HOLE_BLOCK_BYTES)
#define MOST_PARTS	 262144u

static void assert_borrowed(const struct world *world, const dwarfs_image *image,
			    uint32_t number, size_t bytes, uint64_t offset)
{
	uint64_t size = size_of(world, number), left = offset < size ? size - offset : 0;
	dwarfs_borrowed *borrowed = NULL;
	dwarfs_file *file = NULL;
	size_t total = 0, part = 0;

	assert_int_equal(
		dwarfs_file_open(image, dwarfs_inode_at(number + 1), &file, NULL), 0);
	assert_int_equal(dwarfs_file_borrow(file, bytes, offset, &borrowed, NULL), 0);
	dwarfs_file_free(file);
	assert_int_equal(dwarfs_borrowed_bytes(borrowed), left < bytes ? left : bytes);
	for (size_t i = 0; i < dwarfs_borrowed_count(borrowed); i++) {
		const void *data = dwarfs_borrowed_part(borrowed, i, &part);

		assert_true(part > 0);
		assert_true(is_right(world, number, data, part, offset + total));
		total += part;
	}
	assert_int_equal(total, dwarfs_borrowed_bytes(borrowed));
	assert_null(
		dwarfs_borrowed_part(borrowed, dwarfs_borrowed_count(borrowed), &part));
	dwarfs_borrowed_free(borrowed);
}

static void borrowed_bytes_are_right(void **state)
{
	static const uint64_t budgets[] = { 0, 300000, 4 * BLOCK_BYTES, 64 << 20 };

	for (size_t b = 0; b < 4; b++) {
		auto_world struct world world;
		dwarfs_context *context = context_with(budgets[b], 2);
		dwarfs_image *image;

		craft_expect_end(120);
		make_world(&world, 0);
		image = open_world(&world, context);
		assert_borrowed(&world, image, WHOLE, 2 * BLOCK_BYTES, BLOCK_BYTES / 2);
		assert_borrowed(&world, image, WHOLE, SIZE_MAX, 7);
		assert_borrowed(&world, image, BACK, 1 << 20, 0);
		assert_borrowed(&world, image, SPARSE, 1 << 20, 5);
		assert_borrowed(&world, image, HOLE, 100001, 5);
		assert_borrowed(&world, image, EMPTY, 10, 0);
		assert_borrowed(&world, image, 3, 10, SMALL_BYTES - 3);
		assert_borrowed(&world, image, 3, 10, SMALL_BYTES);
		assert_borrowed(&world, image, 3, 10, UINT64_MAX);
		assert_borrowed(&world, image, 3, 0, 0);
		dwarfs_context_free(context);
		dwarfs_image_free(image);
		craft_expect_end(0);
	}
}

/* If the budget suffices there is no copy: two readers have the same address. */
static void borrowed_bytes_are_not_copied(void **state)
{
	auto_world struct world world;
	dwarfs_context *context = context_with(64 << 20, 2);
	dwarfs_borrowed *one = NULL, *two = NULL;
	dwarfs_file *file = NULL;
	dwarfs_image *image;
	size_t bytes;

	make_world(&world, 0);
	image = open_world(&world, context);
	assert_int_equal(dwarfs_file_open(image, dwarfs_inode_at(1), &file, NULL), 0);
	assert_int_equal(dwarfs_file_borrow(file, 5000, 0, &one, NULL), 0);
	assert_int_equal(dwarfs_file_borrow(file, 5000, 100, &two, NULL), 0);
	assert_ptr_equal((const char *)dwarfs_borrowed_part(one, 0, &bytes) + 100,
			 dwarfs_borrowed_part(two, 0, &bytes));
	/* It stays valid after the image and the context were freed, and its memory is
	 * freed with it. */
	dwarfs_file_free(file);
	dwarfs_context_trim(context, 0);
	assert_int_equal(count_of(context, DWARFS_CACHE_BLOCKS), 1);
	dwarfs_image_free(image);
	assert_true(is_right(&world, 0, dwarfs_borrowed_part(one, 0, &bytes), 5000, 0));
	dwarfs_borrowed_free(one);
	dwarfs_borrowed_free(two);
	dwarfs_context_free(context);
}

/* Open a file of one chunk or hole after another. */
static dwarfs_file *open_chunks(struct craft *craft, const struct craft_chunk *chunks,
				uint32_t count, dwarfs_image **image_out)
{
	const uint32_t table[] = { 0, count };
	dwarfs_file *file = NULL;

	craft_section(craft, DWARFS_SECTION_BLOCK, 0, "x", 1);
	craft_files(craft, chunks, table, 1, HOLE_BLOCK_BYTES, 1);
	craft_index(craft, 0);
	*image_out = craft_open(craft, NULL);
	assert_int_equal(dwarfs_file_open(*image_out, dwarfs_inode_at(1), &file, NULL),
			 0);
	return file;
}

/* A hole takes memory for a part of a MiB each, not for each page. */
static void large_holes_have_few_parts(void **state)
{
	static const struct craft_chunk chunks[] = {
		{ 0, 0, 1 }, { 1, 0, HOLE_BYTES / HOLE_BLOCK_BYTES }
	};
	auto_craft struct craft craft = { 0 };
	auto_test_image dwarfs_image *image = NULL;
	dwarfs_file *file = open_chunks(&craft, chunks, 2, &image);
	dwarfs_borrowed *borrowed = NULL;
	size_t part, total = 0;

	assert_int_equal(dwarfs_file_borrow(file, SIZE_MAX, 0, &borrowed, NULL), 0);
	assert_int_equal(dwarfs_borrowed_bytes(borrowed), 1 + HOLE_BYTES);
	assert_true(dwarfs_borrowed_count(borrowed) <= 2 + (HOLE_BYTES >> 20));
	for (size_t i = 1; i < dwarfs_borrowed_count(borrowed); i++) {
		const uint8_t *data = dwarfs_borrowed_part(borrowed, i, &part);

		assert_true(data[0] == 0 && data[part - 1] == 0);
		assert_memory_equal(data, data + 1, part - 1);
		total += part;
	}
	assert_int_equal(total, HOLE_BYTES);
	dwarfs_borrowed_free(borrowed);
	dwarfs_file_free(file);
}

static void a_range_of_too_many_parts_is_refused(void **state)
{
	auto_free struct craft_chunk *chunks = dw_calloc(MOST_PARTS + 1, sizeof(*chunks));
	auto_craft struct craft craft = { 0 };
	auto_test_image dwarfs_image *image = NULL;
	auto_error dwarfs_error *err = NULL;
	dwarfs_borrowed *borrowed = NULL;
	dwarfs_file *file;

	for (size_t i = 0; i <= MOST_PARTS; i++)
		chunks[i] = (struct craft_chunk){ 0, 0, 1 };
	file = open_chunks(&craft, chunks, MOST_PARTS + 1, &image);
	assert_int_equal(dwarfs_file_borrow(file, MOST_PARTS, 1, &borrowed, NULL), 0);
	assert_int_equal(dwarfs_borrowed_count(borrowed), MOST_PARTS);
	dwarfs_borrowed_free(borrowed);
	assert_int_equal(dwarfs_file_borrow(file, MOST_PARTS + 1, 0, &borrowed, &err),
			 DWARFS_ERR_LIMIT);
	assert_non_null(strstr(dwarfs_error_message(err), "262144 parts"));
	dwarfs_file_free(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(borrowed_bytes_are_right),
		cmocka_unit_test(borrowed_bytes_are_not_copied),
		cmocka_unit_test(large_holes_have_few_parts),
		cmocka_unit_test(a_range_of_too_many_parts_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
