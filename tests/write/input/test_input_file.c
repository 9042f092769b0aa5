/* SPDX-License-Identifier: MIT */
/*
 * write/input/input_file: files on disk and in the spool, and changes since the scan.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "write/input/input_file.h"
#include "write/items/assembly.h"

static int open_null(void *user, uint32_t entry, int *fd_out)
{
	*(uint32_t *)user = entry;
	*fd_out = -1;
	return 0;
}

static void a_scanned_file_is_opened_by_its_entry(void **state)
{
	struct tree_inode inode = { .entry = 5, .size = 100, .mtime = 7, .mtime_ns = 8 };
	struct os_stat stat = { .size = 100, .mtime = { 7, 8 } };
	struct build_run run = { 0 };
	struct input_file file;
	uint32_t entry = 0;

	assert_int_equal(dw_input_file_open(&run, &inode, open_null, &entry, &file), 0);
	assert_int_equal(entry, 5);
	assert_true(dw_input_file_matches(&file, &stat));
	stat.mtime.nanoseconds = 9;
	assert_false(dw_input_file_matches(&file, &stat));
	stat.mtime = (struct os_time){ 8, 8 };
	assert_false(dw_input_file_matches(&file, &stat));
	stat = (struct os_stat){ .size = 99, .mtime = { 7, 8 } };
	assert_false(dw_input_file_matches(&file, &stat));
}

static void an_item_is_read_from_the_spool(void **state)
{
	struct record record = { .kind = RECORD_SPOOLED };
	struct assembly assembly = { .records = &record, .record_count = 1 };
	struct build_run run = { .assembly = &assembly };
	struct tree_inode inode = { .size = 5 };
	struct input_file file;
	uint64_t start, end;
	struct os_stat stat;
	char bytes[8];

	assert_int_equal(dw_spool_new("/tmp", 1 << 20, &assembly.spool, NULL), 0);
	dw_spool_begin(assembly.spool);
	assert_int_equal(dw_spool_add(assembly.spool, "hello", 5, 0, NULL), 0);
	assert_int_equal(dw_spool_end(assembly.spool, 5, &record.source, NULL), 0);
	assert_int_equal(dw_spool_finish(assembly.spool, NULL), 0);
	assert_int_equal(dw_input_file_open(&run, &inode, NULL, NULL, &file), 0);
	assert_int_equal(dw_input_file_stat(&file, &stat), 0);
	assert_int_equal(stat.size, 5);
	assert_true(dw_input_file_matches(&file, &stat));
	assert_int_equal(dw_input_file_read_at(&file, bytes, sizeof(bytes), 1), 4);
	assert_memory_equal(bytes, "ello", 4);
	assert_int_equal(dw_input_file_next_data(&file, 1, 5, &start, &end), 0);
	assert_int_equal(start, 1);
	assert_int_equal(end, 5);
	dw_input_file_close(&file);
	assert_null(file.spool);
	dw_spool_free(assembly.spool);
}

static void an_item_on_disk_has_the_time_when_it_was_added(void **state)
{
	struct record record = { .kind = RECORD_FILE };
	struct record_file on_disk = {
		.size = 9, .mtime = 3, .mtime_ns = 4, .disk_path = 6
	};
	struct assembly assembly = { .records = &record, .files = &on_disk };
	struct build_run run = { .assembly = &assembly };
	struct tree_inode inode = { .entry = 5, .size = 100, .mtime = 7 };
	struct os_stat stat = { .size = 9, .mtime = { 3, 4 } };
	struct input_file file;
	uint32_t entry = 0;

	assert_int_equal(dw_input_file_open(&run, &inode, open_null, &entry, &file), 0);
	assert_int_equal(entry, 6);
	assert_true(dw_input_file_matches(&file, &stat));
	record.kind = RECORD_PLAIN;
	assert_int_equal(dw_input_file_open(&run, &inode, open_null, &entry, &file),
			 -ESTALE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_scanned_file_is_opened_by_its_entry),
		cmocka_unit_test(an_item_is_read_from_the_spool),
		cmocka_unit_test(an_item_on_disk_has_the_time_when_it_was_added),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
