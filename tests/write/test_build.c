/* SPDX-License-Identifier: MIT */
/*
 * write/build: inputs are read back unchanged: links, duplicates, orders, holes, times,
 * packings.
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
#include <time.h>
#include <unistd.h>

#include "support/write_run.h"

static uint64_t finish(dwarfs_builder *builder, int count)
{
	uint64_t value = dwarfs_builder_count(builder, count);

	dwarfs_builder_free(builder);
	return value;
}

static void equal_files_are_stored_once(void **state)
{
	const struct place *place = *state;
	dwarfs_builder *builder = new_builder(place, 2);
	dwarfs_image *image;
	dwarfs_inode a, b;

	put_dir(place, "d");
	put_text(place, "a", "the same contents");
	put_text(place, "d/b", "the same contents");
	put_text(place, "c", "other contents...");
	put_text(place, "empty1", "");
	put_text(place, "d/empty2", "");
	assert_int_equal(build(builder, place), 0);
	assert_int_equal(dwarfs_builder_count(builder, DWARFS_COUNT_DUPLICATES), 1);
	assert_int_equal(dwarfs_builder_count(builder, DWARFS_COUNT_BYTES_DUPLICATE), 17);
	assert_int_equal(dwarfs_builder_count(builder, DWARFS_COUNT_CHUNKS), 2);
	assert_int_equal(dwarfs_builder_count(builder, DWARFS_COUNT_DIRECTORIES), 2);
	assert_int_equal(finish(builder, DWARFS_COUNT_BYTES_STORED), 34);
	image = open_image(place);
	a = expect_text(image, "a", "the same contents");
	b = expect_text(image, "d/b", "the same contents");
	assert_int_not_equal(a.number, b.number);
	expect_text(image, "c", "other contents...");
	expect_text(image, "empty1", "");
	expect_text(image, "d/empty2", "");
	dwarfs_image_free(image);
}

/* Files that differ in one byte near the end, across the pages that are hashed
 * separately. */
static void nearly_equal_files_are_kept_apart(void **state)
{
	const struct place *place = *state;
	dwarfs_builder *builder = new_builder(place, 2);
	size_t size = 1 << 20;
	char *data = calloc(1, size);
	dwarfs_image *image;

	assert_non_null(data);
	put_file(place, "zeros", data, size);
	data[4095] = 1;
	put_file(place, "one", data, size);
	data[4095] = 0;
	data[size - 1] = 1;
	put_file(place, "last", data, size);
	data[size - 1] = 0;
	data[4096] = 1;
	put_file(place, "moved", data, size);
	assert_int_equal(build(builder, place), 0);
	assert_int_equal(finish(builder, DWARFS_COUNT_DUPLICATES), 0);
	image = open_image(place);
	expect_bytes(image, "moved", data, size);
	data[4096] = 0;
	expect_bytes(image, "zeros", data, size);
	dwarfs_image_free(image);
	free(data);
}

static void hard_links_share_an_inode(void **state)
{
	const struct place *place = *state;
	dwarfs_builder *builder = new_builder(place, 0);
	dwarfs_stat *stat = NULL;
	dwarfs_image *image;
	dwarfs_inode inode;

	put_dir(place, "d");
	put_text(place, "a", "linked");
	assert_int_equal(link(in(place, "a"), in(place, "d/b")), 0);
	assert_int_equal(link(in(place, "a"), in(place, "c")), 0);
	assert_int_equal(build(builder, place), 0);
	assert_int_equal(finish(builder, DWARFS_COUNT_HARDLINKS), 2);
	image = open_image(place);
	inode = expect_text(image, "a", "linked");
	assert_int_equal(expect_text(image, "d/b", "linked").number, inode.number);
	assert_int_equal(expect_text(image, "c", "linked").number, inode.number);
	assert_int_equal(dwarfs_stat_new(&stat, NULL), 0);
	assert_int_equal(dwarfs_inode_stat(image, inode, stat, NULL), 0);
	assert_int_equal(dwarfs_stat_nlink(stat), 3);
	assert_int_equal(dwarfs_image_hardlink_bytes(image), 12);
	dwarfs_stat_free(stat);
	dwarfs_image_free(image);
}

/* Whether holes are stored depends on the option; the bytes do not. */
static void holes_stay_holes(void **state)
{
	const struct place *place = *state;
	size_t size = 3 << 20;
	char *expected = calloc(1, size);
	uint64_t hole_bytes;
	int fd = open(in(place, "sparse"), O_WRONLY | O_CREAT, 0644);

	assert_non_null(expected);
	assert_true(fd >= 0);
	memset(expected + (1 << 20), 'x', 5000);
	assert_int_equal(pwrite(fd, expected + (1 << 20), 5000, 1 << 20), 5000);
	assert_int_equal(ftruncate(fd, (off_t)size), 0);
	hole_bytes = lseek(fd, 0, SEEK_DATA) > 0;
	close(fd);
	for (int sparse = 0; sparse < 2; sparse++) {
		dwarfs_builder *builder = new_builder(place, 1);
		dwarfs_image *image;

		dwarfs_builder_set_sparse_files(builder, sparse);
		assert_int_equal(
			dwarfs_builder_write_path(builder, place->image, true, NULL), 0);
		if (sparse && hole_bytes)
			assert_true(dwarfs_builder_count(
					    builder, DWARFS_COUNT_BYTES_HOLES) > 2 << 20);
		else
			assert_int_equal(
				dwarfs_builder_count(builder, DWARFS_COUNT_BYTES_HOLES),
				0);
		dwarfs_builder_free(builder);
		image = open_image(place);
		expect_bytes(image, "sparse", expected, size);
		assert_int_equal(dwarfs_image_feature(image, 0) != NULL,
				 sparse && hole_bytes);
		dwarfs_image_free(image);
	}
	free(expected);
}

/* Two holes of a terabyte are equal, which is detected without reading them. */
static void huge_holes_cost_nothing(void **state)
{
	const struct place *place = *state;
	dwarfs_builder *builder = new_builder(place, 1);
	off_t size = (off_t)1 << 40;
	dwarfs_image *image;

	put_text(place, "a", "");
	put_text(place, "b", "");
	if (truncate(in(place, "a"), size) != 0 || truncate(in(place, "b"), size) != 0) {
		dwarfs_builder_free(builder);
		skip(); /* a file system without such sizes */
	}
	assert_int_equal(build(builder, place), 0);
	assert_int_equal(dwarfs_builder_count(builder, DWARFS_COUNT_BYTES_HOLES), size);
	assert_int_equal(finish(builder, DWARFS_COUNT_DUPLICATES), 1);
	image = open_image(place);
	assert_int_equal(dwarfs_image_original_bytes(image), 2 * size);
	dwarfs_image_free(image);
}

static void blocks_may_be_smaller_than_files(void **state)
{
	const struct place *place = *state;
	dwarfs_builder *builder = new_builder(place, 2);
	char data[10000];
	dwarfs_image *image;

	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (char)(i * i / 7);
	put_file(place, "a", data, 700);
	put_file(place, "b", data, sizeof(data));
	put_file(place, "c", data + 1, 1024);
	assert_int_equal(dwarfs_builder_set_block_bits(builder, 10, NULL), 0);
	assert_int_equal(build(builder, place), 0);
	assert_int_equal(dwarfs_builder_count(builder, DWARFS_COUNT_BLOCKS), 12);
	assert_int_equal(finish(builder, DWARFS_COUNT_CHUNKS), 1 + 11 + 2);
	image = open_image(place);
	expect_bytes(image, "a", data, 700);
	expect_bytes(image, "b", data, sizeof(data));
	expect_bytes(image, "c", data + 1, 1024);
	dwarfs_image_free(image);
}

/* Without compression the order of files is the order of their bytes. */
static void expect_order(const struct place *place, const char *order, const char *bytes)
{
	dwarfs_builder *builder = new_builder(place, 1);
	char start[256];
	FILE *file;

	assert_int_equal(
		dwarfs_builder_set_codec(builder, DWARFS_CODEC_BLOCKS, "null", NULL), 0);
	assert_int_equal(dwarfs_builder_set_order(builder, order, NULL), 0);
	assert_int_equal(dwarfs_builder_write_path(builder, place->image, true, NULL), 0);
	dwarfs_builder_free(builder);
	file = fopen(place->image, "rb");
	assert_non_null(file);
	assert_true(fread(start, 1, sizeof(start), file) > 64 + strlen(bytes));
	fclose(file);
	assert_memory_equal(start + 64, bytes, strlen(bytes));
}

static void orders_are_kept(void **state)
{
	const struct place *place = *state;

	put_dir(place, "b");
	put_dir(place, "b/x");
	put_text(place, "a.h", "1");
	put_text(place, "b/x/a.c", "22");
	put_text(place, "b/b.h", "333");
	put_text(place, "c.c", "4444");
	expect_order(place, "none",
		     "1"
		     "4444"
		     "333"
		     "22");
	expect_order(place, "path",
		     "1"
		     "333"
		     "22"
		     "4444");
	expect_order(place, "revpath",
		     "22"
		     "1"
		     "333"
		     "4444");
}

static void workers_do_not_change_the_image(void **state)
{
	static const uint32_t workers[] = { 0, 1, 8 };
	const struct place *place = *state;
	char *first = NULL, name[32], data[5000];
	size_t first_size = 0;

	for (int i = 0; i < 60; i++) {
		snprintf(name, sizeof(name), "f%d", i);
		memset(data, 'a' + i % 26, sizeof(data));
		snprintf(data, sizeof(data), "%d", i % 50);
		put_file(place, name, data, (size_t)(100 + i % 50 * 90));
	}
	for (size_t i = 0; i < 3; i++) {
		dwarfs_builder *builder = new_builder(place, workers[i]);
		char *bytes = malloc(1 << 20);
		FILE *file;
		size_t size;

		assert_non_null(bytes);
		dwarfs_builder_set_create_timestamp(builder, false);
		dwarfs_builder_set_history(builder, false);
		assert_int_equal(dwarfs_builder_set_block_bits(builder, 12, NULL), 0);
		assert_int_equal(
			dwarfs_builder_write_path(builder, place->image, true, NULL), 0);
		dwarfs_builder_free(builder);
		file = fopen(place->image, "rb");
		assert_non_null(file);
		size = fread(bytes, 1, 1 << 20, file);
		fclose(file);
		if (!first) {
			first = bytes;
			first_size = size;
			continue;
		}
		assert_int_equal(size, first_size);
		assert_memory_equal(bytes, first, size);
		free(bytes);
	}
	free(first);
}

/* Before contents are stored, after files were compared: another file gets its name. */
static int replace(const dwarfs_progress *progress, dwarfs_error **err, void *user)
{
	(void)err;
	if (dwarfs_progress_phase(progress) == DWARFS_PHASE_ORDER &&
	    access(in(user, "../new"), F_OK) == 0)
		assert_int_equal(rename(in(user, "../new"), in(user, "first")), 0);
	return 0;
}

/* The other name of the file has its time, but the image does not have its contents. */
static void a_file_that_changed_does_not_keep_its_time(void **state)
{
	static const struct timespec old[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };
	const struct place *place = *state;
	const size_t size = 1 << 20; /* more than is kept in memory */
	int64_t now = (int64_t)time(NULL);
	dwarfs_builder *builder = new_builder(place, 0);
	dwarfs_stat *stat = NULL;
	char *data = calloc(1, size);
	dwarfs_image *image;
	dwarfs_task *task;

	assert_non_null(data);
	put_file(place, "first", data, size);
	assert_int_equal(link(in(place, "first"), in(place, "second")), 0);
	assert_int_equal(utimensat(AT_FDCWD, in(place, "first"), old, 0), 0);
	put_text(place, "other", "text");
	assert_int_equal(utimensat(AT_FDCWD, in(place, "other"), old, 0), 0);
	data[0] = 1;
	put_file(place, "../new", data, size);
	assert_int_equal(dwarfs_task_new(&task, NULL), 0);
	dwarfs_task_set_progress(task, replace, *state);
	dwarfs_builder_set_task(builder, task);
	assert_int_equal(build(builder, place), 0);
	assert_int_equal(finish(builder, DWARFS_COUNT_ERRORS), 1);
	image = open_image(place);
	assert_int_equal(dwarfs_stat_new(&stat, NULL), 0);
	assert_int_equal(dwarfs_inode_stat(image,
					   expect_bytes(image, "second", data, size),
					   stat, NULL),
			 0);
	assert_true(dwarfs_stat_seconds(stat, DWARFS_MTIME) >= now);
	assert_int_equal(
		dwarfs_inode_stat(image, expect_text(image, "other", "text"), stat, NULL),
		0);
	assert_int_equal(dwarfs_stat_seconds(stat, DWARFS_MTIME), 1000);
	dwarfs_image_free(image);
	dwarfs_stat_free(stat);
	dwarfs_task_free(task);
	free(data);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_place, remove_place)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(equal_files_are_stored_once),
		TEST(nearly_equal_files_are_kept_apart),
		TEST(hard_links_share_an_inode),
		TEST(holes_stay_holes),
		TEST(huge_holes_cost_nothing),
		TEST(blocks_may_be_smaller_than_files),
		TEST(orders_are_kept),
		TEST(workers_do_not_change_the_image),
		TEST(a_file_that_changed_does_not_keep_its_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
