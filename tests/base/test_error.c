/* SPDX-License-Identifier: MIT */
/*
 * base/error: contents of errors, and that reporting never fails.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"

static void no_error_can_be_asked(void **state)
{
	uint64_t offset = 7;

	assert_int_equal(dwarfs_error_code(NULL), 0);
	assert_string_equal(dwarfs_error_message(NULL), "no error");
	assert_null(dwarfs_error_path(NULL));
	assert_false(dwarfs_error_offset(NULL, &offset));
	assert_int_equal(offset, 7);
	assert_int_equal(dwarfs_error_errno(NULL), 0);
	dwarfs_error_free(NULL);
}

static void every_code_has_a_text(void **state)
{
	for (int code = DWARFS_ERR_LIMIT; code <= 0; code++)
		assert_string_not_equal(dwarfs_strerror(code), "unknown error");
	assert_string_equal(dwarfs_strerror(1), "unknown error");
	assert_string_equal(dwarfs_strerror(DWARFS_ERR_LIMIT - 1), "unknown error");
	assert_string_equal(dwarfs_strerror(INT32_MIN), "unknown error");
}

static void failing_fills_the_error_and_gives_the_code(void **state)
{
	auto_error dwarfs_error *err = NULL;

	assert_int_equal(dw_fail(&err, DWARFS_ERR_RANGE, "%d is not %s", 3, "four"),
			 DWARFS_ERR_RANGE);
	assert_int_equal(dwarfs_error_code(err), DWARFS_ERR_RANGE);
	assert_string_equal(dwarfs_error_message(err), "3 is not four");
	assert_int_equal(dwarfs_error_errno(err), 0);
	assert_null(dwarfs_error_path(err));
	assert_false(dwarfs_error_offset(err, NULL));
}

static void nobody_needs_to_listen(void **state)
{
	assert_int_equal(dw_fail(NULL, DWARFS_ERR_IO, "lost"), DWARFS_ERR_IO);
	assert_int_equal(dw_fail_errno(NULL, EACCES, "lost"), DWARFS_ERR_ACCESS);
	assert_int_equal(dw_fail_nomem(NULL), DWARFS_ERR_NOMEM);
	assert_int_equal(dw_explain(NULL, DWARFS_ERR_IO, "lost"), DWARFS_ERR_IO);
	assert_int_equal(dw_error_at_path(NULL, DWARFS_ERR_IO, "x"), DWARFS_ERR_IO);
	assert_int_equal(dw_error_at_offset(NULL, DWARFS_ERR_IO, 1), DWARFS_ERR_IO);
	assert_int_equal(dw_error_as(NULL, DWARFS_ERR_IO), DWARFS_ERR_IO);
}

static void a_later_error_replaces_an_earlier_one(void **state)
{
	auto_error dwarfs_error *err = NULL;

	dw_fail(&err, DWARFS_ERR_RANGE, "first");
	/* The message of the old error may be part of the new one. */
	dw_fail(&err, DWARFS_ERR_IO, "second after %s", dwarfs_error_message(err));
	assert_int_equal(dwarfs_error_code(err), DWARFS_ERR_IO);
	assert_string_equal(dwarfs_error_message(err), "second after first");
}

static void long_messages_are_kept_whole(void **state)
{
	auto_error dwarfs_error *err = NULL;
	char text[10001];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	dw_fail(&err, DWARFS_ERR_IO, "%s", text);
	assert_string_equal(dwarfs_error_message(err), text);
	dw_explain(&err, DWARFS_ERR_IO, "%s", text);
	assert_int_equal(strlen(dwarfs_error_message(err)), 2 * 10000 + 2);
}

static void explaining_adds_in_front(void **state)
{
	auto_error dwarfs_error *err = NULL;

	dw_fail(&err, DWARFS_ERR_CORRUPT, "it is broken");
	assert_int_equal(dw_explain(&err, DWARFS_ERR_CORRUPT, "block %d", 5),
			 DWARFS_ERR_CORRUPT);
	dw_explain(&err, DWARFS_ERR_CORRUPT, "reading '%s'", "a/b");
	assert_string_equal(dwarfs_error_message(err),
			    "reading 'a/b': block 5: it is broken");
	assert_int_equal(dwarfs_error_code(err), DWARFS_ERR_CORRUPT);
}

static void the_first_place_is_kept(void **state)
{
	auto_error dwarfs_error *err = NULL;
	uint64_t offset = 0;

	dw_fail(&err, DWARFS_ERR_CORRUPT, "x");
	dw_error_at_path(&err, DWARFS_ERR_CORRUPT, "inner");
	dw_error_at_path(&err, DWARFS_ERR_CORRUPT, "outer");
	dw_error_at_offset(&err, DWARFS_ERR_CORRUPT, UINT64_MAX);
	dw_error_at_offset(&err, DWARFS_ERR_CORRUPT, 1);
	assert_string_equal(dwarfs_error_path(err), "inner");
	assert_true(dwarfs_error_offset(err, &offset));
	assert_true(dwarfs_error_offset(err, NULL));
	assert_true(offset == UINT64_MAX);
}

static void system_errors_carry_errno(void **state)
{
	auto_error dwarfs_error *err = NULL;
	char expected[200];

	snprintf(expected, sizeof(expected), "cannot open 'x': %s", strerror(ENOENT));
	assert_int_equal(dw_fail_errno(&err, ENOENT, "cannot open '%s'", "x"),
			 DWARFS_ERR_NOT_FOUND);
	assert_int_equal(dwarfs_error_errno(err), ENOENT);
	assert_string_equal(dwarfs_error_message(err), expected);
	assert_int_equal(dw_error_as(&err, DWARFS_ERR_IO), DWARFS_ERR_IO);
	assert_int_equal(dwarfs_error_code(err), DWARFS_ERR_IO);
	assert_int_equal(dwarfs_error_errno(err), ENOENT);
	/* An unknown number still has a message. */
	assert_int_equal(dw_fail_errno(&err, 99999, "odd"), DWARFS_ERR_IO);
	assert_true(strlen(dwarfs_error_message(err)) > 5);
}

static void errno_values_have_codes(void **state)
{
	static const struct {
		int errnum, code;
	} known[] = {
		{ ENOMEM, DWARFS_ERR_NOMEM },	 { ENOENT, DWARFS_ERR_NOT_FOUND },
		{ ENOTDIR, DWARFS_ERR_NOT_DIR }, { EISDIR, DWARFS_ERR_IS_DIR },
		{ EEXIST, DWARFS_ERR_EXISTS },	 { EACCES, DWARFS_ERR_ACCESS },
		{ EPERM, DWARFS_ERR_ACCESS },	 { ENOSPC, DWARFS_ERR_NO_SPACE },
		{ EDQUOT, DWARFS_ERR_NO_SPACE }, { EIO, DWARFS_ERR_IO },
		{ EPIPE, DWARFS_ERR_IO },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		assert_int_equal(dw_code_of_errno(known[i].errnum), known[i].code);
}

/* The error for exhausted memory is shared by all threads: nothing may change it. */
static void out_of_memory_cannot_be_changed(void **state)
{
	dwarfs_error *err = NULL, *other = NULL;

	assert_int_equal(dw_fail_nomem(&err), DWARFS_ERR_NOMEM);
	dw_fail_nomem(&other);
	dw_explain(&err, DWARFS_ERR_NOMEM, "while testing");
	dw_error_at_path(&err, DWARFS_ERR_NOMEM, "x");
	dw_error_at_offset(&err, DWARFS_ERR_NOMEM, 1);
	dw_error_as(&err, DWARFS_ERR_IO);
	assert_int_equal(dwarfs_error_code(other), DWARFS_ERR_NOMEM);
	assert_string_equal(dwarfs_error_message(other), "out of memory");
	assert_null(dwarfs_error_path(other));
	assert_false(dwarfs_error_offset(other, NULL));
	dwarfs_error_free(other);
	dw_fail(&err, DWARFS_ERR_IO, "it can be replaced");
	assert_int_equal(dwarfs_error_code(err), DWARFS_ERR_IO);
	dwarfs_error_free(err);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_error_can_be_asked),
		cmocka_unit_test(every_code_has_a_text),
		cmocka_unit_test(failing_fills_the_error_and_gives_the_code),
		cmocka_unit_test(nobody_needs_to_listen),
		cmocka_unit_test(a_later_error_replaces_an_earlier_one),
		cmocka_unit_test(long_messages_are_kept_whole),
		cmocka_unit_test(explaining_adds_in_front),
		cmocka_unit_test(the_first_place_is_kept),
		cmocka_unit_test(system_errors_carry_errno),
		cmocka_unit_test(errno_values_have_codes),
		cmocka_unit_test(out_of_memory_cannot_be_changed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
