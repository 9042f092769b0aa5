/* SPDX-License-Identifier: MIT */
/*
 * write/items/displaced_entries: a hard link means the entry of its own input, also if a
 * conflict has renamed it or left it out.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "write/items/assembly.h"

#define EARLIER "earlier"
#define OWN	"own"

static dwarfs_item *new_item(uint32_t mode)
{
	dwarfs_item *item = NULL;

	assert_int_equal(dwarfs_item_new(mode, &item, NULL), 0);
	return item;
}

static int add(dwarfs_builder *builder, const char *path, dwarfs_item *item)
{
	int ret = dwarfs_builder_add_item(builder, path, strlen(path), item, NULL);

	dwarfs_item_free(item);
	return ret;
}

static void add_file(dwarfs_builder *builder, const char *path, const char *text)
{
	dwarfs_item *item = new_item(0100644);

	assert_int_equal(dwarfs_item_set_memory(item, text, strlen(text), NULL), 0);
	assert_int_equal(add(builder, path, item), 0);
}

static int try_link(dwarfs_builder *builder, const char *path, const char *target)
{
	dwarfs_item *item = new_item(0100644);

	assert_int_equal(dwarfs_item_set_hard_link(item, target, strlen(target), NULL),
			 0);
	return add(builder, path, item);
}

static void add_link(dwarfs_builder *builder, const char *path, const char *target)
{
	assert_int_equal(try_link(builder, path, target), 0);
}

/* The second layer of a builder whose first one has the files f and x. */
static dwarfs_builder *second_layer(enum dwarfs_conflict conflict)
{
	dwarfs_builder *builder = NULL;

	assert_int_equal(dwarfs_builder_new(NULL, &builder, NULL), 0);
	assert_int_equal(dwarfs_builder_set_on_conflict(builder, conflict, NULL), 0);
	assert_int_equal(dwarfs_builder_begin_layer(builder, NULL), 0);
	add_file(builder, "f", EARLIER);
	add_file(builder, "x", EARLIER);
	assert_int_equal(dwarfs_builder_begin_layer(builder, NULL), 0);
	return builder;
}

static void end_layer(dwarfs_builder *builder)
{
	assert_int_equal(dwarfs_builder_check_links(builder, NULL), 0);
	assert_int_equal(dwarfs_builder_begin_layer(builder, NULL), 0);
	assert_false(dw_assembly_has_displaced(builder->assembly));
}

static const struct record *record_at(const dwarfs_builder *builder, const char *path)
{
	struct span span = { (const uint8_t *)path, strlen(path) };
	uint32_t node = dw_assembly_find(builder->assembly, span);

	assert_int_not_equal(node, DW_NONE);
	return dw_assembly_record(builder->assembly, node);
}

static void assert_contents(const dwarfs_builder *builder, const char *path,
			    const char *text)
{
	const struct record *record = record_at(builder, path);
	char bytes[16];

	assert_int_equal(record->kind, RECORD_SPOOLED);
	assert_int_equal(dw_spool_read_at(builder->assembly->spool, record->source, bytes,
					  sizeof(bytes), 0),
			 strlen(text));
	assert_memory_equal(bytes, text, strlen(text));
}

/* The names that a record has in the image. */
static uint32_t names_of(const dwarfs_builder *builder, const char *path)
{
	return record_at(builder, path)->names;
}

static void a_link_means_a_renamed_entry(void **state)
{
	dwarfs_builder *builder = second_layer(DWARFS_CONFLICT_RENAME);

	add_file(builder, "f", OWN);
	add_link(builder, "g", "f");
	add_link(builder, "x", "g"); /* becomes x.2 */
	add_link(builder, "h", "x");
	end_layer(builder);
	assert_contents(builder, "f", EARLIER);
	assert_contents(builder, "x", EARLIER);
	assert_contents(builder, "g", OWN);
	assert_ptr_equal(record_at(builder, "x.2"), record_at(builder, "g"));
	assert_ptr_equal(record_at(builder, "h"), record_at(builder, "f.2"));
	assert_int_equal(names_of(builder, "g"), 4);
	dwarfs_builder_free(builder);
}

static void links_share_an_entry_that_was_left_out(void **state)
{
	dwarfs_builder *builder = second_layer(DWARFS_CONFLICT_FIRST);

	add_file(builder, "f", OWN);
	add_link(builder, "x", "f");
	add_link(builder, "g", "f");
	add_link(builder, "h", "x");
	end_layer(builder);
	assert_contents(builder, "f", EARLIER);
	assert_contents(builder, "x", EARLIER);
	assert_contents(builder, "g", OWN);
	assert_ptr_equal(record_at(builder, "g"), record_at(builder, "h"));
	assert_int_equal(names_of(builder, "g"), 2);
	dwarfs_builder_free(builder);
}

static void a_link_means_an_entry_below_one_that_stays(void **state)
{
	dwarfs_builder *builder = second_layer(DWARFS_CONFLICT_FIRST);

	add_link(builder, "early", "x/d/f");
	add_file(builder, "x/d/f", OWN);
	add_link(builder, "x/d/g", "x/d/f");
	add_link(builder, "late", "x/d/g");
	assert_int_equal(try_link(builder, "to a directory", "x/d"), DWARFS_ERR_INVALID);
	end_layer(builder);
	assert_contents(builder, "x", EARLIER);
	assert_contents(builder, "early", OWN);
	assert_ptr_equal(record_at(builder, "early"), record_at(builder, "late"));
	dwarfs_builder_free(builder);
}

/* An entry of the first layer is the target only if the second one has none, by its end. */
static void a_link_may_come_before_its_target(void **state)
{
	const enum dwarfs_conflict conflicts[] = { DWARFS_CONFLICT_FIRST,
						   DWARFS_CONFLICT_RENAME };

	for (size_t i = 0; i < 2; i++) {
		dwarfs_builder *builder = second_layer(conflicts[i]);

		add_link(builder, "h", "g");
		add_link(builder, "g", "f");
		add_link(builder, "y", "x");
		add_file(builder, "f", OWN);
		end_layer(builder);
		assert_contents(builder, "g", OWN);
		assert_contents(builder, "h", OWN);
		assert_contents(builder, "y", EARLIER);
		assert_int_equal(builder->assembly->link_count, 0);
		dwarfs_builder_free(builder);
	}
}

static void links_do_not_change_with_the_next_layer(void **state)
{
	dwarfs_builder *builder = second_layer(DWARFS_CONFLICT_FIRST);

	add_link(builder, "g", "f");
	assert_int_equal(
		dwarfs_builder_set_on_conflict(builder, DWARFS_CONFLICT_LAST, NULL), 0);
	end_layer(builder);
	add_file(builder, "f", "newest");
	end_layer(builder);
	assert_contents(builder, "g", EARLIER);
	assert_contents(builder, "f", "newest");
	dwarfs_builder_free(builder);
}

static void the_next_layer_does_not_see_them(void **state)
{
	dwarfs_builder *builder = second_layer(DWARFS_CONFLICT_RENAME);

	add_file(builder, "f", OWN);
	end_layer(builder);
	add_link(builder, "g", "f");
	end_layer(builder);
	assert_contents(builder, "g", EARLIER);
	dwarfs_builder_free(builder);
}

static void the_last_entry_of_a_path_counts(void **state)
{
	dwarfs_builder *builder = second_layer(DWARFS_CONFLICT_FIRST);

	add_file(builder, "f", "older");
	add_file(builder, "f", OWN);
	add_link(builder, "g", "f");
	assert_int_equal(dwarfs_builder_remove_older(builder, "f", 1, false, NULL), 0);
	add_file(builder, "f", "newest");
	add_link(builder, "h", "f");
	end_layer(builder);
	assert_contents(builder, "g", OWN);
	assert_contents(builder, "f", "newest");
	assert_ptr_equal(record_at(builder, "h"), record_at(builder, "f"));
	dwarfs_builder_free(builder);
}

/* Once more under a path that its own record holds, and one below a file. */
static void odd_entries_are_no_danger(void **state)
{
	dwarfs_builder *builder = second_layer(DWARFS_CONFLICT_FIRST);

	add_file(builder, "x/f", OWN);
	add_link(builder, "x", "x/f");
	add_link(builder, "x", "x");
	add_file(builder, "x/below", "lost");
	add_link(builder, "g", "x");
	assert_int_equal(try_link(builder, "f", "f"), DWARFS_ERR_INVALID);
	end_layer(builder);
	assert_contents(builder, "g", OWN);
	assert_int_equal(names_of(builder, "g"), 1);
	dwarfs_builder_free(builder);
}

static void note_lost(const char *path, const char *why, void *user)
{
	strcat(user, path);
	strcat(user, " ");
}

static void of_a_lost_link_only_the_entry_is_reported(void **state)
{
	const char *lost[] = { "g ", "f.2 g " };
	const enum dwarfs_conflict conflicts[] = { DWARFS_CONFLICT_FIRST,
						   DWARFS_CONFLICT_RENAME };

	for (size_t i = 0; i < 2; i++) {
		dwarfs_builder *builder = second_layer(conflicts[i]);
		char text[64] = "";

		add_link(builder, "f", "none");
		add_link(builder, "g", "f");
		assert_int_equal(
			dwarfs_builder_resolve_links(builder, note_lost, text, NULL), 0);
		assert_string_equal(text, lost[i]);
		end_layer(builder);
		assert_contents(builder, "f", EARLIER);
		assert_false(dwarfs_builder_has_item(builder, "g", 1));
		assert_false(dwarfs_builder_has_item(builder, "f.2", 3));
		dwarfs_builder_free(builder);
	}
}

static void what_no_link_needs_is_dropped(void **state)
{
	dwarfs_builder *builder = second_layer(DWARFS_CONFLICT_FIRST);
	uint64_t bytes = dw_spool_memory_bytes(builder->assembly->spool);

	add_file(builder, "f", OWN);
	add_file(builder, "x", OWN);
	assert_true(dw_spool_memory_bytes(builder->assembly->spool) > bytes);
	end_layer(builder);
	assert_int_equal(dw_spool_memory_bytes(builder->assembly->spool), bytes);
	assert_int_not_equal(builder->assembly->free_record, DW_NONE);
	dwarfs_builder_free(builder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_link_means_a_renamed_entry),
		cmocka_unit_test(links_share_an_entry_that_was_left_out),
		cmocka_unit_test(a_link_means_an_entry_below_one_that_stays),
		cmocka_unit_test(a_link_may_come_before_its_target),
		cmocka_unit_test(links_do_not_change_with_the_next_layer),
		cmocka_unit_test(the_next_layer_does_not_see_them),
		cmocka_unit_test(the_last_entry_of_a_path_counts),
		cmocka_unit_test(odd_entries_are_no_danger),
		cmocka_unit_test(of_a_lost_link_only_the_entry_is_reported),
		cmocka_unit_test(what_no_link_needs_is_dropped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
