/* SPDX-License-Identifier: MIT */
/*
 * write/metadata/directory_entries: names by rank, directories, link targets, devices.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "support/small_tables.h"

static struct small_tables *filled(struct build_packing packing)
{
	struct small_tables *all = small_tables_new();

	all->tables.packing = packing;
	assert_int_equal(dw_tables_number(&all->tables, NULL), 0);
	assert_int_equal(dw_tables_fill_entries(&all->tables, NULL), 0);
	return all;
}

static void entries_refer_to_sorted_names(void **state)
{
	struct small_tables *all = filled((struct build_packing){ .plain = true });
	const struct freeze_metadata *out = &all->tables.out;
	const struct span *names = out->names.data, *targets = out->symlinks.data;
	const struct freeze_entry *entries = out->dir_entries.data;

	assert_false(out->has_compact_names);
	assert_true(out->has_dir_entries);
	assert_int_equal(out->names.count, 9);
	for (size_t i = 1; i < 9; i++)
		assert_true(dw_span_compare(names[i - 1], names[i]) < 0);
	assert_int_equal(out->dir_entries.count, 11);
	assert_int_equal(entries[10].name_index, entries[1].name_index);
	for (size_t i = 1; i < 10; i++) {
		assert_int_equal(names[entries[i].name_index].size, 1);
		assert_int_equal(names[entries[i].name_index].data[0], 'a' + i - 1);
	}
	for (size_t i = 0; i < 11; i++)
		assert_int_equal(entries[i].inode_num,
				 all->tree.inodes[all->tree.entries[i].inode].number);
	assert_int_equal(out->symlinks.count, 1);
	assert_memory_equal(targets[0].data, "to", 2);
	assert_int_equal(out->symlink_table.count, 1);
	assert_int_equal(*(const uint32_t *)out->symlink_table.data, 0);
	assert_int_equal(out->devices.count, 1);
	assert_int_equal(*(const uint64_t *)out->devices.data, 0x501);
	small_tables_free(all);
}

static void directories_know_their_entries_and_parents(void **state)
{
	struct small_tables *all = filled((struct build_packing){ 0 });
	const struct freeze_directory *list = all->tables.out.directories.data;

	assert_true(all->tables.out.has_compact_names);
	assert_int_equal(all->tables.out.directories.count, 3); /* with an end */
	assert_int_equal(list[0].first_entry, 1);
	assert_int_equal(list[1].first_entry, 10);
	assert_int_equal(list[2].first_entry, 11);
	assert_int_equal(list[1].self_entry, 4);
	assert_int_equal(list[1].parent_entry, 0);
	small_tables_free(all);
}

static void packed_directories_are_differences(void **state)
{
	struct small_tables *all = filled((struct build_packing){ .directories = true });
	const struct freeze_directory *list = all->tables.out.directories.data;

	assert_int_equal(list[0].first_entry, 1);
	assert_int_equal(list[1].first_entry, 9);
	assert_int_equal(list[2].first_entry, 1);
	assert_int_equal(list[1].self_entry, 0);
	small_tables_free(all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(entries_refer_to_sorted_names),
		cmocka_unit_test(directories_know_their_entries_and_parents),
		cmocka_unit_test(packed_directories_are_differences),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
