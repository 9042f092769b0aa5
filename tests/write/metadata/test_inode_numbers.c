/* SPDX-License-Identifier: MIT */
/*
 * write/metadata/inode_numbers: classes follow each other, files are in storing order.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/small_tables.h"

static void numbers_are_by_class_and_storing_order(void **state)
{
	static const uint32_t inodes[] = { 0, 4, 5, 8, 9, 7, 1, 2, 3, 6 };
	static const uint32_t files[] = { 2, 3, 1, 0 };
	struct small_tables *all = small_tables_new();
	const struct tables *tables = &all->tables;

	assert_int_equal(dw_tables_number(&all->tables, NULL), 0);
	assert_int_equal(tables->unique_count, 3);
	assert_int_equal(tables->file_count, 4);
	assert_memory_equal(tables->files, files, sizeof(files));
	assert_memory_equal(tables->inode_of, inodes, sizeof(inodes));
	for (uint32_t i = 0; i < 10; i++)
		assert_int_equal(all->tree.inodes[inodes[i]].number, i);
	assert_int_equal(tables->first[CLASS_DIR], 0);
	assert_int_equal(tables->first[CLASS_LNK], 2);
	assert_int_equal(tables->first[CLASS_REG], 3);
	assert_int_equal(tables->first[CLASS_DEV], 8);
	assert_int_equal(tables->first[CLASS_OTH], 9);
	assert_int_equal(tables->first[CLASS_COUNT], 10);
	small_tables_free(all);
}

/* Empty contents have no chunk; they are in the order of the scan. */
static void contents_without_chunks_are_numbered_too(void **state)
{
	struct small_tables *all = small_tables_new();

	for (uint32_t i = 1; i < 4; i++)
		all->contents.list[i].fragment_count = 0;
	assert_int_equal(dw_tables_number(&all->tables, NULL), 0);
	assert_int_equal(all->tables.files[0], 1);
	assert_int_equal(all->tables.files[1], 2);
	assert_int_equal(all->tables.files[2], 3);
	assert_int_equal(all->tables.files[3], 0); /* shared */
	small_tables_free(all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_by_class_and_storing_order),
		cmocka_unit_test(contents_without_chunks_are_numbered_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
