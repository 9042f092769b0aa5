/* SPDX-License-Identifier: MIT */
/*
 * api/walk: look-ups, directories, names, links, attributes and walks.
 */
#include <sys/stat.h>

#include "support.h"

/* -- lookups ------------------------------------------------------------------------- */

static void a_path_may_be_written_in_many_ways(void **state)
{
	static const char *const ways[] = {
		"dir/sub/deep",		 "/dir/sub/deep",	"dir//sub///deep",
		"./dir/./sub/deep",	 "dir/sub/../sub/deep", "../../dir/sub/deep",
		"none/../dir/sub/deep/",
	};
	dwarfs_image *image = open_image(*state, NULL);
	dwarfs_entry deep = find_entry(image, ways[0]);
	size_t i;

	for (i = 1; i < sizeof(ways) / sizeof(ways[0]); i++)
		assert_int_equal(find_entry(image, ways[i]).number, deep.number);
	assert_int_equal(find_entry(image, "").number, 0);
	assert_int_equal(find_entry(image, "/").number, 0);
	assert_int_equal(find_entry(image, ".").number, 0);
	assert_int_equal(find_entry(image, "..").number, 0);
	assert_int_equal(find_entry(image, "dir/sub/..").number,
			 find_entry(image, "dir").number);
	dwarfs_image_free(image);
}

static void what_is_not_there_is_not_found(void **state)
{
	static const char *const missing[] = { "x",	      "dir/x",
					       "dir/sub/dee", "dir/sub/deepp",
					       "di",	      "dir/sub2",
					       "none/x",      "\xff" };
	dwarfs_image *image = open_image(*state, NULL);
	dwarfs_entry entry = { 12345 };
	dwarfs_error *err = NULL;
	char long_path[5000];
	size_t i;

	for (i = 0; i < sizeof(missing) / sizeof(missing[0]); i++)
		assert_failure(dwarfs_find(image, missing[i], &entry, &err),
			       DWARFS_ERR_NOT_FOUND, err);
	memset(long_path, 'n', sizeof(long_path));
	long_path[sizeof(long_path) - 1] = 0;
	assert_failure(dwarfs_find(image, long_path, &entry, &err), DWARFS_ERR_NOT_FOUND,
		       err);
	assert_failure(dwarfs_find(image, "big/x", &entry, &err), DWARFS_ERR_NOT_DIR,
		       err);
	assert_failure(dwarfs_find(image, "link/deep", &entry, &err), DWARFS_ERR_NOT_DIR,
		       err);
	assert_failure(dwarfs_find(image, "big/..", &entry, &err), DWARFS_ERR_NOT_DIR,
		       err);
	assert_int_equal(entry.number, 12345);
	dwarfs_image_free(image);
}

static void a_directory_finds_names_by_their_bytes(void **state)
{
	dwarfs_image *image = open_image(*state, NULL);
	dwarfs_inode dir = find_inode(image, "dir");
	dwarfs_error *err = NULL;
	dwarfs_entry entry;

	assert_success(dwarfs_dir_find(image, dir, "copying", 4, &entry, &err), err);
	assert_int_equal(entry.number, find_entry(image, "dir/copy").number);
	assert_failure(dwarfs_dir_find(image, dir, "copy", 3, &entry, &err),
		       DWARFS_ERR_NOT_FOUND, err);
	assert_failure(dwarfs_dir_find(image, dir, "", 0, &entry, &err),
		       DWARFS_ERR_NOT_FOUND, err);
	assert_failure(dwarfs_dir_find(image, dir, "copy\0", 5, &entry, &err),
		       DWARFS_ERR_NOT_FOUND, err);
	assert_int_equal(dwarfs_dir_find(image, dir, "x", 1, &entry, NULL),
			 DWARFS_ERR_NOT_FOUND);
	assert_failure(
		dwarfs_dir_find(image, find_inode(image, "big"), "x", 1, &entry, &err),
		DWARFS_ERR_NOT_DIR, err);
	assert_failure(
		dwarfs_dir_find(image, dwarfs_inode_at(UINT32_MAX), "x", 1, &entry, &err),
		DWARFS_ERR_RANGE, err);
	dwarfs_image_free(image);
}

static void entries_of_a_directory_are_sorted(void **state)
{
	static const char *const names[] = { "absolute", "big",	      "dir", "dir-after",
					     "empty",	 "link",      NULL,  "none",
					     "sparse",	 "\xff\xfe\n" };
	dwarfs_image *image = open_image(*state, NULL);
	char name[DWARFS_NAME_BUFFER_BYTES];
	dwarfs_error *err = NULL;
	dwarfs_entry entry;
	uint32_t count, i;
	size_t bytes;

	assert_success(dwarfs_dir_range(image, DWARFS_ROOT_INODE, &entry, &count, &err),
		       err);
	assert_int_equal(count, sizeof(names) / sizeof(names[0]));
	for (i = 0; i < count; i++, entry.number++) {
		assert_success(
			dwarfs_entry_name(image, entry, name, sizeof(name), &bytes, &err),
			err);
		assert_int_equal(bytes, strlen(name));
		if (names[i])
			assert_string_equal(name, names[i]);
		else
			assert_int_equal(bytes, 255);
	}
	assert_success(
		dwarfs_dir_range(image, find_inode(image, "none"), &entry, &count, &err),
		err);
	assert_int_equal(count, 0);
	assert_failure(
		dwarfs_dir_range(image, find_inode(image, "link"), &entry, &count, &err),
		DWARFS_ERR_NOT_DIR, err);
	assert_failure(dwarfs_dir_range(image, dwarfs_inode_at(UINT32_MAX), &entry,
					&count, &err),
		       DWARFS_ERR_RANGE, err);
	dwarfs_image_free(image);
}

static void directories_know_their_parents(void **state)
{
	dwarfs_image *image = open_image(*state, NULL);
	dwarfs_error *err = NULL;
	dwarfs_inode parent;

	assert_success(
		dwarfs_dir_parent(image, find_inode(image, "dir/sub"), &parent, &err),
		err);
	assert_int_equal(parent.number, find_inode(image, "dir").number);
	assert_success(dwarfs_dir_parent(image, DWARFS_ROOT_INODE, &parent, &err), err);
	assert_int_equal(parent.number, 0);
	assert_failure(dwarfs_dir_parent(image, find_inode(image, "big"), &parent, &err),
		       DWARFS_ERR_NOT_DIR, err);
	assert_failure(
		dwarfs_dir_parent(image, dwarfs_inode_at(UINT32_MAX), &parent, &err),
		DWARFS_ERR_RANGE, err);
	dwarfs_image_free(image);
}

static void an_entry_stands_in_a_directory(void **state)
{
	dwarfs_image *image = open_image(*state, NULL);
	dwarfs_error *err = NULL;
	dwarfs_inode dir;
	dwarfs_entry entry;
	uint32_t count, listed = 0;

	assert_success(dwarfs_entry_dir(image, find_entry(image, "dir/sub"), &dir, &err),
		       err);
	assert_int_equal(dir.number, find_inode(image, "dir").number);
	assert_success(dwarfs_entry_dir(image, DWARFS_ROOT_ENTRY, &dir, &err), err);
	assert_int_equal(dir.number, 0);
	for (dwarfs_inode each = DWARFS_ROOT_INODE;
	     dwarfs_dir_range(image, each, &entry, &count, NULL) == 0; each.number++)
		for (; count > 0; count--, entry.number++, listed++) {
			assert_success(dwarfs_entry_dir(image, entry, &dir, &err), err);
			assert_int_equal(dir.number, each.number);
		}
	assert_int_equal(listed, TREE_ENTRIES - 1);
	dir.number = 77;
	assert_failure(dwarfs_entry_dir(image, dwarfs_entry_at(TREE_ENTRIES), &dir, &err),
		       DWARFS_ERR_RANGE, err);
	assert_int_equal(dir.number, 77);
	dwarfs_image_free(image);
}

static void a_name_needs_room(void **state)
{
	dwarfs_image *image = open_image(*state, NULL);
	dwarfs_entry big = find_entry(image, "big");
	dwarfs_error *err = NULL;
	char name[8] = "*******";
	size_t bytes = 77;

	assert_success(dwarfs_entry_name(image, big, name, 4, &bytes, &err), err);
	assert_memory_equal(name, "big\0***", 8);
	assert_success(dwarfs_entry_name(image, big, name, 4, NULL, &err), err);
	bytes = 77;
	assert_failure(dwarfs_entry_name(image, big, name, 3, &bytes, &err),
		       DWARFS_ERR_RANGE, err);
	assert_failure(dwarfs_entry_name(image, big, name, 0, &bytes, &err),
		       DWARFS_ERR_RANGE, err);
	assert_int_equal(bytes, 77);
	assert_memory_equal(name + 4, "***", 4);
	assert_success(dwarfs_entry_name(image, DWARFS_ROOT_ENTRY, name, 1, &bytes, &err),
		       err);
	assert_int_equal(bytes, 0);
	assert_failure(dwarfs_entry_name(image, dwarfs_entry_at(TREE_ENTRIES), name, 8,
					 &bytes, &err),
		       DWARFS_ERR_RANGE, err);
	dwarfs_image_free(image);
}

static void links_are_read(void **state)
{
	dwarfs_image *image = open_image(*state, NULL);
	dwarfs_inode link = find_inode(image, "link");
	char target[DWARFS_LINK_BUFFER_BYTES];
	dwarfs_error *err = NULL;
	size_t bytes;

	assert_success(
		dwarfs_link_read(image, link, target, sizeof(target), &bytes, &err), err);
	assert_string_equal(target, "dir/sub");
	assert_int_equal(bytes, 7);
	assert_success(dwarfs_link_read_raw(image, link, target, 8, NULL, &err), err);
	assert_string_equal(target, "dir/sub");
	assert_failure(dwarfs_link_read(image, link, target, 7, &bytes, &err),
		       DWARFS_ERR_RANGE, err);
	assert_failure(dwarfs_link_read(image, find_inode(image, "big"), target,
					sizeof(target), &bytes, &err),
		       DWARFS_ERR_INVALID, err);
	assert_failure(dwarfs_link_read(image, DWARFS_ROOT_INODE, target, sizeof(target),
					&bytes, &err),
		       DWARFS_ERR_INVALID, err);
	assert_failure(dwarfs_link_read(image, dwarfs_inode_at(UINT32_MAX), target,
					sizeof(target), &bytes, &err),
		       DWARFS_ERR_RANGE, err);
	dwarfs_image_free(image);
}

/* -- attributes ---------------------------------------------------------------------- */

static void assert_as_on_disk(const struct fixture *fixture, const char *path,
			      const dwarfs_stat *got)
{
	char full[512];
	struct stat want;

	snprintf(full, sizeof(full), "%s/%s", fixture->tree, path);
	assert_int_equal(lstat(full, &want), 0);
	assert_int_equal(dwarfs_stat_mode(got), want.st_mode);
	assert_int_equal(dwarfs_stat_uid(got), want.st_uid);
	assert_int_equal(dwarfs_stat_gid(got), want.st_gid);
	assert_int_equal(dwarfs_stat_seconds(got, DWARFS_MTIME), want.st_mtime);
	assert_int_equal(dwarfs_stat_seconds(got, DWARFS_ATIME), want.st_mtime);
	assert_int_equal(dwarfs_stat_seconds(got, DWARFS_CTIME), want.st_mtime);
	assert_int_equal(dwarfs_stat_nanoseconds(got, DWARFS_MTIME), 0);
	assert_int_equal(dwarfs_stat_rdev_major(got), 0);
	assert_int_equal(dwarfs_stat_rdev_minor(got), 0);
	if (!S_ISDIR(want.st_mode)) {
		assert_int_equal(dwarfs_stat_bytes(got), want.st_size);
		assert_int_equal(dwarfs_stat_nlink(got), want.st_nlink);
	} else {
		assert_int_equal(dwarfs_stat_nlink(got), 1);
	}
}

static void attributes_are_those_on_disk(void **state)
{
	static const char *const paths[] = { "",      "big",	 "dir",	 "dir/copy",
					     "empty", "sparse",	 "link", "dir/sub/deep",
					     "none",  "dir/hard" };
	dwarfs_image *image = open_image(*state, NULL);
	dwarfs_stat *stat = NULL, *again = NULL;
	dwarfs_error *err = NULL;
	size_t i;

	assert_success(dwarfs_stat_new(&stat, &err), err);
	assert_success(dwarfs_stat_new(&again, &err), err);
	for (i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		dwarfs_inode inode = find_inode(image, paths[i]);

		assert_success(
			dwarfs_entry_stat(image, find_entry(image, paths[i]), stat, &err),
			err);
		assert_as_on_disk(*state, paths[i], stat);
		assert_int_equal(dwarfs_stat_inode(stat).number, inode.number);
		assert_success(dwarfs_inode_stat(image, inode, again, &err), err);
		assert_as_on_disk(*state, paths[i], again);
	}
	assert_int_equal(find_inode(image, "big").number,
			 find_inode(image, "dir/hard").number);
	assert_int_not_equal(find_inode(image, "big").number,
			     find_inode(image, "dir/copy").number);
	dwarfs_inode_stat(image, find_inode(image, "sparse"), stat, NULL);
	assert_int_equal(dwarfs_stat_bytes(stat), SPARSE_BYTES);
	assert_int_equal(dwarfs_stat_allocated_bytes(stat), SPARSE_DATA_BYTES);
	dwarfs_inode_stat(image, find_inode(image, "dir"), stat, NULL);
	assert_int_equal(dwarfs_stat_bytes(stat), 3);

	assert_failure(
		dwarfs_entry_stat(image, dwarfs_entry_at(TREE_ENTRIES), stat, &err),
		DWARFS_ERR_RANGE, err);
	assert_failure(dwarfs_inode_stat(image, dwarfs_inode_at(UINT32_MAX), stat, &err),
		       DWARFS_ERR_RANGE, err);
	assert_int_equal(dwarfs_stat_bytes(stat), 3); /* unchanged on failure */
	dwarfs_stat_free(stat);
	dwarfs_stat_free(again);
	dwarfs_image_free(image);
}

/* -- walks --------------------------------------------------------------------------- */

static dwarfs_walk *new_walk(const dwarfs_image *image, const char *start, int order)
{
	dwarfs_walk *walk = NULL;
	dwarfs_error *err = NULL;

	assert_success(
		dwarfs_walk_new(image, find_entry(image, start), order, &walk, &err),
		err);
	return walk;
}

/* The paths of a walk, joined by "|". Skips what is below skip. */
static void record(dwarfs_walk *walk, const char *skip, char *text, size_t room)
{
	dwarfs_error *err = NULL;
	dwarfs_entry entry;
	size_t used = 0;
	int ret;

	*text = 0;
	while ((ret = dwarfs_walk_next(walk, &entry, &err)) > 0) {
		const char *path = dwarfs_walk_path(walk);

		used += (size_t)snprintf(text + used, room - used, "%s|", path);
		assert_true(used < room);
		if (skip && strcmp(path, skip) == 0)
			dwarfs_walk_skip(walk);
	}
	assert_success(ret, err);
	assert_int_equal(dwarfs_walk_next(walk, &entry, &err),
			 0); /* and stays at the end */
	dwarfs_walk_free(walk);
}

static void a_walk_goes_down_the_tree_by_name(void **state)
{
	dwarfs_image *image = open_image(*state, NULL);
	char paths[1000];

	record(new_walk(image, "dir", DWARFS_WALK_TREE), NULL, paths, sizeof(paths));
	assert_string_equal(paths, "|copy|hard|sub|sub/deep|");
	record(new_walk(image, "dir/sub/deep", DWARFS_WALK_TREE), NULL, paths,
	       sizeof(paths));
	assert_string_equal(paths, "|");
	record(new_walk(image, "none", DWARFS_WALK_TREE), NULL, paths, sizeof(paths));
	assert_string_equal(paths, "|");
	record(new_walk(image, "dir", DWARFS_WALK_TREE), "sub", paths, sizeof(paths));
	assert_string_equal(paths, "|copy|hard|sub|");
	record(new_walk(image, "dir", DWARFS_WALK_TREE), "copy", paths, sizeof(paths));
	assert_string_equal(paths, "|copy|hard|sub|sub/deep|");
	record(new_walk(image, "dir", DWARFS_WALK_TREE), "", paths, sizeof(paths));
	assert_string_equal(paths, "|");
	record(new_walk(image, "", DWARFS_WALK_TREE), "dir", paths, sizeof(paths));
	assert_non_null(strstr(paths, "|dir|dir-after|dir-after/x|empty|"));
	dwarfs_image_free(image);
}

static void a_walk_knows_how_deep_it_is(void **state)
{
	dwarfs_image *image = open_image(*state, NULL);
	dwarfs_walk *walk = new_walk(image, "", DWARFS_WALK_TREE);
	dwarfs_entry entry;
	uint32_t names;
	const char *c;

	while (dwarfs_walk_next(walk, &entry, NULL) > 0) {
		c = dwarfs_walk_path(walk);
		for (names = *c != 0; *c; c++)
			names += *c == '/';
		assert_int_equal(dwarfs_walk_depth(walk), names);
		assert_int_equal(find_entry(image, dwarfs_walk_path(walk)).number,
				 entry.number);
	}
	dwarfs_walk_free(walk);
	dwarfs_image_free(image);
}

static void data_order_visits_each_entry_once_and_files_last(void **state)
{
	dwarfs_image *image = open_image(*state, NULL);
	dwarfs_walk *walk = new_walk(image, "", DWARFS_WALK_DATA);
	bool seen[TREE_ENTRIES] = { false }, in_files = false;
	dwarfs_stat *stat = NULL;
	dwarfs_error *err = NULL;
	dwarfs_entry entry;
	int count = 0, files = 0;

	assert_success(dwarfs_stat_new(&stat, &err), err);
	while (dwarfs_walk_next(walk, &entry, NULL) > 0) {
		assert_true(entry.number < TREE_ENTRIES);
		assert_false(seen[entry.number]);
		seen[entry.number] = true;
		assert_success(dwarfs_entry_stat(image, entry, stat, &err), err);
		assert_int_equal(find_entry(image, dwarfs_walk_path(walk)).number,
				 entry.number);
		if (S_ISREG(dwarfs_stat_mode(stat))) {
			in_files = true;
			files++;
		} else {
			assert_false(in_files);
		}
		dwarfs_walk_skip(walk); /* no effect */
		count++;
	}
	assert_int_equal(count, TREE_ENTRIES);
	assert_int_equal(files, TREE_FILES);
	dwarfs_stat_free(stat);
	dwarfs_walk_free(walk);
	dwarfs_image_free(image);
}

static void a_walk_starts_within_the_image(void **state)
{
	dwarfs_image *image = open_image(*state, NULL);
	dwarfs_walk *walk = NULL;
	dwarfs_error *err = NULL;

	assert_failure(dwarfs_walk_new(image, dwarfs_entry_at(TREE_ENTRIES),
				       DWARFS_WALK_TREE, &walk, &err),
		       DWARFS_ERR_RANGE, err);
	assert_failure(dwarfs_walk_new(image, DWARFS_ROOT_ENTRY, 99, &walk, &err),
		       DWARFS_ERR_RANGE, err);
	assert_null(walk);
	dwarfs_image_free(image);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_path_may_be_written_in_many_ways),
		cmocka_unit_test(what_is_not_there_is_not_found),
		cmocka_unit_test(a_directory_finds_names_by_their_bytes),
		cmocka_unit_test(entries_of_a_directory_are_sorted),
		cmocka_unit_test(directories_know_their_parents),
		cmocka_unit_test(an_entry_stands_in_a_directory),
		cmocka_unit_test(a_name_needs_room),
		cmocka_unit_test(links_are_read),
		cmocka_unit_test(attributes_are_those_on_disk),
		cmocka_unit_test(a_walk_goes_down_the_tree_by_name),
		cmocka_unit_test(a_walk_knows_how_deep_it_is),
		cmocka_unit_test(data_order_visits_each_entry_once_and_files_last),
		cmocka_unit_test(a_walk_starts_within_the_image),
	};

	return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
