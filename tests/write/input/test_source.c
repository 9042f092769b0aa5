/* SPDX-License-Identifier: MIT */
/*
 * write/input/source: contents kept in memory, holes, hollow files.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/task.h"
#include "support/write_run.h"
#include "write/inspect/sparse_hash.h"

static void fill(uint8_t *data, size_t size, unsigned seed)
{
	for (size_t i = 0; i < size; i++) {
		seed = seed * 1664525 + 1013904223;
		data[i] = (uint8_t)(seed >> 24);
	}
}

/* More than fits into memory, with duplicates. */
static void more_small_files_than_are_kept(void **state)
{
	enum { COUNT = 700, SIZE = 60000 };
	const struct place *place = *state;
	uint8_t *data = dw_malloc(SIZE);
	dwarfs_image *image;
	dwarfs_builder *builder;

	assert_non_null(data);
	for (unsigned i = 0; i < COUNT; i++) {
		char name[16];

		snprintf(name, sizeof(name), "%u", i);
		fill(data, SIZE, i % 650);
		put_file(place, name, data, SIZE);
	}
	for (uint32_t workers = 0; workers < 4; workers += 3) {
		builder = new_builder(place, workers);
		assert_int_equal(dwarfs_builder_set_codec(builder, DWARFS_CODEC_BLOCKS,
							  "null", NULL),
				 0);
		assert_int_equal(build(builder, place), 0);
		assert_int_equal(dwarfs_builder_count(builder, DWARFS_COUNT_DUPLICATES),
				 50);
		dwarfs_builder_free(builder);
		image = open_image(place);
		for (unsigned i = 0; i < COUNT; i++) {
			char name[16];

			snprintf(name, sizeof(name), "%u", i);
			fill(data, SIZE, i % 650);
			expect_bytes(image, name, data, SIZE);
		}
		dwarfs_image_free(image);
		assert_int_equal(unlink(place->image), 0);
	}
	dw_free(data);
}

/* A hole in a small file is stored as a hole, although the file was read for its hash. */
static void small_files_keep_their_holes(void **state)
{
	const struct place *place = *state;
	dwarfs_builder *builder = new_builder(place, 1);
	dwarfs_image *image;
	static char zeros[32768];
	struct stat st;

	for (int i = 0; i < 2; i++) {
		const char *name = i ? "a" : "b";

		put_text(place, name, i ? "one" : "two");
		assert_int_equal(truncate(in(place, name), 32768), 0);
	}
	assert_int_equal(stat(in(place, "a"), &st), 0);
	if (st.st_blocks * 512 >= st.st_size)
		skip(); /* this file system has no holes */
	assert_int_equal(build(builder, place), 0);
	dwarfs_builder_free(builder);
	image = open_image(place);
	memcpy(zeros, "one", 3);
	{
		dwarfs_inode inode = expect_bytes(image, "a", zeros, sizeof(zeros));
		dwarfs_stat *stat = NULL;

		assert_int_equal(dwarfs_stat_new(&stat, NULL), 0);
		assert_int_equal(dwarfs_inode_stat(image, inode, stat, NULL), 0);
		assert_true(dwarfs_stat_allocated_bytes(stat) < 32768);
		dwarfs_stat_free(stat);
	}
	dwarfs_image_free(image);
}

struct mischief {
	const struct place *place;
	enum dwarfs_phase phase;
	void (*act)(const struct place *place);
	bool done;
};

static int watch(const dwarfs_progress *progress, dwarfs_error **err, void *user)
{
	struct mischief *mischief = user;

	if (dwarfs_progress_phase(progress) == mischief->phase && !mischief->done) {
		mischief->done = true;
		mischief->act(mischief->place);
	}
	return 0;
}

static void remove_big(const struct place *place)
{
	assert_int_equal(unlink(in(place, "big")), 0);
}

static void hollow_images_have_sizes_only(void **state)
{
	struct mischief mischief = { *state, DWARFS_PHASE_HASH, remove_big, false };
	const struct place *place = *state;
	auto_test_task dwarfs_task *task = new_task(watch, &mischief);
	dwarfs_builder *builder = new_builder(place, 2);
	static char data[200000], zeros[200000];
	dwarfs_image *image;

	memset(data, 'x', sizeof(data));
	put_file(place, "big", data, sizeof(data));
	put_text(place, "a", "same");
	put_text(place, "b", "same");
	put_text(place, "empty", "");
	dwarfs_builder_set_hollow(builder, true);
	dwarfs_builder_set_task(builder, task);
	assert_int_equal(build(builder, place), 0);
	assert_true(mischief.done);
	assert_int_equal(dwarfs_builder_count(builder, DWARFS_COUNT_ERRORS), 0);
	assert_int_equal(dwarfs_builder_count(builder, DWARFS_COUNT_BLOCKS), 0);
	dwarfs_builder_free(builder);
	image = open_image(place);
	expect_bytes(image, "big", zeros, sizeof(zeros));
	expect_bytes(image, "a", zeros, 4);
	expect_bytes(image, "empty", zeros, 0);
	dwarfs_image_free(image);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_place, remove_place)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(more_small_files_than_are_kept),
		TEST(small_files_keep_their_holes),
		TEST(hollow_images_have_sizes_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
