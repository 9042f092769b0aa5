/* SPDX-License-Identifier: MIT */
/*
 * write/items/item_directory: a directory on disk becomes entries of the assembly.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/write_run.h"
#include "write/items/assembly.h"

static dwarfs_builder *new_items(void)
{
	dwarfs_builder *builder = NULL;

	assert_int_equal(dwarfs_builder_new(NULL, &builder, NULL), 0);
	return builder;
}

static void add_tree(dwarfs_builder *builder, const char *directory, const char *prefix)
{
	assert_int_equal(
		dwarfs_builder_add_tree(builder, directory, prefix, strlen(prefix), NULL),
		0);
}

static uint32_t node_of(const dwarfs_builder *builder, const char *path)
{
	return dw_assembly_find(builder->assembly,
				(struct span){ (const uint8_t *)path, strlen(path) });
}

static const struct record *record_of(const dwarfs_builder *builder, const char *path)
{
	uint32_t node = node_of(builder, path);

	assert_int_not_equal(node, DW_NONE);
	return dw_assembly_record(builder->assembly, node);
}

static void entries_have_their_attributes(void **state)
{
	const struct place *place = *state;
	dwarfs_builder *builder = new_items();
	const struct record *record;
	struct span target;

	put_sources(place);
	assert_int_equal(chmod(in(place, "doc"), 0750), 0);
	assert_int_equal(symlink("../README", in(place, "doc/link")), 0);
	assert_int_equal(mkfifo(in(place, "fifo"), 0600), 0);
	add_tree(builder, place->in, "");
	assert_int_equal(dw_assembly_count_below(builder->assembly, 0, false), 11);
	record = record_of(builder, "doc/text");
	assert_int_equal(record->kind, RECORD_FILE);
	assert_int_equal(record->size, 4);
	assert_int_equal(builder->assembly->files[record->source].size, 4);
	assert_int_equal(record_of(builder, "doc")->mode, 0040750);
	assert_int_equal(record_of(builder, "src/gen/b.c")->size, 1);
	assert_int_equal(record_of(builder, "fifo")->mode, 0010600);
	record = record_of(builder, "doc/link");
	assert_int_equal(record->kind, RECORD_TARGET);
	target = dw_string_set_at(&builder->assembly->strings, record->source);
	assert_int_equal(target.size, 9);
	assert_memory_equal(target.data, "../README", 9);
	dwarfs_builder_free(builder);
}

/* The prefix is the path of the directory in the image; the walk leaves others alone. */
static void a_prefix_is_put_in_front(void **state)
{
	const struct place *place = *state;
	dwarfs_builder *builder = new_items();

	put_sources(place);
	assert_int_equal(chmod(place->in, 0710), 0);
	add_tree(builder, in(place, "doc"), "usr/doc");
	add_tree(builder, place->in, "all");
	assert_int_equal(record_of(builder, "usr/doc/text")->size, 4);
	assert_int_equal(record_of(builder, "usr/doc/old")->mode & 0170000, 0040000);
	assert_int_equal(record_of(builder, "all")->mode, 0040710);
	assert_int_equal(record_of(builder, "all/src/gen/b.c")->size, 1);
	assert_int_equal(node_of(builder, "usr/doc/src"), DW_NONE);
	assert_int_equal(node_of(builder, "src"), DW_NONE);
	dwarfs_builder_free(builder);
}

/* More of them than the first table has slots; the files of two walks are separate. */
static void hard_links_share_a_record(void **state)
{
	enum { FILES = 100 };
	const struct place *place = *state;
	dwarfs_builder *builder = new_items();
	char name[32], other[32];

	put_dir(place, "one");
	put_dir(place, "two");
	for (int i = 0; i < FILES; i++) {
		snprintf(name, sizeof(name), "one/%d", i);
		snprintf(other, sizeof(other), "two/%d", i);
		put_text(place, name, "text");
		assert_int_equal(link(in(place, name), in(place, other)), 0);
	}
	add_tree(builder, place->in, "");
	for (int i = 0; i < FILES; i++) {
		snprintf(name, sizeof(name), "one/%d", i);
		snprintf(other, sizeof(other), "two/%d", i);
		assert_ptr_equal(record_of(builder, name), record_of(builder, other));
		assert_int_equal(record_of(builder, name)->names, 2);
	}
	assert_ptr_not_equal(record_of(builder, "one/0"), record_of(builder, "one/1"));
	add_tree(builder, in(place, "one"), "again");
	assert_ptr_not_equal(record_of(builder, "again/0"), record_of(builder, "one/0"));
	dwarfs_builder_free(builder);
}

static void what_is_no_directory_is_refused(void **state)
{
	const struct place *place = *state;
	dwarfs_builder *builder = new_items();
	dwarfs_error *err = NULL;

	put_text(place, "file", "");
	assert_int_equal(
		dwarfs_builder_add_tree(builder, in(place, "missing"), "", 0, &err),
		DWARFS_ERR_NOT_FOUND);
	assert_non_null(strstr(dwarfs_error_message(err), "missing"));
	dwarfs_error_free(err);
	assert_int_equal(dwarfs_builder_add_tree(builder, in(place, "file"), "", 0, NULL),
			 DWARFS_ERR_NOT_DIR);
	assert_int_equal(dwarfs_builder_add_tree(builder, place->in, "/x", 2, NULL),
			 DWARFS_ERR_INVALID);
	dwarfs_builder_free(builder);
}

/* A symbolic link to the directory itself is followed, those below are not. */
static void only_the_first_link_is_followed(void **state)
{
	const struct place *place = *state;
	dwarfs_builder *builder = new_items();

	put_dir(place, "d");
	put_text(place, "d/file", "");
	assert_int_equal(symlink("d", in(place, "link")), 0);
	add_tree(builder, in(place, "link"), "a");
	add_tree(builder, place->in, "b");
	assert_int_not_equal(node_of(builder, "a/file"), DW_NONE);
	assert_int_equal(record_of(builder, "b/link")->kind, RECORD_TARGET);
	assert_int_equal(node_of(builder, "b/link/file"), DW_NONE);
	dwarfs_builder_free(builder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(entries_have_their_attributes, make_place,
						remove_place),
		cmocka_unit_test_setup_teardown(a_prefix_is_put_in_front, make_place,
						remove_place),
		cmocka_unit_test_setup_teardown(hard_links_share_a_record, make_place,
						remove_place),
		cmocka_unit_test_setup_teardown(what_is_no_directory_is_refused,
						make_place, remove_place),
		cmocka_unit_test_setup_teardown(only_the_first_link_is_followed,
						make_place, remove_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
