/* SPDX-License-Identifier: MIT */
/*
 * api/tasks: a task reports the progress of every long operation and cancels it.
 */
#include "../support/effort.h"
#include "archives.h"

/* -- the operations ------------------------------------------------------------------ */

typedef int (*operation_fn)(const struct fixture *fixture, const dwarfs_task *task,
			    dwarfs_error **err);

static int discard(const void *data, size_t bytes, dwarfs_error **err, void *user)
{
	(void)data;
	(void)bytes;
	(void)err;
	(void)user;
	return 0;
}

static int build(const struct fixture *fixture, const dwarfs_task *task,
		 dwarfs_error **err)
{
	dwarfs_builder *builder = new_builder(fixture, NULL);
	int ret;

	dwarfs_builder_set_task(builder, task);
	ret = write_to_function(builder, discard, NULL, err);
	dwarfs_builder_free(builder);
	return ret;
}

static int scan(const struct fixture *fixture, const dwarfs_task *task,
		dwarfs_error **err)
{
	dwarfs_builder *builder = new_builder(fixture, NULL);
	int ret;

	dwarfs_builder_set_task(builder, task);
	ret = dwarfs_builder_scan(builder, err);
	dwarfs_builder_free(builder);
	return ret;
}

/* Of the builders: a fast one. */
static uint32_t level = 1;

static dwarfs_builder *new_empty_builder(void)
{
	dwarfs_builder *builder = NULL;

	assert_int_equal(dwarfs_builder_new(NULL, &builder, NULL), 0);
	assert_int_equal(dwarfs_builder_set_level(builder, level, NULL), 0);
	return builder;
}

/* What adds to a builder reports no progress. */
static int add_image(const struct fixture *fixture, const dwarfs_task *task,
		     dwarfs_error **err)
{
	dwarfs_builder *builder = new_empty_builder();
	dwarfs_image *image = open_image(fixture, NULL);
	int ret;

	dwarfs_builder_set_task(builder, task);
	ret = dwarfs_builder_add_image(builder, image, "", 0, DWARFS_KEEP_BLOCKS, err);
	dwarfs_image_free(image);
	dwarfs_builder_free(builder);
	return ret;
}

static int add_base(const struct fixture *fixture, const dwarfs_task *task,
		    dwarfs_error **err)
{
	dwarfs_builder *builder = new_empty_builder();
	dwarfs_image *image = open_image(fixture, NULL);
	int ret;

	dwarfs_builder_set_task(builder, task);
	ret = dwarfs_builder_add_base(builder, image, DWARFS_BASE_TRUST_TIMES, err);
	dwarfs_image_free(image);
	dwarfs_builder_free(builder);
	return ret;
}

static int add_one_item(const struct fixture *fixture, const dwarfs_task *task,
			dwarfs_error **err)
{
	dwarfs_builder *builder = new_empty_builder();
	dwarfs_item *item = NULL;
	int ret;

	(void)fixture;
	assert_int_equal(dwarfs_item_new(0100644, &item, NULL), 0);
	dwarfs_builder_set_task(builder, task);
	ret = dwarfs_builder_add_item(builder, "a", 1, item, err);
	dwarfs_item_free(item);
	dwarfs_builder_free(builder);
	return ret;
}

static void adding_is_cancelled(void **state)
{
	static const operation_fn all[] = { add_image, add_base, add_one_item };

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		dwarfs_task *task = new_task(NULL, NULL);
		dwarfs_error *err = NULL;

		assert_success(all[i](*state, task, &err), err);
		dwarfs_task_cancel(task);
		assert_int_equal(all[i](*state, task, &err), DWARFS_ERR_CANCELLED);
		dwarfs_error_free(err);
		dwarfs_task_free(task);
	}
}

static int open_path(const struct fixture *fixture, const dwarfs_task *task,
		     dwarfs_error **err)
{
	dwarfs_image_options *options = NULL;
	dwarfs_image *image = NULL;
	int ret;

	assert_int_equal(dwarfs_image_options_new(&options, NULL), 0);
	dwarfs_image_options_set_task(options, task);
	ret = dwarfs_image_open(NULL, fixture->path, options, &image, err);
	dwarfs_image_options_free(options);
	dwarfs_image_free(image);
	return ret;
}

static int check(const struct fixture *fixture, const dwarfs_task *task,
		 dwarfs_error **err)
{
	dwarfs_image *image = open_image(fixture, NULL);
	int ret = dwarfs_image_check(image, DWARFS_CHECK_INTEGRITY, NULL, NULL, task,
				     NULL, err);

	dwarfs_image_free(image);
	return ret;
}

static int load_big(const struct fixture *fixture, const dwarfs_task *task,
		    dwarfs_error **err)
{
	dwarfs_image *image = open_image(fixture, NULL);
	void *data = NULL;
	size_t bytes = 0;
	int ret = dwarfs_load(image, "big", SIZE_MAX, task, &data, &bytes, err);

	assert_int_equal(bytes, ret == 0 ? BIG_BYTES : 0);
	dwarfs_memory_free(data);
	dwarfs_image_free(image);
	return ret;
}

static int read_in_order(const struct fixture *fixture, const dwarfs_task *task,
			 dwarfs_error **err)
{
	dwarfs_image *image = open_image(fixture, NULL);
	const dwarfs_inode inode = find_inode(image, "big");
	int ret = dwarfs_read_in_order(image, &inode, 1, ignore_piece, NULL, NULL, task,
				       err);

	dwarfs_image_free(image);
	return ret;
}

static int skip_part(const dwarfs_part *part, uint32_t thread, dwarfs_error **err,
		     void *user)
{
	(void)part;
	(void)thread;
	(void)err;
	(void)user;
	return 0;
}

static int fail_part(dwarfs_inode inode, const dwarfs_error *why, uint32_t thread,
		     dwarfs_error **err, void *user)
{
	(void)inode;
	(void)thread;
	(void)user;
	return dwarfs_error_set(err, dwarfs_error_code(why), 0,
				dwarfs_error_message(why));
}

static int read_parallel(const struct fixture *fixture, const dwarfs_task *task,
			 dwarfs_error **err)
{
	dwarfs_image *image = open_image(fixture, NULL);
	const dwarfs_inode inode = find_inode(image, "big");
	int ret = dwarfs_read_parallel(image, &inode, 1, 1, skip_part, fail_part, NULL,
				       task, err);

	dwarfs_image_free(image);
	return ret;
}

static int extract(const struct fixture *fixture, const dwarfs_task *task,
		   dwarfs_error **err)
{
	dwarfs_image *image = open_image(fixture, NULL);
	dwarfs_extract *extraction = NULL;
	char target[100];
	int ret;

	snprintf(target, sizeof(target), "%s/out", fixture->dir);
	assert_int_equal(dwarfs_extract_new(image, &extraction, NULL), 0);
	dwarfs_extract_set_task(extraction, task);
	ret = dwarfs_extract_to_directory(extraction, target, err);
	dwarfs_extract_free(extraction);
	dwarfs_image_free(image);
	remove_tree(target);
	return ret;
}

static int compare(const struct fixture *fixture, const dwarfs_task *task,
		   dwarfs_error **err)
{
	dwarfs_compare *comparison = NULL;
	int ret;

	assert_int_equal(dwarfs_compare_new(NULL, &comparison, NULL), 0);
	assert_int_equal(dwarfs_compare_set_path(comparison, DWARFS_COMPARE_A,
						 fixture->path, NULL, NULL),
			 0);
	assert_int_equal(dwarfs_compare_set_directory(comparison, DWARFS_COMPARE_B,
						      fixture->tree, NULL),
			 0);
	dwarfs_compare_set_task(comparison, task);
	ret = dwarfs_compare_run(comparison, NULL, NULL, NULL, err);
	dwarfs_compare_free(comparison);
	return ret;
}

static int import(const struct fixture *fixture, const dwarfs_task *task,
		  dwarfs_error **err)
{
	struct bytes archive = { 0 };
	dwarfs_archive_import *reader = NULL;
	dwarfs_builder *builder = NULL;
	int ret;

	(void)fixture;
	add_tar(&archive, '0', "a", "", "text");
	add_tar_end(&archive);
	assert_int_equal(dwarfs_builder_new(NULL, &builder, NULL), 0);
	assert_int_equal(dwarfs_archive_import_new(builder, &reader, NULL), 0);
	dwarfs_archive_import_set_task(reader, task);
	ret = import_bytes(reader, &archive, err);
	dwarfs_archive_import_free(reader);
	dwarfs_builder_free(builder);
	free(archive.data);
	return ret;
}

static int export(const struct fixture *fixture, const dwarfs_task *task,
		  dwarfs_error **err)
{
	dwarfs_image *image = open_image(fixture, NULL);
	dwarfs_archive_export *writer = NULL;
	dwarfs_sink *sink = NULL;
	int ret;

	assert_int_equal(dwarfs_sink_new(discard, NULL, NULL, &sink, NULL), 0);
	assert_int_equal(dwarfs_archive_export_new(image, &writer, NULL), 0);
	assert_int_equal(dwarfs_archive_export_set_format(writer, "pax", NULL), 0);
	dwarfs_archive_export_set_task(writer, task);
	ret = dwarfs_archive_export_write(writer, sink, err);
	dwarfs_archive_export_free(writer);
	dwarfs_sink_free(sink);
	dwarfs_image_free(image);
	return ret;
}

static int rewrite_parts(const struct fixture *fixture, uint32_t parts,
			 const dwarfs_task *task, dwarfs_error **err)
{
	dwarfs_builder *builder = new_empty_builder();
	dwarfs_image *image = open_image(fixture, NULL);
	dwarfs_sink *sink = NULL;
	int ret;

	assert_int_equal(dwarfs_sink_new(discard, NULL, NULL, &sink, NULL), 0);
	dwarfs_builder_set_task(builder, task);
	ret = dwarfs_rewrite(image, parts, builder, sink, err);
	dwarfs_sink_free(sink);
	dwarfs_image_free(image);
	dwarfs_builder_free(builder);
	return ret;
}

static int copy_sections(const struct fixture *fixture, const dwarfs_task *task,
			 dwarfs_error **err)
{
	return rewrite_parts(fixture, 0, task, err);
}

static int compress_again(const struct fixture *fixture, const dwarfs_task *task,
			  dwarfs_error **err)
{
	return rewrite_parts(fixture, DWARFS_REWRITE_BLOCKS | DWARFS_REWRITE_METADATA,
			     task, err);
}

static int rebuild(const struct fixture *fixture, const dwarfs_task *task,
		   dwarfs_error **err)
{
	return rewrite_parts(fixture, DWARFS_REWRITE_REBUILD, task, err);
}

static int rebuild_all(const struct fixture *fixture, const dwarfs_task *task,
		       dwarfs_error **err)
{
	return rewrite_parts(fixture, DWARFS_REWRITE_REBUILD | DWARFS_REWRITE_BLOCKS,
			     task, err);
}

static int change_block_size(const struct fixture *fixture, const dwarfs_task *task,
			     dwarfs_error **err)
{
	return rewrite_parts(fixture,
			     DWARFS_REWRITE_REBUILD | DWARFS_REWRITE_BLOCKS |
				     DWARFS_REWRITE_BLOCK_SIZE,
			     task, err);
}

/* The task is set when the image is added already. */
static int append(const struct fixture *fixture, const dwarfs_task *task,
		  dwarfs_error **err)
{
	dwarfs_builder *builder = new_empty_builder();
	dwarfs_image *image = open_image(fixture, NULL);
	int ret;

	assert_int_equal(
		dwarfs_builder_add_image(builder, image, "", 0, DWARFS_KEEP_BLOCKS, NULL),
		0);
	assert_int_equal(dwarfs_builder_add_tree(builder, fixture->tree, "new", 3, NULL),
			 0);
	dwarfs_builder_set_task(builder, task);
	ret = write_to_function(builder, discard, NULL, err);
	dwarfs_image_free(image);
	dwarfs_builder_free(builder);
	return ret;
}

static const struct operation {
	const char *name;
	operation_fn run;
	bool of_archives;
} operations[] = {
	{ "build", build, false },
	{ "scan", scan, false },
	{ "open", open_path, false },
	{ "check", check, false },
	{ "load", load_big, false },
	{ "read in order", read_in_order, false },
	{ "read parallel", read_parallel, false },
	{ "extract", extract, false },
	{ "compare", compare, false },
	{ "rewrite: copy", copy_sections, false },
	{ "rewrite: compress again", compress_again, false },
	{ "rewrite: rebuild", rebuild, false },
	{ "rewrite: rebuild and compress again", rebuild_all, false },
	{ "rewrite: other block size", change_block_size, false },
	{ "append", append, false },
	{ "import", import, true },
	{ "export", export, true },
};
#define OPERATIONS (sizeof(operations) / sizeof(operations[0]))

static bool is_built_in(const struct operation *operation)
{
	static int archives = -1;
	dwarfs_archive_import *reader = NULL;
	dwarfs_builder *builder = NULL;

	if (archives < 0) {
		assert_int_equal(dwarfs_builder_new(NULL, &builder, NULL), 0);
		archives = dwarfs_archive_import_new(builder, &reader, NULL) == 0;
		dwarfs_archive_import_free(reader);
		dwarfs_builder_free(builder);
	}
	return !operation->of_archives || archives;
}

/* -- the tests ----------------------------------------------------------------------- */

struct watch {
	dwarfs_task *task;
	int calls, cancel_at;
	enum dwarfs_phase phase;
	bool is_bad; /* a number is wrong */
	uint64_t done, total, items, all_items, elapsed;
};

static int note(const dwarfs_progress *progress, dwarfs_error **err, void *user)
{
	struct watch *watch = user;
	const uint64_t elapsed =
		dwarfs_progress_number(progress, DWARFS_PROGRESS_ELAPSED_NS);

	(void)err;
	watch->phase = dwarfs_progress_phase(progress);
	watch->done = dwarfs_progress_number(progress, DWARFS_PROGRESS_DONE_BYTES);
	watch->total = dwarfs_progress_number(progress, DWARFS_PROGRESS_TOTAL_BYTES);
	watch->items = dwarfs_progress_number(progress, DWARFS_PROGRESS_DONE_ITEMS);
	watch->all_items = dwarfs_progress_number(progress, DWARFS_PROGRESS_TOTAL_ITEMS);
	watch->is_bad |=
		elapsed < watch->elapsed || watch->phase > DWARFS_PHASE_DONE ||
		dwarfs_progress_number(progress, 9) != 0 ||
		dwarfs_progress_number(progress, -1) != 0 ||
		(watch->phase != DWARFS_PHASE_SCAN &&
		 watch->phase != DWARFS_PHASE_IMPORT &&
		 (watch->done > watch->total || watch->items > watch->all_items));
	watch->elapsed = elapsed;
	if (++watch->calls == watch->cancel_at)
		dwarfs_task_cancel(watch->task);
	return 0;
}

/* At a slow level, so that there are reports in between; under valgrind, which is
 * slow, most at a fast one. */
static void progress_is_reported_by_all_operations(void **state)
{
	const uint32_t usual = level;
	int failed = 0;

	for (size_t i = 0; i < OPERATIONS; i++) {
		struct watch watch = { 0 };
		dwarfs_task *task = new_task(note, &watch);
		dwarfs_error *err = NULL;
		int ret;

		if (!is_built_in(&operations[i]))
			continue;
		level = 7;
		if (is_under_valgrind() && operations[i].run != change_block_size)
			level = 4;
		ret = operations[i].run(*state, task, &err);
		if (ret != 0 || watch.calls < 2 || watch.is_bad ||
		    watch.phase != DWARFS_PHASE_DONE) {
			fprintf(stderr,
				"%s: %d (%s), %d calls, at last in phase %s, "
				"%llu of %llu bytes, %llu of %llu items%s\n",
				operations[i].name, ret, dwarfs_error_message(err),
				watch.calls, dwarfs_phase_name(watch.phase),
				(unsigned long long)watch.done,
				(unsigned long long)watch.total,
				(unsigned long long)watch.items,
				(unsigned long long)watch.all_items,
				watch.is_bad ? ", a number is wrong" : "");
			failed++;
		}
		dwarfs_error_free(err);
		dwarfs_task_free(task);
	}
	level = usual;
	assert_int_equal(failed, 0);
}

/* Those of all its blocks, whether they were read before or not. */
static void the_bytes_are_those_of_the_blocks(void **state)
{
	static const operation_fn of_blocks[] = { compress_again, rebuild_all,
						  change_block_size };
	uint64_t first = 0;

	for (size_t i = 0; i < sizeof(of_blocks) / sizeof(of_blocks[0]); i++) {
		struct watch watch = { 0 };
		dwarfs_task *task = new_task(note, &watch);
		dwarfs_error *err = NULL;

		assert_success(of_blocks[i](*state, task, &err), err);
		assert_true(watch.done >= BIG_BYTES);
		assert_int_equal(watch.done, watch.total);
		assert_true(i == 0 || watch.done == first);
		first = watch.done;
		dwarfs_task_free(task);
	}
}

static void the_bytes_are_those_of_the_files(void **state)
{
	static const operation_fn of_one_file[] = { load_big, read_in_order,
						    read_parallel };

	for (size_t i = 0; i < sizeof(of_one_file) / sizeof(of_one_file[0]); i++) {
		struct watch watch = { 0 };
		dwarfs_task *task = new_task(note, &watch);
		dwarfs_error *err = NULL;

		assert_success(of_one_file[i](*state, task, &err), err);
		assert_int_equal(watch.done, BIG_BYTES);
		assert_int_equal(watch.total, BIG_BYTES);
		dwarfs_task_free(task);
	}
}

/* Run all, with a task that is cancelled at a call of its callback; 0: before. */
static void all_are_cancelled_at(void **state, int call)
{
	int failed = 0;

	for (size_t i = 0; i < OPERATIONS; i++) {
		struct watch watch = { .cancel_at = call };
		dwarfs_task *task = new_task(note, &watch);
		dwarfs_error *err = NULL;
		int ret;

		if (!is_built_in(&operations[i]))
			continue;
		watch.task = task;
		if (call == 0)
			dwarfs_task_cancel(task);
		assert_int_equal(dwarfs_task_is_cancelled(task), call == 0);
		ret = operations[i].run(*state, task, &err);
		assert_int_equal(dwarfs_task_is_cancelled(task), true);
		if (ret != DWARFS_ERR_CANCELLED || dwarfs_error_code(err) != ret) {
			fprintf(stderr, "%s: %d (%s) after %d calls\n",
				operations[i].name, ret, dwarfs_error_message(err),
				watch.calls);
			failed++;
		}
		dwarfs_error_free(err);
		dwarfs_task_free(task);
	}
	assert_int_equal(failed, 0);
}

static void a_task_can_be_cancelled_before_the_operation(void **state)
{
	all_are_cancelled_at(state, 0);
}

static void a_task_can_be_cancelled_during_the_operation(void **state)
{
	all_are_cancelled_at(state, 1);
}

static int refuse_the_end(const dwarfs_progress *progress, dwarfs_error **err, void *user)
{
	if (dwarfs_progress_phase(progress) != DWARFS_PHASE_DONE)
		return 0;
	++*(int *)user;
	return dwarfs_error_set(err, DWARFS_ERR_NO_SPACE, 0, "too late");
}

static void the_last_call_stops_nothing(void **state)
{
	int calls = 0, expected = 0;
	dwarfs_task *task = new_task(refuse_the_end, &calls);
	dwarfs_error *err = NULL;

	for (size_t i = 0; i < OPERATIONS; i++) {
		if (!is_built_in(&operations[i]))
			continue;
		assert_success(operations[i].run(*state, task, &err), err);
		assert_true(calls > expected);
		expected = calls;
	}
	dwarfs_task_free(task);
}

static void one_task_serves_several_operations(void **state)
{
	struct watch watch = { 0 };
	dwarfs_task *task = new_task(note, &watch);
	dwarfs_error *err = NULL;

	for (size_t i = 0; i < OPERATIONS; i++) {
		if (!is_built_in(&operations[i]))
			continue;
		watch.calls = 0;
		watch.elapsed = 0;
		assert_success(operations[i].run(*state, task, &err), err);
		assert_true(watch.calls > 0);
	}
	dwarfs_task_set_progress(task, NULL, NULL);
	watch.calls = 0;
	assert_success(check(*state, task, &err), err);
	assert_int_equal(watch.calls, 0);
	dwarfs_task_cancel(task);
	assert_failure(check(*state, task, &err), DWARFS_ERR_CANCELLED, err);
	assert_failure(build(*state, task, &err), DWARFS_ERR_CANCELLED, err);
	dwarfs_task_free(task);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(progress_is_reported_by_all_operations),
		cmocka_unit_test(the_bytes_are_those_of_the_files),
		cmocka_unit_test(the_bytes_are_those_of_the_blocks),
		cmocka_unit_test(a_task_can_be_cancelled_before_the_operation),
		cmocka_unit_test(a_task_can_be_cancelled_during_the_operation),
		cmocka_unit_test(the_last_call_stops_nothing),
		cmocka_unit_test(one_task_serves_several_operations),
		cmocka_unit_test(adding_is_cancelled),
	};

	return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
