/* SPDX-License-Identifier: MIT */
/*
 * write/options/xattr_rules: which attributes are stored.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dwarfs/error.h>

#include "write/options/xattr_rules.h"

static void rules_take_what_they_should(void **state)
{
	struct xattr_rules none = { 0 }, some = { 0 }, all = { .drop = true };

	assert_true(dw_xattr_rules_include(&none, "user.a"));
	assert_true(dw_xattr_rules_include(&none, "trusted.overlay.opaque"));
	assert_true(dw_xattr_rules_include(&none, "security.capability"));
	assert_true(dw_xattr_rules_include(&none, "system.posix_acl_access"));
	assert_true(dw_xattr_rules_include(&none, "com.apple.ResourceFork"));
	assert_false(dw_xattr_rules_include(&none, "system.nfs4_acl"));
	assert_false(dw_xattr_rules_include(&none, "user.dwarfs.inodeinfo"));
	assert_false(dw_xattr_rules_include(&none, "trusted.SGI_ACL_FILE"));
	assert_false(dw_xattr_rules_include(&none, "trusted.SGI_ACL_DEFAULT"));
	assert_true(dw_xattr_rules_include(&none, "user.dwarfs"));
	assert_false(dw_xattr_rules_include(&all, "user.a"));
	assert_int_equal(dw_xattr_rules_add(&some, true, "user.*", NULL), 0);
	assert_int_equal(dw_xattr_rules_add(&some, true, "*.posix_acl_?ccess", NULL), 0);
	assert_int_equal(dw_xattr_rules_add(&some, false, "*[0-9]", NULL), 0);
	assert_int_equal(dw_xattr_rules_add(&some, false, "", NULL), DWARFS_ERR_INVALID);
	assert_true(dw_xattr_rules_include(&some, "user.a/b.c"));
	assert_true(dw_xattr_rules_include(&some, "system.posix_acl_access"));
	assert_false(dw_xattr_rules_include(&some, "system.posix_acl_default"));
	assert_false(dw_xattr_rules_include(&some, "user.a1"));
	assert_false(dw_xattr_rules_include(&some, "trusted.user.a"));
	dw_xattr_rules_free(&none);
	dw_xattr_rules_free(&some);
}

static void unmatched_brackets_are_refused(void **state)
{
	static const char *const wrong[] = { "[",   "user.[", "[a",    "[]",
					     "[!]", "[^]",    "[a]b[c" };
	static const char *const right[] = { "]",   "\\[",     "[]]", "[!]a]",
					     "[a]", "[a]b[c]", "[[]" };
	struct xattr_rules rules = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(dw_xattr_rules_add(&rules, false, wrong[i], NULL),
				 DWARFS_ERR_INVALID);
	assert_int_equal(rules.exclude.count, 0);
	for (size_t i = 0; i < sizeof(right) / sizeof(right[0]); i++)
		assert_int_equal(dw_xattr_rules_add(&rules, false, right[i], NULL), 0);
	dw_xattr_rules_free(&rules);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rules_take_what_they_should),
		cmocka_unit_test(unmatched_brackets_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
