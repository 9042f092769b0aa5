/* SPDX-License-Identifier: MIT */
/*
 * api/items: entries added one by one, in any order, together with whole directories.
 */
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "items.h"

/* -- any order ----------------------------------------------------------------------- */

static void add_one(dwarfs_builder *builder, int which)
{
	dwarfs_error *err = NULL;
	dwarfs_item *item;

	switch (which) {
	case 0:
		add_text(builder, "a/b/c", "deep\n");
		return;
	case 1:
		item = new_item(0040700);
		dwarfs_item_set_owner(item, 3, 4);
		dwarfs_item_set_time(item, DWARFS_MTIME, 1000, 0);
		add(builder, "a", item);
		return;
	case 2:
		hard_link(builder, "0", "a/b/c");
		return;
	case 3:
		item = new_item(0120777);
		assert_success(dwarfs_item_set_target(item, "b/c", 3, &err), err);
		add(builder, "a/z", item);
		return;
	case 4:
		add_text(builder, "same", "deep\n");
		return;
	default:
		item = new_item(0041777);
		add(builder, "", item);
	}
}

static void the_order_of_adding_makes_no_difference(void **state)
{
	static const int orders[][6] = { { 0, 1, 2, 3, 4, 5 },
					 { 5, 4, 3, 2, 1, 0 },
					 { 2, 0, 4, 1, 5, 3 } };
	struct bytes first = { 0 };
	size_t i, j;

	(void)state;
	for (i = 0; i < 3; i++) {
		dwarfs_builder *builder = new_plain_builder();
		struct bytes image;

		for (j = 0; j < 6; j++)
			add_one(builder, orders[i][j]);
		image = run(builder);
		assert_int_equal(dwarfs_builder_count(builder, DWARFS_COUNT_ERRORS), 0);
		assert_int_equal(dwarfs_builder_count(builder, DWARFS_COUNT_HARDLINKS),
				 1);
		dwarfs_builder_free(builder);
		if (i == 0)
			first = image;
		else if (i == 1)
			assert_int_equal(image.size, first.size);
		if (i == 0)
			continue;
		assert_memory_equal(image.data, first.data, first.size);
		free(image.data);
	}
	free(first.data);
}

static void directories_on_the_way_are_made(void **state)
{
	dwarfs_builder *builder = new_plain_builder();
	dwarfs_image *image;
	struct bytes bytes;
	dwarfs_stat *stat;

	(void)state;
	add_text(builder, "x/y/file", "text");
	image = finish(builder, &bytes);
	stat = stat_of(image, "x/y");
	assert_int_equal(dwarfs_stat_mode(stat), DIR_MODE);
	assert_int_equal(dwarfs_stat_uid(stat), 0);
	dwarfs_stat_free(stat);
	assert_int_equal(mode_of(image, ""), DIR_MODE);
	expect_text(image, "x/y/file", "text");
	end(image, &bytes);
}

static void an_image_may_have_nothing_but_its_root(void **state)
{
	dwarfs_builder *builder = new_plain_builder();
	dwarfs_image *image;
	struct bytes bytes;

	(void)state;
	add(builder, "", new_item(0040711));
	image = finish(builder, &bytes);
	assert_int_equal(mode_of(image, ""), 0040711);
	end(image, &bytes);
}

/* -- the same as a directory --------------------------------------------------------- */

static struct bytes image_of(const struct fixture *fixture, bool births)
{
	dwarfs_builder *builder = new_plain_builder();
	dwarfs_error *err = NULL;
	struct bytes image;

	dwarfs_builder_set_keep_all_times(builder, true);
	dwarfs_builder_set_keep_birth_times(builder, births);
	assert_success(dwarfs_builder_add_directory(builder, fixture->tree, &err), err);
	image = run(builder);
	dwarfs_builder_free(builder);
	return image;
}

/* The first read after a change sets the access time: read before comparing. */
static struct bytes image_of_directory(const struct fixture *fixture, bool births)
{
	free(image_of(fixture, births).data);
	return image_of(fixture, births);
}

static void a_tree_is_the_same_as_a_directory(void **state)
{
	const struct fixture *fixture = *state;
	dwarfs_builder *builder = new_plain_builder();
	struct bytes expected, image;
	dwarfs_error *err = NULL;
	char path[200];

	/* If the file system supports them. */
	snprintf(path, sizeof(path), "%s/dir/sub/deep", fixture->tree);
	(void)setxattr(path, "user.of-a-tree", "value", 5, 0);
	snprintf(path, sizeof(path), "%s", fixture->tree);
	(void)setxattr(path, "user.of-the-root", "", 0, 0);
	expected = image_of_directory(fixture, true);
	dwarfs_builder_set_keep_all_times(builder, true);
	dwarfs_builder_set_keep_birth_times(builder, true);
	assert_success(dwarfs_builder_add_tree(builder, fixture->tree, "", 0, &err), err);
	image = run(builder);
	dwarfs_builder_free(builder);
	expect_same(&image, &expected);
}

enum from { FROM_PATH, FROM_FD, FROM_MEMORY };

/* Entries with explicit attributes, contents from any kind of source. */
static void add_found(dwarfs_builder *builder, const struct fixture *fixture,
		      const char *path, enum from from)
{
	char full[512], target[4096];
	struct bytes bytes = { 0 };
	dwarfs_error *err = NULL;
	dwarfs_item *item;
	dwarfs_io *io = NULL;
	struct stat st;
	int fd = -1;

	snprintf(full, sizeof(full), "%s/%s", fixture->tree, path);
	assert_int_equal(lstat(full, &st), 0);
	item = new_item(st.st_mode);
	dwarfs_item_set_owner(item, st.st_uid, st.st_gid);
	dwarfs_item_set_time(item, DWARFS_MTIME, st.st_mtim.tv_sec,
			     (uint32_t)st.st_mtim.tv_nsec);
	dwarfs_item_set_time(item, DWARFS_ATIME, st.st_atim.tv_sec,
			     (uint32_t)st.st_atim.tv_nsec);
	dwarfs_item_set_time(item, DWARFS_CTIME, st.st_ctim.tv_sec,
			     (uint32_t)st.st_ctim.tv_nsec);
	if (S_ISLNK(st.st_mode)) {
		ssize_t length = readlink(full, target, sizeof(target));

		assert_true(length > 0);
		assert_success(dwarfs_item_set_target(item, target, (size_t)length, &err),
			       err);
	} else if (S_ISREG(st.st_mode) && from == FROM_PATH) {
		assert_success(dwarfs_item_set_path(item, full, &err), err);
	} else if (S_ISREG(st.st_mode) && from == FROM_FD) {
		fd = open(full, O_RDONLY | O_CLOEXEC | O_NOATIME);
		assert_true(fd >= 0);
		assert_int_equal(lseek(fd, 1, SEEK_SET), 1);
		assert_success(dwarfs_io_from_fd(fd, &io, &err), err);
		assert_success(dwarfs_item_set_io(item, io, &err), err);
		dwarfs_io_free(io);
	} else if (S_ISREG(st.st_mode)) {
		bytes = load_path(full);
		assert_success(dwarfs_item_set_memory(item, bytes.data, bytes.size, &err),
			       err);
	}
	add(builder, path, item);
	if (fd >= 0) {
		assert_int_equal(lseek(fd, 0, SEEK_CUR), 1);
		close(fd);
	}
	free(bytes.data);
}

static struct bytes image_of_items(const struct fixture *fixture, enum from from)
{
	static const char *const names[] = {
		"dir-after/x", "big",	     "dir/copy", "dir/sub/deep",
		"empty",       "\xff\xfe\n", "link",	 "absolute",
		"dir-after",   "none",	     "dir/sub",	 "dir",
		"sparse",      "",
	};
	dwarfs_builder *builder = new_plain_builder();
	dwarfs_error *err = NULL;
	struct bytes image;
	char name[256];
	size_t i;

	dwarfs_builder_set_keep_all_times(builder, true);
	/* So that memory suffices for a part only. */
	assert_success(dwarfs_builder_set_spool(builder, fixture->dir, 1 << 20, &err),
		       err);
	hard_link(builder, "dir/hard", "big");
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		add_found(builder, fixture, names[i], from);
	memset(name, 'n', 255);
	name[255] = '\0';
	add_found(builder, fixture, name, from);
	image = run(builder);
	assert_int_equal(dwarfs_builder_count(builder, DWARFS_COUNT_ERRORS), 0);
	dwarfs_builder_free(builder);
	return image;
}

static void remove_xattrs(const struct fixture *fixture)
{
	char path[200];

	snprintf(path, sizeof(path), "%s/dir/sub/deep", fixture->tree);
	(void)removexattr(path, "user.of-a-tree");
	snprintf(path, sizeof(path), "%s", fixture->tree);
	(void)removexattr(path, "user.of-the-root");
}

static void items_are_the_same_as_a_directory(void **state)
{
	const struct fixture *fixture = *state;
	struct bytes image, expected;

	remove_xattrs(fixture); /* which also counts as a change */
	expected = image_of_directory(fixture, false);
	image = image_of_items(fixture, FROM_PATH);
	expect_same(&image, &expected);
	expected = image_of_directory(fixture, false);
	image = image_of_items(fixture, FROM_FD);
	expect_same(&image, &expected);
}

static void contents_may_be_in_memory(void **state)
{
	const struct fixture *fixture = *state;
	struct bytes bytes = image_of_items(fixture, FROM_MEMORY);
	struct bytes big = load(fixture, "big"), sparse = load(fixture, "sparse");
	dwarfs_image *image = NULL;
	dwarfs_error *err = NULL;
	dwarfs_io *io = NULL;

	assert_success(
		dwarfs_io_from_memory(bytes.data, bytes.size, NULL, NULL, &io, &err),
		err);
	assert_success(dwarfs_image_open_io(NULL, io, NULL, &image, &err), err);
	dwarfs_io_free(io);
	expect_bytes(image, "dir/hard", big.data, big.size);
	expect_bytes(image, "sparse", sparse.data, sparse.size);
	assert_int_equal(find_inode(image, "big").number,
			 find_inode(image, "dir/hard").number);
	free(big.data);
	free(sparse.data);
	end(image, &bytes);
}

/* -- trees and items together -------------------------------------------------------- */

static void trees_and_items_merge(void **state)
{
	const struct fixture *fixture = *state;
	dwarfs_builder *builder = new_plain_builder();
	struct bytes big = load(fixture, "big"), bytes;
	dwarfs_error *err = NULL;
	dwarfs_image *image;

	add_text(builder, "opt/data/dir/sub/deep", "will go");
	add_text(builder, "opt/data/dir/sub/other", "stays");
	add_text(builder, "opt/data/none/inside", "stays, too");
	assert_success(
		dwarfs_builder_add_tree(builder, fixture->tree, "opt/data", 8, &err),
		err);
	add_text(builder, "opt/data/big", "replaced");
	image = finish(builder, &bytes);
	expect_text(image, "opt/data/dir/sub/deep", "deep\n");
	expect_text(image, "opt/data/dir/sub/other", "stays");
	expect_text(image, "opt/data/none/inside", "stays, too");
	expect_text(image, "opt/data/big", "replaced");
	expect_bytes(image, "opt/data/dir/hard", big.data, big.size);
	assert_int_equal(mode_of(image, "opt/data/dir/sub"), 0040700);
	assert_int_equal(mode_of(image, "opt/data/none"), 0040555);
	free(big.data);
	end(image, &bytes);
}

static void what_is_no_tree_is_refused(void **state)
{
	const struct fixture *fixture = *state;
	dwarfs_builder *builder = new_plain_builder();
	dwarfs_error *err = NULL;

	assert_failure(dwarfs_builder_add_tree(builder, "/nowhere/at/all", "", 0, &err),
		       DWARFS_ERR_NOT_FOUND, err);
	assert_failure(dwarfs_builder_add_tree(builder, fixture->path, "", 0, &err),
		       DWARFS_ERR_NOT_DIR, err);
	assert_failure(dwarfs_builder_add_tree(builder, fixture->tree, "/x", 2, &err),
		       DWARFS_ERR_INVALID, err);
	add_text(builder, "file", "x");
	assert_failure(dwarfs_builder_add_tree(builder, fixture->tree, "file/x", 6, &err),
		       DWARFS_ERR_NOT_DIR, err);
	dwarfs_builder_free(builder);
}

/* -- rules --------------------------------------------------------------------------- */

static int leave_out_secrets(const dwarfs_input *input, dwarfs_error **err, void *user)
{
	(void)err;
	++*(int *)user;
	return strcmp(dwarfs_input_path(input), "home/secret") != 0;
}

static int count_decisions(const char *path, bool is_directory, bool is_included,
			   dwarfs_error **err, void *user)
{
	(void)err;
	(void)path;
	(void)is_directory;
	((int *)user)[is_included]++;
	return 0;
}

static void rules_apply_to_items(void **state)
{
	dwarfs_builder *builder = new_plain_builder();
	int asked = 0, decided[2] = { 0, 0 };
	dwarfs_error *err = NULL;
	dwarfs_image *image;
	struct bytes bytes;
	dwarfs_stat *stat;

	(void)state;
	dwarfs_builder_set_include(builder, leave_out_secrets, &asked);
	dwarfs_builder_set_filter_report(builder, count_decisions, decided);
	assert_success(dwarfs_builder_add_filter(builder, "- *.o", &err), err);
	assert_success(dwarfs_builder_add_filter(builder, "- cache/", &err), err);
	assert_success(dwarfs_builder_set_chmod(builder, "go-rwx", &err), err);
	dwarfs_builder_set_owner(builder, 12);
	dwarfs_builder_set_devices(builder, false);
	dwarfs_builder_set_remove_empty_directories(builder, true);
	add_text(builder, "src/a.c", "a");
	add_text(builder, "src/a.o", "b");
	add_text(builder, "cache/x", "c");
	add_text(builder, "home/secret", "d");
	add_text(builder, "home/plain", "e");
	add_text(builder, "objects/b.o", "f");
	add(builder, "null", new_item(0020666));
	image = finish(builder, &bytes);
	assert_true(exists(image, "src/a.c"));
	assert_false(exists(image, "src/a.o"));
	assert_false(exists(image, "cache"));
	assert_false(exists(image, "home/secret"));
	assert_true(exists(image, "home/plain"));
	assert_false(exists(image, "objects"));
	assert_false(exists(image, "null"));
	assert_int_equal(asked, 6);
	assert_int_equal(decided[0], 3);
	assert_int_equal(decided[1], 6 + 1);
	stat = stat_of(image, "src/a.c");
	assert_int_equal(dwarfs_stat_mode(stat), 0100600);
	assert_int_equal(dwarfs_stat_uid(stat), 12);
	dwarfs_stat_free(stat);
	end(image, &bytes);
}

/* -- misuse -------------------------------------------------------------------------- */

static void paths_that_cannot_be_are_refused(void **state)
{
	static const char *const paths[] = {
		"/a", "a/", "a//b", ".", "..", "a/./b", "a/../b", "/", "a/..", "./a",
	};
	dwarfs_builder *builder = new_plain_builder();
	dwarfs_item *item = new_item(FILE_MODE);
	dwarfs_error *err = NULL;
	char name[300];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		assert_failure(add_item(builder, paths[i], item, &err),
			       DWARFS_ERR_INVALID, err);
	assert_failure(dwarfs_builder_add_item(builder, "a\0b", 3, item, &err),
		       DWARFS_ERR_INVALID, err);
	assert_failure(add_item(builder, "", item, &err), DWARFS_ERR_INVALID, err);
	memset(name, 'x', 256);
	name[256] = '\0';
	assert_failure(add_item(builder, name, item, &err), DWARFS_ERR_RANGE, err);
	assert_failure(dwarfs_item_set_hard_link(item, "../x", 4, &err),
		       DWARFS_ERR_INVALID, err);
	assert_success(add_item(builder, "a", item, &err), err);
	assert_failure(add_item(builder, "a/b", item, &err), DWARFS_ERR_NOT_DIR, err);
	assert_success(add_item(builder, "...", item, &err), err);
	dwarfs_item_free(item);
	dwarfs_builder_free(builder);
}

static void items_that_make_no_sense_are_refused(void **state)
{
	dwarfs_builder *builder = new_plain_builder();
	dwarfs_item *item = NULL;
	dwarfs_error *err = NULL;

	(void)state;
	assert_failure(dwarfs_item_new(0644, &item, &err), DWARFS_ERR_INVALID, err);
	assert_failure(dwarfs_item_new(0170644, &item, &err), DWARFS_ERR_INVALID, err);
	assert_failure(dwarfs_item_new(01100644, &item, &err), DWARFS_ERR_INVALID, err);
	item = new_item(DIR_MODE);
	assert_failure(dwarfs_item_set_memory(item, "x", 1, &err), DWARFS_ERR_INVALID,
		       err);
	assert_failure(dwarfs_item_set_target(item, "x", 1, &err), DWARFS_ERR_INVALID,
		       err);
	dwarfs_item_free(item);
	item = new_item(0120777);
	assert_failure(add_item(builder, "link", item, &err), DWARFS_ERR_INVALID, err);
	assert_failure(dwarfs_item_set_target(item, "", 0, &err), DWARFS_ERR_RANGE, err);
	assert_failure(dwarfs_item_set_target(item, "a\0b", 3, &err), DWARFS_ERR_INVALID,
		       err);
	assert_failure(dwarfs_item_add_xattr(item, "", "x", 1, &err), DWARFS_ERR_RANGE,
		       err);
	assert_failure(dwarfs_item_add_xattr(item, "user.x", "x", (16 << 20) + 1, &err),
		       DWARFS_ERR_RANGE, err);
	dwarfs_item_free(item);
	dwarfs_item_free(NULL);
	dwarfs_builder_free(builder);
}

static void inputs_of_two_kinds_are_refused(void **state)
{
	const struct fixture *fixture = *state;
	dwarfs_builder *builder = new_builder(fixture, NULL);
	dwarfs_item *item = new_item(DIR_MODE);
	dwarfs_error *err = NULL;
	struct bytes bytes;

	assert_failure(add_item(builder, "x", item, &err), DWARFS_ERR_INVALID, err);
	dwarfs_builder_free(builder);
	builder = new_plain_builder();
	assert_success(add_item(builder, "x", item, &err), err);
	assert_failure(dwarfs_builder_add_directory(builder, fixture->tree, &err),
		       DWARFS_ERR_INVALID, err);
	add_text(builder, "y", "text");
	assert_failure(dwarfs_builder_set_spool(builder, NULL, 1, &err),
		       DWARFS_ERR_INVALID, err);
	bytes = run(builder);
	free(bytes.data);
	assert_failure(add_item(builder, "x", item, &err), DWARFS_ERR_INVALID, err);
	dwarfs_builder_free(builder);
	builder = new_plain_builder();
	assert_success(add_item(builder, "x", item, &err), err);
	assert_success(dwarfs_builder_add_path(builder, "x", &err), err);
	assert_failure(dwarfs_builder_scan(builder, &err), DWARFS_ERR_INVALID, err);
	dwarfs_item_free(item);
	dwarfs_builder_free(builder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_order_of_adding_makes_no_difference),
		cmocka_unit_test(directories_on_the_way_are_made),
		cmocka_unit_test(an_image_may_have_nothing_but_its_root),
		cmocka_unit_test(a_tree_is_the_same_as_a_directory),
		cmocka_unit_test(items_are_the_same_as_a_directory),
		cmocka_unit_test(contents_may_be_in_memory),
		cmocka_unit_test(trees_and_items_merge),
		cmocka_unit_test(what_is_no_tree_is_refused),
		cmocka_unit_test(rules_apply_to_items),
		cmocka_unit_test(paths_that_cannot_be_are_refused),
		cmocka_unit_test(items_that_make_no_sense_are_refused),
		cmocka_unit_test(inputs_of_two_kinds_are_refused),
	};

	return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
