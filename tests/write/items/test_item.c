/* SPDX-License-Identifier: MIT */
/*
 * write/items/item: paths that can be those of an entry, and values that setters refuse.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "write/items/item.h"
#include "write/tree/xattr_sets.h"

static struct span span_of(const char *text)
{
	return (struct span){ (const uint8_t *)text, strlen(text) };
}

static void expect_path(const char *path, int result)
{
	assert_int_equal(dw_item_check_path(span_of(path), NULL), result);
}

static void paths_are_relative_and_plain(void **state)
{
	char name[400];

	expect_path("", 0);
	expect_path("a", 0);
	expect_path("a/.b/..c/...", 0);
	expect_path("/a", DWARFS_ERR_INVALID);
	expect_path("a/", DWARFS_ERR_INVALID);
	expect_path("a//b", DWARFS_ERR_INVALID);
	expect_path(".", DWARFS_ERR_INVALID);
	expect_path("a/./b", DWARFS_ERR_INVALID);
	expect_path("a/..", DWARFS_ERR_INVALID);
	assert_int_equal(
		dw_item_check_path((struct span){ (const uint8_t *)"a\0b", 3 }, NULL),
		DWARFS_ERR_INVALID);
	memset(name, 'x', sizeof(name));
	name[255] = '\0';
	expect_path(name, 0);
	name[255] = 'x';
	name[256] = '\0';
	expect_path(name, DWARFS_ERR_RANGE);
}

static void paths_are_cut_at_slashes(void **state)
{
	struct span path = span_of("usr/b"), name = dw_item_next_name(&path);

	assert_int_equal(name.size, 3);
	assert_memory_equal(name.data, "usr", 3);
	name = dw_item_next_name(&path);
	assert_int_equal(name.size, 1);
	assert_memory_equal(name.data, "b", 1);
	assert_int_equal(path.size, 0);
}

static dwarfs_item *new_item(uint32_t mode)
{
	dwarfs_item *item = NULL;

	assert_int_equal(dwarfs_item_new(mode, &item, NULL), 0);
	return item;
}

static void modes_need_a_type(void **state)
{
	dwarfs_item *item = NULL;

	assert_int_equal(dwarfs_item_new(0644, &item, NULL), DWARFS_ERR_INVALID);
	assert_int_equal(dwarfs_item_new(0170644, &item, NULL), DWARFS_ERR_INVALID);
	assert_int_equal(dwarfs_item_new(01100644, &item, NULL), DWARFS_ERR_INVALID);
	assert_null(item);
	dwarfs_item_free(NULL);
}

static void targets_are_for_symbolic_links(void **state)
{
	dwarfs_item *link = new_item(0120777), *file = new_item(0100644);
	char target[4096];

	memset(target, 'x', sizeof(target));
	assert_int_equal(dwarfs_item_set_target(file, "x", 1, NULL), DWARFS_ERR_INVALID);
	assert_int_equal(dwarfs_item_set_target(link, "", 0, NULL), DWARFS_ERR_RANGE);
	assert_int_equal(dwarfs_item_set_target(link, target, 4096, NULL),
			 DWARFS_ERR_RANGE);
	assert_int_equal(dwarfs_item_set_target(link, "a\0b", 3, NULL),
			 DWARFS_ERR_INVALID);
	assert_int_equal(dwarfs_item_set_target(link, target, 4095, NULL), 0);
	assert_int_equal(link->text.size, 4095);
	dwarfs_item_free(link);
	dwarfs_item_free(file);
}

static int no_pieces(const void **data_out, size_t *bytes_out, uint64_t *offset_out,
		     dwarfs_error **err, void *user)
{
	return 0;
}

static void contents_are_for_regular_files(void **state)
{
	dwarfs_item *link = new_item(0120777), *file = new_item(0100644);
	dwarfs_io *io = NULL;

	assert_int_equal(dwarfs_io_from_memory("x", 1, NULL, NULL, &io, NULL), 0);
	assert_int_equal(dwarfs_item_set_path(link, "/x", NULL), DWARFS_ERR_INVALID);
	assert_int_equal(dwarfs_item_set_io(link, io, NULL), DWARFS_ERR_INVALID);
	assert_int_equal(dwarfs_item_set_memory(link, "x", 1, NULL), DWARFS_ERR_INVALID);
	assert_int_equal(dwarfs_item_set_io(file, NULL, NULL), DWARFS_ERR_INVALID);
	assert_int_equal(
		dwarfs_item_set_reader(file, UINT64_C(1) << 63, NULL, NULL, NULL),
		DWARFS_ERR_RANGE);
	assert_int_equal(file->kind, ITEM_EMPTY);
	assert_int_equal(dwarfs_item_set_reader(file, UINT64_MAX, NULL, NULL, NULL),
			 DWARFS_ERR_INVALID);
	assert_int_equal(dwarfs_item_set_reader(file, UINT64_MAX, no_pieces, NULL, NULL),
			 0);
	assert_int_equal(file->kind, ITEM_READER);
	assert_int_equal(dwarfs_item_set_memory(file, "x", 1, NULL), 0);
	assert_int_equal(file->kind, ITEM_MEMORY); /* the last one counts */
	dwarfs_io_free(io);
	dwarfs_item_free(link);
	dwarfs_item_free(file);
}

/* -- an allocator of which one allocation fails ---------------------------------------- */

static uint32_t fails_in; /* 0: none */

static void *allocate(size_t bytes, void *user)
{
	return fails_in && --fails_in == 0 ? NULL : malloc(bytes);
}

static void release(void *block, size_t bytes, void *user)
{
	free(block);
}

/* Replace an attribute, which fails: the old value stays. */
static void refuse_each_allocation(dwarfs_item *item)
{
	static const uint8_t value[10000];

	for (uint32_t i = 1; i < 3; i++) {
		fails_in = i;
		assert_int_equal(
			dwarfs_item_add_xattr(item, "user.a", value, sizeof(value), NULL),
			DWARFS_ERR_NOMEM);
		assert_int_equal(fails_in, 0);
	}
}

static void an_attribute_has_its_last_value(void **state)
{
	static const dwarfs_allocator allocator = {
		.struct_bytes = sizeof(allocator),
		.allocate = allocate,
		.release = release,
	};
	DW_USE_ALLOCATOR(&allocator);
	dwarfs_item *item = new_item(0100644);
	auto_buffer struct buffer wanted = { 0 };
	char name[257];

	assert_int_equal(dwarfs_item_add_xattr(item, "user.a", "1", 1, NULL), 0);
	assert_int_equal(dwarfs_item_add_xattr(item, "user.ab", "22", 2, NULL), 0);
	assert_int_equal(dwarfs_item_add_xattr(item, "user.a", "", 0, NULL), 0);
	assert_int_equal(
		dw_xattr_list_append(&wanted, span_of("user.ab"), span_of("22"), NULL),
		0);
	assert_int_equal(
		dw_xattr_list_append(&wanted, span_of("user.a"), span_of(""), NULL), 0);
	assert_int_equal(item->xattrs.size, wanted.size);
	assert_memory_equal(item->xattrs.data, wanted.data, wanted.size);
	refuse_each_allocation(item);
	assert_int_equal(item->xattrs.size, wanted.size);
	assert_memory_equal(item->xattrs.data, wanted.data, wanted.size);
	memset(name, 'x', 256);
	name[256] = '\0';
	assert_int_equal(dwarfs_item_add_xattr(item, name, "", 0, NULL),
			 DWARFS_ERR_RANGE);
	assert_int_equal(dwarfs_item_add_xattr(item, "", "", 0, NULL), DWARFS_ERR_RANGE);
	assert_int_equal(
		dwarfs_item_add_xattr(item, "user.b", name, (16 << 20) + 1, NULL),
		DWARFS_ERR_RANGE);
	assert_int_equal(item->xattrs.size, wanted.size);
	dwarfs_item_free(item);
}

static void times_and_devices_are_kept(void **state)
{
	dwarfs_item *item = new_item(0020644);

	dwarfs_item_set_time(item, DWARFS_MTIME, -5, 7);
	dwarfs_item_set_time(item, DWARFS_BTIME, 6, 2000000000);
	dwarfs_item_set_time(item, 99, 1, 1);
	assert_int_equal(item->mtime.seconds, -5);
	assert_int_equal(item->mtime.nanoseconds, 7);
	assert_true(item->has_btime && !item->has_atime && !item->has_ctime);
	assert_int_equal(item->btime.nanoseconds, 999999999);
	dwarfs_item_set_device(item, 5, 1);
	assert_int_equal(item->device, 0x501);
	dwarfs_item_set_device(item, 0x12345, 0x6789ab);
	assert_true(item->device == makedev(0x12345, 0x6789ab));
	dwarfs_item_free(item);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths_are_relative_and_plain),
		cmocka_unit_test(paths_are_cut_at_slashes),
		cmocka_unit_test(modes_need_a_type),
		cmocka_unit_test(targets_are_for_symbolic_links),
		cmocka_unit_test(contents_are_for_regular_files),
		cmocka_unit_test(an_attribute_has_its_last_value),
		cmocka_unit_test(times_and_devices_are_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
