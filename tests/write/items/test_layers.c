/* SPDX-License-Identifier: MIT */
/*
 * write/items/layers: a layer removes entries of the layers before it, not its own.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "write/items/assembly.h"

static dwarfs_builder *new_items(void)
{
	dwarfs_builder *builder = NULL;

	assert_int_equal(dwarfs_builder_new(NULL, &builder, NULL), 0);
	return builder;
}

static void add(dwarfs_builder *builder, const char *path, const char *target)
{
	dwarfs_item *item = NULL;

	assert_int_equal(
		dwarfs_item_new(target && !*target ? 0040755 : 0100644, &item, NULL), 0);
	if (target && *target)
		assert_int_equal(
			dwarfs_item_set_hard_link(item, target, strlen(target), NULL), 0);
	assert_int_equal(dwarfs_builder_add_item(builder, path, strlen(path), item, NULL),
			 0);
	dwarfs_item_free(item);
}

static bool has(const dwarfs_builder *builder, const char *path)
{
	return dwarfs_builder_has_item(builder, path, strlen(path));
}

static uint64_t below(const dwarfs_builder *builder, const char *path, bool of_layer)
{
	return dwarfs_builder_count_below(builder, path, strlen(path), of_layer);
}

static int remove_older(dwarfs_builder *builder, const char *path, bool contents_only)
{
	return dwarfs_builder_remove_older(builder, path, strlen(path), contents_only,
					   NULL);
}

/* d has the entries old and sub/old of the first layer, new and sub/new of the second. */
static dwarfs_builder *two_layers(void)
{
	dwarfs_builder *builder = new_items();

	add(builder, "d/old", NULL);
	add(builder, "d/sub/old", NULL);
	add(builder, "d/other/old", NULL);
	add(builder, "e/old", NULL);
	assert_int_equal(dwarfs_builder_begin_layer(builder, NULL), 0);
	add(builder, "d/new", NULL);
	add(builder, "d/sub/new", NULL);
	return builder;
}

static void entries_of_the_layer_stay(void **state)
{
	dwarfs_builder *builder = two_layers();

	assert_int_equal(below(builder, "d", false), 7);
	assert_int_equal(below(builder, "d", true), 3);
	assert_int_equal(remove_older(builder, "d", true), 0);
	assert_true(has(builder, "d/new"));
	assert_true(has(builder, "d/sub/new"));
	assert_false(has(builder, "d/old"));
	assert_false(has(builder, "d/sub/old"));
	assert_false(has(builder, "d/other"));
	assert_true(has(builder, "e/old"));
	assert_int_equal(below(builder, "d", false), 3);
	dwarfs_builder_free(builder);
}

static void a_changed_directory_stays_and_an_older_one_does_not(void **state)
{
	dwarfs_builder *builder = two_layers();

	assert_int_equal(remove_older(builder, "d", false), 0);
	assert_true(has(builder, "d/sub/new"));
	assert_false(has(builder, "d/sub/old"));
	assert_int_equal(remove_older(builder, "e", false), 0);
	assert_false(has(builder, "e"));
	dwarfs_builder_free(builder);
}

static void the_contents_of_the_root_can_be_removed(void **state)
{
	dwarfs_builder *builder = two_layers();

	assert_int_equal(remove_older(builder, "", false), 0);
	assert_false(has(builder, "e"));
	assert_true(has(builder, "d/new"));
	assert_int_equal(below(builder, "", false), 4);
	dwarfs_builder_free(builder);
}

static void what_cannot_be_removed_is_an_error(void **state)
{
	dwarfs_builder *builder = two_layers();

	assert_int_equal(remove_older(builder, "no", false), DWARFS_ERR_NOT_FOUND);
	assert_int_equal(remove_older(builder, "d/old", true), DWARFS_ERR_NOT_DIR);
	assert_int_equal(remove_older(builder, "d/../e", false), DWARFS_ERR_INVALID);
	assert_false(has(builder, "d/../e"));
	assert_int_equal(below(builder, "/", false), 0);
	assert_true(has(builder, "d/old"));
	assert_true(has(builder, "e/old"));
	dwarfs_builder_free(builder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(entries_of_the_layer_stay),
		cmocka_unit_test(a_changed_directory_stays_and_an_older_one_does_not),
		cmocka_unit_test(the_contents_of_the_root_can_be_removed),
		cmocka_unit_test(what_cannot_be_removed_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
