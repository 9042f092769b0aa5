/* SPDX-License-Identifier: MIT */
/*
 * api/archive_import: the handle that reads archives.
 * tests/utils/mkdwarfs/test_archive.py checks the entries.
 */
#include <fcntl.h>
#include <locale.h>
#include <unistd.h>

#include "archives.h"

#ifdef __APPLE__
#include <xlocale.h>
#endif

#define BLOCK TAR_BLOCK

/* -- archives -------------------------------------------------------------------- */

static struct bytes one_file(const char *name, const char *text)
{
	struct bytes archive = { 0 };

	add_tar(&archive, '0', name, "", text);
	add_tar_end(&archive);
	return archive;
}

/* -- support --------------------------------------------------------------------- */

struct import {
	dwarfs_builder *builder;
	dwarfs_archive_import *import;
	struct bytes image;
};

static struct import begin(dwarfs_context *context)
{
	struct import import = { 0 };
	dwarfs_error *err = NULL;

	assert_success(dwarfs_builder_new(context, &import.builder, &err), err);
	assert_success(dwarfs_builder_set_level(import.builder, 0, &err), err);
	assert_success(dwarfs_archive_import_new(import.builder, &import.import, &err),
		       err);
	return import;
}

static void end(struct import *import)
{
	dwarfs_archive_import_free(import->import);
	dwarfs_builder_free(import->builder);
	free(import->image.data);
}

static dwarfs_image *open_result(struct import *import)
{
	dwarfs_image *image = NULL;
	dwarfs_error *err = NULL;
	dwarfs_io *io = NULL;

	assert_success(
		write_to_function(import->builder, append_bytes, &import->image, &err),
		err);
	assert_success(dwarfs_io_from_memory(import->image.data, import->image.size, NULL,
					     NULL, &io, &err),
		       err);
	assert_success(dwarfs_image_open_io(NULL, io, NULL, &image, &err), err);
	dwarfs_io_free(io);
	return image;
}

static void must_hold(const dwarfs_image *image, const char *path, const char *text)
{
	dwarfs_error *err = NULL;
	char buffer[100] = { 0 };
	size_t bytes;

	assert_success(dwarfs_read(image, find_inode(image, path), buffer, sizeof(buffer),
				   0, &bytes, &err),
		       err);
	assert_int_equal(bytes, strlen(text));
	assert_string_equal(buffer, text);
}

static int take(struct import *import, const struct bytes *archive, dwarfs_error **err)
{
	return import_bytes(import->import, archive, err);
}

/* -- cases ----------------------------------------------------------------------- */

static void formats_are_listed_and_checked(void **state)
{
	struct import import = begin(NULL);
	dwarfs_error *err = NULL;
	const char *help;
	size_t i;

	(void)state;
	for (i = 0; (help = dwarfs_archive_import_format_help(i)); i++) {
		char name[32] = { 0 };
		int ret;

		memcpy(name, help, strcspn(help, " "));
		ret = dwarfs_archive_import_set_format(import.import, name, &err);
		assert_true(ret == 0 || ret == DWARFS_ERR_UNSUPPORTED);
	}
	assert_true(i >= 10);
	assert_success(dwarfs_archive_import_set_format(import.import, "auto", &err),
		       err);
	assert_failure(dwarfs_archive_import_set_format(import.import, "ta", &err),
		       DWARFS_ERR_INVALID, err);
	assert_failure(dwarfs_archive_import_set_prefix(import.import, "a/../b", &err),
		       DWARFS_ERR_INVALID, err);
	end(&import);
}

static void several_are_merged(void **state)
{
	struct bytes first = one_file("./a", "first");
	struct bytes second = one_file("top/b", "second");
	struct bytes third = one_file("/a", "third");
	struct import import = begin(NULL);
	dwarfs_error *err = NULL;
	dwarfs_image *image;

	(void)state;
	assert_success(take(&import, &first, &err), err);
	dwarfs_archive_import_set_strip_components(import.import, 1);
	assert_success(dwarfs_archive_import_set_prefix(import.import, "/d/e/", &err),
		       err);
	assert_success(take(&import, &second, &err), err);
	dwarfs_archive_import_set_strip_components(import.import, 0);
	assert_success(dwarfs_archive_import_set_prefix(import.import, "", &err), err);
	assert_success(take(&import, &third, &err), err);
	assert_int_equal(dwarfs_archive_import_warnings(import.import), 0);
	image = open_result(&import);
	must_hold(image, "a", "third");
	must_hold(image, "d/e/b", "second");
	dwarfs_image_free(image);
	end(&import);
	free(first.data);
	free(second.data);
	free(third.data);
}

static void a_file_is_read_from_its_position(void **state)
{
	const struct fixture *fixture = *state;
	struct bytes archive = { 0 };
	struct import import = begin(NULL);
	dwarfs_error *err = NULL;
	dwarfs_image *image;
	dwarfs_io *io = NULL;
	char path[120];
	int fd;

	append_padded(&archive, "in front", 8, BLOCK + 3);
	add_tar(&archive, '0', "f", "", "text");
	add_tar_end(&archive);
	snprintf(path, sizeof(path), "%s/archive", fixture->dir);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, archive.data, archive.size), archive.size);
	assert_int_equal(lseek(fd, BLOCK + 3, SEEK_SET), BLOCK + 3);
	assert_success(dwarfs_io_from_stream(fd, &io, &err), err);
	assert_success(dwarfs_archive_import_io(import.import, io, &err), err);
	dwarfs_io_free(io);
	assert_int_equal(lseek(fd, 0, SEEK_CUR), BLOCK + 3);
	close(fd);
	unlink(path);
	assert_failure(dwarfs_archive_import_path(import.import, path, &err),
		       DWARFS_ERR_NOT_FOUND, err);
	image = open_result(&import);
	must_hold(image, "f", "text");
	dwarfs_image_free(image);
	end(&import);
	free(archive.data);
}

static void errors_have_codes(void **state)
{
	struct bytes good = one_file("f", "text");
	struct bytes links = { 0 };
	struct bytes out = one_file("../f", "");
	struct bytes cut = { good.data, BLOCK + 100 };
	struct bytes no_end = { good.data, 2 * BLOCK };
	struct bytes other = { (uint8_t *)"no archive", 10 };
	struct import import = begin(NULL);
	dwarfs_error *err = NULL;

	(void)state;
	add_tar(&links, '1', "l", "gone", "");
	add_tar_end(&links);
	assert_failure(take(&import, &cut, &err), DWARFS_ERR_CORRUPT, err);
	assert_failure(take(&import, &no_end, &err), DWARFS_ERR_CORRUPT, err);
	assert_failure(take(&import, &other, &err), DWARFS_ERR_UNSUPPORTED, err);
	assert_int_equal(take(&import, &out, &err), DWARFS_ERR_INVALID);
	assert_string_equal(dwarfs_error_path(err), "../f");
	assert_int_equal(take(&import, &links, &err), DWARFS_ERR_NOT_FOUND);
	assert_string_equal(dwarfs_error_path(err), "l");
	dwarfs_error_free(err);
	end(&import);
	free(good.data);
	free(links.data);
	free(out.data);
}

/* -- reports --------------------------------------------------------------------- */

struct reports {
	int count[3];
	char text[3][200]; /* the last of each kind: path and reason */
	locale_t locale;
};

static void note(enum dwarfs_import_report what, const char *path, const char *why,
		 void *user)
{
	struct reports *reports = user;

	assert_in_range(what, 0, 2);
	assert_true(uselocale((locale_t)0) == reports->locale);
	assert_null(strchr(why, '\n'));
	reports->count[what]++;
	snprintf(reports->text[what], sizeof(reports->text[what]), "%s: %s", path, why);
}

static struct bytes with_bad_ones(void)
{
	struct bytes archive = { 0 };

	add_tar(&archive, '0', "d/a", "", "1");
	add_tar(&archive, '0', "d/b", "", "1");
	add_tar(&archive, '0', "a/../b", "", "");
	add_tar(&archive, '0', "d", "", "now a file");
	add_tar(&archive, '0', "d/below", "", "1");
	add_tar(&archive, '1', "link", "nothing", "");
	add_tar(&archive, '0', "z", "", "last");
	add_tar_end(&archive);
	return archive;
}

static void the_first_failure_is_reported(void **state)
{
	struct reports reports = { .locale = uselocale((locale_t)0) };
	struct bytes archive = with_bad_ones();
	struct import import = begin(NULL);
	dwarfs_error *err = NULL;

	(void)state;
	dwarfs_archive_import_set_report(import.import, note, &reports);
	assert_int_equal(take(&import, &archive, &err), DWARFS_ERR_INVALID);
	assert_string_equal(dwarfs_error_path(err), "a/../b");
	dwarfs_error_free(err);
	assert_int_equal(reports.count[DWARFS_IMPORT_LEFT_OUT], 1);
	assert_int_equal(reports.count[DWARFS_IMPORT_REPLACED], 0);
	assert_string_equal(reports.text[DWARFS_IMPORT_LEFT_OUT],
			    "a/../b: has '..' in its path");
	assert_int_equal(dwarfs_archive_import_failures(import.import), 1);
	assert_false(dwarfs_archive_import_is_complete(import.import));
	end(&import);
	free(archive.data);
}

static void it_goes_on_when_told_so(void **state)
{
	struct reports reports = { .locale = uselocale((locale_t)0) };
	struct bytes archive = with_bad_ones();
	struct bytes good = one_file("more", "");
	struct bytes cut = { archive.data, archive.size - 2 * BLOCK };
	struct import import = begin(NULL);
	dwarfs_error *err = NULL;
	dwarfs_image *image;
	dwarfs_entry entry;

	(void)state;
	dwarfs_archive_import_set_report(import.import, note, &reports);
	dwarfs_archive_import_set_continue_on_error(import.import, true);
	assert_int_equal(take(&import, &archive, &err), DWARFS_ERR_INVALID);
	assert_string_equal(dwarfs_error_path(err), "a/../b");
	dwarfs_error_free(err);
	err = NULL;
	assert_true(dwarfs_archive_import_is_complete(import.import));
	assert_int_equal(dwarfs_archive_import_failures(import.import), 3);
	assert_int_equal(dwarfs_archive_import_warnings(import.import), 0);
	assert_int_equal(reports.count[DWARFS_IMPORT_LEFT_OUT], 3);
	assert_int_equal(reports.count[DWARFS_IMPORT_REDUCED], 0);
	assert_int_equal(reports.count[DWARFS_IMPORT_REPLACED], 1);
	assert_string_equal(reports.text[DWARFS_IMPORT_REPLACED],
			    "d: replaces a directory with 2 entries");
	assert_string_equal(reports.text[DWARFS_IMPORT_LEFT_OUT],
			    "link: hard link: its target does not exist");
	assert_success(take(&import, &good, &err), err);
	assert_int_equal(dwarfs_archive_import_failures(import.import), 3);

	image = open_result(&import);
	must_hold(image, "d", "now a file");
	must_hold(image, "z", "last");
	must_hold(image, "more", "");
	assert_int_equal(dwarfs_find(image, "link", &entry, NULL), DWARFS_ERR_NOT_FOUND);
	assert_int_equal(dwarfs_find(image, "b", &entry, NULL), DWARFS_ERR_NOT_FOUND);
	dwarfs_image_free(image);
	end(&import);

	import = begin(NULL);
	dwarfs_archive_import_set_continue_on_error(import.import, true);
	assert_failure(take(&import, &cut, &err), DWARFS_ERR_CORRUPT, err);
	assert_false(dwarfs_archive_import_is_complete(import.import));
	end(&import);
	free(archive.data);
	free(good.data);
}

static void lost_attributes_are_reported(void **state)
{
	/* An invalid access control list. */
	static const char record[] = "31 SCHILY.acl.access=user:::xyz\n";
	struct reports reports = { .locale = uselocale((locale_t)0) };
	struct bytes archive = { 0 };
	struct import import = begin(NULL);
	dwarfs_error *err = NULL;

	(void)state;
	add_tar(&archive, 'x', "pax", "", record);
	add_tar(&archive, '0', "f", "", "text");
	add_tar_end(&archive);
	dwarfs_archive_import_set_report(import.import, note, &reports);
	assert_success(take(&import, &archive, &err), err);
	assert_int_equal(dwarfs_archive_import_warnings(import.import), 1);
	assert_int_equal(reports.count[DWARFS_IMPORT_REDUCED], 1);
	assert_memory_equal(reports.text[DWARFS_IMPORT_REDUCED], "f: ", 3);
	assert_true(dwarfs_archive_import_is_complete(import.import));
	end(&import);
	free(archive.data);
}

static void layers_hide_what_is_older(void **state)
{
	struct import import = begin(NULL);
	struct bytes lower = { 0 };
	struct bytes upper = { 0 };
	dwarfs_error *err = NULL;
	dwarfs_entry entry;
	dwarfs_image *image;

	(void)state;
	add_tar(&lower, '0', "d/old", "", "1");
	add_tar(&lower, '0', "gone", "", "1");
	add_tar_end(&lower);
	add_tar(&upper, '0', "d/new", "", "2");
	add_tar(&upper, '0', "d/.wh..wh..opq", "", "");
	add_tar(&upper, '0', ".wh.gone", "", "");
	add_tar_end(&upper);
	dwarfs_archive_import_set_whiteouts(import.import, true);
	assert_success(take(&import, &lower, &err), err);
	assert_true(dwarfs_builder_has_item(import.builder, "d/old", 5));
	assert_success(take(&import, &upper, &err), err);
	assert_false(dwarfs_builder_has_item(import.builder, "d/old", 5));
	image = open_result(&import);
	must_hold(image, "d/new", "2");
	assert_int_equal(dwarfs_find(image, "gone", &entry, NULL), DWARFS_ERR_NOT_FOUND);
	dwarfs_image_free(image);
	end(&import);
	free(lower.data);
	free(upper.data);
}

struct watch {
	locale_t locale;
	int calls;
	int stop;
};

static int watch_locale(const dwarfs_progress *progress, dwarfs_error **err, void *user)
{
	struct watch *watch = user;

	(void)err;
	assert_true(dwarfs_progress_phase(progress) == DWARFS_PHASE_IMPORT ||
		    dwarfs_progress_phase(progress) == DWARFS_PHASE_DONE);
	assert_true(uselocale((locale_t)0) == watch->locale);
	watch->calls++;
	return watch->stop;
}

static void the_locale_is_that_of_the_caller(void **state)
{
	/* Of the C locale some C libraries have only one, which import then uses, too. */
	const locale_t mine = newlocale(LC_ALL_MASK, "C.UTF-8", (locale_t)0);
	struct bytes archive = one_file("\xff name", "text");
	struct import import = begin(NULL);
	dwarfs_error *err = NULL;
	struct watch watch = { .locale = mine };
	dwarfs_task *task = new_task(watch_locale, &watch);

	(void)state;
	uselocale(mine);
	dwarfs_archive_import_set_task(import.import, task);
	assert_success(take(&import, &archive, &err), err);
	assert_true(watch.calls > 0);
	assert_true(uselocale((locale_t)0) == mine);
	watch.stop = 1;
	assert_failure(take(&import, &archive, &err), DWARFS_ERR_CANCELLED, err);
	assert_true(uselocale((locale_t)0) == mine);
	uselocale(LC_GLOBAL_LOCALE);
	freelocale(mine);
	assert_true(dwarfs_builder_has_item(import.builder, "\xff name", 6));
	end(&import);
	dwarfs_task_free(task);
	free(archive.data);
}

static void a_cancelled_task_stops_it(void **state)
{
	struct bytes archive = one_file("f", "text");
	struct import import = begin(NULL);
	dwarfs_task *task = new_task(NULL, NULL);
	dwarfs_error *err = NULL;

	(void)state;
	dwarfs_task_cancel(task);
	dwarfs_archive_import_set_task(import.import, task);
	assert_failure(take(&import, &archive, &err), DWARFS_ERR_CANCELLED, err);
	end(&import);
	dwarfs_task_free(task);
	free(archive.data);
}

static void a_builder_with_a_directory_takes_none(void **state)
{
	const struct fixture *fixture = *state;
	struct bytes archive = one_file("f", "text");
	struct import import = begin(NULL);
	dwarfs_error *err = NULL;

	assert_success(dwarfs_builder_add_directory(import.builder, fixture->tree, &err),
		       err);
	assert_failure(take(&import, &archive, &err), DWARFS_ERR_INVALID, err);
	end(&import);
	free(archive.data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(formats_are_listed_and_checked),
		cmocka_unit_test(several_are_merged),
		cmocka_unit_test(a_file_is_read_from_its_position),
		cmocka_unit_test(errors_have_codes),
		cmocka_unit_test(the_first_failure_is_reported),
		cmocka_unit_test(it_goes_on_when_told_so),
		cmocka_unit_test(lost_attributes_are_reported),
		cmocka_unit_test(layers_hide_what_is_older),
		cmocka_unit_test(the_locale_is_that_of_the_caller),
		cmocka_unit_test(a_cancelled_task_stops_it),
		cmocka_unit_test(a_builder_with_a_directory_takes_none),
	};

	if (!are_archives_built_in()) {
		printf("1..0 # SKIP archives were not built in\n");
		return 0;
	}
	return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
