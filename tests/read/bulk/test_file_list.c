/* SPDX-License-Identifier: MIT */
/*
 * read/bulk/file_list: each file once, with its data and its number of parts.
 */
#include "read/bulk/file_list.h"
#include "read/bulk/world.h"

struct failures {
	int count;
	int codes[8];
	uint32_t inodes[8];
};

static void fail_target(struct target *target, const dwarfs_error *why, void *user)
{
	struct failures *failures = user;

	assert_true(failures->count < 8);
	failures->codes[failures->count] = dwarfs_error_code(why);
	failures->inodes[failures->count++] = target->inode;
}

static uint32_t blocks_of(const struct world *world, uint32_t file)
{
	uint32_t count = 0;

	for (uint32_t block = 0; block < BLOCKS; block++)
		count += uses_block(world, file, block);
	return count;
}

static void each_file_is_listed_once(void **state)
{
	static dwarfs_inode inodes[2 * FILES];
	auto_world struct world world;
	auto_test_image dwarfs_image *image = NULL;
	struct failures failures = { 0 };
	struct targets targets = { 0 };
	bool seen[FILES] = { false };

	make_world(&world, 0);
	image = open_world(&world, NULL);
	assert_int_equal(dw_targets_collect(&targets, image, inodes, list_all(inodes),
					    fail_target, &failures, NULL),
			 0);
	assert_int_equal(failures.count, 0);
	assert_int_equal(targets.count, FILES);
	for (size_t i = 0; i < targets.count; i++) {
		struct target *target = &targets.list[i];
		uint32_t file = target->inode - 1;

		assert_false(seen[file]);
		seen[file] = true;
		assert_int_equal(target->bytes, size_of(&world, file));
		assert_int_equal(target->parts, blocks_of(&world, file));
		assert_int_equal(atomic_load(&target->left), target->parts);
	}
	dw_targets_free(&targets);
}

/* By block, file and offset in the file: the order of decoding. */
static void pieces_are_sorted_and_have_no_holes(void **state)
{
	static dwarfs_inode inodes[2 * FILES];
	auto_world struct world world;
	auto_test_image dwarfs_image *image = NULL;
	struct failures failures = { 0 };
	struct targets targets = { 0 };
	uint64_t bytes = 0, expected = 0;

	make_world(&world, 0);
	image = open_world(&world, NULL);
	assert_int_equal(dw_targets_collect(&targets, image, inodes, list_all(inodes),
					    fail_target, &failures, NULL),
			 0);
	for (size_t i = 0; i < targets.pieces.count; i++) {
		const struct piece *next = &targets.pieces.list[i], *last = next - 1;

		assert_false(next->is_hole);
		bytes += next->bytes;
		if (i == 0 || last->block < next->block)
			continue;
		assert_int_equal(last->block, next->block);
		assert_true(last->file < next->file ||
			    (last->file == next->file && last->at < next->at));
	}
	for (uint32_t i = 0; i < world.table[FILES]; i++)
		if (world.chunks[i].block != HOLE_BLOCK)
			expected += world.chunks[i].size;
	assert_int_equal(bytes, expected);
	dw_targets_free(&targets);
}

static void inodes_that_are_no_files_fail_alone(void **state)
{
	static const dwarfs_inode inodes[] = { { 1 }, { 0 },	{ 9999 }, { 1 },
					       { 0 }, { 9999 }, { 3 } };
	auto_world struct world world;
	auto_test_image dwarfs_image *image = NULL;
	struct failures failures = { 0 };
	struct targets targets = { 0 };

	make_world(&world, 0);
	image = open_world(&world, NULL);
	assert_int_equal(dw_targets_collect(&targets, image, inodes, 7, fail_target,
					    &failures, NULL),
			 0);
	assert_int_equal(failures.count, 3);
	assert_int_equal(failures.inodes[0], 0);
	assert_int_equal(failures.codes[0], DWARFS_ERR_IS_DIR);
	for (int i = 1; i < 3; i++) {
		assert_int_equal(failures.inodes[i], 9999);
		assert_int_equal(failures.codes[i], DWARFS_ERR_RANGE);
	}
	assert_int_equal(targets.count, 5);
	assert_int_equal(targets.pieces.count, 2);
	dw_targets_free(&targets);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_file_is_listed_once),
		cmocka_unit_test(pieces_are_sorted_and_have_no_holes),
		cmocka_unit_test(inodes_that_are_no_files_fail_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
