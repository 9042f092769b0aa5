/* SPDX-License-Identifier: MIT */
/*
 * write/build_failures: inputs that cannot be read or change during the run,
 * cancellation, and outputs that are written completely or not at all.
 */
#include <errno.h>
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
#include <sys/wait.h>
#include <unistd.h>

#include "support/task.h"
#include "support/write_run.h"

/* An action at the start of a phase. */
struct mischief {
	const struct place *place;
	enum dwarfs_phase phase;
	void (*act)(const struct place *place);
	bool stop;
	bool done;
};

static int watch(const dwarfs_progress *progress, dwarfs_error **err, void *user)
{
	struct mischief *mischief = user;

	if (dwarfs_progress_phase(progress) != mischief->phase || mischief->done)
		return 0;
	mischief->done = true;
	if (mischief->act)
		mischief->act(mischief->place);
	return mischief->stop ? DWARFS_ERR_CANCELLED : 0;
}

/* Files, an action at the start of a phase, and the contents of the image. */
struct change {
	enum dwarfs_phase phase;
	void (*act)(const struct place *place);
	const char *order; /* NULL: the default of the builder */
	bool is_long; /* the files are too long to stay in memory after they were hashed */
	uint32_t workers;
	uint64_t errors;
	const char *message; /* in the log; or NULL */
	struct {
		const char *name, *before, *after;
	} files[4];
};

static char *long_text(const char *text)
{
	static char bytes[100000];

	memset(bytes, '.', sizeof(bytes));
	memcpy(bytes, text, strlen(text));
	return bytes;
}

static void put_long(const struct place *place, const char *name, const char *text)
{
	put_file(place, name, long_text(text), 100000);
}

static void expect_files(dwarfs_image *image, const struct change *change)
{
	for (int i = 0; i < 4 && change->files[i].name; i++) {
		const char *name = change->files[i].name, *text = change->files[i].after;

		if (change->is_long && *text)
			expect_bytes(image, name, long_text(text), 100000);
		else
			expect_text(image, name, text);
	}
}

/* Build with the change, and check the files and the log. */
static dwarfs_image *build_changed(const struct place *place, const struct change *change)
{
	struct mischief mischief = { place, change->phase, change->act };
	auto_test_task dwarfs_task *task = new_task(watch, &mischief);
	dwarfs_builder *builder = new_builder(place, change->workers);
	dwarfs_image *image;

	for (int i = 0; i < 4 && change->files[i].name; i++)
		(change->is_long ? put_long : put_text)(place, change->files[i].name,
							change->files[i].before);
	if (change->order)
		assert_int_equal(dwarfs_builder_set_order(builder, change->order, NULL),
				 0);
	dwarfs_builder_set_task(builder, task);
	image = build_and_open(builder, place, change->errors);
	assert_true(mischief.done);
	if (change->message)
		assert_non_null(strstr(all_messages(), change->message));
	expect_files(image, change);
	return image;
}

static void remove_a(const struct place *place)
{
	assert_int_equal(unlink(in(place, "a")), 0);
}

static void a_file_that_vanishes_becomes_empty(void **state)
{
	static const struct change change = {
		.phase = DWARFS_PHASE_WRITE,
		.act = remove_a,
		.workers = 1,
		.errors = 1,
		.message = "creating empty inode",
		.files = { { "a", "soon gone", "" }, { "b", "stays", "stays" } },
	};

	dwarfs_image_free(build_changed(*state, &change));
}

/* Their hashes are equal; then the first of them is removed. */
static void its_duplicates_live_on(void **state)
{
	static const struct change change = {
		.phase = DWARFS_PHASE_WRITE,
		.act = remove_a,
		.is_long = true,
		.workers = 2,
		.errors = 1,
		.files = { { "a", "twice", "" },
			   { "b", "twice", "twice" },
			   { "c", "twice", "twice" } },
	};

	dwarfs_image_free(build_changed(*state, &change));
}

static void remove_a_and_c(const struct place *place)
{
	remove_a(place);
	assert_int_equal(unlink(in(place, "c")), 0);
}

/* They were not inspected by themselves, so orders have no fingerprints of them. */
static void its_duplicates_are_ordered(void **state)
{
	static const char *const orders[] = { "auto", "similarity", "nilsimsa",
					      "revpath" };
	const struct place *place = *state;
	struct change change = {
		.phase = DWARFS_PHASE_WRITE,
		.act = remove_a_and_c,
		.is_long = true,
		.workers = 1,
		.errors = 2,
		.files = { { "a", "twice", "" },
			   { "b", "twice", "twice" },
			   { "c", "both", "" },
			   { "d", "both", "both" } },
	};

	for (size_t i = 0; i < sizeof(orders) / sizeof(*orders); i++) {
		change.order = orders[i];
		remove(place->image);
		dwarfs_image_free(build_changed(place, &change));
	}
}

static void rewrite_a(const struct place *place)
{
	put_long(place, "a", "TWICE");
}

static void a_change_after_the_hash_is_seen(void **state)
{
	static const struct change change = {
		.phase = DWARFS_PHASE_WRITE,
		.act = rewrite_a,
		.is_long = true,
		.workers = 2,
		.errors = 1,
		.message = "changed while it was read",
		.files = { { "a", "twice", "TWICE" }, { "b", "twice", "twice" } },
	};

	dwarfs_image_free(build_changed(*state, &change));
}

/* A small file has the contents of its first read. */
static void a_small_file_is_read_once(void **state)
{
	static const struct change change = {
		.phase = DWARFS_PHASE_WRITE,
		.act = remove_a,
		.workers = 2,
		.files = { { "a", "twice", "twice" }, { "b", "twice", "twice" } },
	};

	dwarfs_image_free(build_changed(*state, &change));
}

/* Both names of the file that cannot be hashed share one empty inode. */
static void hard_links_share_the_empty_inode(void **state)
{
	static const struct change change = {
		.phase = DWARFS_PHASE_HASH,
		.act = remove_a,
		.workers = 1,
		.errors = 1,
		.message = "creating empty inode",
		.files = { { "a", "twice", "" }, { "b", "twice", "twice" } },
	};
	const struct place *place = *state;
	dwarfs_image *image;
	dwarfs_inode inode;

	put_text(place, "a", "");
	assert_int_equal(link(in(place, "a"), in(place, "z")), 0);
	image = build_changed(place, &change);
	inode = expect_text(image, "a", "");
	assert_int_equal(expect_text(image, "z", "").number, inode.number);
	dwarfs_image_free(image);
}

static void shorten_a(const struct place *place)
{
	assert_int_equal(truncate(in(place, "a"), 3), 0);
}

static void a_file_that_shrinks_is_cut(void **state)
{
	static const struct change change = {
		.phase = DWARFS_PHASE_WRITE,
		.act = shorten_a,
		.workers = 1,
		.errors = 1,
		.message = "became shorter",
		.files = { { "a", "long contents", "lon" }, { "b", "other", "other" } },
	};

	dwarfs_image_free(build_changed(*state, &change));
}

static void lengthen_a(const struct place *place)
{
	put_text(place, "a", "short, and then much longer");
}

static void a_file_that_grows_is_cut(void **state)
{
	static const struct change change = {
		.phase = DWARFS_PHASE_WRITE,
		.act = lengthen_a,
		.workers = 1,
		.errors = 1,
		.files = { { "a", "short", "short" } },
	};

	dwarfs_image_free(build_changed(*state, &change));
}

static void a_to_directory(const struct place *place)
{
	assert_int_equal(unlink(in(place, "a")), 0);
	put_dir(place, "a");
}

static void a_file_that_is_something_else_now(void **state)
{
	static const struct change change = {
		.phase = DWARFS_PHASE_WRITE,
		.act = a_to_directory,
		.workers = 1,
		.errors = 1,
		.files = { { "a", "file", "" } },
	};

	dwarfs_image_free(build_changed(*state, &change));
}

/* Permissions do not restrict root, so a child process drops its privileges. */
static int build_as_nobody(const struct place *place)
{
	dwarfs_builder *builder;
	int ret;

	if (geteuid() == 0 && (setegid(65534) != 0 || seteuid(65534) != 0))
		return 1;
	builder = new_builder(place, 1);
	ret = build(builder, place);
	if (ret == 0 && dwarfs_builder_count(builder, DWARFS_COUNT_ERRORS) != 2)
		ret = 2;
	if (!strstr(all_messages(), "creating empty inode") ||
	    !strstr(all_messages(), "cannot read directory") ||
	    !strstr(all_messages(), strerror(EACCES)))
		ret = 3;
	dwarfs_builder_free(builder);
	return ret;
}

static void the_unreadable_is_stored_empty(void **state)
{
	const struct place *place = *state;
	dwarfs_image *image;
	int status;
	pid_t child;

	put_text(place, "good", "good");
	put_text(place, "secret", "secret");
	put_dir(place, "closed");
	put_text(place, "closed/inside", "inside");
	assert_int_equal(chmod(place->root, 0755), 0);
	assert_int_equal(chmod(place->outputs, 0777), 0);
	assert_int_equal(chmod(in(place, "secret"), 0), 0);
	assert_int_equal(chmod(in(place, "closed"), 0), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0)
		_exit(build_as_nobody(place));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(chmod(in(place, "closed"), 0755), 0);
	assert_int_equal(status, 0);
	image = open_image(place);
	expect_text(image, "good", "good");
	expect_text(image, "secret", "");
	assert_int_equal(dwarfs_image_entry_count(image), 4);
	dwarfs_image_free(image);
}

static void a_cancelled_run_leaves_nothing(void **state)
{
	static const enum dwarfs_phase phases[] = { DWARFS_PHASE_SCAN, DWARFS_PHASE_HASH,
						    DWARFS_PHASE_ORDER,
						    DWARFS_PHASE_WRITE,
						    DWARFS_PHASE_METADATA };
	const struct place *place = *state;

	put_text(place, "a", "some");
	put_text(place, "b", "text");
	for (size_t i = 0; i < sizeof(phases) / sizeof(phases[0]); i++) {
		struct mischief mischief = { place, phases[i], NULL, true };
		auto_test_task dwarfs_task *task = new_task(watch, &mischief);
		dwarfs_builder *builder = new_builder(place, 2);

		dwarfs_builder_set_task(builder, task);
		assert_int_equal(build(builder, place), DWARFS_ERR_CANCELLED);
		dwarfs_builder_free(builder);
		assert_int_equal(count_entries(place->outputs), 0);
	}
}

static void a_cancelled_task_stops_the_run(void **state)
{
	const struct place *place = *state;
	dwarfs_builder *builder = new_builder(place, 2);
	auto_test_task dwarfs_task *task = new_task(NULL, NULL);

	dwarfs_task_cancel(task);
	dwarfs_builder_set_task(builder, task);
	assert_int_equal(build(builder, place), DWARFS_ERR_CANCELLED);
	assert_int_equal(count_entries(place->outputs), 0);
	dwarfs_builder_free(builder);
}

static void write_output(const struct place *place, const char *text)
{
	FILE *file = fopen(place->image, "w");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static void expect_output(const struct place *place, const char *text)
{
	char buffer[64] = "";
	FILE *file = fopen(place->image, "r");

	assert_non_null(file);
	assert_true(fread(buffer, 1, sizeof(buffer) - 1, file) > 0);
	fclose(file);
	assert_string_equal(buffer, text);
}

static void existing_files_are_safe(void **state)
{
	const struct place *place = *state;
	dwarfs_builder *builder = new_builder(place, 1);

	write_output(place, "precious");
	assert_int_equal(build(builder, place), DWARFS_ERR_EXISTS);
	assert_non_null(strstr(all_messages(), "output file already exists"));
	dwarfs_builder_free(builder);
	expect_output(place, "precious");
	assert_int_equal(count_entries(place->outputs), 1);
}

static void create_output(const struct place *place)
{
	write_output(place, "came later");
}

/* The check at the start does not detect it: the name is created at the end. */
static void files_that_appear_meanwhile_are_safe(void **state)
{
	struct mischief mischief = { *state, DWARFS_PHASE_METADATA, create_output };
	const struct place *place = *state;
	auto_test_task dwarfs_task *task = new_task(watch, &mischief);
	dwarfs_builder *builder = new_builder(place, 1);

	dwarfs_builder_set_task(builder, task);
	assert_int_equal(build(builder, place), DWARFS_ERR_EXISTS);
	dwarfs_builder_free(builder);
	expect_output(place, "came later");
	assert_int_equal(count_entries(place->outputs), 1);
}

static void overwriting_keeps_mode_and_link(void **state)
{
	const struct place *place = *state;
	dwarfs_builder *builder = new_builder(place, 1);
	char link_path[128];
	struct stat st;

	write_output(place, "old");
	assert_int_equal(chmod(place->image, 0640), 0);
	snprintf(link_path, sizeof(link_path), "%s/link", place->outputs);
	assert_int_equal(symlink("image", link_path), 0);
	assert_int_equal(dwarfs_builder_write_path(builder, link_path, true, NULL), 0);
	dwarfs_builder_free(builder);
	assert_int_equal(lstat(link_path, &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_int_equal(stat(place->image, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0640);
	assert_int_equal(count_entries(place->outputs), 2);
	dwarfs_image_free(open_image(place));
}

static void devices_are_written_in_place(void **state)
{
	const struct place *place = *state;
	dwarfs_builder *builder = new_builder(place, 1);
	dwarfs_error *err = NULL;
	struct stat st;

	put_text(place, "a", "text");
	assert_int_equal(dwarfs_builder_write_path(builder, "/dev/null", false, NULL), 0);
	dwarfs_builder_free(builder);
	assert_int_equal(stat("/dev/null", &st), 0);
	assert_true(S_ISCHR(st.st_mode));
	if (access("/dev/full", W_OK) != 0)
		return;
	builder = new_builder(place, 1);
	assert_int_equal(dwarfs_builder_write_path(builder, "/dev/full", false, &err),
			 DWARFS_ERR_NO_SPACE);
	dwarfs_error_free(err);
	dwarfs_builder_free(builder);
}

static void outputs_need_a_folder(void **state)
{
	const struct place *place = *state;
	dwarfs_builder *builder = new_builder(place, 1);
	dwarfs_error *err = NULL;

	assert_int_equal(
		dwarfs_builder_write_path(builder, in(place, "no/where"), false, &err),
		DWARFS_ERR_NOT_FOUND);
	assert_non_null(strstr(dwarfs_error_message(err), "cannot open output file"));
	assert_int_equal(dwarfs_builder_write_path(builder, place->in, true, &err),
			 DWARFS_ERR_IS_DIR);
	dwarfs_error_free(err);
	dwarfs_builder_free(builder);
}

/* An output inside the input is not included in the image. */
static void the_output_is_not_its_own_input(void **state)
{
	const struct place *place = *state;
	dwarfs_builder *builder = new_builder(place, 1);
	int fd = open(in(place, "image"), O_RDWR | O_CREAT, 0644);
	struct place inside = *place;
	dwarfs_sink *sink = NULL;
	dwarfs_image *image;

	assert_true(fd >= 0);
	put_text(place, "a", "text");
	assert_int_equal(dwarfs_sink_from_fd(fd, &sink, NULL), 0);
	assert_int_equal(dwarfs_builder_write(builder, sink, NULL), 0);
	dwarfs_sink_free(sink);
	close(fd);
	assert_int_equal(dwarfs_builder_count(builder, DWARFS_COUNT_SKIPPED), 1);
	dwarfs_builder_free(builder);
	snprintf(inside.image, sizeof(inside.image), "%s/image", place->in);
	image = open_image(&inside);
	assert_int_equal(dwarfs_image_entry_count(image), 2);
	dwarfs_image_free(image);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_place, remove_place)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_file_that_vanishes_becomes_empty),
		TEST(its_duplicates_live_on),
		TEST(its_duplicates_are_ordered),
		TEST(a_change_after_the_hash_is_seen),
		TEST(a_small_file_is_read_once),
		TEST(hard_links_share_the_empty_inode),
		TEST(a_file_that_shrinks_is_cut),
		TEST(a_file_that_grows_is_cut),
		TEST(a_file_that_is_something_else_now),
		TEST(the_unreadable_is_stored_empty),
		TEST(a_cancelled_run_leaves_nothing),
		TEST(a_cancelled_task_stops_the_run),
		TEST(existing_files_are_safe),
		TEST(files_that_appear_meanwhile_are_safe),
		TEST(overwriting_keeps_mode_and_link),
		TEST(devices_are_written_in_place),
		TEST(outputs_need_a_folder),
		TEST(the_output_is_not_its_own_input),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
