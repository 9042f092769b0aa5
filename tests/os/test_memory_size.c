/* SPDX-License-Identifier: MIT */
/*
 * os/memory_size: freed memory is returned to the system. glibc initialises its malloc()
 * without a lock, so that is done before there are threads.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include <dwarfs/context.h>

#include "os/memory_size.h"

#ifdef __GLIBC__
#include <malloc.h>

static int initialisations, trims;

/* These replace those of glibc, for the library, too. */
int mallopt(int parameter, int value)
{
	(void)value;
	initialisations += parameter < M_ARENA_MAX; /* the least that there is */
	return 1;
}

int malloc_trim(size_t pad)
{
	trims += pad == 0;
	return 0;
}

static void malloc_is_initialised_while_loading(void **state)
{
	(void)state;
	assert_int_equal(initialisations, 1);
	assert_int_equal(trims, 0);
	dw_os_trim();
	assert_int_equal(initialisations, 1);
	assert_int_equal(trims, 1);
}

#endif

static void memory_of_the_process(void **state)
{
	(void)state;
	dw_os_trim();
	assert_true(dw_os_resident_bytes() > 0);
	assert_true(dw_os_resident_bytes() <= dwarfs_usable_memory());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#ifdef __GLIBC__
		cmocka_unit_test(malloc_is_initialised_while_loading),
#endif
		cmocka_unit_test(memory_of_the_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
