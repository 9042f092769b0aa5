/* SPDX-License-Identifier: MIT */
/*
 * os/memory_size: freed memory is returned to the system. glibc initialises its malloc() without a
 * lock, so the first call is made before there are threads.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "os/memory_size.h"

#ifdef __GLIBC__
#include <malloc.h>

static int trims, trims_of_all;

/* Replaces that of glibc, for the library, too. */
int malloc_trim(size_t pad)
{
	trims++;
	trims_of_all += pad == 0;
	return 0;
}

static void the_first_call_is_made_while_loading(void **state)
{
	(void)state;
	assert_int_equal(trims, 1);
	assert_int_equal(trims_of_all, 0);
	dw_os_trim();
	assert_int_equal(trims_of_all, 1);
}

#endif

static void memory_of_the_process(void **state)
{
	(void)state;
	dw_os_trim();
	assert_true(dw_os_machine_bytes() > 0);
	assert_true(dw_os_resident_bytes() <= dw_os_machine_bytes());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#ifdef __GLIBC__
		cmocka_unit_test(the_first_call_is_made_while_loading),
#endif
		cmocka_unit_test(memory_of_the_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
