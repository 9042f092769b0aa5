/* SPDX-License-Identifier: MIT */
/*
 * write/items/conflicts: what becomes of an entry at a path that an earlier input has.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "write/items/assembly.h"

#define EARLIER	  0100600
#define LATER	  0100644
#define DIRECTORY 040755

static struct span span_of(const char *text)
{
	return (struct span){ (const uint8_t *)text, strlen(text) };
}

static int try_put(struct assembly *assembly, const char *path, uint32_t mode,
		   uint32_t *node_out)
{
	struct record record = {
		.kind = RECORD_PLAIN,
		.mode = mode,
		.xattrs = NO_XATTRS,
		.times = NO_TIMES,
		.layer = assembly->layer,
	};
	uint32_t number;

	assert_int_equal(dw_assembly_add_record(assembly, &record, &number, NULL), 0);
	return dw_assembly_put(assembly, span_of(path), number, node_out, NULL);
}

static uint32_t put(struct assembly *assembly, const char *path, uint32_t mode)
{
	uint32_t node;

	assert_int_equal(try_put(assembly, path, mode, &node), 0);
	return node;
}

/* The second layer of an assembly whose first one has the file f and the directory d with a
 * file in it. */
static struct assembly *second_layer(enum dwarfs_conflict conflict)
{
	struct assembly *assembly = NULL;

	assert_int_equal(dw_assembly_new(&assembly, NULL), 0);
	assembly->on_conflict = conflict;
	assembly->layer = 1;
	put(assembly, "f", EARLIER);
	put(assembly, "d", DIRECTORY);
	put(assembly, "d/f", EARLIER);
	assembly->layer = 2;
	return assembly;
}

/* The mode of the entry at a path, or 0 if there is none. */
static uint32_t mode_at(const struct assembly *assembly, const char *path)
{
	uint32_t node = dw_assembly_find(assembly, span_of(path));

	return node == DW_NONE ? 0 : dw_assembly_record(assembly, node)->mode;
}

static void the_last_replaces(void **state)
{
	struct assembly *assembly = second_layer(DWARFS_CONFLICT_LAST);

	(void)state;
	put(assembly, "f", LATER);
	assert_int_equal(mode_at(assembly, "f"), LATER);
	put(assembly, "d", 040700);
	assert_int_equal(mode_at(assembly, "d"), 040700);
	assert_int_equal(mode_at(assembly, "d/f"), EARLIER);
	put(assembly, "d", LATER);
	assert_int_equal(mode_at(assembly, "d"), LATER);
	assert_int_equal(mode_at(assembly, "d/f"), 0);
	dw_assembly_free(assembly);
}

static void the_first_stays(void **state)
{
	struct assembly *assembly = second_layer(DWARFS_CONFLICT_FIRST);

	(void)state;
	assert_int_equal(put(assembly, "f", LATER), DW_NONE);
	assert_int_equal(put(assembly, "d", LATER), DW_NONE);
	assert_int_equal(put(assembly, "f/below/a/file", LATER), DW_NONE);
	assert_int_equal(mode_at(assembly, "f"), EARLIER);
	assert_int_equal(mode_at(assembly, "d/f"), EARLIER);
	put(assembly, "d", 040700);
	assert_int_equal(mode_at(assembly, "d"), DIRECTORY);
	put(assembly, "d/g", LATER);
	assert_int_equal(mode_at(assembly, "d/g"), LATER);
	dw_assembly_free(assembly);
}

/* Directories that were made for what is below them have no attributes to keep. */
static void an_implicit_directory_gets_attributes(void **state)
{
	struct assembly *assembly = second_layer(DWARFS_CONFLICT_FIRST);

	(void)state;
	assembly->layer = 1;
	put(assembly, "made/f", EARLIER);
	assembly->layer = 2;
	put(assembly, "made", 040700);
	assert_int_equal(mode_at(assembly, "made"), 040700);
	assert_int_equal(mode_at(assembly, "made/f"), EARLIER);
	dw_assembly_free(assembly);
}

static void the_later_gets_a_number(void **state)
{
	struct assembly *assembly = second_layer(DWARFS_CONFLICT_RENAME);

	(void)state;
	put(assembly, "f.2", LATER);
	put(assembly, "f", LATER);
	assert_int_equal(mode_at(assembly, "f"), EARLIER);
	assert_int_equal(mode_at(assembly, "f.3"), LATER);
	/* An entry of the same input with the name that was given gets another one. */
	put(assembly, "f.3", 0100640);
	assert_int_equal(mode_at(assembly, "f.3"), LATER);
	assert_int_equal(mode_at(assembly, "f.3.2"), 0100640);
	put(assembly, "d/f", LATER);
	assert_int_equal(mode_at(assembly, "d/f.2"), LATER);
	put(assembly, "d", LATER);
	assert_int_equal(mode_at(assembly, "d.2"), LATER);
	dw_assembly_free(assembly);
}

static void what_cannot_be_renamed_is_refused(void **state)
{
	struct assembly *assembly = second_layer(DWARFS_CONFLICT_RENAME);
	char name[256];
	uint32_t node;

	(void)state;
	assert_int_equal(try_put(assembly, "f", DIRECTORY, &node), DWARFS_ERR_EXISTS);
	assert_int_equal(try_put(assembly, "", LATER, &node), DWARFS_ERR_EXISTS);
	memset(name, 'n', 254);
	name[254] = '\0';
	assembly->layer = 1;
	put(assembly, name, EARLIER);
	assembly->layer = 2;
	assert_int_equal(try_put(assembly, name, LATER, &node), DWARFS_ERR_EXISTS);
	assert_int_equal(mode_at(assembly, name), EARLIER);
	dw_assembly_free(assembly);
}

static void a_conflict_can_be_an_error(void **state)
{
	struct assembly *assembly = second_layer(DWARFS_CONFLICT_ERROR);
	uint32_t node;

	(void)state;
	assert_int_equal(try_put(assembly, "f", LATER, &node), DWARFS_ERR_EXISTS);
	assert_int_equal(try_put(assembly, "d", LATER, &node), DWARFS_ERR_EXISTS);
	assert_int_equal(try_put(assembly, "f/g", LATER, &node), DWARFS_ERR_NOT_DIR);
	put(assembly, "d", 040700);
	put(assembly, "d/g", LATER);
	assert_int_equal(mode_at(assembly, "d/f"), EARLIER);
	dw_assembly_free(assembly);
}

/* In every mode. */
static void within_an_input_the_last_replaces(void **state)
{
	static const enum dwarfs_conflict modes[] = {
		DWARFS_CONFLICT_LAST,
		DWARFS_CONFLICT_FIRST,
		DWARFS_CONFLICT_RENAME,
		DWARFS_CONFLICT_ERROR,
	};

	(void)state;
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		struct assembly *assembly = second_layer(modes[i]);

		put(assembly, "new", EARLIER);
		put(assembly, "new", LATER);
		assert_int_equal(mode_at(assembly, "new"), LATER);
		dw_assembly_free(assembly);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_last_replaces),
		cmocka_unit_test(the_first_stays),
		cmocka_unit_test(an_implicit_directory_gets_attributes),
		cmocka_unit_test(the_later_gets_a_number),
		cmocka_unit_test(what_cannot_be_renamed_is_refused),
		cmocka_unit_test(a_conflict_can_be_an_error),
		cmocka_unit_test(within_an_input_the_last_replaces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
