/* SPDX-License-Identifier: MIT */
/*
 * api/item_kinds: items of every type, that replace each other, and hard links.
 */
#include "items.h"

/* -- replacing and removing ---------------------------------------------------------- */

static void entries_are_replaced(void **state)
{
	dwarfs_builder *builder = new_plain_builder();
	dwarfs_image *image;
	struct bytes bytes;

	(void)state;
	add_text(builder, "a/file", "one");
	add_text(builder, "a/file", "two");
	add_text(builder, "b/one/two/three", "gone");
	add_text(builder, "b/one/other", "gone");
	add_text(builder, "b/one", "a file now");
	add_text(builder, "c", "gone");
	add(builder, "c", new_item(0040700));
	add_text(builder, "c/d", "in a directory now");
	add(builder, "a", new_item(0040750));
	image = finish(builder, &bytes);
	expect_text(image, "a/file", "two");
	expect_text(image, "b/one", "a file now");
	expect_text(image, "c/d", "in a directory now");
	assert_int_equal(mode_of(image, "a"), 0040750);
	assert_int_equal(dwarfs_image_entry_count(image), 7);
	end(image, &bytes);
}

static void entries_are_removed(void **state)
{
	dwarfs_builder *builder = new_plain_builder();
	dwarfs_error *err = NULL;
	dwarfs_image *image;
	struct bytes bytes;

	(void)state;
	add_text(builder, "keep/file", "kept");
	hard_link(builder, "other/name", "keep/file");
	add_text(builder, "opaque/a/b", "x");
	add_text(builder, "opaque/c", "x");
	assert_success(dwarfs_builder_remove_item(builder, "keep", 4, false, &err), err);
	assert_success(dwarfs_builder_remove_item(builder, "opaque", 6, true, &err), err);
	assert_failure(dwarfs_builder_remove_item(builder, "keep", 4, false, &err),
		       DWARFS_ERR_NOT_FOUND, err);
	assert_failure(dwarfs_builder_remove_item(builder, "other/name", 10, true, &err),
		       DWARFS_ERR_NOT_DIR, err);
	assert_failure(dwarfs_builder_remove_item(builder, "../x", 4, false, &err),
		       DWARFS_ERR_INVALID, err);
	add_text(builder, "opaque/c", "new");
	image = finish(builder, &bytes);
	assert_false(exists(image, "keep"));
	assert_false(exists(image, "opaque/a"));
	expect_text(image, "opaque/c", "new");
	expect_text(image, "other/name", "kept");
	end(image, &bytes);
}

static void all_can_be_removed_and_added_again(void **state)
{
	dwarfs_builder *builder = new_plain_builder();
	dwarfs_error *err = NULL;
	dwarfs_image *image;
	struct bytes bytes;
	char path[64];
	int round, i;

	(void)state;
	for (round = 0; round < 3; round++) {
		for (i = 0; i < 1000; i++) {
			snprintf(path, sizeof(path), "d%d/s%d/f%d", i % 7, i % 31, i);
			add_bytes(builder, path, &i, sizeof(i));
		}
		if (round < 2)
			assert_success(
				dwarfs_builder_remove_item(builder, "", 0, false, &err),
				err);
	}
	image = finish(builder, &bytes);
	for (i = 0; i < 1000; i++) {
		snprintf(path, sizeof(path), "d%d/s%d/f%d", i % 7, i % 31, i);
		expect_bytes(image, path, &i, sizeof(i));
	}
	assert_int_equal(dwarfs_image_entry_count(image), 1 + 7 + 217 + 1000);
	end(image, &bytes);
}

/* -- types --------------------------------------------------------------------------- */

static void every_type_can_be_stored(void **state)
{
	dwarfs_builder *builder = new_plain_builder();
	dwarfs_error *err = NULL;
	dwarfs_image *image;
	dwarfs_item *item;
	struct bytes bytes;
	dwarfs_stat *stat;
	char target[64];
	size_t length;

	(void)state;
	item = new_item(0020600);
	dwarfs_item_set_device(item, 5, 257);
	add(builder, "char", item);
	item = new_item(0060640);
	dwarfs_item_set_device(item, 300, 70000);
	dwarfs_item_set_owner(item, 4000000000u, 7);
	add(builder, "block", item);
	add(builder, "fifo", new_item(0010644));
	add(builder, "socket", new_item(0140755));
	add(builder, "empty", new_item(0104751));
	item = new_item(0120777);
	assert_success(dwarfs_item_set_target(item, "\xff not utf-8", 11, &err), err);
	add(builder, "link", item);
	image = finish(builder, &bytes);
	stat = stat_of(image, "char");
	assert_int_equal(dwarfs_stat_mode(stat), 0020600);
	assert_int_equal(dwarfs_stat_rdev_major(stat), 5);
	assert_int_equal(dwarfs_stat_rdev_minor(stat), 257);
	dwarfs_stat_free(stat);
	stat = stat_of(image, "block");
	assert_int_equal(dwarfs_stat_rdev_major(stat), 300);
	assert_int_equal(dwarfs_stat_rdev_minor(stat), 70000);
	assert_true(dwarfs_stat_uid(stat) == 4000000000u);
	assert_int_equal(dwarfs_stat_gid(stat), 7);
	dwarfs_stat_free(stat);
	assert_int_equal(mode_of(image, "fifo"), 0010644);
	assert_int_equal(mode_of(image, "socket"), 0140755);
	assert_int_equal(mode_of(image, "empty"), 0104751);
	assert_success(dwarfs_link_read_raw(image, find_inode(image, "link"), target,
					    sizeof(target), &length, &err),
		       err);
	assert_int_equal(length, 11);
	assert_memory_equal(target, "\xff not utf-8", 11);
	end(image, &bytes);
}

static void times_are_stored_on_demand(void **state)
{
	dwarfs_builder *builder = new_plain_builder();
	dwarfs_error *err = NULL;
	dwarfs_image *image;
	dwarfs_item *item;
	struct bytes bytes;
	dwarfs_stat *stat;

	(void)state;
	dwarfs_builder_set_keep_all_times(builder, true);
	assert_success(dwarfs_builder_set_time_resolution(builder, 1, &err), err);
	item = new_item(FILE_MODE);
	dwarfs_item_set_time(item, DWARFS_MTIME, 1234567890, 123456789);
	add(builder, "mtime", item);
	item = new_item(FILE_MODE);
	dwarfs_item_set_time(item, DWARFS_ATIME, 1, 2);
	dwarfs_item_set_time(item, DWARFS_CTIME, 3, 2000000000);
	dwarfs_item_set_time(item, 77, 9, 9);
	add(builder, "others", item);
	image = finish(builder, &bytes);
	stat = stat_of(image, "mtime");
	assert_int_equal(dwarfs_stat_seconds(stat, DWARFS_MTIME), 1234567890);
	assert_int_equal(dwarfs_stat_nanoseconds(stat, DWARFS_MTIME), 123456789);
	assert_int_equal(dwarfs_stat_seconds(stat, DWARFS_ATIME), 1234567890);
	assert_int_equal(dwarfs_stat_nanoseconds(stat, DWARFS_ATIME), 123456789);
	dwarfs_stat_free(stat);
	stat = stat_of(image, "others");
	assert_int_equal(dwarfs_stat_seconds(stat, DWARFS_MTIME), 0);
	assert_int_equal(dwarfs_stat_seconds(stat, DWARFS_ATIME), 1);
	assert_int_equal(dwarfs_stat_nanoseconds(stat, DWARFS_ATIME), 2);
	assert_int_equal(dwarfs_stat_seconds(stat, DWARFS_CTIME), 3);
	assert_int_equal(dwarfs_stat_nanoseconds(stat, DWARFS_CTIME), 999999999);
	dwarfs_stat_free(stat);
	end(image, &bytes);
}

static void expect_xattr(const dwarfs_image *image, const char *path, const char *name,
			 const void *value, size_t bytes)
{
	dwarfs_error *err = NULL;
	size_t length = 0;
	char room[100];

	assert_success(dwarfs_xattr_get(image, find_inode(image, path), name, room,
					sizeof(room), &length, &err),
		       err);
	assert_int_equal(length, bytes);
	assert_memory_equal(room, value, bytes);
}

static void extended_attributes_are_kept(void **state)
{
	dwarfs_builder *builder = new_plain_builder();
	dwarfs_error *err = NULL;
	dwarfs_image *image;
	dwarfs_item *item;
	struct bytes bytes;
	char room[100];
	size_t length;

	(void)state;
	item = new_item(DIR_MODE);
	assert_success(dwarfs_item_add_xattr(item, "user.a", "first", 5, &err), err);
	assert_success(dwarfs_item_add_xattr(item, "user.b", NULL, 0, &err), err);
	assert_success(dwarfs_item_add_xattr(item, "user.a", "se\0cond", 7, &err), err);
	assert_success(add_item(builder, "", item, &err), err);
	add(builder, "d", item);
	item = new_item(FILE_MODE);
	assert_success(dwarfs_item_add_xattr(item, "security.capability", "cap", 3, &err),
		       err);
	add(builder, "d/file", item);
	hard_link(builder, "name", "d/file");
	add_text(builder, "none", "text");
	image = finish(builder, &bytes);
	assert_true(dwarfs_image_has_xattrs(image));
	expect_xattr(image, "", "user.a", "se\0cond", 7);
	expect_xattr(image, "d", "user.a", "se\0cond", 7);
	expect_xattr(image, "d", "user.b", "", 0);
	expect_xattr(image, "name", "security.capability", "cap", 3);
	assert_success(dwarfs_xattr_list(image, find_inode(image, "none"), room,
					 sizeof(room), &length, &err),
		       err);
	assert_int_equal(length, 0);
	end(image, &bytes);
}

/* -- hard links ---------------------------------------------------------------------- */

/* The last setting applies. */
static void a_hard_link_becomes_a_file_again(void **state)
{
	dwarfs_builder *builder = new_plain_builder();
	dwarfs_item *item = new_item(FILE_MODE);
	dwarfs_error *err = NULL;
	dwarfs_image *image;
	struct bytes bytes;

	(void)state;
	add_text(builder, "first", "text");
	assert_success(dwarfs_item_set_hard_link(item, "first", 5, &err), err);
	assert_success(add_item(builder, "second", item, &err), err);
	assert_success(dwarfs_item_set_memory(item, "other", 5, &err), err);
	add(builder, "third", item);
	image = finish(builder, &bytes);
	expect_text(image, "second", "text");
	expect_text(image, "third", "other");
	end(image, &bytes);
}

static void hard_links_lead_forwards_and_backwards(void **state)
{
	dwarfs_builder *builder = new_plain_builder();
	dwarfs_image *image;
	struct bytes bytes;

	(void)state;
	hard_link(builder, "c/forward", "target");
	hard_link(builder, "a/second", "c/forward");
	hard_link(builder, "third", "a/second");
	add_text(builder, "target", "text");
	hard_link(builder, "backward", "target");
	hard_link(builder, "target", "target"); /* is unchanged */
	image = finish(builder, &bytes);
	expect_text(image, "third", "text");
	assert_int_equal(find_inode(image, "c/forward").number,
			 find_inode(image, "target").number);
	assert_int_equal(find_inode(image, "a/second").number,
			 find_inode(image, "target").number);
	assert_int_equal(find_inode(image, "third").number,
			 find_inode(image, "target").number);
	assert_int_equal(find_inode(image, "backward").number,
			 find_inode(image, "target").number);
	end(image, &bytes);
}

static void a_hard_link_keeps_what_is_replaced(void **state)
{
	dwarfs_builder *builder = new_plain_builder();
	dwarfs_image *image;
	struct bytes bytes;

	(void)state;
	add_text(builder, "d/file", "lower");
	hard_link(builder, "name", "d/file");
	add_text(builder, "d/file", "upper");
	add_text(builder, "e/f", "in what goes");
	hard_link(builder, "e", "e/f"); /* a directory makes way for what it held */
	image = finish(builder, &bytes);
	expect_text(image, "name", "lower");
	expect_text(image, "d/file", "upper");
	expect_text(image, "e", "in what goes");
	end(image, &bytes);
}

static void hard_links_to_nothing_are_left_out(void **state)
{
	dwarfs_builder *builder = new_plain_builder();
	dwarfs_error *err = NULL;
	struct bytes bytes;
	dwarfs_image *image;

	(void)state;
	hard_link(builder, "dangling", "nowhere");
	hard_link(builder, "after", "dangling");
	hard_link(builder, "to-directory", "later");
	add_text(builder, "later/file", "x");
	assert_failure(add_link(builder, "self", "self", &err), DWARFS_ERR_INVALID, err);
	hard_link(builder, "loop1", "loop2");
	hard_link(builder, "loop2", "loop3");
	assert_failure(add_link(builder, "loop3", "loop1", &err), DWARFS_ERR_INVALID,
		       err);
	assert_failure(add_link(builder, "dir", "later", &err), DWARFS_ERR_INVALID, err);
	add_text(builder, "file", "x");
	bytes = run(builder);
	assert_int_equal(dwarfs_builder_count(builder, DWARFS_COUNT_ERRORS), 5);
	free(bytes.data);
	dwarfs_builder_free(builder);

	/* A chain that is too long to be detected at once. */
	builder = new_plain_builder();
	for (int i = 0; i < 1000; i++) {
		char name[16], target[16];

		snprintf(name, sizeof(name), "l%d", i);
		snprintf(target, sizeof(target), "l%d", (i + 1) % 1000);
		hard_link(builder, name, target);
	}
	hard_link(builder, "into", "l500");
	add_text(builder, "file", "x");
	image = finish(builder, &bytes);
	assert_int_equal(dwarfs_image_entry_count(image), 2);
	end(image, &bytes);
}

struct lost {
	int count;
	char last[100];
};

static void note_lost(const char *path, const char *why, void *user)
{
	struct lost *lost = user;

	lost->count++;
	snprintf(lost->last, sizeof(lost->last), "%s: %s", path, why);
}

static void links_that_lead_nowhere_are_taken_back(void **state)
{
	dwarfs_builder *builder = new_plain_builder();
	struct lost lost = { 0 };
	struct bytes bytes = { 0 };
	dwarfs_error *err = NULL;
	dwarfs_image *image;

	(void)state;
	hard_link(builder, "d/early", "file");
	hard_link(builder, "chain", "d/early");
	hard_link(builder, "x", "y");
	hard_link(builder, "w", "x");
	add_text(builder, "file", "text");
	assert_success(dwarfs_builder_resolve_links(builder, note_lost, &lost, &err),
		       err);
	assert_int_equal(lost.count, 2);
	assert_string_equal(lost.last, "w: what it leads to was left out");
	assert_false(dwarfs_builder_has_item(builder, "x", 1));
	assert_success(dwarfs_builder_check_links(builder, &err), err);
	assert_success(dwarfs_builder_resolve_links(builder, note_lost, &lost, &err),
		       err);
	assert_int_equal(lost.count, 2);
	add_text(builder, "file", "another");
	hard_link(builder, "x", "y");
	assert_success(dwarfs_builder_resolve_links(builder, NULL, NULL, &err), err);

	image = finish(builder, &bytes);
	expect_text(image, "chain", "text");
	expect_text(image, "d/early", "text");
	expect_text(image, "file", "another");
	assert_false(exists(image, "x"));
	assert_false(exists(image, "w"));
	end(image, &bytes);
}

static uint64_t below(const dwarfs_builder *builder, const char *path, bool of_layer)
{
	return dwarfs_builder_count_below(builder, path, strlen(path), of_layer);
}

static void entries_below_are_counted(void **state)
{
	dwarfs_builder *builder = new_plain_builder();
	dwarfs_error *err = NULL;

	(void)state;
	assert_int_equal(below(builder, "", false), 0);
	add_text(builder, "d/a", "1");
	add_text(builder, "d/sub/b", "2");
	add_text(builder, "e", "3");
	assert_int_equal(below(builder, "", false), 5);
	assert_int_equal(below(builder, "d", false), 3);
	assert_int_equal(below(builder, "d/sub", false), 1);
	assert_int_equal(below(builder, "e", false), 0);
	assert_int_equal(below(builder, "gone", false), 0);
	assert_int_equal(below(builder, "d/../e", false), 0);
	assert_success(dwarfs_builder_begin_layer(builder, &err), err);
	assert_int_equal(below(builder, "d", true), 0);
	add_text(builder, "d/sub/new", "4");
	assert_int_equal(below(builder, "d", true),
			 2); /* with the directories of its path */
	assert_int_equal(below(builder, "d", false), 4);
	dwarfs_builder_free(builder);
}

static void a_builder_that_has_run_has_no_entries(void **state)
{
	dwarfs_builder *builder = new_plain_builder();
	dwarfs_error *err = NULL;
	dwarfs_sink *sink = NULL;

	(void)state;
	add_text(builder, "d/a", "1");
	assert_true(dwarfs_builder_has_item(builder, "", 0));
	assert_success(dwarfs_sink_to_memory(SIZE_MAX, &sink, &err), err);
	assert_success(dwarfs_builder_write(builder, sink, &err), err);
	assert_int_equal(below(builder, "", false), 0);
	assert_int_equal(below(builder, "d", false), 0);
	assert_false(dwarfs_builder_has_item(builder, "", 0));
	assert_false(dwarfs_builder_has_item(builder, "d/a", 3));
	assert_failure(dwarfs_builder_check_links(builder, &err), DWARFS_ERR_INVALID,
		       err);
	dwarfs_sink_free(sink);
	dwarfs_builder_free(builder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(entries_are_replaced),
		cmocka_unit_test(entries_are_removed),
		cmocka_unit_test(all_can_be_removed_and_added_again),
		cmocka_unit_test(every_type_can_be_stored),
		cmocka_unit_test(times_are_stored_on_demand),
		cmocka_unit_test(extended_attributes_are_kept),
		cmocka_unit_test(a_hard_link_becomes_a_file_again),
		cmocka_unit_test(hard_links_lead_forwards_and_backwards),
		cmocka_unit_test(a_hard_link_keeps_what_is_replaced),
		cmocka_unit_test(hard_links_to_nothing_are_left_out),
		cmocka_unit_test(links_that_lead_nowhere_are_taken_back),
		cmocka_unit_test(entries_below_are_counted),
		cmocka_unit_test(a_builder_that_has_run_has_no_entries),
	};

	return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
