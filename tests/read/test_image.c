/* SPDX-License-Identifier: MIT */
/*
 * read: open, describe and check an image that is known byte by byte, and what becomes of
 * it when bytes are cut, changed, added or moved.
 */
#include <errno.h>
#include <stdio.h>

#include <dwarfs/salvage.h>

#include "format/thrift.h"
#include "support/craft.h"
#include "support/one_file.h"

#include <dwarfs/walk.h>

static dwarfs_image *open_one_file(void)
{
	dwarfs_image *image = NULL;

	assert_int_equal(craft_try(one_file, sizeof(one_file), NULL, &image, NULL), 0);
	return image;
}

/* -- what the known image says ------------------------------------------------------- */

static void its_identity(void **state)
{
	auto_test_image dwarfs_image *image = open_one_file();
	uint64_t seconds = 5;

	assert_non_null(dwarfs_image_context(image));
	assert_int_equal(dwarfs_image_format_minor(image), 5);
	assert_int_equal(dwarfs_image_offset(image), 0);
	assert_int_equal(dwarfs_image_bytes(image), 879);
	assert_int_equal(dwarfs_image_block_count(image), 1);
	assert_int_equal(dwarfs_image_inode_count(image), 2);
	assert_int_equal(dwarfs_image_entry_count(image), 2);
	assert_int_equal(dwarfs_image_original_bytes(image), 3);
	assert_int_equal(dwarfs_image_hardlink_bytes(image), 0);
	assert_null(dwarfs_image_created_by(image));
	assert_false(dwarfs_image_created_on(image, &seconds));
	assert_int_equal(seconds, 5);
	assert_true(dwarfs_image_has_index(image));
	assert_true(dwarfs_image_is_mtime_only(image));
	assert_true(dwarfs_image_time_resolution_ns(image) == 1000000000);
	assert_null(dwarfs_image_feature(image, 0));
	assert_null(dwarfs_image_feature(image, 1000));
	assert_null(dwarfs_image_category(image, 0));
	assert_string_equal(dwarfs_image_packing(image, 0), "mtime_only");
	for (size_t i = 0; i < 20; i++)
		dwarfs_image_packing(image, i);
	assert_null(dwarfs_image_packing(image, 20));
	assert_int_equal(dwarfs_image_block_category(image, 0), -1);
}

static void its_sections(void **state)
{
	static const uint64_t known[4][6] = {
		/* type, compression, offset, stored, unpacked, number */
		{ DWARFS_SECTION_BLOCK, 0, 0, 3, 3, 0 },
		{ DWARFS_SECTION_SCHEMA, 0, ONE_FILE_SCHEMA, 552, 552, 1 },
		{ DWARFS_SECTION_METADATA, 0, ONE_FILE_METADATA, 36, 36, 2 },
		{ DWARFS_SECTION_INDEX, 0, ONE_FILE_INDEX, 32, 32, 3 },
	};
	auto_test_image dwarfs_image *image = open_one_file();
	auto_error dwarfs_error *err = NULL;
	uint64_t value = 77;

	assert_int_equal(dwarfs_image_section_count(image), 4);
	for (uint32_t i = 0; i < 4; i++)
		for (int field = 0; field < 6; field++) {
			assert_int_equal(
				dwarfs_image_section(image, i, field, &value, NULL), 0);
			assert_true(value == known[i][field]);
		}
	value = 77;
	assert_int_equal(dwarfs_image_section(image, 4, 0, &value, &err),
			 DWARFS_ERR_RANGE);
	assert_int_equal(dwarfs_image_section(image, 0, 6, &value, &err),
			 DWARFS_ERR_RANGE);
	assert_int_equal(dwarfs_image_section(image, 0, -1, &value, &err),
			 DWARFS_ERR_RANGE);
	assert_int_equal(value, 77);
	assert_string_equal(dwarfs_section_type_name(8), "METADATA_V2");
	assert_string_equal(dwarfs_section_type_name(0xD000), "XATTRS");
	assert_string_equal(dwarfs_section_type_name(0xDFFF), "UNKNOWN");
	assert_string_equal(dwarfs_compression_name(0), "NONE");
	assert_string_equal(dwarfs_compression_name(2), "ZSTD");
	assert_string_equal(dwarfs_compression_name(77), "UNKNOWN");
}

static void its_entries(void **state)
{
	auto_test_image dwarfs_image *image = open_one_file();
	char name[DWARFS_NAME_ROOM];
	dwarfs_entry entry = 9, first;
	dwarfs_inode inode;
	uint32_t count;
	size_t size;

	assert_int_equal(dwarfs_find(image, "", &entry, NULL), 0);
	assert_int_equal(entry, DWARFS_ROOT);
	assert_int_equal(dwarfs_find(image, "//./../a.txt", &entry, NULL), 0);
	assert_int_equal(entry, 1);
	assert_int_equal(dwarfs_find(image, "a.txt/x", &entry, NULL), DWARFS_ERR_NOT_DIR);
	assert_int_equal(dwarfs_find(image, "a.txt/..", &entry, NULL),
			 DWARFS_ERR_NOT_DIR);
	assert_int_equal(dwarfs_find(image, "a.txt/.", &entry, NULL), DWARFS_ERR_NOT_DIR);
	assert_int_equal(dwarfs_find(image, "a.tx", &entry, NULL), DWARFS_ERR_NOT_FOUND);
	assert_int_equal(dwarfs_find(image, "a.txt2", &entry, NULL),
			 DWARFS_ERR_NOT_FOUND);
	assert_int_equal(entry, 1);
	assert_int_equal(dwarfs_dir_find(image, 0, "a.txt!", 5, &entry, NULL), 0);
	assert_int_equal(dwarfs_dir_find(image, 0, "a.txt", 6, &entry, NULL),
			 DWARFS_ERR_NOT_FOUND);
	assert_int_equal(dwarfs_dir_find(image, 0, "", 0, &entry, NULL),
			 DWARFS_ERR_NOT_FOUND);
	assert_int_equal(dwarfs_dir_find(image, 1, "x", 1, &entry, NULL),
			 DWARFS_ERR_NOT_DIR);
	assert_int_equal(dwarfs_dir_find(image, 2, "x", 1, &entry, NULL),
			 DWARFS_ERR_RANGE);

	assert_int_equal(dwarfs_dir_range(image, 0, &first, &count, NULL), 0);
	assert_int_equal(first, 1);
	assert_int_equal(count, 1);
	assert_int_equal(dwarfs_dir_range(image, 1, &first, &count, NULL),
			 DWARFS_ERR_NOT_DIR);
	assert_int_equal(dwarfs_dir_range(image, 2, &first, &count, NULL),
			 DWARFS_ERR_RANGE);
	assert_int_equal(dwarfs_dir_parent(image, 0, &inode, NULL), 0);
	assert_int_equal(inode, 0);
	assert_int_equal(dwarfs_dir_parent(image, 1, &inode, NULL), DWARFS_ERR_NOT_DIR);
	assert_int_equal(dwarfs_dir_parent(image, UINT32_MAX, &inode, NULL),
			 DWARFS_ERR_RANGE);

	assert_int_equal(dwarfs_entry_inode(image, 1, &inode, NULL), 0);
	assert_int_equal(inode, 1);
	assert_int_equal(dwarfs_entry_inode(image, 2, &inode, NULL), DWARFS_ERR_RANGE);
	assert_int_equal(dwarfs_entry_name(image, 0, name, sizeof(name), &size, NULL), 0);
	assert_string_equal(name, "");
	assert_int_equal(size, 0);
	assert_int_equal(dwarfs_entry_name(image, 1, name, sizeof(name), NULL, NULL), 0);
	assert_string_equal(name, "a.txt");
	assert_int_equal(dwarfs_entry_name(image, 2, name, sizeof(name), NULL, NULL),
			 DWARFS_ERR_RANGE);
	for (size_t room = 0; room <= 6; room++) {
		auto_free char *small = malloc(room ? room : 1);

		size = 99;
		assert_int_equal(dwarfs_entry_name(image, 1, small, room, &size, NULL),
				 room == 6 ? 0 : DWARFS_ERR_RANGE);
		assert_int_equal(size, room == 6 ? 5 : 99);
	}
	assert_int_equal(dwarfs_entry_name(image, 0, name, 0, &size, NULL),
			 DWARFS_ERR_RANGE);
	assert_int_equal(dwarfs_link_read(image, 1, name, sizeof(name), NULL, NULL),
			 DWARFS_ERR_INVALID);
	assert_int_equal(dwarfs_link_read_raw(image, 2, name, sizeof(name), NULL, NULL),
			 DWARFS_ERR_RANGE);
}

static void its_attributes(void **state)
{
	auto_test_image dwarfs_image *image = open_one_file();
	dwarfs_stat *stat = NULL;

	assert_int_equal(dwarfs_stat_new(&stat, NULL), 0);
	assert_int_equal(dwarfs_entry_stat(image, 0, stat, NULL), 0);
	assert_int_equal(dwarfs_stat_inode(stat), 0);
	assert_int_equal(dwarfs_stat_mode(stat), 040755);
	assert_int_equal(dwarfs_stat_bytes(stat), 1);
	assert_int_equal(dwarfs_stat_nlink(stat), 1);
	for (int time = DWARFS_ATIME; time <= DWARFS_CTIME; time++) {
		assert_true(dwarfs_stat_seconds(stat, time) == 1700000000);
		assert_int_equal(dwarfs_stat_nanoseconds(stat, time), 0);
	}
	assert_true(dwarfs_stat_seconds(stat, 99) == 1700000000);

	assert_int_equal(dwarfs_inode_stat(image, 1, stat, NULL), 0);
	assert_int_equal(dwarfs_stat_inode(stat), 1);
	assert_int_equal(dwarfs_stat_mode(stat), 0100644);
	assert_int_equal(dwarfs_stat_uid(stat), 0);
	assert_int_equal(dwarfs_stat_gid(stat), 0);
	assert_int_equal(dwarfs_stat_bytes(stat), 3);
	assert_int_equal(dwarfs_stat_allocated_bytes(stat), 3);
	assert_int_equal(dwarfs_stat_nlink(stat), 1);
	assert_int_equal(dwarfs_stat_rdev_major(stat), 0);
	assert_int_equal(dwarfs_stat_rdev_minor(stat), 0);
	assert_true(dwarfs_stat_seconds(stat, DWARFS_MTIME) == 1700000007);

	/* Failure leaves it as it was. */
	assert_int_equal(dwarfs_inode_stat(image, 2, stat, NULL), DWARFS_ERR_RANGE);
	assert_int_equal(dwarfs_entry_stat(image, 2, stat, NULL), DWARFS_ERR_RANGE);
	assert_int_equal(dwarfs_stat_inode(stat), 1);
	dwarfs_stat_free(stat);
	dwarfs_stat_free(NULL);
}

static void its_walk(void **state)
{
	for (int order = DWARFS_WALK_TREE; order <= DWARFS_WALK_DATA; order++) {
		dwarfs_image *image = open_one_file();
		dwarfs_walk *walk = NULL;
		dwarfs_entry entry = 9;

		assert_int_equal(dwarfs_walk_new(image, 0, order, &walk, NULL), 0);
		dwarfs_image_free(image); /* the walk keeps it */
		assert_int_equal(dwarfs_walk_next(walk, &entry, NULL), 1);
		assert_int_equal(entry, 0);
		assert_string_equal(dwarfs_walk_path(walk), "");
		assert_int_equal(dwarfs_walk_depth(walk), 0);
		assert_int_equal(dwarfs_walk_next(walk, &entry, NULL), 1);
		assert_int_equal(entry, 1);
		assert_string_equal(dwarfs_walk_path(walk), "a.txt");
		assert_int_equal(dwarfs_walk_depth(walk), 1);
		for (int i = 0; i < 3; i++)
			assert_int_equal(dwarfs_walk_next(walk, &entry, NULL), 0);
		dwarfs_walk_free(walk);
	}
	dwarfs_walk_free(NULL);
}

static void a_walk_needs_an_entry_and_an_order(void **state)
{
	auto_test_image dwarfs_image *image = open_one_file();
	dwarfs_walk *walk = NULL;
	dwarfs_entry entry;

	assert_int_equal(dwarfs_walk_new(image, 2, 0, &walk, NULL), DWARFS_ERR_RANGE);
	assert_int_equal(dwarfs_walk_new(image, 0, 2, &walk, NULL), DWARFS_ERR_RANGE);
	assert_null(walk);
	/* It may start at a file. */
	assert_int_equal(dwarfs_walk_new(image, 1, 0, &walk, NULL), 0);
	assert_int_equal(dwarfs_walk_next(walk, &entry, NULL), 1);
	assert_int_equal(entry, 1);
	assert_string_equal(dwarfs_walk_path(walk), "");
	assert_int_equal(dwarfs_walk_next(walk, &entry, NULL), 0);
	dwarfs_walk_free(walk);
	/* What is skipped is not entered. */
	assert_int_equal(dwarfs_walk_new(image, 0, 0, &walk, NULL), 0);
	assert_int_equal(dwarfs_walk_next(walk, &entry, NULL), 1);
	dwarfs_walk_skip(walk);
	assert_int_equal(dwarfs_walk_next(walk, &entry, NULL), 0);
	dwarfs_walk_free(walk);
}

static void its_contents(void **state)
{
	dwarfs_image *image = open_one_file();
	dwarfs_file *file = NULL;
	uint64_t offset = 5;
	char text[8];
	size_t got = 99;

	for (uint64_t from = 0; from < 6; from++)
		for (size_t bytes = 0; bytes < 6; bytes++) {
			size_t expected = from > 3 ? 0 : 3 - (size_t)from;

			expected = expected < bytes ? expected : bytes;
			memset(text, '#', sizeof(text));
			assert_int_equal(
				dwarfs_read(image, 1, text, bytes, from, &got, NULL), 0);
			assert_int_equal(got, expected);
			assert_memory_equal(text, &"hi\n"[from > 3 ? 3 : from], expected);
			assert_int_equal(text[expected], '#');
		}
	got = 99;
	assert_int_equal(dwarfs_read(image, 1, text, 8, UINT64_MAX, &got, NULL), 0);
	assert_int_equal(got, 0);
	assert_int_equal(dwarfs_read(image, 0, text, 8, 0, &got, NULL),
			 DWARFS_ERR_IS_DIR);
	assert_int_equal(dwarfs_read(image, 2, text, 8, 0, &got, NULL), DWARFS_ERR_RANGE);

	assert_int_equal(dwarfs_file_open(image, 0, &file, NULL), DWARFS_ERR_IS_DIR);
	assert_int_equal(dwarfs_file_open(image, 2, &file, NULL), DWARFS_ERR_RANGE);
	assert_null(file);
	assert_int_equal(dwarfs_file_open(image, 1, &file, NULL), 0);
	dwarfs_image_free(image); /* the file keeps it */
	assert_int_equal(dwarfs_file_bytes(file), 3);
	assert_int_equal(dwarfs_file_read(file, text, 8, 1, &got, NULL), 0);
	assert_int_equal(got, 2);
	assert_int_equal(dwarfs_file_seek_data(file, 2, &offset, NULL), 0);
	assert_int_equal(offset, 2);
	assert_int_equal(dwarfs_file_seek_hole(file, 2, &offset, NULL), 0);
	assert_int_equal(offset, 3);
	assert_int_equal(dwarfs_file_seek_data(file, 3, &offset, NULL),
			 DWARFS_ERR_NOT_FOUND);
	assert_int_equal(dwarfs_file_seek_hole(file, 3, &offset, NULL),
			 DWARFS_ERR_NOT_FOUND);
	assert_int_equal(dwarfs_file_seek_hole(file, UINT64_MAX, &offset, NULL),
			 DWARFS_ERR_NOT_FOUND);
	assert_int_equal(offset, 3);
	dwarfs_file_free(file);
	dwarfs_file_free(NULL);
}

static void its_history_is_empty(void **state)
{
	dwarfs_image *image = open_one_file();
	dwarfs_history *history = NULL;
	uint64_t seconds;

	assert_int_equal(dwarfs_history_new(image, &history, NULL), 0);
	dwarfs_image_free(image);
	assert_int_equal(dwarfs_history_count(history), 0);
	assert_string_equal(dwarfs_history_text(history, 0, DWARFS_HISTORY_VERSION), "");
	assert_null(dwarfs_history_item(history, 0, DWARFS_HISTORY_ARGUMENTS, 0));
	assert_false(dwarfs_history_time(history, 0, &seconds));
	dwarfs_history_free(history);
	dwarfs_history_free(NULL);
}

/* The sections of the known image, but for its index. */
static const struct {
	uint32_t type;
	size_t at, size;
} parts[] = {
	{ DWARFS_SECTION_BLOCK, 64, 3 },
	{ DWARFS_SECTION_SCHEMA, ONE_FILE_SCHEMA + 64, 552 },
	{ DWARFS_SECTION_METADATA, ONE_FILE_METADATA + 64, 36 },
};

static void add_part(struct craft *craft, int part)
{
	craft_section(craft, parts[part].type, 0, one_file + parts[part].at,
		      parts[part].size);
}

/* A history with so many steps; each has a text of so many bytes, if any. */
static void add_history(struct craft *craft, uint64_t steps, size_t text)
{
	auto_buffer struct buffer out = { 0 };
	auto_free char *bytes = calloc(text + 1, 1);
	struct thrift_writer writer;

	memset(bytes, 't', text);
	dw_thrift_put_start(&writer, &out);
	dw_thrift_put_list(&writer, 1, THRIFT_LIST, THRIFT_STRUCT, steps);
	for (uint64_t i = 0; i < steps; i++) {
		int32_t saved = dw_thrift_put_begin(&writer, 0);

		if (text)
			dw_thrift_put_string(&writer, 2, bytes, text);
		dw_thrift_put_end(&writer, saved);
	}
	assert_int_equal(dw_thrift_put_stop(&writer, NULL), 0);
	craft_section(craft, DWARFS_SECTION_HISTORY, 0, out.data, out.size);
}

static int read_history(const struct craft *craft, size_t *count_out)
{
	auto_test_image dwarfs_image *image = craft_open(craft, NULL);
	dwarfs_history *history = NULL;
	int ret = dwarfs_history_new(image, &history, NULL);

	if (ret < 0)
		return ret;
	*count_out = dwarfs_history_count(history);
	assert_string_equal(
		dwarfs_history_text(history, *count_out - 1, DWARFS_HISTORY_SYSTEM),
		"ttt");
	assert_null(dwarfs_history_item(history, 0, DWARFS_HISTORY_ARGUMENTS, 0));
	assert_string_equal(dwarfs_history_text(history, *count_out, 0), "");
	dwarfs_history_free(history);
	return 0;
}

static void histories_are_joined_and_bounded(void **state)
{
	auto_craft struct craft craft = { 0 };
	size_t count = 0;

	for (int part = 0; part < 3; part++)
		add_part(&craft, part);
	add_history(&craft, 0, 0);
	add_history(&craft, 2, 0);
	add_history(&craft, 20, 3);
	assert_int_equal(read_history(&craft, &count), 0);
	assert_int_equal(count, 22);
	/* Steps of one byte each, and then more bytes than a history may have. */
	add_history(&craft, 60000, 0);
	add_history(&craft, 1, 3);
	assert_int_equal(read_history(&craft, &count), 0);
	assert_int_equal(count, 60023);
	add_history(&craft, 6000, 0);
	assert_int_equal(read_history(&craft, &count), DWARFS_ERR_CORRUPT);
}

static void large_histories_are_refused_together(void **state)
{
	auto_craft struct craft craft = { 0 };
	size_t count;

	for (int part = 0; part < 3; part++)
		add_part(&craft, part);
	for (int i = 0; i < 5; i++)
		add_history(&craft, 1, 1 << 20);
	assert_int_equal(read_history(&craft, &count), DWARFS_ERR_CORRUPT);
}

static void broken_histories_are_refused(void **state)
{
	/* A list of 2^40 steps; one of 3 that are not there; an unexpected type. */
	static const char *const bad[] = { "ü ", "<", "x", "" };

	for (size_t i = 0; i < 4; i++) {
		auto_craft struct craft craft = { 0 };
		size_t count;

		for (int part = 0; part < 3; part++)
			add_part(&craft, part);
		craft_section(&craft, DWARFS_SECTION_HISTORY, 0, bad[i], strlen(bad[i]));
		assert_int_equal(read_history(&craft, &count), DWARFS_ERR_CORRUPT);
	}
}

struct findings {
	int warnings, errors, silent;
};

static void find(int severity, int code, int64_t section, const char *message, void *user)
{
	struct findings *findings = user;

	if (severity == DWARFS_FINDING_ERROR)
		findings->errors++;
	else
		findings->warnings++;
	findings->silent += !message || !*message || (severity && code == 0);
}

static int stop_at_once(const dwarfs_progress *progress, void *user)
{
	return 1;
}

static void its_check(void **state)
{
	auto_test_image dwarfs_image *image = open_one_file();
	auto_error dwarfs_error *err = NULL;
	struct findings findings = { 0 };
	uint64_t errors = 9;

	for (int level = DWARFS_CHECK_METADATA; level <= DWARFS_CHECK_INTEGRITY; level++)
		assert_int_equal(dwarfs_image_check(image, level, find, NULL, &findings,
						    &errors, &err),
				 0);
	assert_int_equal(errors, 0);
	assert_int_equal(findings.errors + findings.warnings, 0);
	assert_int_equal(dwarfs_image_check(image, 0, NULL, NULL, NULL, NULL, NULL), 0);
	assert_int_equal(dwarfs_image_check(image, 3, NULL, NULL, NULL, NULL, NULL),
			 DWARFS_ERR_RANGE);
	assert_int_equal(
		dwarfs_image_check(image, 0, NULL, stop_at_once, NULL, &errors, &err),
		DWARFS_ERR_CANCELLED);
	assert_int_equal(dwarfs_error_code(err), DWARFS_ERR_CANCELLED);
}

/* -- doing everything with an image that may be anything ----------------------------- */

static void exercise_inode(dwarfs_image *image, dwarfs_inode inode)
{
	char text[DWARFS_LINK_ROOM], bytes[64];
	dwarfs_file *file = NULL;
	dwarfs_inode parent;
	dwarfs_entry first;
	uint64_t offset;
	uint32_t count;
	size_t got;

	dwarfs_dir_range(image, inode, &first, &count, NULL);
	dwarfs_dir_parent(image, inode, &parent, NULL);
	dwarfs_dir_find(image, inode, "a.txt", 5, &first, NULL);
	dwarfs_link_read(image, inode, text, sizeof(text), NULL, NULL);
	dwarfs_read(image, inode, bytes, sizeof(bytes), 1, &got, NULL);
	if (dwarfs_file_open(image, inode, &file, NULL) < 0)
		return;
	dwarfs_file_read(file, bytes, sizeof(bytes), 0, &got, NULL);
	dwarfs_file_seek_hole(file, 0, &offset, NULL);
	dwarfs_file_seek_data(file, 0, &offset, NULL);
	dwarfs_file_free(file);
}

static void exercise_walk(dwarfs_image *image, int order)
{
	dwarfs_walk *walk = NULL;
	dwarfs_entry entry;
	uint32_t steps = 0;

	if (dwarfs_walk_new(image, DWARFS_ROOT, order, &walk, NULL) < 0)
		return;
	while (dwarfs_walk_next(walk, &entry, NULL) > 0)
		assert_true(steps++ < dwarfs_image_entry_count(image));
	dwarfs_walk_next(walk, &entry, NULL); /* also after the end, or an error */
	dwarfs_walk_free(walk);
}

static void exercise(dwarfs_image *image)
{
	char name[DWARFS_NAME_ROOM];
	dwarfs_stat *stat = NULL;
	dwarfs_history *history = NULL;
	dwarfs_inode inode;
	uint64_t value;

	assert_int_equal(dwarfs_stat_new(&stat, NULL), 0);
	exercise_walk(image, DWARFS_WALK_TREE);
	exercise_walk(image, DWARFS_WALK_DATA);
	for (uint32_t i = 0; i < 10 && i <= dwarfs_image_entry_count(image); i++) {
		dwarfs_entry_name(image, i, name, sizeof(name), NULL, NULL);
		dwarfs_entry_inode(image, i, &inode, NULL);
		dwarfs_entry_stat(image, i, stat, NULL);
		dwarfs_inode_stat(image, i, stat, NULL);
		exercise_inode(image, i);
	}
	for (uint32_t i = 0; i < dwarfs_image_section_count(image); i++)
		for (int field = 0; field < 6; field++)
			dwarfs_image_section(image, i, field, &value, NULL);
	if (dwarfs_history_new(image, &history, NULL) == 0)
		dwarfs_history_free(history);
	dwarfs_image_check(image, DWARFS_CHECK_INTEGRITY, NULL, NULL, NULL, NULL, NULL);
	dwarfs_stat_free(stat);
}

static dwarfs_context *quiet_context(void)
{
	dwarfs_context *context = NULL;

	assert_int_equal(dwarfs_context_new(&context, NULL), 0);
	assert_int_equal(dwarfs_context_set_workers(context, 0, NULL), 0);
	return context;
}

static void every_truncation_is_refused(void **state)
{
	for (size_t size = 0; size < sizeof(one_file); size++) {
		auto_free uint8_t *copy = malloc(size ? size : 1);
		auto_error dwarfs_error *err = NULL;
		dwarfs_image *image = NULL;
		int ret;

		memcpy(copy, one_file, size);
		ret = craft_try(copy, size, NULL, &image, &err);
		/* Without the index it is complete. */
		if (size == ONE_FILE_INDEX) {
			assert_int_equal(ret, 0);
			assert_false(dwarfs_image_has_index(image));
			dwarfs_image_free(image);
			continue;
		}
		assert_true(ret == DWARFS_ERR_NOT_IMAGE || ret == DWARFS_ERR_CORRUPT);
		assert_int_equal(dwarfs_error_code(err), ret);
		assert_null(image);
	}
}

/* With the hashes as they were, every change behind the versions is noticed. */
static void every_changed_byte_is_noticed(void **state)
{
	dwarfs_context *context = quiet_context();
	auto_free uint8_t *copy = malloc(sizeof(one_file));

	memcpy(copy, one_file, sizeof(one_file));
	for (size_t at = 0; at < sizeof(one_file); at++) {
		auto_test_image dwarfs_image *image = NULL;

		copy[at] ^= 0x10;
		if (craft_try(copy, sizeof(one_file), context, &image, NULL) == 0)
			assert_true(dwarfs_image_check(image, DWARFS_CHECK_INTEGRITY,
						       NULL, NULL, NULL, NULL,
						       NULL) < 0);
		copy[at] ^= 0x10;
	}
	dwarfs_context_free(context);
}

static void assert_reads_hi(const dwarfs_image *image)
{
	dwarfs_entry entry;
	char text[8];
	size_t got;

	assert_int_equal(dwarfs_find(image, "a.txt", &entry, NULL), 0);
	assert_int_equal(dwarfs_read(image, 1, text, 8, 0, &got, NULL), 0);
	assert_int_equal(got, 3);
	assert_memory_equal(text, "hi\n", 3);
}

/*
 * Damage in what no file needs is found as well, in each byte of header and payload, with
 * and without an index; where the image can be opened, reading goes on.
 */
static void damage_is_found_whatever_the_section(void **state)
{
	dwarfs_context *context = quiet_context();

	(void)state;
	for (int with_index = 0; with_index < 2; with_index++) {
		auto_craft struct craft craft = { 0 };
		size_t from, opened = 0;

		for (int part = 0; part < 3; part++)
			add_part(&craft, part);
		from = craft.bytes.size;
		add_history(&craft, 2, 5);
		craft_section(&craft, 99, 1234, "unknown", 7);
		if (with_index)
			craft_index(&craft, 0);
		for (size_t at = from; at < craft.bytes.size; at++) {
			auto_test_image dwarfs_image *image = NULL;

			craft.bytes.data[at] ^= 0x21;
			if (craft_try(craft.bytes.data, craft.bytes.size, context, &image,
				      NULL) == 0) {
				assert_true(dwarfs_image_check(image,
							       DWARFS_CHECK_INTEGRITY,
							       NULL, NULL, NULL, NULL,
							       NULL) < 0);
				assert_reads_hi(image);
				opened++;
			}
			craft.bytes.data[at] ^= 0x21;
		}
		assert_true(opened > 100);
	}
	dwarfs_context_free(context);
}

/* A history whose hashes are right, but not what they cover. */
static void a_history_that_cannot_be_decoded_is_found(void **state)
{
	static const struct {
		const char *bytes;
		size_t size;
		uint32_t compression;
	} bad[] = { { "\x19", 1, 0 }, { "\x19\x1c\x18", 3, 0 }, { "history", 7, 2 },
		    { "", 0, 0 },    { "history", 7, 77 } };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		auto_craft struct craft craft = { 0 };
		auto_test_image dwarfs_image *image = NULL;

		for (int part = 0; part < 3; part++)
			add_part(&craft, part);
		craft_section(&craft, DWARFS_SECTION_HISTORY, bad[i].compression,
			      bad[i].bytes, bad[i].size);
		craft_index(&craft, 0);
		image = craft_open(&craft, NULL);
		assert_reads_hi(image);
		assert_true(dwarfs_image_check(image, DWARFS_CHECK_CHECKSUMS, NULL, NULL,
					       NULL, NULL, NULL) < 0);
		assert_true(dwarfs_image_check(image, DWARFS_CHECK_INTEGRITY, NULL, NULL,
					       NULL, NULL, NULL) < 0);
		assert_int_equal(dwarfs_image_check(image, DWARFS_CHECK_METADATA, NULL,
						    NULL, NULL, NULL, NULL),
				 0);
	}
}

/* Salvage of one image, some bytes, and another image: it ends, with the first one. */
static void salvage_ends_at_another_image(void **state)
{
	auto_craft struct craft craft = { 0 };
	auto_test_image dwarfs_image *image = NULL;
	dwarfs_image_options *options;
	dwarfs_context *context = quiet_context();
	dwarfs_io *io;
	size_t size;

	(void)state;
	for (int part = 0; part < 3; part++)
		add_part(&craft, part);
	size = craft.bytes.size;
	assert_int_equal(dw_buffer_append(&craft.bytes, "garbage", 7, NULL), 0);
	craft.sections = 0;
	for (int part = 0; part < 3; part++)
		add_part(&craft, part);
	assert_int_equal(craft.bytes.size, 2 * size + 7);
	assert_int_equal(dwarfs_image_options_new(&options, NULL), 0);
	dwarfs_image_options_set_salvage(options, DWARFS_SALVAGE_INTACT);
	assert_int_equal(dwarfs_io_from_memory(craft.bytes.data, craft.bytes.size, NULL,
					       NULL, &io, NULL),
			 0);
	craft_expect_end(60);
	assert_int_equal(dwarfs_image_open_io(context, io, options, &image, NULL), 0);
	craft_expect_end(0);
	assert_reads_hi(image);
	dwarfs_io_free(io);
	dwarfs_image_options_free(options);
	dwarfs_context_free(context);
}

/* With right hashes, anything may be in the sections: each bit, and some whole bytes. */
static void no_changed_byte_does_harm(void **state)
{
	static const uint8_t changes[] = { 0x01, 0x02, 0x04, 0x08, 0x10,
					   0x20, 0x40, 0x80, 0xff, 0x7f };
	dwarfs_context *context = quiet_context();
	auto_free uint8_t *copy = malloc(sizeof(one_file));
	int opened = 0;

	craft_expect_end(300);
	for (size_t at = 0; at < sizeof(one_file); at++)
		for (size_t i = 0; i < sizeof(changes); i++) {
			auto_test_image dwarfs_image *image = NULL;

			memcpy(copy, one_file, sizeof(one_file));
			copy[at] ^= changes[i];
			craft_rehash(copy, sizeof(one_file));
			if (craft_try(copy, sizeof(one_file), context, &image, NULL) ==
			    0) {
				exercise(image);
				opened++;
			}
		}
	craft_expect_end(0);
	assert_true(opened > 100);
	dwarfs_context_free(context);
}

/* -- sections ------------------------------------------------------------------------ */

static void crafting_gives_the_known_image(void **state)
{
	auto_craft struct craft craft = { 0 };

	for (int part = 0; part < 3; part++)
		add_part(&craft, part);
	craft_index(&craft, 0);
	assert_int_equal(craft.bytes.size, sizeof(one_file));
	assert_memory_equal(craft.bytes.data, one_file, sizeof(one_file));
}

static void sections_may_stand_in_any_order(void **state)
{
	static const int orders[][3] = { { 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 },
					 { 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 } };

	for (size_t i = 0; i < 12; i++) {
		auto_craft struct craft craft = { 0 };
		auto_test_image dwarfs_image *image = NULL;

		for (int part = 0; part < 3; part++)
			add_part(&craft, orders[i / 2][part]);
		if (i % 2)
			craft_index(&craft, 0);
		image = craft_open(&craft, NULL);
		assert_int_equal(dwarfs_image_has_index(image), i % 2);
		assert_reads_hi(image);
	}
}

static void unknown_sections_are_passed_over(void **state)
{
	for (int with_index = 0; with_index < 2; with_index++) {
		auto_craft struct craft craft = { 0 };
		auto_test_image dwarfs_image *image = NULL;
		struct findings findings = { 0 };

		craft_section(&craft, 0xD001, 99, "?", 1);
		for (int part = 0; part < 3; part++) {
			add_part(&craft, part);
			craft_section(&craft, 11 + (uint32_t)part, 1234, "", 0);
		}
		if (with_index)
			craft_index(&craft, 0);
		image = craft_open(&craft, NULL);
		assert_reads_hi(image);
		assert_int_equal(dwarfs_image_section_count(image), 7 + with_index);
		assert_int_equal(dwarfs_image_check(image, DWARFS_CHECK_INTEGRITY, find,
						    NULL, &findings, NULL, NULL),
				 0);
		assert_int_equal(findings.warnings, 4);
		assert_int_equal(findings.silent, 0);
	}
}

/* Sections that the index does not list stand between the last listed one and it. */
static void side_sections_are_passed_over(void **state)
{
	for (uint32_t hidden = 1; hidden < 4; hidden++) {
		auto_craft struct craft craft = { 0 };
		auto_test_image dwarfs_image *image = NULL;

		for (int part = 0; part < 3; part++)
			add_part(&craft, part);
		for (uint32_t i = 0; i < hidden; i++)
			craft_section(&craft, 0xD100 + i, 0, "beside", 6);
		craft_index(&craft, hidden);
		image = craft_open(&craft, NULL);
		assert_true(dwarfs_image_has_index(image));
		assert_reads_hi(image);
		assert_int_equal(dwarfs_image_check(image, DWARFS_CHECK_INTEGRITY, NULL,
						    NULL, NULL, NULL, NULL),
				 0);
	}
}

static void schema_and_metadata_are_needed_once(void **state)
{
	static const int wrong[][4] = { { 0, 1, -1, -1 },
					{ 0, 2, -1, -1 },
					{ 0, 1, 1, 2 },
					{ 0, 1, 2, 2 },
					{ 0, -1, -1, -1 } };

	for (size_t i = 0; i < 10; i++) {
		auto_craft struct craft craft = { 0 };
		dwarfs_image *image = NULL;

		for (int k = 0; k < 4 && wrong[i / 2][k] >= 0; k++)
			add_part(&craft, wrong[i / 2][k]);
		craft_section(&craft, 12, 0, "x", 1);
		if (i % 2)
			craft_index(&craft, 0);
		assert_int_equal(
			craft_try(craft.bytes.data, craft.bytes.size, NULL, &image, NULL),
			DWARFS_ERR_CORRUPT);
		assert_null(image);
	}
}

/* A bad index is as good as none. */
static void a_damaged_index_is_ignored(void **state)
{
	for (size_t at = ONE_FILE_INDEX + 8; at < sizeof(one_file); at++) {
		auto_test_image dwarfs_image *image = NULL;
		uint8_t copy[sizeof(one_file)];

		/* Its type and length are needed for walking, too. */
		if (at >= ONE_FILE_INDEX + 0x34 && at < ONE_FILE_INDEX + 0x40)
			continue;
		memcpy(copy, one_file, sizeof(copy));
		copy[at] ^= 0xff;
		assert_int_equal(craft_try(copy, sizeof(copy), NULL, &image, NULL), 0);
		/* SHA is not looked at when opening. */
		if (at >= ONE_FILE_INDEX + 0x28)
			assert_false(dwarfs_image_has_index(image));
		assert_int_equal(dwarfs_image_section_count(image), 4);
		assert_reads_hi(image);
	}
}

/* Right hash, wrong contents: either ignored or refused, never followed blindly. */
static void a_lying_index_does_no_harm(void **state)
{
	static const uint64_t words[] = {
		0,
		1,
		63,
		64,
		ONE_FILE_SCHEMA - 1,
		ONE_FILE_SCHEMA + 1,
		ONE_FILE_INDEX,
		878,
		879,
		880,
		0xFFFFFFFFFFFF,
		0xFFFFFFFFFFC0,
	};
	dwarfs_context *context = quiet_context();

	for (int entry = 0; entry < 4; entry++)
		for (uint64_t type = 0; type < 12; type++)
			for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
				auto_test_image dwarfs_image *image = NULL;
				uint8_t copy[sizeof(one_file)];
				uint64_t word = type << 48 | words[i];

				memcpy(copy, one_file, sizeof(copy));
				for (int k = 0; k < 8; k++)
					copy[ONE_FILE_INDEX + 64 + entry * 8 + k] =
						(uint8_t)(word >> 8 * k);
				craft_rehash(copy, sizeof(copy));
				if (craft_try(copy, sizeof(copy), context, &image,
					      NULL) == 0)
					exercise(image);
			}
	dwarfs_context_free(context);
}

static void versions_up_to_the_known_one(void **state)
{
	for (unsigned minor = 2; minor < 10; minor++) {
		auto_error dwarfs_error *err = NULL;
		auto_test_image dwarfs_image *image = NULL;
		uint8_t copy[sizeof(one_file)];
		int ret;

		memcpy(copy, one_file, sizeof(copy));
		copy[7] = copy[ONE_FILE_SCHEMA + 7] = (uint8_t)minor;
		copy[ONE_FILE_METADATA + 7] = copy[ONE_FILE_INDEX + 7] = (uint8_t)minor;
		ret = craft_try(copy, sizeof(copy), NULL, &image, &err);
		assert_int_equal(ret, minor <= 6 ? 0 : DWARFS_ERR_UNSUPPORTED);
		if (ret < 0)
			continue;
		assert_int_equal(dwarfs_image_format_minor(image), minor);
		assert_int_equal(dwarfs_image_has_index(image), minor >= 4);
		assert_reads_hi(image);
	}
}

/* -- version 1 ----------------------------------------------------------------------- */

static void add_short(struct buffer *out, uint32_t type, uint8_t compression,
		      const void *data, size_t size)
{
	uint8_t header[8] = { (uint8_t)type, (uint8_t)(type >> 8), compression, 0,
			      (uint8_t)size, (uint8_t)(size >> 8), 0,		0 };

	assert_int_equal(dw_buffer_append(out, header, 8, NULL), 0);
	assert_int_equal(dw_buffer_append(out, data, size, NULL), 0);
}

static void make_v1(struct buffer *out, uint8_t minor)
{
	uint8_t start[8] = { 'D', 'W', 'A', 'R', 'F', 'S', 2, minor };

	assert_int_equal(dw_buffer_append(out, start, 8, NULL), 0);
	for (int part = 0; part < 3; part++)
		add_short(out, parts[part].type, 0, one_file + parts[part].at,
			  parts[part].size);
}

static void short_headers_are_read(void **state)
{
	for (uint8_t minor = 0; minor < 2; minor++) {
		auto_buffer struct buffer bytes = { 0 };
		auto_test_image dwarfs_image *image = NULL;
		uint64_t value;

		make_v1(&bytes, minor);
		assert_int_equal(craft_try(bytes.data, bytes.size, NULL, &image, NULL),
				 0);
		assert_int_equal(dwarfs_image_format_minor(image), minor);
		assert_int_equal(dwarfs_image_section_count(image), 3);
		assert_int_equal(dwarfs_image_section(image, 1,
						      DWARFS_SECTION_FIELD_OFFSET, &value,
						      NULL),
				 0);
		assert_int_equal(value, 8 + 8 + 3);
		assert_int_equal(dwarfs_image_section(image, 2,
						      DWARFS_SECTION_FIELD_NUMBER, &value,
						      NULL),
				 0);
		assert_int_equal(value, 2);
		assert_reads_hi(image);
		assert_int_equal(dwarfs_image_check(image, DWARFS_CHECK_INTEGRITY, NULL,
						    NULL, NULL, NULL, NULL),
				 0);
	}
}

static void short_headers_behind_a_prefix(void **state)
{
	auto_buffer struct buffer bytes = { 0 };
	auto_test_image dwarfs_image *image = NULL;

	/* The first magic has no sections behind it. */
	assert_int_equal(dw_buffer_append(&bytes, "#!DWARFS\2\0DWARFS\2\1", 18, NULL), 0);
	make_v1(&bytes, 0);
	assert_int_equal(craft_try(bytes.data, bytes.size, NULL, &image, NULL), 0);
	assert_int_equal(dwarfs_image_offset(image), 18);
	assert_reads_hi(image);
}

static void without_hashes_the_rules_are_checked_at_once(void **state)
{
	dwarfs_context *context = quiet_context();
	auto_buffer struct buffer bytes = { 0 };
	dwarfs_image *image = NULL;
	int refused = 0;

	make_v1(&bytes, 0);
	for (size_t i = 8 + 8 + 3 + 8 + 552 + 8; i < bytes.size - 8; i++)
		for (int bit = 0; bit < 8; bit++) {
			bytes.data[i] ^= (uint8_t)(1 << bit);
			if (craft_try(bytes.data, bytes.size, context, &image, NULL) ==
			    0) {
				exercise(image);
				dwarfs_image_free(image);
			} else {
				refused++;
			}
			bytes.data[i] ^= (uint8_t)(1 << bit);
		}
	assert_true(refused > 50);
	/* And what is not known is not passed over. */
	add_short(&bytes, 10, 0, "x", 1);
	assert_int_equal(craft_try(bytes.data, bytes.size, context, &image, NULL),
			 DWARFS_ERR_CORRUPT);
	dwarfs_context_free(context);
}

/* -- in front of an image ------------------------------------------------------------ */

static void a_prefix_with_decoys_is_skipped(void **state)
{
	auto_buffer struct buffer bytes = { 0 };
	auto_test_image dwarfs_image *image = NULL;
	uint8_t decoy[128];
	size_t start;
	char text[9] = { 0 };
	uint8_t byte;

	assert_int_equal(
		dw_buffer_append(&bytes, "#!/bin/sh DWARFS\2\5 DWARFS\2", 27, NULL), 0);
	/* A first section with nothing behind it; one whose length wraps; a second one.
	 */
	memcpy(decoy, one_file, 64);
	assert_int_equal(dw_buffer_append(&bytes, decoy, 64, NULL), 0);
	memset(decoy + 0x38, 0xff, 8);
	assert_int_equal(dw_buffer_append(&bytes, decoy, 64, NULL), 0);
	assert_int_equal(dw_buffer_append(&bytes, one_file + ONE_FILE_SCHEMA, 64, NULL),
			 0);
	/* Let the image begin across the border of what is read at once. */
	while (bytes.size < (1u << 20) - 3)
		assert_int_equal(dw_buffer_append(&bytes, "\0DWARFS\2", 1, NULL), 0);
	start = bytes.size;
	assert_int_equal(dw_buffer_append(&bytes, one_file, sizeof(one_file), NULL), 0);

	assert_int_equal(craft_try(bytes.data, bytes.size, NULL, &image, NULL), 0);
	assert_int_equal(dwarfs_image_offset(image), start);
	assert_int_equal(dwarfs_image_bytes(image), sizeof(one_file));
	assert_true(dwarfs_image_has_index(image));
	assert_reads_hi(image);
	assert_int_equal(dwarfs_image_read_header(image, text, 8, 2, NULL), 0);
	assert_string_equal(text, "/bin/sh ");
	assert_int_equal(dwarfs_image_read_header(image, &byte, 1, start - 1, NULL), 0);
	assert_int_equal(dwarfs_image_read_header(image, &byte, 1, start, NULL),
			 DWARFS_ERR_RANGE);
	assert_int_equal(dwarfs_image_read_header(image, text, 8, UINT64_MAX - 3, NULL),
			 DWARFS_ERR_RANGE);
	assert_int_equal(dwarfs_image_check(image, DWARFS_CHECK_INTEGRITY, NULL, NULL,
					    NULL, NULL, NULL),
			 0);
}

static void nothing_but_magics_ends(void **state)
{
	auto_buffer struct buffer bytes = { 0 };
	dwarfs_image *image = NULL;

	craft_expect_end(280);
	while (bytes.size < 5u << 18) /* more than is searched at once */
		assert_int_equal(dw_buffer_append(&bytes, "DWARFS\2\5", 8, NULL), 0);
	/* The first one is surely meant to be an image, one in the middle is not. */
	assert_int_equal(craft_try(bytes.data, bytes.size, NULL, &image, NULL),
			 DWARFS_ERR_CORRUPT);
	assert_int_equal(craft_try(bytes.data + 1, bytes.size - 1, NULL, &image, NULL),
			 DWARFS_ERR_NOT_IMAGE);
	craft_expect_end(0);
}

static int open_at(struct span bytes, uint64_t offset, uint64_t size,
		   dwarfs_image **image_out)
{
	dwarfs_image_options *options = NULL;
	dwarfs_io *io = NULL;
	int ret;

	assert_int_equal(dwarfs_image_options_new(&options, NULL), 0);
	dwarfs_image_options_set_offset(options, offset);
	dwarfs_image_options_set_bytes(options, size);
	assert_int_equal(
		dwarfs_io_from_memory(bytes.data, bytes.size, NULL, NULL, &io, NULL), 0);
	ret = dwarfs_image_open_io(NULL, io, options, image_out, NULL);
	dwarfs_io_free(io);
	dwarfs_image_options_free(options);
	return ret;
}

static void place_and_size_can_be_given(void **state)
{
	auto_buffer struct buffer bytes = { 0 };
	auto_test_image dwarfs_image *image = NULL, *none = NULL;
	struct span all;

	assert_int_equal(dw_buffer_append(&bytes, "12345", 5, NULL), 0);
	assert_int_equal(dw_buffer_append(&bytes, one_file, sizeof(one_file), NULL), 0);
	assert_int_equal(dw_buffer_append(&bytes, "678", 3, NULL), 0);
	all = dw_buffer_span(&bytes);

	assert_int_equal(open_at(all, 5, sizeof(one_file), &image), 0);
	assert_true(dwarfs_image_has_index(image));
	assert_reads_hi(image);
	dwarfs_image_free(dw_steal(image));
	assert_int_equal(open_at(all, DWARFS_OFFSET_AUTO, sizeof(one_file), &image), 0);
	assert_reads_hi(image);
	/* Garbage behind it, and places where nothing is. */
	assert_int_equal(open_at(all, 5, DWARFS_SIZE_AUTO, &none), DWARFS_ERR_CORRUPT);
	assert_int_equal(open_at(all, 4, sizeof(one_file), &none), DWARFS_ERR_NOT_IMAGE);
	assert_int_equal(open_at(all, all.size, DWARFS_SIZE_AUTO, &none),
			 DWARFS_ERR_NOT_IMAGE);
	assert_int_equal(open_at(all, all.size + 1, 0, &none), DWARFS_ERR_NOT_IMAGE);
	assert_int_equal(open_at(all, UINT64_MAX - 1, 8, &none), DWARFS_ERR_NOT_IMAGE);
	assert_int_equal(open_at(all, 5, all.size, &none), DWARFS_ERR_RANGE);
	assert_int_equal(open_at(all, 5, UINT64_MAX - 1, &none), DWARFS_ERR_RANGE);
	assert_int_equal(open_at(all, 5, 0, &none), DWARFS_ERR_NOT_IMAGE);
	dwarfs_image_options_free(NULL);
}

/* -- sources ------------------------------------------------------------------------- */

struct source {
	size_t at_once; /* bytes given at once, or 0 for all */
	int calls, closed, interrupt_every;
	int64_t fails_with;
	uint64_t fails_from;
};

static int64_t read_source(void *buffer, size_t bytes, uint64_t offset, void *user)
{
	struct source *source = user;

	assert_true(bytes > 0 && offset + bytes <= sizeof(one_file));
	source->calls++;
	if (source->interrupt_every && source->calls % source->interrupt_every == 0)
		return -EINTR;
	if (source->fails_from && offset + bytes > source->fails_from)
		return source->fails_with;
	if (source->at_once && bytes > source->at_once)
		bytes = source->at_once;
	memcpy(buffer, one_file + offset, bytes);
	return (int64_t)bytes;
}

static void close_source(void *user)
{
	struct source *source = user;

	source->closed++;
}

static int open_source(struct source *source, dwarfs_image **image_out,
		       dwarfs_error **err)
{
	dwarfs_io *io = NULL;
	int ret;

	assert_int_equal(dwarfs_io_new(read_source, sizeof(one_file), close_source,
				       source, &io, NULL),
			 0);
	assert_int_equal(dwarfs_io_bytes(io), sizeof(one_file));
	ret = dwarfs_image_open_io(NULL, io, NULL, image_out, err);
	dwarfs_io_free(io);
	return ret;
}

static void callbacks_may_give_little_at_once(void **state)
{
	struct source source = { .at_once = 1, .interrupt_every = 3 };
	dwarfs_image *image = NULL;

	assert_int_equal(open_source(&source, &image, NULL), 0);
	assert_reads_hi(image);
	assert_int_equal(source.closed, 0);
	dwarfs_image_free(image);
	assert_int_equal(source.closed, 1);
}

static void failing_callbacks_are_input_output_errors(void **state)
{
	static const struct {
		int64_t returned;
		int errnum;
	} cases[] = { { -EIO, EIO },
		      { -ENOENT, ENOENT },
		      { -EACCES, EACCES },
		      { 0, 0 },
		      { INT64_MIN, EIO } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		auto_error dwarfs_error *err = NULL;
		struct source source = { .fails_with = cases[i].returned,
					 .fails_from = ONE_FILE_METADATA };
		dwarfs_image *image = NULL;
		uint64_t offset;

		assert_int_equal(open_source(&source, &image, &err), DWARFS_ERR_IO);
		assert_int_equal(dwarfs_error_code(err), DWARFS_ERR_IO);
		assert_int_equal(dwarfs_error_errno(err), cases[i].errnum);
		assert_true(dwarfs_error_offset(err, &offset));
		assert_null(image);
		assert_int_equal(source.closed, 1);
	}
}

static void ranges_of_sources_are_checked(void **state)
{
	dwarfs_io *io = NULL;
	uint8_t bytes[8] = { 0 };

	assert_int_equal(dwarfs_io_new(NULL, 8, NULL, NULL, &io, NULL),
			 DWARFS_ERR_INVALID);
	assert_int_equal(dwarfs_io_from_memory("abcdef", 6, NULL, NULL, &io, NULL), 0);
	assert_int_equal(dwarfs_io_read(io, bytes, 6, 0, NULL), 0);
	assert_memory_equal(bytes, "abcdef", 6);
	assert_int_equal(dwarfs_io_read(io, bytes, 0, 6, NULL), 0);
	assert_int_equal(dwarfs_io_read(io, bytes, 1, 6, NULL), DWARFS_ERR_RANGE);
	assert_int_equal(dwarfs_io_read(io, bytes, 7, 0, NULL), DWARFS_ERR_RANGE);
	assert_int_equal(dwarfs_io_read(io, bytes, 2, UINT64_MAX, NULL),
			 DWARFS_ERR_RANGE);
	assert_int_equal(dwarfs_io_read(io, bytes, SIZE_MAX, 2, NULL), DWARFS_ERR_RANGE);
	dwarfs_io_free(io);
	dwarfs_io_free(NULL);
	assert_int_equal(dwarfs_io_from_fd(-1, &io, NULL), DWARFS_ERR_INVALID);
}

static void files_that_are_not_there_are_named(void **state)
{
	auto_error dwarfs_error *err = NULL;
	dwarfs_image *image = NULL;
	int ret;

	assert_int_equal(
		dwarfs_image_open(NULL, "/nonexistent/x.dwarfs", NULL, &image, &err),
		DWARFS_ERR_NOT_FOUND);
	assert_string_equal(dwarfs_error_path(err), "/nonexistent/x.dwarfs");
	assert_int_equal(dwarfs_error_errno(err), ENOENT);
	assert_int_equal(dwarfs_image_open(NULL, "/", NULL, &image, &err),
			 DWARFS_ERR_IS_DIR);
	ret = dwarfs_image_open(NULL, "/dev/null", NULL, &image, &err);
	assert_true(ret < 0);
	assert_int_equal(dwarfs_error_code(err), ret);
	assert_null(image);
	dwarfs_image_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(its_identity),
		cmocka_unit_test(its_sections),
		cmocka_unit_test(its_entries),
		cmocka_unit_test(its_attributes),
		cmocka_unit_test(its_walk),
		cmocka_unit_test(a_walk_needs_an_entry_and_an_order),
		cmocka_unit_test(its_contents),
		cmocka_unit_test(its_history_is_empty),
		cmocka_unit_test(histories_are_joined_and_bounded),
		cmocka_unit_test(large_histories_are_refused_together),
		cmocka_unit_test(broken_histories_are_refused),
		cmocka_unit_test(its_check),
		cmocka_unit_test(every_truncation_is_refused),
		cmocka_unit_test(every_changed_byte_is_noticed),
		cmocka_unit_test(no_changed_byte_does_harm),
		cmocka_unit_test(crafting_gives_the_known_image),
		cmocka_unit_test(sections_may_stand_in_any_order),
		cmocka_unit_test(unknown_sections_are_passed_over),
		cmocka_unit_test(damage_is_found_whatever_the_section),
		cmocka_unit_test(salvage_ends_at_another_image),
		cmocka_unit_test(a_history_that_cannot_be_decoded_is_found),
		cmocka_unit_test(side_sections_are_passed_over),
		cmocka_unit_test(schema_and_metadata_are_needed_once),
		cmocka_unit_test(a_damaged_index_is_ignored),
		cmocka_unit_test(a_lying_index_does_no_harm),
		cmocka_unit_test(versions_up_to_the_known_one),
		cmocka_unit_test(short_headers_are_read),
		cmocka_unit_test(short_headers_behind_a_prefix),
		cmocka_unit_test(without_hashes_the_rules_are_checked_at_once),
		cmocka_unit_test(a_prefix_with_decoys_is_skipped),
		cmocka_unit_test(nothing_but_magics_ends),
		cmocka_unit_test(place_and_size_can_be_given),
		cmocka_unit_test(callbacks_may_give_little_at_once),
		cmocka_unit_test(failing_callbacks_are_input_output_errors),
		cmocka_unit_test(ranges_of_sources_are_checked),
		cmocka_unit_test(files_that_are_not_there_are_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
