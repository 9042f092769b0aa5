/* SPDX-License-Identifier: MIT */
/*
 * api/memory_limit: limits of a builder in a process that uses much memory itself.
 */
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "items.h"

#define MIB	   (UINT64_C(1) << 20)
#define HELD_BYTES (160 * MIB)
#define LIMIT	   (64 * MIB)
#define LEVEL	   4u /* fast with noise; takes about 100 MiB here if nothing limits it */
#define FILES	   18u /* more than one block, and two take more than LIMIT */

enum limits { OWN = 1, PROCESS = 2 };

static uint64_t peak_bytes(void)
{
	struct rusage usage;

	return getrusage(RUSAGE_SELF, &usage) == 0 ? (uint64_t)usage.ru_maxrss * 1024
						   : UINT64_MAX;
}

static int count_bytes(const void *data, size_t bytes, dwarfs_error **err, void *user)
{
	(void)data;
	(void)err;
	*(uint64_t *)user += bytes;
	return 0;
}

static int add_noise(dwarfs_builder *builder)
{
	dwarfs_item *item = NULL;
	uint8_t *data = malloc(MIB);
	uint32_t seed = 1;
	int ret = data ? 0 : DWARFS_ERR_NOMEM;

	for (uint32_t i = 0; i < FILES && ret == 0; i++) {
		char name[16];

		for (size_t at = 0; at < MIB; at++)
			data[at] =
				(uint8_t)((seed = seed * 1664525u + 1013904223u) >> 24);
		snprintf(name, sizeof(name), "%u", i);
		if ((ret = dwarfs_item_new(FILE_MODE, &item, NULL)) == 0 &&
		    (ret = dwarfs_item_set_memory(item, data, MIB, NULL)) == 0)
			ret = dwarfs_builder_add_item(builder, name, strlen(name), item,
						      NULL);
		dwarfs_item_free(item);
	}
	free(data);
	return ret;
}

/* Returns the result of the run, and the growth of the process's peak memory. */
static int build(uint64_t own, uint64_t process, uint64_t *grown_out)
{
	dwarfs_context *context = NULL;
	dwarfs_builder *builder = NULL;
	dwarfs_sink *sink = NULL;
	uint64_t written = 0, before = peak_bytes();
	int ret;

	if ((ret = dwarfs_context_new(&context, NULL)) == 0 &&
	    (ret = dwarfs_context_set_workers(context, 2, NULL)) == 0 &&
	    (ret = dwarfs_builder_new(context, &builder, NULL)) == 0 &&
	    (ret = dwarfs_builder_set_level(builder, LEVEL, NULL)) == 0 &&
	    (ret = dwarfs_builder_set_memory_limit(builder, own, NULL)) == 0 &&
	    (ret = dwarfs_builder_set_process_memory_limit(builder, process, NULL)) ==
		    0 &&
	    (ret = add_noise(builder)) == 0 &&
	    (ret = dwarfs_sink_new(count_bytes, NULL, &written, &sink, NULL)) == 0)
		ret = dwarfs_builder_write(builder, sink, NULL);
	dwarfs_sink_free(sink);
	dwarfs_builder_free(builder);
	dwarfs_context_free(context);
	*grown_out = peak_bytes() - before;
	return ret == 0 && written < FILES * MIB ? -1000 : ret;
}

/* In a child process that holds memory: exits with 0 if the run returned `expected`, and
 * the peak grew by at most `most`. */
static void expect_run(uint64_t own, uint64_t process, int expected, uint64_t most)
{
	volatile uint8_t *held;
	uint64_t grown;
	pid_t child;
	int status;

	fflush(NULL);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		if (!(held = malloc(HELD_BYTES)))
			_exit(3);
		for (size_t at = 0; at < HELD_BYTES; at += 512)
			held[at] = 1;
		if (build(own, process, &grown) != expected)
			_exit(1);
#ifdef __SANITIZE_ADDRESS__
		most = UINT64_MAX; /* freed memory is reused later */
#endif
		_exit(held[HELD_BYTES - 512] == 1 && grown <= most ? 0 : 2);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void memory_of_the_program_does_not_count(void **state)
{
	(void)state;
	expect_run(LIMIT, 0, 0, LIMIT);
}

static void memory_of_the_process_counts(void **state)
{
	(void)state;
	expect_run(0, LIMIT, DWARFS_ERR_LIMIT, UINT64_MAX);
	expect_run(0, HELD_BYTES + LIMIT, 0, LIMIT);
}

static void the_one_that_leaves_less_is_kept(void **state)
{
	(void)state;
	expect_run(LIMIT, LIMIT, DWARFS_ERR_LIMIT, UINT64_MAX);
	expect_run(1 * MIB, HELD_BYTES + 4 * LIMIT, DWARFS_ERR_LIMIT, UINT64_MAX);
	expect_run(LIMIT, HELD_BYTES + 8 * LIMIT, 0, LIMIT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_of_the_program_does_not_count),
		cmocka_unit_test(memory_of_the_process_counts),
		cmocka_unit_test(the_one_that_leaves_less_is_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
