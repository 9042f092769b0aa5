/* SPDX-License-Identifier: MIT */
/*
 * read/preload: blocks and metadata that are in memory before they are read.
 */
#include <stdio.h>
#include <stdlib.h>

#include "read/bulk/world.h"

static void a_preloaded_block_is_not_decoded_again(void **state)
{
	auto_world struct world world;
	dwarfs_context *context = context_with(UINT64_C(64) << 20, 0);
	dwarfs_image *image;
	static uint8_t bytes[SMALL_BYTES];
	uint64_t decoded;
	size_t got;

	make_world(&world, 0);
	image = open_world(&world, context);
	for (uint32_t block = 0; block < BLOCKS; block++) {
		struct range whole = { 0, 1 };

		assert_false(dw_cache_has(image, block, whole));
		assert_int_equal(dwarfs_image_preload_block(image, block, NULL), 0);
		/* In parts, if the block has them. */
		for (uint64_t at = 0; at < BLOCK_BYTES; at += 4096)
			assert_true(dw_cache_has(image, block, (struct range){ at, 1 }));
	}
	decoded = count_of(context, DWARFS_CACHE_DECODED_BYTES);
	for (uint32_t file = 0; file < SMALL; file++) {
		assert_int_equal(dwarfs_read(image, dwarfs_inode_at(file + 1), bytes,
					     SMALL_BYTES, 0, &got, NULL),
				 0);
		assert_true(is_right(&world, file, bytes, SMALL_BYTES, 0));
	}
	assert_int_equal(count_of(context, DWARFS_CACHE_DECODED_BYTES), decoded);
	dwarfs_context_free(context);
	dwarfs_image_free(image);
}

static void blocks_that_cannot_be_loaded_are_errors(void **state)
{
	auto_world struct world world;
	dwarfs_context *context = context_with(UINT64_C(64) << 20, 0);
	dwarfs_image *image;

	make_world(&world, DAMAGED);
	image = open_world(&world, context);
	assert_int_equal(dwarfs_image_preload_block(image, BLOCKS, NULL),
			 DWARFS_ERR_RANGE);
	assert_int_equal(dwarfs_image_preload_block(image, BAD, NULL),
			 DWARFS_ERR_CHECKSUM);
	assert_int_equal(dwarfs_image_preload_block(image, BAD - 1, NULL), 0);
	dwarfs_context_free(context);
	dwarfs_image_free(image);
}

/* KiB that this process has locked. */
static unsigned long locked(void)
{
	FILE *file = fopen("/proc/self/status", "r");
	unsigned long kib = 0;
	char line[200];

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "VmLck: %lu", &kib) == 1)
			break;
	if (file)
		fclose(file);
	return kib;
}

static void metadata_is_locked_or_an_error_says_why(void **state)
{
	auto_world struct world world;
	dwarfs_context *context = context_with(UINT64_C(64) << 20, 0);
	auto_error dwarfs_error *err = NULL;
	unsigned long before = locked();
	dwarfs_image *image;
	int ret;

	make_world(&world, 0);
	image = open_world(&world, context);
	ret = dwarfs_image_lock_metadata(image, &err);
	if (ret < 0)
		assert_non_null(strstr(dwarfs_error_message(err), "bytes of metadata"));
	else if (!getenv("DWARFS_SANITIZED")) /* a sanitizer does not lock */
		assert_true(locked() > before);
	dwarfs_context_free(context);
	dwarfs_image_free(image);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_preloaded_block_is_not_decoded_again),
		cmocka_unit_test(blocks_that_cannot_be_loaded_are_errors),
		cmocka_unit_test(metadata_is_locked_or_an_error_says_why),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
