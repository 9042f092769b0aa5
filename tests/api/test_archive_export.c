/* SPDX-License-Identifier: MIT */
/*
 * api/archive_export: the handle that writes archives. tests/archive/test_archive.py
 * checks their contents with other programs.
 */
#include <fcntl.h>
#include <locale.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archives.h"

#ifdef __APPLE__
#include <xlocale.h>
#endif

static dwarfs_archive_export *new_export(const dwarfs_image *image, const char *format)
{
	dwarfs_archive_export *export = NULL;
	dwarfs_error *err = NULL;

	assert_success(dwarfs_archive_export_new(image, &export, &err), err);
	assert_success(dwarfs_archive_export_set_format(export, format, &err), err);
	return export;
}

static int export_to_fd(dwarfs_archive_export *export, int fd, dwarfs_error **err)
{
	dwarfs_sink *sink = NULL;
	int ret = dwarfs_sink_from_fd(fd, &sink, err);

	if (ret == 0)
		ret = dwarfs_archive_export_write(export, sink, err);
	dwarfs_sink_free(sink);
	return ret;
}

static const char *output_path(const struct fixture *fixture)
{
	static char path[120];

	snprintf(path, sizeof(path), "%s/out.archive", fixture->dir);
	return path;
}

static bool exists(const char *path)
{
	return access(path, F_OK) == 0;
}

static void settings_are_checked(void **state)
{
	dwarfs_image *image = open_image(*state, NULL);
	dwarfs_archive_export *export = new_export(image, "auto");
	dwarfs_error *err = NULL;

	assert_failure(dwarfs_archive_export_set_format(export, "nothing", &err),
		       DWARFS_ERR_INVALID, err);
	assert_failure(dwarfs_archive_export_set_format(export, "", &err),
		       DWARFS_ERR_INVALID, err);
	assert_failure(dwarfs_archive_export_set_filters(export, "gzip,,xz", &err),
		       DWARFS_ERR_INVALID, err);
	assert_failure(dwarfs_archive_export_set_order(export, 7, &err), DWARFS_ERR_RANGE,
		       err);
	assert_failure(dwarfs_archive_export_add_pattern(export, "[", &err),
		       DWARFS_ERR_INVALID, err);
	assert_failure(export_to_fd(export, 1, &err), DWARFS_ERR_INVALID, err);
	assert_failure(dwarfs_archive_export_to_path(export, "a.name", &err),
		       DWARFS_ERR_INVALID, err);
	assert_false(exists("a.name"));
	assert_success(dwarfs_archive_export_set_filters(export, NULL, &err), err);
	assert_success(dwarfs_archive_export_set_options(export, "", &err), err);
	dwarfs_archive_export_free(export);
	dwarfs_archive_export_free(NULL);
	dwarfs_image_free(image);
}

/* Every listed format and filter exists. */
static void lists_are_true(void **state)
{
	dwarfs_image *image = open_image(*state, NULL);
	dwarfs_archive_export *export = new_export(image, "tar");
	dwarfs_error *err = NULL;
	size_t formats = 0, filters = 0;
	const char *text;

	for (; (text = dwarfs_archive_export_format_help(formats)); formats++) {
		char name[40];

		assert_int_equal(sscanf(text, "%39s", name), 1);
		assert_success(dwarfs_archive_export_set_format(export, name, &err), err);
	}
	for (; (text = dwarfs_archive_export_filter_name(filters)); filters++)
		assert_success(dwarfs_archive_export_set_filters(export, text, &err),
			       err);
	assert_true(formats >= 15);
	assert_true(filters >= 10);
	assert_null(dwarfs_archive_export_format_help(SIZE_MAX));
	dwarfs_archive_export_free(export);
	dwarfs_image_free(image);
}

struct reports {
	int left_out, reduced;
};

static void count_report(enum dwarfs_export_report what, const char *path,
			 const char *why, void *user)
{
	struct reports *reports = user;

	assert_true(strlen(why) > 5);
	reports->left_out += what == DWARFS_EXPORT_LEFT_OUT;
	reports->reduced += what == DWARFS_EXPORT_REDUCED;
	assert_true(strlen(path) > 0);
}

/* An ar contains files only. */
static void failures_are_reported_and_counted(void **state)
{
	const char *path = output_path(*state);
	dwarfs_image *image = open_image(*state, NULL);
	dwarfs_archive_export *export = new_export(image, "arbsd");
	struct reports reports = { 0 };
	dwarfs_error *err = NULL;

	dwarfs_archive_export_set_report(export, count_report, &reports);
	assert_failure(dwarfs_archive_export_to_path(export, path, &err),
		       DWARFS_ERR_UNSUPPORTED, err);
	assert_int_equal(reports.left_out, 1);
	assert_int_equal(dwarfs_archive_export_failures(export), 1);
	assert_false(dwarfs_archive_export_is_complete(export));
	assert_false(exists(path));

	dwarfs_archive_export_set_continue_on_error(export, true);
	reports = (struct reports){ 0 };
	assert_int_equal(dwarfs_archive_export_to_path(export, path, &err),
			 DWARFS_ERR_UNSUPPORTED);
	assert_non_null(dwarfs_error_path(err));
	dwarfs_error_free(err);
	err = NULL;
	assert_int_equal(reports.left_out, TREE_ENTRIES - TREE_FILES - 1 /* the root */);
	assert_int_equal(dwarfs_archive_export_failures(export), reports.left_out);
	assert_true(dwarfs_archive_export_is_complete(export));
	assert_true(exists(path));
	unlink(path);

	assert_success(dwarfs_archive_export_set_format(export, "zip", &err), err);
	reports = (struct reports){ 0 };
	assert_failure(dwarfs_archive_export_to_path(export, path, &err),
		       DWARFS_ERR_UNSUPPORTED, err);
	assert_int_equal(reports.left_out, 1);
	assert_true(reports.reduced > 0); /* hard links */
	assert_true(dwarfs_archive_export_is_complete(export));
	unlink(path);
	dwarfs_archive_export_free(export);
	dwarfs_image_free(image);
}

struct watcher {
	locale_t expected;
	int calls;
	uint64_t done, total, out;
	bool is_done, stops;
};

static int watch(const dwarfs_progress *progress, dwarfs_error **err, void *user)
{
	struct watcher *watcher = user;

	(void)err;
	/* Names are not converted with the locale of the caller. */
	assert_true(uselocale((locale_t)0) == watcher->expected);
	watcher->calls++;
	watcher->done = dwarfs_progress_number(progress, DWARFS_PROGRESS_DONE_BYTES);
	watcher->total = dwarfs_progress_number(progress, DWARFS_PROGRESS_TOTAL_BYTES);
	watcher->out = dwarfs_progress_number(progress, DWARFS_PROGRESS_WRITTEN_BYTES);
	watcher->is_done = dwarfs_progress_phase(progress) == DWARFS_PHASE_DONE;
	return watcher->stops && dwarfs_progress_phase(progress) == DWARFS_PHASE_EXTRACT;
}

static void progress_adds_up_and_the_locale_stays(void **state)
{
	const char *path = output_path(*state);
	dwarfs_image *image = open_image(*state, NULL);
	locale_t mine = newlocale(LC_ALL_MASK, "C", (locale_t)0), before;
	struct watcher watcher = { .expected = mine };
	dwarfs_archive_export *export;
	dwarfs_error *err = NULL;
	dwarfs_task *task;
	struct stat stat_of;

	assert_non_null(mine);
	export = new_export(image, "pax");
	before = uselocale(mine);
	task = new_task(watch, &watcher);
	dwarfs_archive_export_set_task(export, task);
	assert_success(dwarfs_archive_export_to_path(export, path, &err), err);
	assert_true(watcher.is_done);
	assert_true(watcher.total > BIG_BYTES);
	assert_int_equal(watcher.done, watcher.total);
	assert_int_equal(stat(path, &stat_of), 0);
	assert_int_equal(watcher.out, stat_of.st_size);
	unlink(path);

	watcher.stops = true;
	assert_failure(dwarfs_archive_export_to_path(export, path, &err),
		       DWARFS_ERR_CANCELLED, err);
	assert_false(exists(path));
	assert_true(uselocale((locale_t)0) == mine);
	uselocale(before);
	freelocale(mine);
	dwarfs_archive_export_free(export);
	dwarfs_task_free(task);
	dwarfs_image_free(image);
}

static void a_cancelled_task_stops_it(void **state)
{
	const char *path = output_path(*state);
	dwarfs_image *image = open_image(*state, NULL);
	dwarfs_archive_export *export = new_export(image, "pax");
	dwarfs_task *task = new_task(NULL, NULL);
	dwarfs_error *err = NULL;

	dwarfs_archive_export_set_task(export, task);
	dwarfs_archive_export_set_continue_on_error(export, true);
	dwarfs_task_cancel(task);
	assert_failure(dwarfs_archive_export_to_path(export, path, &err),
		       DWARFS_ERR_CANCELLED, err);
	assert_false(exists(path));
	dwarfs_archive_export_free(export);
	dwarfs_task_free(task);
	dwarfs_image_free(image);
}

/* The cache can hold all blocks, so nothing is decoded twice: the decoded bytes are at
 * most those of the blocks. */
static void each_block_is_decoded_once(void **state)
{
	static const uint32_t workers[] = { 0, 2 };

	for (size_t i = 0; i < 2; i++) {
		dwarfs_context *context = NULL;
		dwarfs_archive_export *export;
		dwarfs_error *err = NULL;
		dwarfs_image *image;
		uint64_t most;
		int null;

		assert_success(dwarfs_context_new(&context, &err), err);
		assert_success(dwarfs_context_set_workers(context, workers[i], &err),
			       err);
		image = open_image(*state, context);
		most = dwarfs_image_block_count(image) * dwarfs_image_block_bytes(image);
		export = new_export(image, "newc");
		null = open("/dev/null", O_WRONLY);
		assert_success(export_to_fd(export, null, &err), err);
		close(null);
		assert_in_range(
			dwarfs_context_cache_count(context, DWARFS_CACHE_DECODED_BYTES),
			BIG_BYTES / 2, most);
		dwarfs_archive_export_free(export);
		dwarfs_image_free(image);
		dwarfs_context_free(context);
	}
}

static void a_full_device_is_an_error(void **state)
{
	dwarfs_image *image = open_image(*state, NULL);
	dwarfs_archive_export *export = new_export(image, "pax");
	dwarfs_error *err = NULL;
	int full = open("/dev/full", O_WRONLY);

	if (full < 0)
		skip();
	assert_failure(export_to_fd(export, full, &err), DWARFS_ERR_NO_SPACE, err);
	close(full);
	assert_failure(dwarfs_archive_export_to_path(export, "/no/such/place.tar", &err),
		       DWARFS_ERR_NOT_FOUND, err);
	dwarfs_archive_export_free(export);
	dwarfs_image_free(image);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(settings_are_checked),
		cmocka_unit_test(lists_are_true),
		cmocka_unit_test(failures_are_reported_and_counted),
		cmocka_unit_test(progress_adds_up_and_the_locale_stays),
		cmocka_unit_test(a_cancelled_task_stops_it),
		cmocka_unit_test(each_block_is_decoded_once),
		cmocka_unit_test(a_full_device_is_an_error),
	};

	if (!are_archives_built_in()) {
		printf("1..0 # SKIP archives were not built in\n");
		return 0;
	}
	return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
