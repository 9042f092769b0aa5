/* SPDX-License-Identifier: MIT */
/*
 * write/items/late_links: hard links that are added before their targets.
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

static uint32_t record_of(const dwarfs_builder *builder, const char *path)
{
	const struct assembly *assembly = builder->assembly;
	struct span span = { (const uint8_t *)path, strlen(path) };
	uint32_t node = dw_assembly_find(assembly, span);

	assert_int_not_equal(node, DW_NONE);
	return assembly->nodes[node].record;
}

static void note_lost(const char *path, const char *why, void *user)
{
	strcat(user, path);
	strcat(user, ": ");
	strcat(user, why);
	strcat(user, "\n");
}

static void chains_lead_to_the_record_of_the_target(void **state)
{
	dwarfs_builder *builder = new_items();
	char lost[256] = "";

	add(builder, "a", "b");
	add(builder, "b", "d/c");
	add(builder, "x", "b");
	assert_int_equal(dwarfs_builder_check_links(builder, NULL), DWARFS_ERR_NOT_FOUND);
	add(builder, "d/c", NULL);
	assert_int_equal(dwarfs_builder_check_links(builder, NULL), 0);
	assert_int_equal(dwarfs_builder_resolve_links(builder, note_lost, lost, NULL), 0);
	assert_string_equal(lost, "");
	assert_int_equal(record_of(builder, "a"), record_of(builder, "d/c"));
	assert_int_equal(record_of(builder, "b"), record_of(builder, "d/c"));
	assert_int_equal(record_of(builder, "x"), record_of(builder, "d/c"));
	assert_int_equal(builder->assembly->records[record_of(builder, "a")].names, 4);
	assert_int_equal(builder->assembly->link_count, 0);
	dwarfs_builder_free(builder);
}

static void links_without_a_target_are_reported_and_removed(void **state)
{
	dwarfs_builder *builder = new_items();
	char lost[256] = "";

	add(builder, "file", NULL);
	add(builder, "good", "file");
	add(builder, "lost", "no/where");
	assert_int_equal(dwarfs_builder_resolve_links(builder, note_lost, lost, NULL), 0);
	assert_string_equal(lost, "lost: its target does not exist\n");
	assert_false(has(builder, "lost"));
	assert_true(has(builder, "good"));
	dwarfs_builder_free(builder);
}

static void a_link_to_a_directory_is_lost(void **state)
{
	dwarfs_builder *builder = new_items();
	dwarfs_error *err = NULL;
	char lost[256] = "";

	add(builder, "link", "d");
	add(builder, "d/inside", NULL);
	assert_int_equal(dwarfs_builder_check_links(builder, &err), DWARFS_ERR_INVALID);
	assert_string_equal(dwarfs_error_path(err), "link");
	dwarfs_error_free(err);
	assert_int_equal(dwarfs_builder_resolve_links(builder, note_lost, lost, NULL), 0);
	assert_string_equal(lost, "link: it leads to a directory\n");
	assert_false(has(builder, "link"));
	assert_true(has(builder, "d/inside"));
	dwarfs_builder_free(builder);
}

static void without_links_there_is_nothing_to_do(void **state)
{
	dwarfs_builder *builder = new_items();

	assert_int_equal(dwarfs_builder_check_links(builder, NULL), 0);
	assert_int_equal(dwarfs_builder_resolve_links(builder, NULL, NULL, NULL), 0);
	add(builder, "lost", "no/where");
	assert_int_equal(dwarfs_builder_resolve_links(builder, NULL, NULL, NULL), 0);
	assert_false(has(builder, "lost"));
	dwarfs_builder_free(builder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chains_lead_to_the_record_of_the_target),
		cmocka_unit_test(links_without_a_target_are_reported_and_removed),
		cmocka_unit_test(a_link_to_a_directory_is_lost),
		cmocka_unit_test(without_links_there_is_nothing_to_do),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
