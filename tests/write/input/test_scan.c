/* SPDX-License-Identifier: MIT */
/*
 * write/input/scan: which entries are included. Rules, lists, callbacks, and trees of
 * unusual shapes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/few_descriptors.h"
#include "support/task.h"
#include "support/write_run.h"

/* -- rules -------------------------------------------------------------------------- */

static void rules_leave_out_files_and_keep_directories(void **state)
{
	dwarfs_builder *builder = new_builder(*state, 2);
	dwarfs_image *image;

	put_sources(*state);
	assert_int_equal(dwarfs_builder_add_filter(builder, "+ *.c", NULL), 0);
	assert_int_equal(dwarfs_builder_add_filter(builder, "- *", NULL), 0);
	image = build_and_open(builder, *state, 0);
	expect_text(image, "src/a.c", "a");
	expect_text(image, "src/gen/b.c", "b");
	assert_false(has_entry(image, "src/a.o"));
	assert_false(has_entry(image, "README"));
	assert_true(has_entry(image, "doc/old"));
	dwarfs_image_free(image);
}

/* -- the report --------------------------------------------------------------------- */

struct reported {
	char text[1024];
	int stop_after, stop_with;
};

static int note(const char *path, bool is_directory, bool included, dwarfs_error **err,
		void *user)
{
	struct reported *reported = user;
	size_t used = strlen(reported->text);

	snprintf(reported->text + used, sizeof(reported->text) - used, "%c%s%s\n",
		 included ? '+' : '-', path, is_directory ? "/" : "");
	if (--reported->stop_after != 0)
		return 0;
	return reported->stop_with < 0 ? dwarfs_error_set(err, reported->stop_with, 0,
							  "the report is full")
				       : reported->stop_with;
}

static void the_report_tells_of_each_entry(void **state)
{
	dwarfs_builder *builder = new_builder(*state, 3);
	struct reported reported = { "", 0, 0 };

	put_sources(*state);
	assert_int_equal(dwarfs_builder_add_filter(builder, "- gen/", NULL), 0);
	assert_int_equal(dwarfs_builder_add_filter(builder, "- *.o", NULL), 0);
	dwarfs_builder_set_filter_report(builder, note, &reported);
	assert_int_equal(dwarfs_builder_scan(builder, NULL), 0);
	assert_string_equal(reported.text, "+README\n+doc/\n+src/\n+doc/old/\n+doc/text\n"
					   "+src/a.c\n-src/a.o\n-src/gen/\n");
	assert_int_equal(dwarfs_builder_count(builder, DWARFS_COUNT_FILES), 3);
	assert_int_equal(dwarfs_builder_scan(builder, NULL), DWARFS_ERR_INVALID);
	dwarfs_builder_free(builder);
	assert_int_equal(count_entries(((struct place *)*state)->outputs), 0);
}

static void the_report_can_stop_the_run(void **state)
{
	dwarfs_builder *builder = new_builder(*state, 1);
	struct reported reported = { "", 2, 1 };
	dwarfs_error *err = NULL;

	put_sources(*state);
	dwarfs_builder_set_filter_report(builder, note, &reported);
	assert_int_equal(dwarfs_builder_scan(builder, NULL), DWARFS_ERR_CANCELLED);
	assert_string_equal(reported.text, "+README\n+doc/\n");
	dwarfs_builder_free(builder);
	builder = new_builder(*state, 1);
	reported = (struct reported){ "", 2, DWARFS_ERR_NO_SPACE };
	dwarfs_builder_set_filter_report(builder, note, &reported);
	assert_int_equal(dwarfs_builder_scan(builder, &err), DWARFS_ERR_NO_SPACE);
	assert_string_equal(dwarfs_error_message(err), "the report is full");
	dwarfs_error_free(err);
	dwarfs_builder_free(builder);
}

/* -- the callback ------------------------------------------------------------------- */

static int take_small_ones(const dwarfs_input *input, dwarfs_error **err, void *user)
{
	int *calls = user;
	struct stat st;
	char path[256];

	++*calls;
	snprintf(path, sizeof(path), "%s/%s", (const char *)(calls + 1),
		 dwarfs_input_path(input));
	assert_int_equal(lstat(path, &st), 0);
	assert_int_equal(dwarfs_input_mode(input), st.st_mode);
	assert_int_equal(dwarfs_input_uid(input), st.st_uid);
	assert_int_equal(dwarfs_input_gid(input), st.st_gid);
	assert_int_equal(dwarfs_input_mtime(input), st.st_mtime);
	assert_int_equal(dwarfs_input_bytes(input), S_ISREG(st.st_mode) ? st.st_size : 0);
	if (strcmp(dwarfs_input_path(input), "doc") == 0)
		return 0;
	return dwarfs_input_bytes(input) <= 1;
}

static void a_callback_decides(void **state)
{
	const struct place *place = *state;
	dwarfs_builder *builder = new_builder(place, 2);
	struct {
		int calls;
		char root[80];
	} seen = { 0, "" };
	dwarfs_image *image;

	put_sources(place);
	strcpy(seen.root, place->in);
	dwarfs_builder_set_include(builder, take_small_ones, &seen);
	image = build_and_open(builder, place, 0);
	assert_int_equal(seen.calls, 7);
	assert_true(has_entry(image, "src/gen/b.c"));
	assert_false(has_entry(image, "README"));
	assert_false(has_entry(image, "doc"));
	dwarfs_image_free(image);
}

static int stop(const dwarfs_input *input, dwarfs_error **err, void *user)
{
	int code = *(int *)user;

	return code < 0 ? dwarfs_error_set(err, code, 0, "no more inputs") : code;
}

static void a_callback_stops_the_run(void **state)
{
	static const int codes[] = { 7, DWARFS_ERR_CANCELLED, DWARFS_ERR_ACCESS };
	const struct place *place = *state;

	put_sources(place);
	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
		dwarfs_builder *builder = new_builder(place, 2);
		int code = codes[i];

		dwarfs_builder_set_include(builder, stop, &code);
		assert_int_equal(build(builder, place),
				 code < 0 ? code : DWARFS_ERR_CANCELLED);
		dwarfs_builder_free(builder);
		assert_int_equal(count_entries(place->outputs), 0);
	}
	assert_non_null(strstr(all_messages(), "no more inputs"));
}

/* -- shapes ------------------------------------------------------------------------- */

static void make_deep(const struct place *place, int levels)
{
	int fd = open(place->in, O_RDONLY | O_DIRECTORY);

	for (int i = 0; i < levels; i++) {
		int file = openat(fd, "file", O_CREAT | O_WRONLY, 0644), next;
		char text[16];

		snprintf(text, sizeof(text), "%d", i % 7);
		assert_int_equal(write(file, text, strlen(text)), strlen(text));
		close(file);
		assert_int_equal(mkdirat(fd, "down", 0755), 0);
		assert_int_equal(mkdirat(fd, "e", 0755), 0);
		next = openat(fd, "down", O_RDONLY | O_DIRECTORY);
		assert_true(next >= 0);
		close(fd);
		fd = next;
	}
	close(fd);
}

/* The tree is too deep for nftw(). */
static void remove_deep(const struct place *place)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s/down", place->in);
	assert_int_equal(system(command), 0);
}

static void make_wide(const struct place *place, int count)
{
	put_dir(place, "wide");
	for (int i = 0; i < count; i++) {
		char name[32], text[16];

		snprintf(name, sizeof(name), "wide/%d", i * 7919 % count);
		snprintf(text, sizeof(text), "%d", i % 11);
		if (i % 5 == 0)
			put_dir(place, name);
		else
			put_text(place, name, text);
	}
}

/* For some numbers of workers, with rules and without. */
static void expect_one_image(const struct place *place, bool rules)
{
	static const uint32_t workers[] = { 0, 1, 2, 7 };
	char command[512];

	for (size_t i = 0; i < 4; i++) {
		dwarfs_builder *builder = new_builder(place, 1);
		char path[128];

		snprintf(path, sizeof(path), "%s/%zu", place->outputs, i);
		dwarfs_builder_set_history(builder, false);
		dwarfs_builder_set_create_timestamp(builder, false);
		assert_int_equal(
			dwarfs_builder_set_scan_workers(builder, workers[i], NULL), 0);
		if (rules) {
			assert_int_equal(dwarfs_builder_add_filter(builder, "- *3", NULL),
					 0);
			assert_int_equal(
				dwarfs_builder_add_filter(builder, "- *5/", NULL), 0);
			dwarfs_builder_set_remove_empty_directories(builder, true);
		}
		assert_int_equal(dwarfs_builder_write_path(builder, path, false, NULL),
				 0);
		dwarfs_builder_free(builder);
		snprintf(command, sizeof(command), "cmp %s %s/0", path, place->outputs);
		assert_int_equal(system(command), 0);
	}
	snprintf(command, sizeof(command), "mv %s/0 %s; rm %s/[1-9]", place->outputs,
		 place->image, place->outputs);
	assert_int_equal(system(command), 0);
}

static void deep_trees_are_no_trouble(void **state)
{
	dwarfs_image *image;
	static char path[1200 * 5 + 8];

	make_deep(*state, 1200);
	expect_one_image(*state, false);
	remove_deep(*state);
	image = open_image(*state);
	for (int i = 0; i < 1199; i++)
		strcat(path, "down/");
	strcat(path, "file");
	expect_text(image, path, "2");
	dwarfs_image_free(image);
}

static void wide_directories_are_no_trouble(void **state)
{
	dwarfs_image *image;

	make_wide(*state, 5001);
	expect_one_image(*state, false);
	image = open_image(*state);
	expect_text(image, "wide/2918", "1");
	dwarfs_image_free(image);
}

static void rules_do_not_depend_on_workers(void **state)
{
	dwarfs_image *image;

	make_wide(*state, 3001);
	expect_one_image(*state, true);
	image = open_image(*state);
	assert_false(has_entry(image, "wide/3"));
	dwarfs_image_free(image);
}

static int cancel_soon(const dwarfs_progress *progress, dwarfs_error **err, void *user)
{
	int *calls = user;

	return ++*calls > 1 ? DWARFS_ERR_CANCELLED : 0;
}

static void a_cancelled_scan_ends(void **state)
{
	dwarfs_builder *builder = new_builder(*state, 4);
	int calls = 0;
	auto_test_task dwarfs_task *cancelled = new_task(NULL, NULL);
	auto_test_task dwarfs_task *counting = new_task(cancel_soon, &calls);

	make_wide(*state, 5000);
	dwarfs_task_cancel(cancelled);
	dwarfs_builder_set_task(builder, cancelled);
	assert_int_equal(dwarfs_builder_scan(builder, NULL), DWARFS_ERR_CANCELLED);
	dwarfs_builder_free(builder);
	builder = new_builder(*state, 4);
	dwarfs_builder_set_task(builder, counting);
	assert_int_equal(build(builder, *state), DWARFS_ERR_CANCELLED);
	dwarfs_builder_free(builder);
}

/* -- other file systems ------------------------------------------------------------- */

static ino_t put_linked(const struct place *place, const char *folder, const char *text)
{
	char first[32], second[32];
	struct stat st;

	snprintf(first, sizeof(first), "%s/first", folder);
	snprintf(second, sizeof(second), "%s/second", folder);
	put_text(place, first, text);
	assert_int_equal(link(in(place, first), in(place, second)), 0);
	assert_int_equal(stat(in(place, first), &st), 0);
	return st.st_ino;
}

/* Files of two file systems have the same inode numbers. */
static void file_systems_are_kept_apart(void **state)
{
	const struct place *place = *state;
	dwarfs_builder *builder;
	dwarfs_image *image;
	ino_t one, two;
	dwarfs_inode inode;

	put_dir(place, "one");
	put_dir(place, "two");
	if (unshare(CLONE_NEWNS) != 0 ||
	    mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) != 0 ||
	    mount("tmpfs", in(place, "one"), "tmpfs", 0, NULL) != 0)
		skip();
	assert_int_equal(mount("tmpfs", in(place, "two"), "tmpfs", 0, NULL), 0);
	one = put_linked(place, "one", "text");
	two = put_linked(place, "two", "other");
	builder = new_builder(place, 2);
	assert_int_equal(build(builder, place), 0);
	assert_int_equal(dwarfs_builder_count(builder, DWARFS_COUNT_HARDLINKS), 2);
	dwarfs_builder_free(builder);
	assert_int_equal(umount(in(place, "one")), 0);
	assert_int_equal(umount(in(place, "two")), 0);
	image = open_image(place);
	inode = expect_text(image, "one/first", "text");
	assert_int_equal(expect_text(image, "one/second", "text").number, inode.number);
	assert_int_not_equal(expect_text(image, "two/first", "other").number,
			     inode.number);
	dwarfs_image_free(image);
	if (one != two)
		print_message("inode numbers differ: nothing was tested\n");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_place, remove_place)

/* -- few descriptors ------------------------------------------------------------------ */

/* Directories at several levels, each with a file. */
static void put_many_directories(const struct place *place)
{
	char name[64];

	for (int i = 0; i < 12; i++) {
		snprintf(name, sizeof(name), "%d", i);
		put_dir(place, name);
		for (int j = 0; j < 12; j++) {
			snprintf(name, sizeof(name), "%d/%d", i, j);
			put_dir(place, name);
			snprintf(name, sizeof(name), "%d/%d/d", i, j);
			put_dir(place, name);
			snprintf(name, sizeof(name), "%d/%d/d/f", i, j);
			put_text(place, name, name);
		}
	}
}

/* Scan while this many descriptors are left: what the builder counts, or its error. */
static int scan_with(const struct place *place, uint32_t workers, unsigned left,
		     uint64_t *directories_out)
{
	dwarfs_builder *builder = new_builder(place, workers);
	struct rlimit old = leave_descriptors(left);
	dwarfs_error *err = NULL;
	int ret = dwarfs_builder_scan(builder, &err);

	allow_descriptors(old);
	if (ret < 0)
		assert_non_null(
			strstr(dwarfs_error_message(err), "cannot read directory"));
	dwarfs_error_free(err);
	assert_int_equal(dwarfs_builder_count(builder, DWARFS_COUNT_ERRORS), 0);
	*directories_out = dwarfs_builder_count(builder, DWARFS_COUNT_DIRECTORIES);
	dwarfs_builder_free(builder);
	return ret;
}

static void few_descriptors_suffice(void **state)
{
	const unsigned wanted = 1 + 12 + 12 * 12 * 2;
	struct rlimit old = leave_descriptors(0);
	bool is_limited = has_no_descriptor();
	uint64_t directories;

	allow_descriptors(old);
	if (!is_limited)
		skip();
	put_many_directories(*state);
	for (uint32_t workers = 0; workers < 5; workers++) {
		for (unsigned left = 3; left < 40; left += left < 10 ? 1 : 7) {
			assert_int_equal(scan_with(*state, workers, left, &directories),
					 0);
			assert_int_equal(directories, wanted);
		}
		assert_true(scan_with(*state, workers, 0, &directories) < 0);
		assert_true(scan_with(*state, workers, 1, &directories) < 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(rules_leave_out_files_and_keep_directories),
		TEST(the_report_tells_of_each_entry),
		TEST(the_report_can_stop_the_run),
		TEST(a_callback_decides),
		TEST(a_callback_stops_the_run),
		TEST(deep_trees_are_no_trouble),
		TEST(wide_directories_are_no_trouble),
		TEST(rules_do_not_depend_on_workers),
		TEST(a_cancelled_scan_ends),
		TEST(file_systems_are_kept_apart),
		TEST(few_descriptors_suffice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
