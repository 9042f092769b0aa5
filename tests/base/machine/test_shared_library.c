/* SPDX-License-Identifier: MIT */
/*
 * base/machine/shared_library: symbols of the library of mathematics, which is loaded.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <math.h>

#include <cmocka.h>

#include "base/machine/shared_library.h"

#define FILE_NAME "libm.so.6"

#define SYMBOLS(NAMED)                                                                   \
	NAMED(root, sqrt)                                                                \
	NAMED(round_down, floor)                                                         \
	NAMED(sign, signgam)

struct symbols {
	SYMBOLS(DW_SYMBOL_MEMBER)
};

static int fill(struct symbols *symbols, dwarfs_error **err)
{
	return DW_FILL_SYMBOLS(SYMBOLS, symbols, FILE_NAME, "the test needs libm", err);
}

/* Also called by a thread. */
static void *use(void *unused)
{
	struct symbols symbols;

	(void)unused;
	for (int i = 0; i < 100; i++) {
		assert_int_equal(fill(&symbols, NULL), 0);
		assert_true(symbols.root(16) == 4);
		assert_true(symbols.round_down(2.5) == 2);
		assert_non_null(symbols.sign); /* data */
	}
	return NULL;
}

static void symbols_are_found(void **state)
{
	pthread_t threads[4];

	use(NULL);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, use, NULL), 0);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
}

static void missing_symbols_are_named(void **state)
{
	const char *const names[] = { "sqrt", "no_such_function", NULL };
	void *table[2];
	dwarfs_error *err = NULL;

	assert_int_equal(
		dw_load_symbols(FILE_NAME, "the test needs libm", names, table, &err),
		DWARFS_ERR_UNSUPPORTED);
	assert_string_equal(dwarfs_error_message(err),
			    "the test needs libm: " FILE_NAME
			    " has no no_such_function, a newer one is needed");
	dwarfs_error_free(err);
}

static void missing_libraries_are_named(void **state)
{
	const char *const names[] = { "sqrt", NULL };
	dwarfs_error *err = NULL;
	void *table[1];

	assert_int_equal(dw_load_symbols("libno-such.so.1", "the test needs it", names,
					 table, &err),
			 DWARFS_ERR_UNSUPPORTED);
	assert_non_null(
		strstr(dwarfs_error_message(err), "the test needs it: libno-such.so.1"));
	dwarfs_error_free(err);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(symbols_are_found),
		cmocka_unit_test(missing_symbols_are_named),
		cmocka_unit_test(missing_libraries_are_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
