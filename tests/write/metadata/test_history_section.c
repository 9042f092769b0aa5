/* SPDX-License-Identifier: MIT */
/*
 * write/metadata/history_section: the command line that is stored.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "write/metadata/history_section.h"

#define LONG_BYTES 100000

/* Whether the section has a text, after its length. */
static bool has(const struct buffer *section, const char *text)
{
	const size_t bytes = strlen(text);

	for (size_t i = 1; i + bytes <= section->size; i++)
		if (section->data[i - 1] == bytes &&
		    memcmp(section->data + i, text, bytes) == 0)
			return true;
	return false;
}

static void write_section(const char **arguments, size_t count, struct buffer *section)
{
	const struct build_options options = { .arguments = (char **)(uintptr_t)arguments,
					       .argument_count = count };
	dwarfs_error *err = NULL;

	assert_int_equal(dw_history_section(&options, 0, section, &err), 0);
}

static void arguments_are_stored(void **state)
{
	const char *arguments[] = { "mkdwarfs", "-i", "tree" };
	auto_buffer struct buffer section = { 0 };

	write_section(arguments, 3, &section);
	for (size_t i = 0; i < 3; i++)
		assert_true(has(&section, arguments[i]));
	assert_false(has(&section, "..."));
}

static void no_arguments_are_stored(void **state)
{
	auto_buffer struct buffer section = { 0 };

	write_section(NULL, 0, &section);
	assert_true(section.size > 0);
	assert_false(has(&section, "..."));
}

/* Otherwise the histories of a few rewrites would exceed what a reader takes. */
static void a_long_command_line_is_cut_off(void **state)
{
	const char *arguments[] = { "mkdwarfs", NULL, NULL, NULL, "tree" };
	auto_buffer struct buffer section = { 0 };
	char *text = malloc(LONG_BYTES + 1);

	memset(text, 'x', LONG_BYTES);
	text[LONG_BYTES] = '\0';
	arguments[1] = arguments[2] = arguments[3] = text;
	write_section(arguments, 5, &section);
	assert_in_range(section.size, 2 * LONG_BYTES, 256 << 10);
	assert_true(has(&section, "mkdwarfs"));
	assert_true(has(&section, "..."));
	assert_false(has(&section, "tree"));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arguments_are_stored),
		cmocka_unit_test(no_arguments_are_stored),
		cmocka_unit_test(a_long_command_line_is_cut_off),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
