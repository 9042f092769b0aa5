/* SPDX-License-Identifier: MIT */
/*
 * api/loading: a program without threads, and one that loads and unloads the library.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include "support.h"

#define ROUNDS	   200
#define GROWTH_MAX (UINT64_C(4) << 20)

static int threads_wanted;

/* Replaces that of the C library, for the shared library, too. */
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
		   void *(*run)(void *), void *argument)
{
	(void)thread;
	(void)attributes;
	(void)run;
	(void)argument;
	threads_wanted++;
	return EAGAIN;
}

/* Build, open, read and check. */
static void use_library(const struct fixture *fixture, uint32_t workers)
{
	dwarfs_context *context = context_with(workers);
	dwarfs_builder *builder = new_builder(fixture, context);
	dwarfs_image *image = open_image(fixture, context);
	struct bytes built = { 0 };
	dwarfs_error *err = NULL;
	char buffer[100];
	size_t bytes;
	dwarfs_walk *walk = NULL;
	dwarfs_entry entry;
	dwarfs_inode inode;

	assert_success(write_to_function(builder, append_bytes, &built, &err), err);
	assert_success(
		dwarfs_walk_new(image, DWARFS_ROOT_ENTRY, DWARFS_WALK_TREE, &walk, &err),
		err);
	while (dwarfs_walk_next(walk, &entry, NULL) == 1) {
		assert_success(dwarfs_entry_inode(image, entry, &inode, &err), err);
		dwarfs_read(image, inode, buffer, sizeof(buffer), 0, &bytes, NULL);
	}
	dwarfs_walk_free(walk);
	dwarfs_image_free(image);
	dwarfs_builder_free(builder);
	dwarfs_context_free(context);
	free(built.data);
}

static void without_workers_no_thread_is_created(void **state)
{
	threads_wanted = 0;
	use_library(*state, 0);
	assert_int_equal(threads_wanted, 0);
	/* The library calls the function above. */
	use_library(*state, 4);
	assert_true(threads_wanted > 0);
}

/* Sanitizers refuse two copies of the same variables. */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define CAN_LOAD_COPIES
#endif

#ifdef CAN_LOAD_COPIES
static uint64_t resident_bytes(void)
{
	unsigned long size = 0, resident = 0;
	FILE *file = fopen("/proc/self/statm", "r");

	assert_non_null(file);
	assert_int_equal(fscanf(file, "%lu %lu", &size, &resident), 2);
	fclose(file);
	return (uint64_t)resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Load the library, use it and unload it. */
static void load_once(const char *path)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	int (*context_new)(dwarfs_context **, dwarfs_error **);
	void (*context_free)(dwarfs_context *);
	dwarfs_context *context = NULL;

	if (!library)
		fail_msg("%s", dlerror());
	*(void **)&context_new = dlsym(library, "dwarfs_context_new");
	*(void **)&context_free = dlsym(library, "dwarfs_context_free");
	assert_non_null(context_new);
	assert_int_equal(context_new(&context, NULL), 0);
	context_free(context);
	assert_int_equal(dlclose(library), 0);
}

static const char *why_nothing_is_loaded(void)
{
	Dl_info info;

	if (!dladdr((void *)(uintptr_t)dwarfs_context_new, &info) ||
	    !strstr(info.dli_fname, ".so"))
		return "the library is static";
	if (getenv("DWARFS_EMULATOR"))
		return "the emulator's memory grows with the code that it translates";
	return NULL;
}

/* A copy of the library under another name is loaded in addition to the linked one. */
static void loading_does_not_leak(void **state)
{
	const struct fixture *fixture = *state;
	char path[160];
	struct bytes library;
	uint64_t before = 0;
	const char *reason = why_nothing_is_loaded();
	Dl_info info;

	if (reason) {
		printf("# %s\n", reason);
		skip();
	}
	assert_int_not_equal(dladdr((void *)(uintptr_t)dwarfs_context_new, &info), 0);
	library = load_path(info.dli_fname);
	snprintf(path, sizeof(path), "%s/copy.so", fixture->dir);
	store_path(path, library.data, library.size);
	free(library.data);
	for (int i = 0; i < ROUNDS; i++) {
		if (i == ROUNDS / 4)
			before = resident_bytes();
		load_once(path);
#ifdef __GLIBC__ /* other C libraries need not unload */
		assert_null(dlopen(path, RTLD_NOW | RTLD_NOLOAD));
#endif
	}
	unlink(path);
	assert_true(resident_bytes() <= before + GROWTH_MAX);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_workers_no_thread_is_created),
#ifdef CAN_LOAD_COPIES
		cmocka_unit_test(loading_does_not_leak),
#endif
	};

	return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
