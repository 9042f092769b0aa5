/* SPDX-License-Identifier: MIT */
/*
 * api/test_export_warnings: warnings of libarchive while it writes an archive.
 *
 * The table of its functions is that of the test, so that it warns about entries of its choice.
 */
#include <unistd.h>

#include "archive/libarchive.h"
#include "support.h"

static const char *warned; /* the name of the entry */

/* As if there were another error as well. */
static int write_header(struct archive *archive, struct archive_entry *entry)
{
	int ret = archive_write_header(archive, entry);

	if (!warned || strcmp(archive_entry_pathname(entry), warned) != 0)
		return ret;
	archive_set_error(archive, -1, "made up");
	return ret < ARCHIVE_WARN ? ret : ARCHIVE_WARN;
}

/* In the place of archive/libarchive.c. */
int dw_libarchive_new(const struct libarchive **la_out, dwarfs_error **err)
{
	static struct libarchive table = {
#define ADDRESS(member, symbol) .member = &symbol,
		LIBARCHIVE_FUNCTIONS(ADDRESS)
#undef ADDRESS
	};

	table.write_header = write_header;
	*la_out = &table;
	return 0;
}

void dw_libarchive_free(const struct libarchive *la)
{
}

#define ODD   "odd \xff"
#define PLAIN "plain"

static void add(dwarfs_builder *builder, const char *name)
{
	dwarfs_error *err = NULL;
	dwarfs_item *item;

	assert_success(dwarfs_item_new(0100644, &item, &err), err);
	assert_success(dwarfs_item_set_memory(item, name, strlen(name), &err), err);
	assert_success(dwarfs_builder_add_item(builder, name, strlen(name), item, &err),
		       err);
	dwarfs_item_free(item);
}

static dwarfs_image *make_image(struct bytes *bytes)
{
	dwarfs_builder *builder;
	dwarfs_error *err = NULL;
	dwarfs_image *image;
	dwarfs_io *io;

	assert_success(dwarfs_builder_new(NULL, &builder, &err), err);
	add(builder, ODD);
	add(builder, PLAIN);
	assert_success(write_to_function(builder, append_bytes, bytes, &err), err);
	dwarfs_builder_free(builder);
	assert_success(
		dwarfs_io_from_memory(bytes->data, bytes->size, NULL, NULL, &io, &err),
		err);
	assert_success(dwarfs_image_open_io(NULL, io, NULL, &image, &err), err);
	dwarfs_io_free(io);
	return image;
}

struct reports {
	int altered, others;
	char path[50], why[100];
};

static void take_report(enum dwarfs_export_report what, const char *path, const char *why,
			void *user)
{
	struct reports *reports = user;

	reports->altered += what == DWARFS_EXPORT_ALTERED;
	reports->others += what != DWARFS_EXPORT_ALTERED;
	snprintf(reports->path, sizeof(reports->path), "%s", path);
	snprintf(reports->why, sizeof(reports->why), "%s", why);
}

/* The number of copies of an entry's contents: its name followed by a whole block. */
static int has_contents(const struct bytes *archive, const char *name)
{
	char block[512] = { 0 };
	int count = 0;

	memcpy(block, name, strlen(name));
	for (size_t at = 0; at + sizeof(block) <= archive->size; at += sizeof(block))
		count += memcmp(archive->data + at, block, sizeof(block)) == 0;
	return count;
}

static void check(const char *name, bool go_on)
{
	char path[] = "/tmp/dwarfs-warnings-XXXXXX";
	struct bytes bytes = { 0 }, archive;
	struct reports reports = { 0 };
	dwarfs_image *image = make_image(&bytes);
	dwarfs_archive_export *export;
	dwarfs_error *err = NULL;
	int ret;

	close(mkstemp(path));
	unlink(path);
	assert_success(dwarfs_archive_export_new(image, &export, &err), err);
	assert_success(dwarfs_archive_export_set_format(export, "pax", &err), err);
	dwarfs_archive_export_set_continue_on_error(export, go_on);
	dwarfs_archive_export_set_report(export, take_report, &reports);
	warned = name;
	ret = dwarfs_archive_export_to_path(export, path, &err);
	warned = NULL;

	assert_int_equal(dwarfs_archive_export_failures(export), name ? 1 : 0);
	assert_int_equal(dwarfs_archive_export_is_complete(export), !name || go_on);
	assert_int_equal(access(path, F_OK) == 0, !name || go_on);
	assert_int_equal(reports.altered, name ? 1 : 0);
	assert_int_equal(reports.others, 0);
	if (name) {
		assert_string_equal(reports.path, name);
		assert_string_equal(reports.why, "made up");
		assert_true(ret < 0);
		assert_string_equal(dwarfs_error_path(err), name);
	} else {
		assert_success(ret, err);
	}
	dwarfs_error_free(err);
	if (!name || go_on) {
		archive = load_path(path);
		assert_int_equal(has_contents(&archive, ODD), 1);
		assert_int_equal(has_contents(&archive, PLAIN), 1);
		free(archive.data);
		unlink(path);
	}
	dwarfs_archive_export_free(export);
	dwarfs_image_free(image);
	free(bytes.data);
}

/* libarchive warns that it cannot convert it, and writes it unchanged. */
static void an_odd_name_is_no_failure(void **state)
{
	(void)state;
	check(NULL, false);
}

static void a_warning_does_not_hide_behind_one_about_the_name(void **state)
{
	(void)state;
	check(ODD, true);
	check(ODD, false);
}

static void a_warning_is_a_failure_and_the_contents_are_there(void **state)
{
	(void)state;
	check(PLAIN, true);
	check(PLAIN, false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_odd_name_is_no_failure),
		cmocka_unit_test(a_warning_does_not_hide_behind_one_about_the_name),
		cmocka_unit_test(a_warning_is_a_failure_and_the_contents_are_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
