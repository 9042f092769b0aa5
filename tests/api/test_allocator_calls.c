/* SPDX-License-Identifier: MIT */
/*
 * api/test_allocator_calls: with an allocator, neither the library nor the libraries of codecs
 * call malloc() or map memory.
 *
 * The program defines these functions, and compares the addresses that they return to with where
 * the libraries are mapped.
 */
#include "allocator.h"

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <malloc.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

/* Of ZSTD_CCtx_params, which zstd does not allocate in another way. */
#define PARAMETERS_BYTES 512

struct library {
	const char *name;
	uintptr_t from, end;
	atomic_size_t calls;  /* of functions that allocate */
	void *_Atomic caller; /* one of them */
};

static struct library libraries[] = {
	{ .name = "/libdwarfs.so" },	{ .name = "/libzstd.so" },
	{ .name = "/liblzma.so" },	{ .name = "/libbrotlidec.so" },
	{ .name = "/libbrotlienc.so" }, { .name = "/libbrotlicommon.so" },
	{ .name = "/liblz4.so" },
};
#define LIBRARIES (sizeof(libraries) / sizeof(libraries[0]))

static atomic_bool watching;
static atomic_size_t parameter_calls, fork_pages;

static void note(void *caller, size_t bytes)
{
	const uintptr_t at = (uintptr_t)caller;

	for (size_t i = 0; atomic_load(&watching) && i < LIBRARIES; i++) {
		if (at < libraries[i].from || at >= libraries[i].end)
			continue;
		if (i == 1 && bytes <= PARAMETERS_BYTES) {
			atomic_fetch_add(&parameter_calls, 1);
			return;
		}
		atomic_fetch_add(&libraries[i].calls, 1);
		atomic_store(&libraries[i].caller, caller);
	}
}

void *malloc(size_t size)
{
	note(__builtin_return_address(0), size);
	return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
	note(__builtin_return_address(0), count * size);
	return __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size)
{
	note(__builtin_return_address(0), size);
	return __libc_realloc(memory, size);
}

void *memalign(size_t alignment, size_t size)
{
	note(__builtin_return_address(0), size);
	return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
	note(__builtin_return_address(0), size);
	return __libc_memalign(alignment, size);
}

int posix_memalign(void **memory_out, size_t alignment, size_t size)
{
	note(__builtin_return_address(0), size);
	*memory_out = __libc_memalign(alignment, size);
	return *memory_out ? 0 : ENOMEM;
}

/* These allocate in the C library, for their caller. */
char *strdup(const char *text)
{
	const size_t bytes = strlen(text) + 1;
	char *copy = __libc_malloc(bytes);

	note(__builtin_return_address(0), bytes);
	return copy ? memcpy(copy, text, bytes) : NULL;
}

/* The number SYS_mmap is of an old call, with other arguments, on some machines. */
static void *map(void *at, size_t bytes, int protection, int flags, int fd, off_t offset)
{
#if defined(SYS_mmap2)
	return (void *)syscall(SYS_mmap2, at, bytes, protection, flags, fd,
			       (long)(offset / 4096));
#elif defined(__s390x__)
	unsigned long words[] = { (unsigned long)at,	     (unsigned long)bytes,
				  (unsigned long)protection, (unsigned long)flags,
				  (unsigned long)fd,	     (unsigned long)offset };

	return (void *)syscall(SYS_mmap, words);
#else
	return (void *)syscall(SYS_mmap, at, bytes, protection, flags, fd, offset);
#endif
}

void *mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset)
{
	/* The page of a cache that is wiped by fork(). */
	if (bytes == 1)
		atomic_fetch_add(&fork_pages, 1);
	else
		note(__builtin_return_address(0), bytes);
	return map(at, bytes, protection, flags, fd, offset);
}

/* -- where the libraries are --------------------------------------------------------- */

static int find_library(struct dl_phdr_info *info, size_t bytes, void *user)
{
	(void)bytes;
	(void)user;
	for (size_t i = 0; i < LIBRARIES; i++) {
		if (!strstr(info->dlpi_name, libraries[i].name))
			continue;
		libraries[i].from = UINTPTR_MAX;
		for (int part = 0; part < info->dlpi_phnum; part++) {
			const ElfW(Phdr) *header = &info->dlpi_phdr[part];
			const uintptr_t from = info->dlpi_addr + header->p_vaddr;

			if (header->p_type != PT_LOAD)
				continue;
			if (from < libraries[i].from)
				libraries[i].from = from;
			if (from + header->p_memsz > libraries[i].end)
				libraries[i].end = from + header->p_memsz;
		}
	}
	return 0;
}

static void forget(void)
{
	for (size_t i = 0; i < LIBRARIES; i++)
		atomic_store(&libraries[i].calls, 0);
	atomic_store(&parameter_calls, 0);
	atomic_store(&fork_pages, 0);
}

/* -- the tests ----------------------------------------------------------------------- */

static void malloc_is_not_called(void **state)
{
	static const uint32_t workers[] = { 0, 4 };
	dwarfs_error *err = NULL;
	struct pool pool;

	for (const struct named_operation *next = operations; next->run; next++)
		for (size_t n = 0; n < 2; n++) {
			pool_init(&pool);
			forget();
			atomic_store(&watching, true);
			assert_success(run_with(*state, &pool.functions, workers[n],
						next->run, &err),
				       err);
			atomic_store(&watching, false);
			for (size_t i = 0; i < LIBRARIES; i++) {
				void *caller = atomic_load(&libraries[i].caller);
				Dl_info found = { 0 };

				if (atomic_load(&libraries[i].calls) == 0)
					continue;
				dladdr(caller, &found);
				fail_msg(
					"%s, %u workers: %zu calls from %s, as at %p of %s",
					next->name, workers[n],
					atomic_load(&libraries[i].calls),
					libraries[i].name,
					(void *)((uintptr_t)caller - libraries[i].from),
					found.dli_sname ? found.dli_sname : "?");
			}
			assert_pool_is_empty(&pool);
			assert_true(atomic_load(&fork_pages) <= 10);
		}
}

/* So that the test above would see them. */
static void without_an_allocator_it_is(void **state)
{
	dwarfs_error *err = NULL;

	for (const struct named_operation *next = operations; next->run; next++) {
		forget();
		atomic_store(&watching, true);
		assert_success(run_with(*state, NULL, 0, next->run, &err), err);
		atomic_store(&watching, false);
		assert_true(atomic_load(&libraries[0].calls) > 10);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(malloc_is_not_called),
		cmocka_unit_test(without_an_allocator_it_is),
	};

	dl_iterate_phdr(find_library, NULL);
	if (libraries[0].end == 0) {
		puts("1..0 # SKIP the library is not a shared one");
		return 0;
	}
	return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}

#else

int main(void)
{
	puts("1..0 # SKIP malloc() of sanitizers and of other C libraries is not replaced");
	return 0;
}

#endif
