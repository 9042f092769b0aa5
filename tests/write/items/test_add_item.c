/* SPDX-License-Identifier: MIT */
/*
 * write/items/add_item: which items can be added, where.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "write/items/assembly.h"

static dwarfs_item *new_item(uint32_t mode)
{
	dwarfs_item *item = NULL;

	assert_int_equal(dwarfs_item_new(mode, &item, NULL), 0);
	return item;
}

static int add(dwarfs_builder *builder, const char *path, const dwarfs_item *item)
{
	return dwarfs_builder_add_item(builder, path, strlen(path), item, NULL);
}

static const struct record *record_at(const dwarfs_builder *builder, const char *path)
{
	struct span span = { (const uint8_t *)path, strlen(path) };
	uint32_t node = dw_assembly_find(builder->assembly, span);

	assert_int_not_equal(node, DW_NONE);
	return dw_assembly_record(builder->assembly, node);
}

static void attributes_and_contents_are_kept(void **state)
{
	dwarfs_item *file = new_item(0100640), *link = new_item(0120777);
	dwarfs_builder *builder = NULL;
	const struct record *record;
	char bytes[8];

	assert_int_equal(dwarfs_builder_new(NULL, &builder, NULL), 0);
	dwarfs_item_set_owner(file, 5, 6);
	dwarfs_item_set_time(file, DWARFS_MTIME, 77, 88);
	assert_int_equal(dwarfs_item_set_memory(file, "abc", 3, NULL), 0);
	assert_int_equal(add(builder, "d/file", file), 0);
	record = record_at(builder, "d/file");
	assert_int_equal(record->kind, RECORD_SPOOLED);
	assert_int_equal(record->mode, 0100640);
	assert_int_equal(record->uid, 5);
	assert_int_equal(record->gid, 6);
	assert_int_equal(record->mtime, 77);
	assert_int_equal(record->mtime_ns, 88);
	assert_int_equal(record->size, 3);
	assert_int_equal(
		dw_spool_read_at(builder->assembly->spool, record->source, bytes, 8, 0),
		3);
	assert_memory_equal(bytes, "abc", 3);
	assert_int_equal(dwarfs_item_set_target(link, "file", 4, NULL), 0);
	assert_int_equal(add(builder, "d/link", link), 0);
	assert_int_equal(record_at(builder, "d/link")->kind, RECORD_TARGET);
	dwarfs_item_free(link);
	dwarfs_item_free(file);
	dwarfs_builder_free(builder);
}

static void a_hard_link_has_the_record_of_its_target(void **state)
{
	dwarfs_item *file = new_item(0100644), *link = new_item(0100644);
	dwarfs_builder *builder = NULL;

	assert_int_equal(dwarfs_builder_new(NULL, &builder, NULL), 0);
	assert_int_equal(dwarfs_item_set_hard_link(link, "file", 4, NULL), 0);
	assert_int_equal(add(builder, "early", link), 0);
	assert_int_equal(record_at(builder, "early")->kind, RECORD_LINK);
	assert_int_equal(add(builder, "file", file), 0);
	assert_int_equal(add(builder, "late", link), 0);
	assert_ptr_equal(record_at(builder, "late"), record_at(builder, "file"));
	dwarfs_item_free(link);
	dwarfs_item_free(file);
	dwarfs_builder_free(builder);
}

static void impossible_items_are_refused(void **state)
{
	dwarfs_item *file = new_item(0100644), *link = new_item(0120777);
	dwarfs_builder *builder = NULL;

	assert_int_equal(dwarfs_builder_new(NULL, &builder, NULL), 0);
	assert_int_equal(add(builder, "/absolute", file), DWARFS_ERR_INVALID);
	assert_int_equal(add(builder, "", file), DWARFS_ERR_INVALID);
	assert_true(add(builder, "without-a-target", link) < 0);
	assert_int_equal(add(builder, "file", file), 0);
	assert_int_equal(add(builder, "file/below", file), DWARFS_ERR_NOT_DIR);
	assert_int_equal(dwarfs_builder_remove_item(builder, "no", 2, false, NULL),
			 DWARFS_ERR_NOT_FOUND);
	assert_int_equal(dwarfs_builder_remove_item(builder, "file", 4, false, NULL), 0);
	assert_false(dwarfs_builder_has_item(builder, "file", 4));
	dwarfs_item_free(link);
	dwarfs_item_free(file);
	dwarfs_builder_free(builder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(attributes_and_contents_are_kept),
		cmocka_unit_test(a_hard_link_has_the_record_of_its_target),
		cmocka_unit_test(impossible_items_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
