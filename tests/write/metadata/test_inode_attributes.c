/* SPDX-License-Identifier: MIT */
/*
 * write/metadata/inode_attributes: modes, owners, and times as the options ask.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/small_tables.h"

static struct small_tables *numbered(void)
{
	struct small_tables *all = small_tables_new();

	assert_int_equal(dw_tables_number(&all->tables, NULL), 0);
	return all;
}

static const struct freeze_inode *inode_of(const struct small_tables *all, uint32_t inode)
{
	return &all->tables.inodes[all->tree.inodes[inode].number];
}

static void modes_and_owners_are_indices(void **state)
{
	struct small_tables *all = numbered();
	const struct freeze_metadata *out = &all->tables.out;
	const uint32_t *modes, *uids, *gids;

	assert_int_equal(dw_tables_fill_inodes(&all->tables, NULL), 0);
	assert_int_equal(out->inodes.count, 10);
	assert_int_equal(out->modes.count, 6);
	assert_int_equal(out->uids.count, 2);
	assert_int_equal(out->gids.count, 3);
	modes = out->modes.data;
	uids = out->uids.data;
	gids = out->gids.data;
	for (uint32_t i = 0; i < 10; i++) {
		const struct freeze_inode *inode = inode_of(all, i);

		assert_int_equal(modes[inode->mode_index], all->tree.inodes[i].mode);
		assert_int_equal(uids[inode->owner_index], 10 + i % 2);
		assert_int_equal(gids[inode->group_index], 20 + i % 3);
		assert_int_equal(inode->nlink_minus_one, 0);
	}
	small_tables_free(all);
}

static void links_of_files_are_counted_if_asked_for(void **state)
{
	struct small_tables *all = numbered();

	all->options.hardlink_table = true;
	assert_int_equal(dw_tables_fill_inodes(&all->tables, NULL), 0);
	for (uint32_t i = 0; i < 10; i++)
		assert_int_equal(inode_of(all, i)->nlink_minus_one, i == 8);
	small_tables_free(all);
}

static void times_are_offsets_from_the_lowest(void **state)
{
	struct small_tables *all = numbered();

	assert_int_equal(dw_tables_fill_inodes(&all->tables, NULL), 0);
	assert_int_equal(all->tables.out.timestamp_base, 1000);
	assert_int_equal(inode_of(all, 7)->mtime_offset, 7);
	assert_int_equal(inode_of(all, 7)->mtime_subsec, 0);
	assert_int_equal(inode_of(all, 7)->atime_offset, 0);
	small_tables_free(all);
}

static void all_times_are_stored_if_asked_for(void **state)
{
	struct small_tables *all = numbered();
	const struct freeze_inode *inode;

	all->options.keep_all_times = all->options.keep_birth_times = true;
	all->tables.ns_per_part = 100;
	assert_int_equal(dw_tables_fill_inodes(&all->tables, NULL), 0);
	assert_int_equal(all->tables.out.timestamp_base, 500);
	inode = inode_of(all, 3);
	assert_int_equal(inode->mtime_offset, 503);
	assert_int_equal(inode->atime_offset, 1503);
	assert_int_equal(inode->ctime_offset, 2503);
	assert_int_equal(inode->btime_offset, 3);
	assert_int_equal(inode->mtime_subsec, 10);
	assert_int_equal(inode->atime_subsec, 20);
	assert_int_equal(inode->ctime_subsec, 30);
	assert_int_equal(inode->btime_subsec, 5);
	small_tables_free(all);
}

static void times_are_rounded_down_before_1970_too(void **state)
{
	struct small_tables *all = numbered();

	all->tables.seconds_per_unit = 60;
	all->tree.inodes[3].mtime = -1;
	all->tree.inodes[4].mtime = -60;
	all->tree.inodes[5].mtime = -61;
	all->tree.inodes[6].mtime = INT64_MIN; /* cannot be rounded down */
	assert_int_equal(dw_tables_fill_inodes(&all->tables, NULL), 0);
	assert_int_equal(all->tables.out.timestamp_base, 16);
	assert_true(inode_of(all, 3)->mtime_offset + 16 == UINT64_MAX);
	assert_true(inode_of(all, 4)->mtime_offset + 16 == UINT64_MAX);
	assert_true(inode_of(all, 5)->mtime_offset + 16 == UINT64_MAX - 1);
	assert_true(inode_of(all, 6)->mtime_offset + 16 == (uint64_t)(INT64_MIN / 60));
	small_tables_free(all);
}

static void one_time_replaces_all(void **state)
{
	struct small_tables *all = numbered();

	all->options.set_time = all->options.keep_all_times = true;
	all->options.time = (struct os_time){ 77, 5 };
	assert_int_equal(dw_tables_fill_inodes(&all->tables, NULL), 0);
	assert_int_equal(all->tables.out.timestamp_base, 77);
	for (uint32_t i = 0; i < 10; i++) {
		assert_int_equal(inode_of(all, i)->mtime_offset, 0);
		assert_int_equal(inode_of(all, i)->atime_offset, 0);
		assert_int_equal(inode_of(all, i)->ctime_offset, 0);
	}
	small_tables_free(all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(modes_and_owners_are_indices),
		cmocka_unit_test(links_of_files_are_counted_if_asked_for),
		cmocka_unit_test(times_are_offsets_from_the_lowest),
		cmocka_unit_test(all_times_are_stored_if_asked_for),
		cmocka_unit_test(times_are_rounded_down_before_1970_too),
		cmocka_unit_test(one_time_replaces_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
