/* SPDX-License-Identifier: MIT */
/*
 * write/options/chmod: modes as chmod(1) makes them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "write/options/chmod.h"

#define FILE_BITS 0100000
#define DIR_BITS  0040000

static uint32_t apply(const char *text, uint32_t mode, uint32_t umask)
{
	struct mode_change change;
	uint32_t changed;

	assert_int_equal(dw_mode_change_parse(text, &change, NULL), 0);
	changed = dw_mode_change_apply(&change, mode, umask);
	dw_mode_change_free(&change);
	return changed;
}

struct example {
	const char *text;
	uint32_t before, after;
};

/* The results of GNU chmod with umask 022. */
static void symbolic_modes(void **state)
{
	static const struct example examples[] = {
		{ "u+x", FILE_BITS | 0644, FILE_BITS | 0744 },
		{ "a-w", FILE_BITS | 0666, FILE_BITS | 0444 },
		{ "u+r-w", FILE_BITS | 0200, FILE_BITS | 0400 },
		{ "go=", FILE_BITS | 0777, FILE_BITS | 0700 },
		{ "g=u", FILE_BITS | 0640, FILE_BITS | 0660 },
		{ "o+g", FILE_BITS | 0750, FILE_BITS | 0755 },
		{ "u=g,g=o", FILE_BITS | 0754, FILE_BITS | 0544 },
		{ "+x", FILE_BITS | 0644, FILE_BITS | 0755 },
		{ "+w", FILE_BITS | 0444, FILE_BITS | 0644 },
		{ "-w", FILE_BITS | 0666, FILE_BITS | 0466 },
		{ "=r", FILE_BITS | 0777, FILE_BITS | 0444 },
		{ "=rw", FILE_BITS | 0000, FILE_BITS | 0644 },
		{ "a+X", FILE_BITS | 0644, FILE_BITS | 0644 },
		{ "a+X", FILE_BITS | 0744, FILE_BITS | 0755 },
		{ "a+X", DIR_BITS | 0600, DIR_BITS | 0711 },
		{ "u+s,g+s", FILE_BITS | 0755, FILE_BITS | 06755 },
		{ "o+s", FILE_BITS | 0755, FILE_BITS | 0755 },
		{ "+t", DIR_BITS | 0777, DIR_BITS | 01777 },
		{ "ug-s,o-t", DIR_BITS | 07777, DIR_BITS | 0777 },
		{ "u=rwx", DIR_BITS | 06755, DIR_BITS | 06755 },
		{ "u=rwx", FILE_BITS | 06755, FILE_BITS | 02755 },
		{ "a=rx", FILE_BITS | 07000, FILE_BITS | 0555 },
	};

	for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++)
		assert_int_equal(apply(examples[i].text, examples[i].before, 022),
				 examples[i].after);
}

static void octal_modes(void **state)
{
	assert_int_equal(apply("600", FILE_BITS | 04755, 022), FILE_BITS | 0600);
	assert_int_equal(apply("4711", FILE_BITS | 0, 022), FILE_BITS | 04711);
	assert_int_equal(apply("755", DIR_BITS | 02700, 022), DIR_BITS | 02755);
	assert_int_equal(apply("00755", DIR_BITS | 02700, 022), DIR_BITS | 0755);
}

static void prefixes_choose_the_kind(void **state)
{
	assert_int_equal(apply("D755,F644", DIR_BITS | 0700, 022), DIR_BITS | 0755);
	assert_int_equal(apply("D755,F644", FILE_BITS | 0700, 022), FILE_BITS | 0644);
	assert_int_equal(apply("Fa-x", DIR_BITS | 0755, 022), DIR_BITS | 0755);
	assert_int_equal(apply("Da-x", DIR_BITS | 0755, 022), DIR_BITS | 0644);
}

static void norm_is_for_everybody(void **state)
{
	assert_int_equal(apply("norm", FILE_BITS | 06700, 022), FILE_BITS | 0555);
	assert_int_equal(apply("norm", FILE_BITS | 0600, 022), FILE_BITS | 0444);
	assert_int_equal(apply("norm", DIR_BITS | 01700, 022), DIR_BITS | 0555);
}

static void the_umask_counts_when_nobody_is_named(void **state)
{
	assert_int_equal(apply("+rwx", FILE_BITS | 0, 077), FILE_BITS | 0700);
	assert_int_equal(apply("a+rwx", FILE_BITS | 0, 077), FILE_BITS | 0777);
}

static void nonsense_is_refused(void **state)
{
	static const char *const texts[] = { "",	 ",",	   "u",	   "u+x,",
					     "u+x,,g+x", "u~x",	   "u+y",  "8",
					     "77777",	 "D",	   "u+x ", "rwx",
					     "644x",	 "normal", "=u+q", "DF+x" };

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct mode_change change;
		dwarfs_error *err = NULL;

		assert_int_equal(dw_mode_change_parse(texts[i], &change, &err),
				 DWARFS_ERR_INVALID);
		assert_int_equal(dwarfs_error_code(err), DWARFS_ERR_INVALID);
		dwarfs_error_free(err);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(symbolic_modes),
		cmocka_unit_test(octal_modes),
		cmocka_unit_test(prefixes_choose_the_kind),
		cmocka_unit_test(norm_is_for_everybody),
		cmocka_unit_test(the_umask_counts_when_nobody_is_named),
		cmocka_unit_test(nonsense_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
