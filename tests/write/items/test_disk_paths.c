/* SPDX-License-Identifier: MIT */
/*
 * write/items/disk_paths: paths of files on disk, in a separate tree.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "write/items/assembly.h"

static struct span span_of(const char *text)
{
	return (struct span){ (const uint8_t *)text, strlen(text) };
}

static uint32_t add(struct assembly *assembly, uint32_t directory, const char *name)
{
	uint32_t path = DW_NONE;

	assert_int_equal(dw_assembly_add_disk_path(assembly, directory, span_of(name),
						   &path, NULL),
			 0);
	return path;
}

static void paths_lead_through_their_directories(void **state)
{
	auto_buffer struct buffer path = { 0 };
	struct assembly *assembly = NULL;
	uint32_t directory, file, below;

	assert_int_equal(dw_assembly_new(&assembly, NULL), 0);
	assert_int_equal(assembly->disk_fd, -1);
	directory = add(assembly, 0, "usr/share");
	assert_true(assembly->disk_fd >= 0);
	file = add(assembly, directory, "a");
	below = add(assembly, add(assembly, directory, "b"), "a");
	assert_int_not_equal(file, below);
	assert_int_equal(dw_tree_path(&assembly->disk, file, &path, NULL), 0);
	assert_string_equal((char *)path.data, "usr/share/a");
	assert_int_equal(dw_tree_path(&assembly->disk, below, &path, NULL), 0);
	assert_string_equal((char *)path.data, "usr/share/b/a");
	assert_int_equal(assembly->disk.names.count, 3); /* "a" once */
	dw_assembly_free(assembly);
}

static void an_empty_name_is_the_directory(void **state)
{
	struct assembly *assembly = NULL;
	uint32_t directory;

	assert_int_equal(dw_assembly_new(&assembly, NULL), 0);
	assert_int_equal(add(assembly, 0, ""), 0);
	directory = add(assembly, 0, "tmp");
	assert_int_equal(add(assembly, directory, ""), directory);
	assert_int_equal(assembly->disk.entry_count, 2);
	dw_assembly_free(assembly);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths_lead_through_their_directories),
		cmocka_unit_test(an_empty_name_is_the_directory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
