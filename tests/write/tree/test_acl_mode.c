/* SPDX-License-Identifier: MIT */
/*
 * write/tree/acl_mode: permissions of access control lists.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/bytes.h"
#include "base/memory.h"
#include "write/tree/acl_mode.h"
#include "write/tree/xattr_sets.h"

struct entry {
	uint16_t kind, permissions;
};

/* Kinds: 1 owner, 2 a user, 4 own group, 8 a group, 16 mask, 32 others. */
static size_t make(uint8_t *value, const struct entry *entries, size_t count)
{
	dw_store32(value, 2);
	for (size_t i = 0; i < count; i++) {
		dw_store16(value + 4 + 8 * i, entries[i].kind);
		dw_store16(value + 4 + 8 * i + 2, entries[i].permissions);
		dw_store32(value + 4 + 8 * i + 4, UINT32_MAX);
	}
	return 4 + 8 * count;
}

static void expect(const struct entry *before, const struct entry *after, size_t count,
		   uint32_t mode)
{
	uint8_t value[64], expected[64];
	size_t size = make(value, before, count);

	make(expected, after, count);
	dw_acl_set_mode(value, size, mode);
	assert_memory_equal(value, expected, size);
}

static void owner_mask_and_others_change(void **state)
{
	const struct entry before[] = {
		{ 1, 6 }, { 2, 6 }, { 4, 4 }, { 16, 6 }, { 32, 4 }
	};
	const struct entry after[] = {
		{ 1, 7 }, { 2, 6 }, { 4, 4 }, { 16, 5 }, { 32, 0 }
	};

	(void)state;
	expect(before, after, 5, 0104750);
}

static void without_a_mask_the_group_changes(void **state)
{
	const struct entry before[] = { { 1, 6 }, { 4, 4 }, { 32, 4 } };
	const struct entry after[] = { { 1, 6 }, { 4, 0 }, { 32, 1 } };

	(void)state;
	expect(before, after, 3, 0601);
}

static void other_values_stay(void **state)
{
	const struct entry before[] = { { 1, 6 }, { 4, 4 }, { 32, 4 } };
	uint8_t value[64], expected[64];
	size_t size = make(value, before, 3);

	(void)state;
	memcpy(expected, value, size);
	dw_acl_set_mode(value, size - 1, 0);
	dw_acl_set_mode(value, 3, 0);
	dw_acl_set_mode(value, 0, 0);
	assert_memory_equal(value, expected, size);
	dw_store32(value, 3);
	dw_store32(expected, 3);
	dw_acl_set_mode(value, size, 0);
	assert_memory_equal(value, expected, size);
}

static void only_the_list_for_access_changes(void **state)
{
	const struct entry before[] = { { 1, 7 }, { 4, 7 }, { 32, 7 } };
	const struct entry after[] = { { 1, 6 }, { 4, 4 }, { 32, 0 } };
	static const char *const names[] = { "system.posix_acl_access",
					     "system.posix_acl_default", "user.x" };
	struct buffer list = { 0 }, expected = { 0 };
	uint8_t value[64], changed[64];
	size_t size = make(value, before, 3);

	(void)state;
	make(changed, after, 3);
	for (size_t i = 0; i < 3; i++) {
		struct span name = { (const uint8_t *)names[i], strlen(names[i]) };
		struct span other = { i == 0 ? changed : value, size };

		assert_int_equal(dw_xattr_list_append(&list, name,
						      (struct span){ value, size }, NULL),
				 0);
		assert_int_equal(dw_xattr_list_append(&expected, name, other, NULL), 0);
	}
	dw_xattr_list_set_mode(&list, 0100640);
	assert_int_equal(list.size, expected.size);
	assert_memory_equal(list.data, expected.data, list.size);
	dw_buffer_free(&list);
	dw_buffer_free(&expected);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(owner_mask_and_others_change),
		cmocka_unit_test(without_a_mask_the_group_changes),
		cmocka_unit_test(other_values_stay),
		cmocka_unit_test(only_the_list_for_access_changes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
