/* SPDX-License-Identifier: MIT */
/*
 * api/shrinking: the file of an image that shrinks or changes while the image is open.
 *
 * All sections are stored uncompressed, so that a library that maps files would use them
 * in place.
 */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support.h"

#define CACHE_BYTES 65536 /* one block */

static const int modes[] = { DWARFS_VERIFY_EAGER, DWARFS_VERIFY_LAZY,
			     DWARFS_VERIFY_NO_BLOCKS };

/* An image of the tree in a separate file. */
static void make_image(const struct fixture *fixture, char *path, size_t room)
{
	static const int uses[] = { DWARFS_CODEC_BLOCKS, DWARFS_CODEC_METADATA,
				    DWARFS_CODEC_SCHEMA };
	dwarfs_builder *builder = new_builder(fixture, NULL);
	dwarfs_error *err = NULL;
	size_t i;

	snprintf(path, room, "%s/shrinking", fixture->dir);
	unlink(path);
	for (i = 0; i < sizeof(uses) / sizeof(uses[0]); i++)
		assert_success(dwarfs_builder_set_codec(builder, uses[i], "null", &err),
			       err);
	assert_success(dwarfs_builder_write_path(builder, path, true, &err), err);
	dwarfs_builder_free(builder);
}

static dwarfs_image *open_path(const char *path, int verify, bool is_mapped,
			       uint32_t workers, uint64_t cache_bytes)
{
	dwarfs_image_options *options = NULL;
	dwarfs_context *context = NULL;
	dwarfs_image *image = NULL;
	dwarfs_error *err = NULL;

	assert_success(dwarfs_context_new(&context, &err), err);
	assert_success(dwarfs_context_set_workers(context, workers, &err), err);
	assert_success(dwarfs_context_set_cache_bytes(context, cache_bytes, &err), err);
	assert_success(dwarfs_image_options_new(&options, &err), err);
	dwarfs_image_options_set_verify(options, verify);
	dwarfs_image_options_set_mapped(options, is_mapped);
	assert_success(dwarfs_image_open(context, path, options, &image, &err), err);
	dwarfs_image_options_free(options);
	dwarfs_context_free(context);
	return image;
}

static dwarfs_borrowed *borrow(const dwarfs_image *image, const char *path)
{
	dwarfs_borrowed *borrowed = NULL;
	dwarfs_file *file = NULL;
	dwarfs_error *err = NULL;

	assert_success(dwarfs_file_open(image, find_inode(image, path), &file, &err),
		       err);
	assert_success(dwarfs_file_borrow(file, 4096, 0, &borrowed, &err), err);
	dwarfs_file_free(file);
	assert_true(dwarfs_borrowed_bytes(borrowed) == 4096);
	return borrowed;
}

static void assert_borrowed(const dwarfs_borrowed *borrowed, const struct bytes *whole)
{
	size_t i, bytes, done = 0;

	for (i = 0; i < dwarfs_borrowed_count(borrowed); i++) {
		const void *part = dwarfs_borrowed_part(borrowed, i, &bytes);

		assert_memory_equal(part, whole->data + done, bytes);
		done += bytes;
	}
}

/* Names and attributes were read when the image was opened. */
static void assert_tree_is_there(const dwarfs_image *image)
{
	dwarfs_walk *walk = NULL;
	dwarfs_entry entry;
	dwarfs_stat *stat = NULL;
	dwarfs_error *err = NULL;
	unsigned entries = 0;
	int ret;

	assert_success(dwarfs_stat_new(&stat, &err), err);
	assert_success(
		dwarfs_walk_new(image, DWARFS_ROOT_ENTRY, DWARFS_WALK_TREE, &walk, &err),
		err);
	while ((ret = dwarfs_walk_next(walk, &entry, &err)) > 0) {
		assert_success(dwarfs_entry_stat(image, entry, stat, &err), err);
		entries++;
	}
	assert_int_equal(ret, 0);
	assert_int_equal(entries, TREE_ENTRIES);
	dwarfs_walk_free(walk);
	dwarfs_stat_free(stat);
}

static int count_failure(dwarfs_inode inode, const dwarfs_error *why, dwarfs_error **err,
			 void *user)
{
	(void)err;
	(void)inode;
	assert_int_equal(dwarfs_error_code(why), DWARFS_ERR_IO);
	++*(int *)user;
	return 0;
}

/* Every function that reads contents returns an error. */
static void assert_contents_are_gone(const dwarfs_image *image)
{
	dwarfs_inode inode = find_inode(image, "big");
	uint8_t *buffer = malloc(BIG_BYTES);
	dwarfs_borrowed *borrowed = NULL;
	dwarfs_file *file = NULL;
	dwarfs_error *err = NULL;
	uint64_t errors = 0;
	int failures = 0;
	size_t bytes;

	assert_non_null(buffer);
	assert_failure(dwarfs_read(image, inode, buffer, BIG_BYTES, 0, &bytes, &err),
		       DWARFS_ERR_IO, err);
	assert_success(dwarfs_file_open(image, inode, &file, &err), err);
	assert_failure(dwarfs_file_borrow(file, BIG_BYTES, 0, &borrowed, &err),
		       DWARFS_ERR_IO, err);
	dwarfs_file_free(file);
	assert_true(dwarfs_prefetch(image, &inode, 1, NULL) <= 1);
	assert_success(dwarfs_read_in_order(image, &inode, 1, ignore_piece, count_failure,
					    &failures, NULL, &err),
		       err);
	assert_int_equal(failures, 1);
	assert_failure(dwarfs_image_check(image, DWARFS_CHECK_INTEGRITY, NULL, NULL, NULL,
					  &errors, &err),
		       DWARFS_ERR_IO, err);
	assert_true(errors > 0);
	free(buffer);
}

static void a_file_that_shrinks_gives_errors(void **state)
{
	struct bytes whole = load(*state, "big");
	char path[128];
	uint32_t workers;
	size_t i;

	for (i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		for (workers = 0; workers < 3; workers += 2) {
			dwarfs_borrowed *borrowed;
			dwarfs_image *image;
			dwarfs_error *err = NULL;

			make_image(*state, path, sizeof(path));
			image = open_path(path, modes[i], false, workers, CACHE_BYTES);
			borrowed = borrow(image, "big");
			assert_int_equal(truncate(path, 100), 0);
			assert_borrowed(borrowed, &whole);
			assert_tree_is_there(image);
			assert_success(dwarfs_image_verify(image, &err), err);
			assert_contents_are_gone(image);
			assert_borrowed(borrowed, &whole);
			dwarfs_borrowed_free(borrowed);
			dwarfs_image_free(image);
		}
	}
	free(whole.data);
}

/* Overwrite all stored bytes with zeros. */
static void overwrite(const char *path)
{
	static const uint8_t zeros[65536];
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	struct stat stat;
	off_t at;

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &stat), 0);
	for (at = 0; at < stat.st_size; at += (off_t)sizeof(zeros))
		assert_true(pwrite(fd, zeros, sizeof(zeros), at) == sizeof(zeros));
	close(fd);
}

static void what_was_verified_is_what_is_used(void **state)
{
	struct bytes whole = load(*state, "big");
	uint8_t *buffer = malloc(BIG_BYTES);
	char path[128];
	size_t i, bytes;

	assert_non_null(buffer);
	for (i = 0; i < 2; i++) {
		dwarfs_borrowed *borrowed;
		dwarfs_image *image;
		dwarfs_error *err = NULL;

		make_image(*state, path, sizeof(path));
		image = open_path(path, modes[i], false, 0, 16 << 20);
		assert_success(dwarfs_read(image, find_inode(image, "big"), buffer,
					   BIG_BYTES, 0, &bytes, &err),
			       err);
		borrowed = borrow(image, "big");
		overwrite(path);
		assert_borrowed(borrowed, &whole);
		assert_tree_is_there(image);
		assert_success(dwarfs_read(image, find_inode(image, "big"), buffer,
					   BIG_BYTES, 0, &bytes, &err),
			       err);
		assert_memory_equal(buffer, whole.data, BIG_BYTES);
		dwarfs_borrowed_free(borrowed);
		dwarfs_context_trim(dwarfs_image_context(image), 0);
		assert_true(dwarfs_read(image, find_inode(image, "big"), buffer,
					BIG_BYTES, 0, &bytes, &err) < 0);
		dwarfs_error_free(err);
		dwarfs_image_free(image);
	}
	free(buffer);
	free(whole.data);
}

/* Bytes stored uncompressed count in the budget of the cache, like decoded ones. */
static void stored_bytes_count_in_the_budget(void **state)
{
	static const bool is_mapped[] = { false, true };
	uint8_t *buffer = malloc(BIG_BYTES);
	char path[128];
	size_t i, bytes;

	assert_non_null(buffer);
	make_image(*state, path, sizeof(path));
	for (i = 0; i < 2; i++) {
		dwarfs_image *image =
			open_path(path, DWARFS_VERIFY_EAGER, is_mapped[i], 0, 200000);
		const dwarfs_context *context = dwarfs_image_context(image);
		dwarfs_error *err = NULL;
		uint64_t used;

		assert_success(dwarfs_read(image, find_inode(image, "big"), buffer,
					   BIG_BYTES, 0, &bytes, &err),
			       err);
		used = dwarfs_context_cache_count(context, DWARFS_CACHE_USED);
		assert_true(used >= 65536 && used <= 200000);
		assert_true(dwarfs_context_cache_count(context, DWARFS_CACHE_MOST_USED) <=
			    200000);
		dwarfs_image_free(image);
	}
	free(buffer);
}

static void a_mapped_image_is_used_in_place(void **state)
{
	struct bytes whole = load(*state, "big");
	uint8_t *buffer = malloc(BIG_BYTES);
	char path[128];
	size_t i, bytes, size;

	assert_non_null(buffer);
	for (i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		dwarfs_borrowed *borrowed;
		dwarfs_image *image;
		dwarfs_error *err = NULL;
		const uint8_t *part;

		make_image(*state, path, sizeof(path));
		image = open_path(path, modes[i], true, 0, 16 << 20);
		assert_tree_is_there(image);
		assert_success(dwarfs_read(image, find_inode(image, "big"), buffer,
					   BIG_BYTES, 0, &bytes, &err),
			       err);
		assert_int_equal(bytes, BIG_BYTES);
		assert_memory_equal(buffer, whole.data, BIG_BYTES);
		borrowed = borrow(image, "big");
		part = dwarfs_borrowed_part(borrowed, 0, &size);
		assert_memory_equal(part, whole.data, size);
		overwrite(path);
		assert_int_equal(part[0], 0);
		dwarfs_borrowed_free(borrowed);
		dwarfs_image_free(image);
	}
	free(buffer);
	free(whole.data);
}

/* A source that is mapped for one image is read for another. */
static void each_image_has_its_own_way(void **state)
{
	dwarfs_image_options *options = NULL;
	dwarfs_image *images[2] = { NULL };
	dwarfs_borrowed *borrowed[2];
	struct bytes whole = load(*state, "big");
	dwarfs_error *err = NULL;
	dwarfs_io *io = NULL;
	char path[128];
	size_t i, size;

	make_image(*state, path, sizeof(path));
	assert_success(dwarfs_io_open(path, &io, &err), err);
	for (i = 0; i < 2; i++) {
		assert_success(dwarfs_image_options_new(&options, &err), err);
		dwarfs_image_options_set_mapped(options, i == 0);
		assert_success(dwarfs_image_open_io(NULL, io, options, &images[i], &err),
			       err);
		dwarfs_image_options_free(options);
		borrowed[i] = borrow(images[i], "big");
	}
	dwarfs_io_free(io);
	overwrite(path);
	assert_int_equal(*(const uint8_t *)dwarfs_borrowed_part(borrowed[0], 0, &size),
			 0);
	assert_borrowed(borrowed[1], &whole);
	for (i = 0; i < 2; i++) {
		dwarfs_borrowed_free(borrowed[i]);
		dwarfs_image_free(images[i]);
	}
	free(whole.data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_that_shrinks_gives_errors),
		cmocka_unit_test(what_was_verified_is_what_is_used),
		cmocka_unit_test(stored_bytes_count_in_the_budget),
		cmocka_unit_test(a_mapped_image_is_used_in_place),
		cmocka_unit_test(each_image_has_its_own_way),
	};

	return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
