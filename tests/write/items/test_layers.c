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

static uint32_t record_of(const dwarfs_builder *builder, const char *path)
{
	const struct span span = { (const uint8_t *)path, strlen(path) };
	const uint32_t node = dw_assembly_find(builder->assembly, span);

	assert_int_not_equal(node, DW_NONE);
	return builder->assembly->nodes[node].record;
}

/* Links of the second layer to files of the first one, which the second one then removes or
 * replaces by an entry of another type. */
static void hard_links_keep_what_their_layer_removes(void **state)
{
	static const char *const targets[] = { "d/old", "d/sub/old", "e/old", "f" };
	static const char *const links[] = { "1", "2", "3", "4", "5" };
	dwarfs_builder *builder = new_items();
	uint32_t records[4];

	add(builder, "d/old", NULL);
	add(builder, "d/sub/old", NULL);
	add(builder, "e/old", NULL);
	add(builder, "f", NULL);
	for (int i = 0; i < 4; i++)
		records[i] = record_of(builder, targets[i]);
	assert_int_equal(dwarfs_builder_begin_layer(builder, NULL), 0);
	for (int i = 0; i < 4; i++)
		add(builder, links[i], targets[i]);
	add(builder, "d/new", NULL);
	assert_int_equal(remove_older(builder, "d", true), 0);
	add(builder, "e", NULL);
	add(builder, "6", "e"); /* not to the directory that was replaced */
	add(builder, "f", "");
	add(builder, links[4],
	    "d/old"); /* after it was removed, and before there is another */
	add(builder, "d/old", NULL);
	assert_int_equal(dwarfs_builder_begin_layer(builder, NULL), 0);

	assert_int_equal(record_of(builder, "1"), record_of(builder, "d/old"));
	assert_int_equal(record_of(builder, "5"), record_of(builder, "d/old"));
	for (int i = 1; i < 4; i++)
		assert_int_equal(record_of(builder, links[i]), records[i]);
	assert_int_equal(record_of(builder, "6"), record_of(builder, "e"));
	assert_false(has(builder, "d/sub"));
	assert_false(has(builder, "e/old"));
	dwarfs_builder_free(builder);
}

/* A link that replaces the directory of its target. */
static void a_hard_link_replaces_the_directory_of_its_target(void **state)
{
	dwarfs_builder *builder = new_items();
	uint32_t record;

	add(builder, "e/f", NULL);
	record = record_of(builder, "e/f");
	assert_int_equal(dwarfs_builder_begin_layer(builder, NULL), 0);
	add(builder, "e", "e/f");
	assert_int_equal(dwarfs_builder_begin_layer(builder, NULL), 0);
	assert_int_equal(record_of(builder, "e"), record);
	dwarfs_builder_free(builder);
}

/* A circle of links in which an earlier layer has a file. */
static void a_circle_of_hard_links_stands_for_an_older_file(void **state)
{
	dwarfs_builder *builder = new_items();
	uint32_t record;

	add(builder, "f", NULL);
	add(builder, "g", NULL);
	record = record_of(builder, "f");
	assert_int_equal(dwarfs_builder_begin_layer(builder, NULL), 0);
	add(builder, "1", "f");
	add(builder, "f", "1");
	add(builder, "g", "g");
	assert_int_equal(dwarfs_builder_begin_layer(builder, NULL), 0);
	assert_int_equal(record_of(builder, "1"), record);
	assert_int_equal(record_of(builder, "f"), record);
	assert_int_not_equal(record_of(builder, "g"), record);
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
		cmocka_unit_test(hard_links_keep_what_their_layer_removes),
		cmocka_unit_test(a_hard_link_replaces_the_directory_of_its_target),
		cmocka_unit_test(a_circle_of_hard_links_stands_for_an_older_file),
		cmocka_unit_test(what_cannot_be_removed_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
