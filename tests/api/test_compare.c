/* SPDX-License-Identifier: MIT */
/*
 * api/compare: the contracts of <dwarfs/compare.h> and <dwarfs/salvage.h>.
 */
#include "support.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

struct seen {
	char lines[64][300];
	size_t count;
	size_t stop_after; /* 0: never */
};

static int note(const dwarfs_difference *difference, dwarfs_error **err, void *user)
{
	struct seen *seen = user;
	const char *a = dwarfs_difference_value(difference, DWARFS_COMPARE_A, NULL);
	const char *b = dwarfs_difference_value(difference, DWARFS_COMPARE_B, NULL);

	(void)err;
	assert_true(seen->count < 64);
	snprintf(seen->lines[seen->count++], sizeof(seen->lines[0]), "%s %s %s %s",
		 dwarfs_difference_word(dwarfs_difference_kind(difference)),
		 dwarfs_difference_path(difference), a ? a : "-", b ? b : "-");
	return seen->count == seen->stop_after ? 42 : 0;
}

static dwarfs_compare *new_compare(void)
{
	dwarfs_compare *compare = NULL;
	dwarfs_error *err = NULL;

	assert_success(dwarfs_compare_new(NULL, &compare, &err), err);
	return compare;
}

/* The image of the fixture, and its directory. */
static dwarfs_compare *image_and_directory(const struct fixture *fixture)
{
	dwarfs_compare *compare = new_compare();
	dwarfs_image *image = open_image(fixture, NULL);
	dwarfs_error *err = NULL;

	assert_success(dwarfs_compare_set_image(compare, DWARFS_COMPARE_A, image, &err),
		       err);
	dwarfs_image_free(image);
	assert_success(dwarfs_compare_set_directory(compare, DWARFS_COMPARE_B,
						    fixture->tree, &err),
		       err);
	return compare;
}

static void an_image_is_what_its_directory_is(void **state)
{
	dwarfs_compare *compare = image_and_directory(*state);
	struct seen seen = { 0 };
	dwarfs_error *err = NULL;
	uint64_t count = 1;

	assert_success(dwarfs_compare_run(compare, note, &seen, &count, &err), err);
	assert_int_equal(count, 0);
	assert_int_equal(seen.count, 0);
	assert_int_equal(dwarfs_compare_entries(compare, DWARFS_COMPARE_A), TREE_ENTRIES);
	assert_int_equal(dwarfs_compare_entries(compare, DWARFS_COMPARE_B), TREE_ENTRIES);
	/* And again, without a callback. */
	assert_success(dwarfs_compare_run(compare, NULL, NULL, NULL, &err), err);
	dwarfs_compare_free(compare);
}

static void differences_are_told_and_counted(void **state)
{
	const struct fixture *fixture = *state;
	dwarfs_compare *compare = image_and_directory(fixture);
	struct seen seen = { 0 };
	dwarfs_error *err = NULL;
	uint64_t count;
	char path[200];

	snprintf(path, sizeof(path), "%s/zz new", fixture->tree);
	store_path(path, "new", 3);
	assert_success(dwarfs_compare_ignore(compare, DWARFS_DIFFERENCE_MTIME, &err),
		       err);
	assert_success(dwarfs_compare_run(compare, note, &seen, &count, &err), err);
	assert_int_equal(count, 1);
	assert_string_equal(seen.lines[0], "only-b zz new - file");
	assert_int_equal(dwarfs_compare_count(compare, DWARFS_DIFFERENCE_ONLY_B), 1);
	assert_int_equal(dwarfs_compare_count(compare, DWARFS_DIFFERENCE_ONLY_A), 0);
	assert_int_equal(dwarfs_compare_count(compare, -1), 0);

	assert_success(dwarfs_compare_ignore(compare, DWARFS_DIFFERENCE_ONLY_B, &err),
		       err);
	assert_success(dwarfs_compare_run(compare, note, &seen, &count, &err), err);
	assert_int_equal(count, 0);
	unlink(path);
	dwarfs_compare_free(compare);
}

/* -- order --------------------------------------------------------------------------- */

static dwarfs_image *image_of(const char *const *paths)
{
	dwarfs_builder *builder = NULL;
	dwarfs_image *image = NULL;
	dwarfs_sink *sink = NULL;
	dwarfs_item *item = NULL;
	dwarfs_error *err = NULL;
	dwarfs_io *io = NULL;
	size_t bytes = 0;
	void *data;

	assert_success(dwarfs_builder_new(NULL, &builder, &err), err);
	assert_success(dwarfs_item_new(0100644, &item, &err), err);
	for (; *paths; paths++)
		assert_success(dwarfs_builder_add_item(builder, *paths, strlen(*paths),
						       item, &err),
			       err);
	assert_success(dwarfs_sink_to_memory(SIZE_MAX, &sink, &err), err);
	assert_success(dwarfs_builder_write(builder, sink, &err), err);
	assert_success(dwarfs_sink_take(sink, &data, &bytes, &err), err);
	assert_success(
		dwarfs_io_from_memory(data, bytes, dwarfs_memory_free, data, &io, &err),
		err);
	assert_success(dwarfs_image_open_io(NULL, io, NULL, &image, &err), err);
	dwarfs_io_free(io);
	dwarfs_sink_free(sink);
	dwarfs_item_free(item);
	dwarfs_builder_free(builder);
	return image;
}

/* A directory precedes its entries, and these precede what is after it, also names with a byte
 * that is less than "/". */
static void paths_are_in_the_order_of_a_tree(void **state)
{
	static const char *const left[] = { "a/b/c",  "a/b/d/e", "a-",	  "a.b/x",
					    "both/l", "kind",	 "z/z/z", NULL };
	static const char *const right[] = { "a.b/w",  "a/b.c/d", "a/c", "both/r",
					     "kind/k", "y/y",	  NULL };
	static const char *const lines[] = {
		"only-a a/b directory -",   "only-a a/b/c file -",
		"only-a a/b/d directory -", "only-a a/b/d/e file -",
		"only-b a/b.c - directory", "only-b a/b.c/d - file",
		"only-b a/c - file",	    "only-a a- file -",
		"only-b a.b/w - file",	    "only-a a.b/x file -",
		"only-a both/l file -",	    "only-b both/r - file",
		"type kind file directory", "only-b kind/k - file",
		"only-b y - directory",	    "only-b y/y - file",
		"only-a z directory -",	    "only-a z/z directory -",
		"only-a z/z/z file -",
	};
	dwarfs_image *images[2] = { image_of(left), image_of(right) };
	dwarfs_compare *compare = new_compare();
	struct seen seen = { 0 };
	dwarfs_error *err = NULL;

	(void)state;
	for (int i = 0; i < 2; i++) {
		assert_success(dwarfs_compare_set_image(compare, i, images[i], &err),
			       err);
		dwarfs_image_free(images[i]);
	}
	assert_success(dwarfs_compare_run(compare, note, &seen, NULL, &err), err);
	for (size_t i = 0; i < seen.count && i < sizeof(lines) / sizeof(*lines); i++)
		assert_string_equal(seen.lines[i], lines[i]);
	assert_int_equal(seen.count, sizeof(lines) / sizeof(*lines));
	dwarfs_compare_free(compare);
}

static void a_callback_may_stop(void **state)
{
	const struct fixture *fixture = *state;
	dwarfs_compare *compare = image_and_directory(fixture);
	struct seen seen = { .stop_after = 2 };
	dwarfs_error *err = NULL;
	char empty[100];

	snprintf(empty, sizeof(empty), "%s/empty", fixture->dir);
	assert_int_equal(mkdir(empty, 0755), 0);
	/* Everything but the root is missing. */
	assert_success(
		dwarfs_compare_set_directory(compare, DWARFS_COMPARE_B, empty, &err),
		err);
	rmdir(empty);
	assert_failure(dwarfs_compare_run(compare, note, &seen, NULL, &err),
		       DWARFS_ERR_CANCELLED, err);
	assert_int_equal(seen.count, 2);
	dwarfs_compare_free(compare);
}

static int stop_at_once(const dwarfs_progress *progress, dwarfs_error **err, void *user)
{
	(void)progress;
	(void)err;
	(void)user;
	return 1;
}

static void it_can_be_cancelled(void **state)
{
	dwarfs_compare *compare = image_and_directory(*state);
	dwarfs_task *task = new_task(stop_at_once, NULL);
	dwarfs_error *err = NULL;

	dwarfs_compare_set_task(compare, task);
	assert_failure(dwarfs_compare_run(compare, NULL, NULL, NULL, &err),
		       DWARFS_ERR_CANCELLED, err);
	dwarfs_task_set_progress(task, NULL, NULL);
	assert_success(dwarfs_compare_run(compare, NULL, NULL, NULL, &err), err);
	dwarfs_task_cancel(task);
	assert_failure(dwarfs_compare_run(compare, NULL, NULL, NULL, &err),
		       DWARFS_ERR_CANCELLED, err);
	dwarfs_compare_free(compare);
	dwarfs_task_free(task);
}

static void bad_calls_fail(void **state)
{
	const struct fixture *fixture = *state;
	dwarfs_compare *compare = new_compare();
	dwarfs_error *err = NULL;
	char path[100];

	assert_failure(dwarfs_compare_run(compare, NULL, NULL, NULL, &err),
		       DWARFS_ERR_INVALID, err);
	assert_failure(dwarfs_compare_set_directory(compare, 2, fixture->tree, &err),
		       DWARFS_ERR_RANGE, err);
	assert_failure(dwarfs_compare_set_directory(compare, 0, "/no/such", &err),
		       DWARFS_ERR_NOT_FOUND, err);
	snprintf(path, sizeof(path), "%s/big", fixture->tree);
	assert_failure(dwarfs_compare_set_directory(compare, 0, path, &err),
		       DWARFS_ERR_NOT_DIR, err);
	assert_failure(dwarfs_compare_set_path(compare, 0, "/no/such", NULL, &err),
		       DWARFS_ERR_NOT_FOUND, err);
	assert_failure(dwarfs_compare_ignore(compare, DWARFS_DIFFERENCE_TROUBLE, &err),
		       DWARFS_ERR_RANGE, err);
	assert_failure(dwarfs_compare_ignore(compare, -1, &err), DWARFS_ERR_RANGE, err);
	assert_failure(dwarfs_compare_set_time_resolution(compare, 0, &err),
		       DWARFS_ERR_RANGE, err);
	assert_null(dwarfs_difference_word(DWARFS_DIFFERENCE_KINDS));
	assert_null(dwarfs_difference_word(-1));
	dwarfs_compare_free(compare);
	dwarfs_compare_free(NULL);
}

/* -- salvage ------------------------------------------------------------------------- */

static int open_damaged(const struct bytes *bytes, int mode, dwarfs_image **image_out,
			dwarfs_error **err)
{
	dwarfs_image_options *options = NULL;
	dwarfs_io *io = NULL;
	int ret;

	if ((ret = dwarfs_image_options_new(&options, err)) == 0 &&
	    (ret = dwarfs_io_from_memory(bytes->data, bytes->size, NULL, NULL, &io,
					 err)) == 0) {
		dwarfs_image_options_set_salvage(options, mode);
		ret = dwarfs_image_open_io(NULL, io, options, image_out, err);
	}
	dwarfs_io_free(io);
	dwarfs_image_options_free(options);
	return ret;
}

/* The image with its first block damaged. */
static struct bytes damage(const struct fixture *fixture)
{
	struct bytes copy = { malloc(fixture->image.size), fixture->image.size };

	assert_non_null(copy.data);
	memcpy(copy.data, fixture->image.data, copy.size);
	copy.data[200] ^= 1;
	return copy;
}

static void a_lost_block_costs_its_files(void **state)
{
	struct bytes copy = damage(*state);
	dwarfs_image *image = NULL;
	dwarfs_error *err = NULL;
	dwarfs_inode inode;
	uint64_t lost;
	uint32_t i, blocks = 0;
	char buffer[4096];
	size_t got;

	assert_success(open_damaged(&copy, DWARFS_SALVAGE_INTACT, &image, &err), err);
	assert_false(dwarfs_image_metadata_is_damaged(image));
	assert_false(dwarfs_image_block_is_lost(image, 0));
	(void)dwarfs_image_check(image, DWARFS_CHECK_INTEGRITY, NULL, NULL, NULL, NULL,
				 NULL);
	for (i = 0; i < dwarfs_image_block_count(image); i++)
		blocks += dwarfs_image_block_is_lost(image, i);
	assert_int_equal(blocks, 1);
	assert_true(dwarfs_image_block_is_lost(image, 0));
	assert_false(dwarfs_image_block_is_lost(image, UINT32_MAX));

	inode = find_inode(image, "big");
	assert_success(dwarfs_file_lost_bytes(image, inode, &lost, &err), err);
	assert_true(lost < BIG_BYTES);
	if (lost > 0) {
		dwarfs_file *file = NULL;
		uint64_t at, failed = 0;

		assert_success(dwarfs_file_open(image, inode, &file, &err), err);
		for (at = 0; at < BIG_BYTES; at += sizeof(buffer))
			failed += dwarfs_file_read(file, buffer, sizeof(buffer), at, &got,
						   NULL) < 0;
		assert_true(failed * sizeof(buffer) >= lost);
		dwarfs_file_free(file);
	}
	assert_failure(dwarfs_file_lost_bytes(image, DWARFS_ROOT_INODE, &lost, &err),
		       DWARFS_ERR_IS_DIR, err);
	dwarfs_image_free(image);
	free(copy.data);
}

static void zeros_stand_for_what_is_lost(void **state)
{
	const struct fixture *fixture = *state;
	struct bytes copy = damage(fixture), whole = load(fixture, "big");
	uint8_t *read = malloc(whole.size);
	dwarfs_image *image = NULL;
	dwarfs_error *err = NULL;
	uint64_t lost, differ = 0;
	dwarfs_inode inode;
	size_t got, i;

	assert_non_null(read);
	assert_success(open_damaged(&copy, DWARFS_SALVAGE_ZEROS, &image, &err), err);
	inode = find_inode(image, "big");
	assert_success(dwarfs_read(image, inode, read, whole.size, 0, &got, &err), err);
	assert_int_equal(got, whole.size);
	assert_success(dwarfs_file_lost_bytes(image, inode, &lost, &err), err);
	for (i = 0; i < whole.size; i++) {
		differ += read[i] != whole.data[i];
		assert_true(read[i] == whole.data[i] || read[i] == 0);
	}
	assert_true(differ <= lost);
	dwarfs_image_free(image);
	free(read);
	free(whole.data);
	free(copy.data);
}

static void without_salvage_damage_is_an_error(void **state)
{
	const struct fixture *fixture = *state;
	struct bytes cut = { fixture->image.data, fixture->image.size };
	struct bytes copy = damage(fixture);
	dwarfs_image *image = NULL;
	dwarfs_error *err = NULL;
	uint64_t lost = 1;

	copy.data[0] ^= 1;
	assert_failure(open_damaged(&copy, DWARFS_SALVAGE_OFF, &image, &err),
		       DWARFS_ERR_NOT_IMAGE, err);
	assert_failure(open_damaged(&copy, 77, &image, &err), DWARFS_ERR_NOT_IMAGE, err);
	assert_success(open_damaged(&copy, DWARFS_SALVAGE_INTACT, &image, &err), err);
	dwarfs_image_free(image);
	/* No intact data are lost. */
	assert_success(open_damaged(&cut, DWARFS_SALVAGE_OFF, &image, &err), err);
	assert_success(
		dwarfs_file_lost_bytes(image, find_inode(image, "big"), &lost, &err),
		err);
	assert_int_equal(lost, 0);
	dwarfs_image_free(image);
	/* Without metadata, recovered data have no names. */
	cut.size = 1000;
	assert_int_equal(open_damaged(&cut, DWARFS_SALVAGE_INTACT, &image, NULL) < 0, 1);
	free(copy.data);
}

struct blocks {
	uint32_t good, lost, stop_after;
};

struct limited {
	struct bytes bytes;
	int reads;
};

static int take_block(uint32_t block, const void *data, size_t bytes,
		      const dwarfs_error *why, dwarfs_error **err, void *user)
{
	struct blocks *blocks = user;

	(void)err;
	assert_int_equal(block, blocks->good + blocks->lost);
	assert_int_equal(data == NULL, why != NULL);
	assert_true(why || bytes > 0);
	blocks->good += data != NULL;
	blocks->lost += data == NULL;
	return blocks->good + blocks->lost == blocks->stop_after ? 7 : 0;
}

static void blocks_come_without_metadata(void **state)
{
	const struct fixture *fixture = *state;
	struct bytes copy = damage(fixture);
	dwarfs_image *image = open_image(fixture, NULL);
	const uint32_t count = dwarfs_image_block_count(image);
	struct blocks blocks = { 0 }, first = { .stop_after = 1 };
	dwarfs_error *err = NULL;
	char path[100];

	snprintf(path, sizeof(path), "%s/cut", fixture->dir);
	/* The index and the history are gone, and part of the metadata. */
	store_path(path, copy.data, copy.size - 1500);
	assert_success(dwarfs_salvage_blocks(NULL, path, NULL, take_block, &blocks, &err),
		       err);
	assert_int_equal(blocks.lost, 1);
	assert_int_equal(blocks.good, count - 1);
	assert_failure(dwarfs_salvage_blocks(NULL, path, NULL, take_block, &first, &err),
		       DWARFS_ERR_CANCELLED, err);
	assert_int_equal(first.good + first.lost, 1);
	assert_failure(
		dwarfs_salvage_blocks(NULL, "/no/such", NULL, take_block, &blocks, &err),
		DWARFS_ERR_NOT_FOUND, err);
	unlink(path);
	dwarfs_image_free(image);
	free(copy.data);
}

/* A source that fails for a while, from the tenth read on. */
static int read_at_first(void *buffer, size_t bytes, uint64_t offset, size_t *bytes_out,
			 dwarfs_error **err, void *user)
{
	struct limited *limited = user;

	if (limited->reads++ >= 9)
		return dwarfs_error_set(err, DWARFS_ERR_LIMIT, 0, "try again later");
	memcpy(buffer, limited->bytes.data + offset, bytes);
	*bytes_out = bytes;
	return 0;
}

static void blocks_come_from_any_source(void **state)
{
	const struct fixture *fixture = *state;
	struct bytes copy = damage(fixture);
	dwarfs_image *image = open_image(fixture, NULL);
	const uint32_t count = dwarfs_image_block_count(image);
	struct blocks blocks = { 0 }, none = { 0 };
	struct limited limited = { .bytes = copy };
	dwarfs_error *err = NULL;
	dwarfs_io *io = NULL;
	int fd = open(fixture->path, O_RDONLY), pipe_ends[2];

	assert_success(
		dwarfs_io_from_memory(copy.data, copy.size - 1500, NULL, NULL, &io, &err),
		err);
	assert_success(
		dwarfs_salvage_blocks_io(NULL, io, NULL, take_block, &blocks, &err), err);
	assert_int_equal(blocks.lost, 1);
	assert_int_equal(blocks.good, count - 1);
	dwarfs_io_free(io);

	blocks = (struct blocks){ 0 };
	assert_success(dwarfs_io_from_fd(fd, &io, &err), err);
	assert_success(
		dwarfs_salvage_blocks_io(NULL, io, NULL, take_block, &blocks, &err), err);
	assert_int_equal(blocks.good, count);
	dwarfs_io_free(io);
	close(fd);

	/* A failure of the source that is not damage. */
	assert_success(
		dwarfs_io_new(read_at_first, copy.size - 1500, NULL, &limited, &io, &err),
		err);
	assert_failure(dwarfs_salvage_blocks_io(NULL, io, NULL, take_block, &none, &err),
		       DWARFS_ERR_LIMIT, err);
	dwarfs_io_free(io);

	assert_int_equal(pipe(pipe_ends), 0);
	assert_success(dwarfs_io_from_stream(pipe_ends[0], &io, &err), err);
	assert_failure(dwarfs_salvage_blocks_io(NULL, io, NULL, take_block, &none, &err),
		       DWARFS_ERR_INVALID, err);
	dwarfs_io_free(io);
	close(pipe_ends[0]);
	close(pipe_ends[1]);
	dwarfs_image_free(image);
	free(copy.data);
}

/* -- following links ----------------------------------------------------------------- */

static void links_are_followed_within_the_image(void **state)
{
	dwarfs_image *image = open_image(*state, NULL);
	dwarfs_entry entry;
	dwarfs_error *err = NULL;

	assert_success(
		dwarfs_find_followed(image, "/dir/../dir/./sub//deep", &entry, &err),
		err);
	assert_int_equal(entry.number, find_entry(image, "dir/sub/deep").number);
	assert_success(dwarfs_find_followed(image, "../../..", &entry, &err), err);
	assert_int_equal(entry.number, 0);
	assert_failure(dwarfs_find_followed(image, "no/such", &entry, &err),
		       DWARFS_ERR_NOT_FOUND, err);
	assert_failure(dwarfs_find_followed(image, "big/x", &entry, &err),
		       DWARFS_ERR_NOT_DIR, err);
	dwarfs_image_free(image);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_image_is_what_its_directory_is),
		cmocka_unit_test(differences_are_told_and_counted),
		cmocka_unit_test(paths_are_in_the_order_of_a_tree),
		cmocka_unit_test(a_callback_may_stop),
		cmocka_unit_test(it_can_be_cancelled),
		cmocka_unit_test(bad_calls_fail),
		cmocka_unit_test(a_lost_block_costs_its_files),
		cmocka_unit_test(zeros_stand_for_what_is_lost),
		cmocka_unit_test(without_salvage_damage_is_an_error),
		cmocka_unit_test(blocks_come_without_metadata),
		cmocka_unit_test(blocks_come_from_any_source),
		cmocka_unit_test(links_are_followed_within_the_image),
	};

	return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
