/* SPDX-License-Identifier: MIT */
/*
 * read/metadata/directory: which bytes can be the name of an entry.
 */
#include "read/metadata/view.h"
#include "support/craft.h"

static void names_have_no_separators(void **state)
{
	char name[300];

	memset(name, 'a', sizeof(name));
	for (size_t size = 1; size < 256; size++) {
		assert_true(dw_is_name(name, size));
		for (size_t at = 0; at < size; at++) {
			name[at] = '/';
			assert_false(dw_is_name(name, size));
			name[at] = '\0';
			assert_false(dw_is_name(name, size));
			name[at] = (char)('/' + 0x80);
			assert_true(dw_is_name(name, size));
			name[at] = 'a';
		}
	}
	assert_false(dw_is_name(name, 256));
	assert_false(dw_is_name(name, 0));
	assert_false(dw_is_name(".", 1));
	assert_false(dw_is_name("..", 2));
	assert_true(dw_is_name("...", 3));
	assert_true(dw_is_name(".a", 2));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_have_no_separators),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
