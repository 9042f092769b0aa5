/* SPDX-License-Identifier: MIT */
/*
 * os/memory_size: freed memory is returned to the system by the allocator of the program, and
 * glibc's is left alone if the program has another one.
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

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void __libc_free(void *memory);

static int trims;

/* Replaces that of glibc, for the library, too. */
int malloc_trim(size_t pad)
{
	(void)pad;
	trims++;
	return 0;
}

#ifdef REPLACES_MALLOC
void *malloc(size_t size)
{
	return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
	return __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size)
{
	return __libc_realloc(memory, size);
}

void free(void *memory)
{
	__libc_free(memory);
}
#endif

static void glibc_is_trimmed_if_it_allocates(void **state)
{
	int wanted = malloc == __libc_malloc; /* not with a sanitizer or valgrind's */

#ifdef REPLACES_MALLOC
	assert_false(wanted);
#endif
	(void)state;
	dw_os_trim();
	assert_int_equal(trims, wanted);
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
		cmocka_unit_test(glibc_is_trimmed_if_it_allocates),
#endif
		cmocka_unit_test(memory_of_the_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
