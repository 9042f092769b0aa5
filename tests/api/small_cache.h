/* SPDX-License-Identifier: MIT */
/*
 * An image and threads that read it with a cache of few blocks.
 *
 * Files are stored in an order that differs from the order of the tree, so that neighbours
 * in a directory are in different blocks.
 */
#ifndef TESTS_API_SMALL_CACHE_H
#define TESTS_API_SMALL_CACHE_H

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

#include "items.h"

#define GROUPS	   12u
#define EACH	   256u /* files of a group, in 4 blocks */
#define FILE_BYTES 4096u
#define ALL_BYTES  (UINT64_C(1) * GROUPS * EACH * FILE_BYTES)
#define READERS	   10u
#define BLOCK	   (UINT64_C(1) << 18)
#define BUDGET	   (4 * BLOCK)

struct world {
	struct bytes image_bytes;
	dwarfs_context *context;
	dwarfs_image *image;
};

struct reader {
	pthread_t thread;
	const struct world *world;
	uint32_t first, count; /* files, in the order of the tree */
	atomic_uint *next;     /* the next one of all threads; NULL: each has its own */
	uint32_t stops_at;     /* file before which it waits for may_go_on */
	sem_t *may_go_on;
	uint32_t pause_every; /* so many files, for pause_ns; 0: never */
	long pause_ns;
	bool borrows; /* instead of copying, and pauses before it releases the bytes */
	atomic_uint *left; /* threads that are not done; it is one of them */
	const atomic_uint
		*others; /* it ends when these are done; NULL: after all files */
	uint32_t files_read;
	int wrong;
};

/* The state of cmocka: the bytes of the image. */
int setup_small_cache(void **state);
int teardown_small_cache(void **state);

/* Open world->image_bytes with a cache of so many bytes. */
void open_world(struct world *world, uint64_t budget);
void close_world(struct world *world);
uint64_t count_of(const struct world *world, int what);

int find_file(const struct world *world, uint32_t file, dwarfs_inode *inode_out);
/* 0 if the bytes are right; no assertions, which belong to the main thread. */
int try_file(const struct world *world, uint32_t file);

/* The function of a reader's thread. */
void *read_files(void *reader);
/* Start all READERS, and wait for them; each must have read the right bytes. */
void read_by_all(struct reader *readers);

#endif
