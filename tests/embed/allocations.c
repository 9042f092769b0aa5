/* SPDX-License-Identifier: MIT */
/*
 * Memory from functions of the program, each allocation of which fails once; a cache whose
 * budget changes while an image is open, and its counters.
 */
#include "check.h"

#define MOST_CALLS 10000

static size_t used_bytes;
static int calls, failing_call;

/* With workers = 0 there is one thread. */
static void *allocate(size_t bytes, void *user)
{
	void *block;

	(void)user;
	if (++calls == failing_call || !(block = malloc(bytes)))
		return NULL;
	used_bytes += bytes;
	return block;
}

static void release(void *block, size_t bytes, void *user)
{
	(void)user;
	used_bytes -= bytes;
	free(block);
}

static const dwarfs_allocator allocator = { sizeof(dwarfs_allocator), NULL, allocate,
					    NULL, release };

static void change_budget(dwarfs_context *context)
{
	CHECK(dwarfs_context_set_cache_bytes(context, 1u << 20, NULL) == 0);
	CHECK(dwarfs_context_cache_count(context, DWARFS_CACHE_BUDGET) == 1u << 20);
	CHECK(dwarfs_context_cache_count(context, DWARFS_CACHE_READ_BYTES) == DATA_BYTES);
	dwarfs_context_trim(context, 0);
	CHECK(dwarfs_context_cache_count(context, DWARFS_CACHE_USED) == 0);
}

/* 0, or the code of what failed. */
static int use_library(const char *path)
{
	dwarfs_context *context = NULL;
	dwarfs_image *image = NULL;
	void *data = NULL;
	size_t bytes = 0;
	int ret;

	if ((ret = dwarfs_context_new_with_allocator(&allocator, &context, NULL)) == 0 &&
	    (ret = dwarfs_context_set_workers(context, 0, NULL)) == 0 &&
	    (ret = dwarfs_image_open(context, path, NULL, &image, NULL)) == 0 &&
	    (ret = dwarfs_load(image, DATA_NAME, SIZE_MAX, NULL, &data, &bytes, NULL)) ==
		    0) {
		CHECK(bytes == DATA_BYTES);
		change_budget(context);
	}
	dwarfs_memory_free(data);
	dwarfs_image_free(image);
	dwarfs_context_free(context);
	return ret;
}

int main(int argc, char **argv)
{
	int ret = DWARFS_ERR_NOMEM;

	CHECK(argc == 2);
	while (ret == DWARFS_ERR_NOMEM) {
		calls = 0;
		CHECK(++failing_call < MOST_CALLS);
		ret = use_library(argv[1]);
		CHECK(used_bytes == 0);
	}
	CHECK(ret == 0 && failing_call > 10);
	return 0;
}
