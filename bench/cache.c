/* SPDX-License-Identifier: MIT */
/*
 * Count the bytes that the cache decodes for several readers.
 *
 *     bench-cache IMAGE MIB [READS:]DIRECTORY...
 *
 * Each DIRECTORY (below the root; "/" for all) is one thread, which reads all regular
 * files below it in the order of the tree, in pieces of 128 KiB; with READS, this many
 * pieces of 4 KiB at random offsets of random files, the same in each run. The cache has
 * MIB of memory. Prints bytes read and decoded, hits, misses, waits for turns, and
 * processor time.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include <dwarfs/dwarfs.h>

enum { PIECE_BYTES = 128 << 10, RANDOM_BYTES = 4 << 10, MAX_READERS = 64 };

struct reader {
	const char *directory;
	unsigned long random_reads; /* 0: read everything in order */
	pthread_t thread;
};

static dwarfs_image *image;
static atomic_ullong bytes_read;

static void check(int ret, const char *what)
{
	if (ret >= 0)
		return;
	fprintf(stderr, "bench-cache: %s: error %d\n", what, ret);
	exit(1);
}

/* The regular files below a directory; the caller frees the list. */
static dwarfs_inode *list_files(const char *directory, size_t *count_out)
{
	size_t capacity = dwarfs_image_entry_count(image), count = 0;
	dwarfs_inode *list = calloc(capacity, sizeof(*list));
	dwarfs_entry top, entry;
	dwarfs_walk *walk;
	dwarfs_stat *stat;

	check(list ? 0 : DWARFS_ERR_NOMEM, "list");
	check(dwarfs_find(image, directory, &top, NULL), directory);
	check(dwarfs_stat_new(&stat, NULL), "stat");
	check(dwarfs_walk_new(image, top, DWARFS_WALK_TREE, &walk, NULL), "walk");
	while (dwarfs_walk_next(walk, &entry, NULL) == 1) {
		check(dwarfs_entry_stat(image, entry, stat, NULL), "stat");
		if (S_ISREG(dwarfs_stat_mode(stat)))
			list[count++] = dwarfs_stat_inode(stat);
	}
	dwarfs_walk_free(walk);
	dwarfs_stat_free(stat);
	*count_out = count;
	return list;
}

static size_t read_piece(dwarfs_inode inode, void *buffer, size_t size, uint64_t offset)
{
	size_t got;

	check(dwarfs_read(image, inode, buffer, size, offset, &got, NULL), "read");
	atomic_fetch_add(&bytes_read, got);
	return got;
}

static void read_in_order(dwarfs_inode inode, void *buffer)
{
	uint64_t offset = 0;
	size_t got;

	while ((got = read_piece(inode, buffer, PIECE_BYTES, offset)) > 0)
		offset += got;
}

static uint32_t next_random(uint32_t *state)
{
	*state = *state * 1103515245 + 12345;
	return *state >> 4;
}

static void read_at_random(const dwarfs_inode *list, size_t count, unsigned long reads,
			   void *buffer)
{
	uint32_t state = 7;
	dwarfs_stat *stat;

	check(dwarfs_stat_new(&stat, NULL), "stat");
	for (unsigned long i = 0; i < reads && count > 0; i++) {
		dwarfs_inode inode = list[next_random(&state) % count];
		uint64_t place = (uint64_t)next_random(&state) * RANDOM_BYTES, size;

		check(dwarfs_inode_stat(image, inode, stat, NULL), "stat");
		size = dwarfs_stat_bytes(stat);
		read_piece(inode, buffer, RANDOM_BYTES, size ? place % size : 0);
	}
	dwarfs_stat_free(stat);
}

static void *run(void *user)
{
	const struct reader *reader = user;
	void *buffer = malloc(PIECE_BYTES);
	size_t count;
	dwarfs_inode *list = list_files(reader->directory, &count);

	check(buffer ? 0 : DWARFS_ERR_NOMEM, "buffer");
	if (reader->random_reads)
		read_at_random(list, count, reader->random_reads, buffer);
	for (size_t i = 0; i < count && !reader->random_reads; i++)
		read_in_order(list[i], buffer);
	free(list);
	free(buffer);
	return NULL;
}

static void report(const dwarfs_context *context)
{
	struct timespec used;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	printf("read %.1f MiB, decoded %.1f MiB (%.2f times), %llu hits, %llu misses, "
	       "%llu waits, %.2f s\n",
	       (double)atomic_load(&bytes_read) / 0x100000,
	       (double)dwarfs_context_cache_count(context, DWARFS_CACHE_DECODED_BYTES) /
		       0x100000,
	       (double)dwarfs_context_cache_count(context, DWARFS_CACHE_DECODED_BYTES) /
		       (double)atomic_load(&bytes_read),
	       (unsigned long long)dwarfs_context_cache_count(context, DWARFS_CACHE_HITS),
	       (unsigned long long)dwarfs_context_cache_count(context,
							      DWARFS_CACHE_MISSES),
	       (unsigned long long)dwarfs_context_cache_count(context,
							      DWARFS_CACHE_TURN_WAITS),
	       (double)used.tv_sec + (double)used.tv_nsec * 1e-9);
}

int main(int argc, char **argv)
{
	static struct reader readers[MAX_READERS];
	dwarfs_context *context;
	int count = argc - 3;

	if (count < 1 || count > MAX_READERS) {
		fprintf(stderr, "usage: bench-cache IMAGE MIB [READS:]DIRECTORY...\n");
		return 1;
	}
	check(dwarfs_context_new(&context, NULL), "context");
	check(dwarfs_context_set_cache_bytes(context, strtoull(argv[2], NULL, 10) << 20,
					     NULL),
	      argv[2]);
	check(dwarfs_image_open(context, argv[1], NULL, &image, NULL), argv[1]);
	for (int i = 0; i < count; i++) {
		char *text = argv[3 + i], *colon = strchr(text, ':');

		readers[i].directory = colon ? colon + 1 : text;
		readers[i].random_reads = colon ? strtoul(text, NULL, 10) : 0;
		check(pthread_create(&readers[i].thread, NULL, run, &readers[i])
			      ? DWARFS_ERR_NOMEM
			      : 0,
		      "thread");
	}
	for (int i = 0; i < count; i++)
		pthread_join(readers[i].thread, NULL);
	report(context);
	dwarfs_image_free(image);
	dwarfs_context_free(context);
	return 0;
}
