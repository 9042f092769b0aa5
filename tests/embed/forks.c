/* SPDX-License-Identifier: MIT */
/*
 * fork() while threads read, or wait for each other: a child reads with the image of its parent
 * or is refused, and reads with an image of its own.
 */
#define _POSIX_C_SOURCE 200809L
#include "check.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#define FORKS	    20
#define READERS	    2
#define WAIT_SECS   20
#define CACHE_BYTES (64u << 10) /* less than the file, so that each read decompresses */

static atomic_int is_over, reads;

static int read_file(const dwarfs_image *image)
{
	void *data = NULL;
	size_t bytes = 0;
	int ret = dwarfs_load(image, DATA_NAME, SIZE_MAX, NULL, &data, &bytes, NULL);

	CHECK(ret < 0 || bytes == DATA_BYTES);
	dwarfs_memory_free(data);
	return ret;
}

static void *read_often(void *image)
{
	while (!atomic_load(&is_over)) {
		CHECK(read_file((const dwarfs_image *)image) == 0);
		atomic_fetch_add(&reads, 1);
	}
	return NULL;
}

static dwarfs_image *open_image(const char *path)
{
	dwarfs_context *context = NULL;
	dwarfs_image *image = NULL;

	CHECK(dwarfs_context_new(&context, NULL) == 0);
	CHECK(dwarfs_context_set_cache_bytes(context, CACHE_BYTES, NULL) == 0);
	CHECK(dwarfs_image_open(context, path, NULL, &image, NULL) == 0);
	dwarfs_context_free(context);
	return image;
}

static void run_child(const dwarfs_image *image, const char *path)
{
	dwarfs_image *own;
	int ret;

	alarm(WAIT_SECS);
	ret = read_file(image);
	CHECK(ret == 0 || ret == DWARFS_ERR_INVALID);
	own = open_image(path);
	CHECK(read_file(own) == 0);
	dwarfs_image_free(own);
	_exit(0);
}

int main(int argc, char **argv)
{
	dwarfs_image *image;
	pthread_t readers[READERS];

	CHECK(argc == 2);
	image = open_image(argv[1]);
	for (int i = 0; i < READERS; i++)
		CHECK(pthread_create(&readers[i], NULL, read_often, image) == 0);
	while (atomic_load(&reads) == 0)
		sched_yield();
	for (int i = 0; i < FORKS; i++) {
		int status = 0;
		pid_t child = fork();

		CHECK(child >= 0);
		if (child == 0)
			run_child(image, argv[1]);
		CHECK(waitpid(child, &status, 0) == child && status == 0);
	}
	atomic_store(&is_over, 1);
	for (int i = 0; i < READERS; i++)
		CHECK(pthread_join(readers[i], NULL) == 0);
	dwarfs_image_free(image);
	return 0;
}
