/* SPDX-License-Identifier: MIT */
/*
 * write/items/assembly: names, directories, and shared records.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "write/items/assembly.h"
#include "write/items/item.h"

static struct span span_of(const char *text)
{
	return (struct span){ (const uint8_t *)text, strlen(text) };
}

static uint32_t record(struct assembly *assembly, uint32_t mode)
{
	struct record record = {
		.kind = RECORD_PLAIN,
		.mode = mode,
		.xattrs = NO_XATTRS,
		.times = NO_TIMES,
	};
	uint32_t number;

	assert_int_equal(dw_assembly_add_record(assembly, &record, &number, NULL), 0);
	return number;
}

static uint32_t put(struct assembly *assembly, const char *path, uint32_t number)
{
	uint32_t node;

	assert_int_equal(dw_assembly_put(assembly, span_of(path), number, &node, NULL),
			 0);
	assert_int_equal(dw_assembly_find(assembly, span_of(path)), node);
	return node;
}

static uint32_t put_file(struct assembly *assembly, const char *path)
{
	return put(assembly, path, record(assembly, 0100644));
}

static struct assembly *new_assembly(void)
{
	struct assembly *assembly = NULL;

	assert_int_equal(dw_assembly_new(&assembly, NULL), 0);
	return assembly;
}

static bool has(const struct assembly *assembly, const char *path)
{
	return dw_assembly_find(assembly, span_of(path)) != DW_NONE;
}

static void records_are_counted(void **state)
{
	struct assembly *assembly = new_assembly();
	uint32_t number = record(assembly, 0100600);
	uint32_t a = put(assembly, "a", number), b = put(assembly, "b/c", number);

	(void)state;
	assert_int_equal(assembly->records[number].names, 2);
	put(assembly, "a", number); /* itself */
	assert_int_equal(assembly->records[number].names, 2);
	dw_assembly_remove(assembly, a);
	assert_int_equal(assembly->records[number].names, 1);
	assert_int_equal(assembly->records[number].kind, RECORD_PLAIN);
	dw_assembly_remove(assembly, b);
	assert_int_equal(assembly->records[number].kind, RECORD_FREE);
	assert_int_equal(record(assembly, 0100644), number); /* reused */
	assert_true(has(assembly, "b"));
	dw_assembly_free(assembly);
}

static void nodes_are_used_again(void **state)
{
	struct assembly *assembly = new_assembly();
	size_t before;
	char path[32];
	int round, i;

	(void)state;
	for (round = 0; round < 4; round++) {
		for (i = 0; i < 2000; i++) {
			snprintf(path, sizeof(path), "%d/%d/%d", i % 3, i % 50, i);
			put_file(assembly, path);
		}
		if (round == 0)
			before = assembly->node_count;
		assert_int_equal(assembly->node_count, before);
		for (i = 0; i < 2000; i++) {
			snprintf(path, sizeof(path), "%d/%d/%d", i % 3, i % 50, i);
			assert_true(has(assembly, path));
		}
		dw_assembly_clear(assembly, 0);
		assert_false(has(assembly, "1"));
		assert_int_equal(assembly->nodes[0].child, DW_NONE);
	}
	dw_assembly_free(assembly);
}

static void a_deep_path_is_no_trouble(void **state)
{
	enum { LEVELS = 20000 };
	static char path[2 * LEVELS];
	struct assembly *assembly = new_assembly();
	struct buffer text = { 0 };
	uint32_t node;

	(void)state;
	for (int i = 0; i < LEVELS; i++) {
		path[2 * i] = 'd';
		path[2 * i + 1] = i + 1 < LEVELS ? '/' : '\0';
	}
	node = put_file(assembly, path);
	assert_int_equal(dw_assembly_path(assembly, node, &text, NULL), 0);
	assert_string_equal((const char *)text.data, path);
	put_file(assembly, "d"); /* all of it is removed */
	assert_false(has(assembly, "d/d"));
	dw_buffer_free(&text);
	dw_assembly_free(assembly);
}

static void what_is_no_directory_leads_nowhere(void **state)
{
	struct assembly *assembly = new_assembly();
	dwarfs_error *err = NULL;
	uint32_t number, node;

	(void)state;
	put_file(assembly, "a/b");
	number = record(assembly, 0100644);
	assert_int_equal(
		dw_assembly_put(assembly, span_of("a/b/c/d"), number, &node, &err),
		DWARFS_ERR_NOT_DIR);
	assert_string_equal(dwarfs_error_path(err), "a/b");
	assert_int_equal(assembly->records[number].names, 0);
	dwarfs_error_free(err);
	assert_false(has(assembly, "a/b/c"));
	dw_assembly_free(assembly);
}

static void a_directory_stays_when_its_attributes_come(void **state)
{
	struct assembly *assembly = new_assembly();
	uint32_t node;

	(void)state;
	put_file(assembly, "d/inside");
	node = dw_assembly_find(assembly, span_of("d"));
	assert_int_equal(assembly->records[assembly->nodes[node].record].mode, 0040755);
	assert_int_equal(put(assembly, "d", record(assembly, 0040700)), node);
	assert_int_equal(assembly->records[assembly->nodes[node].record].mode, 0040700);
	assert_true(has(assembly, "d/inside"));
	put_file(assembly, "d");
	assert_false(has(assembly, "d/inside"));
	dw_assembly_free(assembly);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_are_counted),
		cmocka_unit_test(nodes_are_used_again),
		cmocka_unit_test(a_deep_path_is_no_trouble),
		cmocka_unit_test(what_is_no_directory_leads_nowhere),
		cmocka_unit_test(a_directory_stays_when_its_attributes_come),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
