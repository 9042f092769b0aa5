/* SPDX-License-Identifier: MIT */
/*
 * write/order/auto/inode_cost: numbers that do not follow each other by path take bytes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "write/order/auto/inode_cost.h"

#define COUNT 2048

/* Files of one fragment each; in numbers by path. */
struct files {
	struct content contents[COUNT];
	struct fragment fragments[COUNT];
	uint32_t by_path[COUNT], numbers[COUNT];
	size_t count;
};

static struct files *new_files(void)
{
	struct files *files = dw_calloc(1, sizeof(*files));

	assert_non_null(files);
	files->count = COUNT;
	for (uint32_t i = 0; i < COUNT; i++) {
		files->contents[i] =
			(struct content){ .first_fragment = i, .fragment_count = 1 };
		files->fragments[i].content = i;
		files->by_path[i] = files->numbers[i] = i;
	}
	return files;
}

static uint64_t bytes_of(struct files *files)
{
	const struct contents contents = {
		.list = files->contents,
		.count = COUNT,
		.fragments = files->fragments,
		.fragment_count = COUNT,
	};
	uint64_t bytes;

	assert_int_equal(dw_inode_numbers_bytes(&contents, files->by_path, files->numbers,
						files->count, &bytes, NULL),
			 0);
	return bytes;
}

static void numbers_by_path_take_nothing(void **state)
{
	struct files *files = new_files();

	(void)state;
	assert_int_equal(bytes_of(files), 0);
	dw_free(files);
}

/* Even files before odd ones: nearly all differences are half of the count. */
static void other_numbers_take_the_bits_of_their_distance(void **state)
{
	struct files *files = new_files();

	(void)state;
	for (uint32_t i = 0; i < COUNT; i++)
		files->numbers[i] = i < COUNT / 2 ? 2 * i : 2 * (i - COUNT / 2) + 1;
	assert_in_range(bytes_of(files), COUNT * 11 / 8, COUNT * 12 / 8);
	dw_free(files);
}

/* Two halves that change places are one jump back and one forward. */
static void runs_take_little(void **state)
{
	struct files *files = new_files();

	(void)state;
	for (uint32_t i = 0; i < COUNT; i++)
		files->numbers[i] = (i + COUNT / 2) % COUNT;
	assert_in_range(bytes_of(files), 1, 4);
	dw_free(files);
}

/* The later fragments of a file have no number. */
static void the_first_fragment_counts(void **state)
{
	struct files *files = new_files();

	(void)state;
	for (uint32_t i = 0; i < COUNT; i++)
		files->numbers[i] = i < COUNT / 2 ? 2 * i : 2 * (i - COUNT / 2) + 1;
	for (uint32_t i = 1; i < COUNT; i += 2)
		files->fragments[i].content = i - 1;
	assert_int_equal(bytes_of(files), 0);
	dw_free(files);
}

static void numbers_of_few_files_do_not_count(void **state)
{
	struct files *files = new_files();

	(void)state;
	files->count = COUNT / 4;
	for (uint32_t i = 0; i < files->count; i++)
		files->numbers[i] = files->count - 1 - i;
	assert_int_equal(bytes_of(files), 0);
	dw_free(files);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_by_path_take_nothing),
		cmocka_unit_test(other_numbers_take_the_bits_of_their_distance),
		cmocka_unit_test(runs_take_little),
		cmocka_unit_test(the_first_fragment_counts),
		cmocka_unit_test(numbers_of_few_files_do_not_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
