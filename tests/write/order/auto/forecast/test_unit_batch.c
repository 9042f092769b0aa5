/* SPDX-License-Identifier: MIT */
/*
 * write/order/auto/forecast/unit_batch: what is stored again, so that a directory is in few
 * blocks.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/sketched_files.h"

/* Each file is in a directory of its own, which is a unit, and fills a block. */
struct batch_case {
	struct sketched_files files;
	struct tree_directory directories[1 + FILES];
	struct tree_entry entries[1 + 2 * FILES];
	struct tree_inode inodes[FILES + 1];
	struct content contents[FILES];
	struct tree tree;
	struct stream_settings settings;
	struct build_options options;
	struct build_run run;
};

static void set_up(struct batch_case *batch, const uint32_t numbers[2 * FILES])
{
	struct sketched_files *files = &batch->files;

	*batch = (struct batch_case){ .settings = { .foreign_blocks = 1 },
				      .options = { .near_bytes = 1 } };
	sketch_files(files, numbers);
	batch->run.options = &batch->options;
	batch->tree = (struct tree){
		.entries = batch->entries,
		.entry_count = 1 + 2 * FILES,
		.inodes = batch->inodes,
		.inode_count = FILES + 1,
		.directories = batch->directories,
		.directory_count = 1 + FILES,
	};
	batch->directories[0].first_entry = 1;
	for (uint32_t i = 0; i < FILES; i++) {
		batch->directories[1 + i] =
			(struct tree_directory){ .entry = 1 + i,
						 .first_entry = 1 + FILES + i };
		batch->inodes[i] =
			(struct tree_inode){ .entry = 1 + FILES + i, .next = DW_NONE };
		batch->contents[i].inode = i;
		files->fragments[i].content = i;
	}
	files->contents.list = batch->contents;
	files->contents.count = FILES;
	files->input.tree = &batch->tree;
	files->input.run = &batch->run;
	files->input.settings = &batch->settings;
	files->input.block_bytes = (uint64_t)FILE_BYTES;
	files->input.reach_bytes = 0;
}

/* Of a small file that refers to two blocks, one half is stored again. */
static void a_small_file_refers_to_one_block(void **state)
{
	struct batch_case batch;
	struct forecast result;

	(void)state;
	set_up(&batch, (const uint32_t[]){ 0, 1, 2, 3, 4, 5, 0, 2 });
	result = forecast(&batch.files, NULL);
	assert_true(result.copied == FILE_BYTES / 2);
	assert_true(result.segments == FILE_BYTES / 2);
	assert_true(result.fresh == 3.5 * FILE_BYTES);
	for (size_t i = 0; i < FILES; i++)
		assert_int_equal(batch.files.fragments[i].chunk_count, 0);
	/* One block is allowed. */
	set_up(&batch, (const uint32_t[]){ 0, 1, 2, 3, 4, 5, 0, 1 });
	assert_true(forecast(&batch.files, NULL).copied == 0);
}

static void equal_bytes_are_copied_once(void **state)
{
	struct batch_case batch;
	struct forecast result;

	(void)state;
	set_up(&batch, (const uint32_t[]){ 0, 1, 2, 3, 4, 5, 0, 2 });
	batch.files.pieces[FILES - 1].count = 3;
	batch.files.shingles[2 * FILES - 1].at = 600;
	batch.files.shingles[2 * FILES].at = 800;
	set_shingle(&batch.files, 2 * FILES, 2);
	result = forecast(&batch.files, NULL);
	assert_true(result.copied == 200);
	assert_true(result.segments == FILE_BYTES - 200);
}

/* Where segment.c has no gatherer. */
static void small_streams_are_as_they_are(void **state)
{
	struct batch_case batch;

	(void)state;
	set_up(&batch, (const uint32_t[]){ 0, 1, 2, 3, 4, 5, 0, 2 });
	batch.options.near_bytes = (uint64_t)(FILES * FILE_BYTES);
	assert_true(forecast(&batch.files, NULL).copied == 0);
	batch.options.near_bytes--;
	batch.settings.foreign_blocks = UINT32_MAX;
	assert_true(forecast(&batch.files, NULL).copied == 0);
	/* In the first bytes of a large stream, too. */
	batch.settings.foreign_blocks = 1;
	assert_true(forecast(&batch.files, NULL).copied == 0);
	batch.options.near_bytes = (uint64_t)(3 * FILE_BYTES);
	assert_true(forecast(&batch.files, NULL).copied > 0);
	batch.files.input.continues_kept = true;
	assert_true(forecast(&batch.files, NULL).copied == 0);
}

/* The directory of the last file has the first one, too, by its name there. */
static void blocks_of_shared_contents_are_own_blocks(void **state)
{
	struct batch_case batch;

	(void)state;
	set_up(&batch, (const uint32_t[]){ 0, 1, 2, 3, 4, 5, 0, 2 });
	batch.inodes[0].next = FILES;
	batch.inodes[FILES] = (struct tree_inode){ .entry = 2 * FILES, .next = DW_NONE };
	assert_true(forecast(&batch.files, NULL).copied == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_small_file_refers_to_one_block),
		cmocka_unit_test(equal_bytes_are_copied_once),
		cmocka_unit_test(small_streams_are_as_they_are),
		cmocka_unit_test(blocks_of_shared_contents_are_own_blocks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
