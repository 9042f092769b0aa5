/* SPDX-License-Identifier: MIT */
/*
 * Count the bytes that the cache decodes for several readers.
 *
 *     bench-cache [-p PIECE] IMAGE MIB READER...
 *
 * The cache has MIB of memory. READER is one of these, where DIRECTORY is below the root,
 * "/" for all:
 *
 *     DIRECTORY            one thread, which reads all regular files below it in the order
 *                          of the tree, in pieces of PIECE bytes (128 KiB)
 *     READS:DIRECTORY      this many pieces of 4 KiB at random offsets of random files, the
 *                          same in each run
 *     same:N:DIRECTORY     N threads, each reads all files, from the first one on
 *     apart:N:DIRECTORY    the same, each from another file on, and then the files before it
 *     split:N:DIRECTORY    each reads an equal number of consecutive files
 *     dealt:N:DIRECTORY    each reads every Nth file
 *     next:N:DIRECTORY     each reads the next file that none of them has begun to read
 *
 * Prints bytes read and decoded, hits, misses, waits for turns, the most memory used, and
 * processor time and time.
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
	const char *pattern;	    /* which files each of several threads reads */
	size_t number, of;	    /* which one of how many threads */
	pthread_t thread;
};

static struct reader readers[MAX_READERS];
static dwarfs_image *image;
static size_t piece_bytes = PIECE_BYTES;
static atomic_size_t next_file;
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

	while ((got = read_piece(inode, buffer, piece_bytes, offset)) > 0)
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

/* Read the files that belong to one of several threads. */
static void read_share(const struct reader *reader, const dwarfs_inode *list,
		       size_t count, void *buffer)
{
	size_t number = reader->number, of = reader->of, first = 0, end = count, step = 1;

	if (!strcmp(reader->pattern, "dealt")) {
		first = number;
		step = of;
	} else if (strcmp(reader->pattern, "same") != 0) {
		first = count * number / of;
		end = !strcmp(reader->pattern, "split") ? count * (number + 1) / of
							: first + count;
	}
	if (!strcmp(reader->pattern, "next")) {
		while ((first = atomic_fetch_add(&next_file, 1)) < count)
			read_in_order(list[first], buffer);
		return;
	}
	for (size_t i = first; i < end; i += step)
		read_in_order(list[i % count], buffer);
}

static void *run(void *user)
{
	const struct reader *reader = user;
	void *buffer = malloc(piece_bytes > RANDOM_BYTES ? piece_bytes : RANDOM_BYTES);
	size_t count;
	dwarfs_inode *list = list_files(reader->directory, &count);

	check(buffer ? 0 : DWARFS_ERR_NOMEM, "buffer");
	if (reader->random_reads)
		read_at_random(list, count, reader->random_reads, buffer);
	else
		read_share(reader, list, count, buffer);
	free(list);
	free(buffer);
	return NULL;
}

static double seconds(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void report(const dwarfs_context *context, double took)
{
	uint64_t decoded =
		dwarfs_context_cache_count(context, DWARFS_CACHE_DECODED_BYTES);

	printf("read %.1f MiB, decoded %.1f MiB (%.2f times), %llu hits, %llu misses, "
	       "%llu waits, %.2f MiB used, %.2f s of processors, %.2f s\n",
	       (double)atomic_load(&bytes_read) / 0x100000, (double)decoded / 0x100000,
	       (double)decoded / (double)atomic_load(&bytes_read),
	       (unsigned long long)dwarfs_context_cache_count(context, DWARFS_CACHE_HITS),
	       (unsigned long long)dwarfs_context_cache_count(context,
							      DWARFS_CACHE_MISSES),
	       (unsigned long long)dwarfs_context_cache_count(context,
							      DWARFS_CACHE_TURN_WAITS),
	       (double)dwarfs_context_cache_count(context, DWARFS_CACHE_MOST_USED) /
		       0x100000,
	       seconds(CLOCK_PROCESS_CPUTIME_ID), took);
}

/* Add the threads that a word describes to the first `count`; gives their number. */
static size_t add_readers(char *text, size_t count)
{
	static const char *const patterns[] = { "same", "apart", "split", "dealt",
						"next" };
	struct reader reader = { .of = 1, .pattern = "same" };
	char *colon = strchr(text, ':'), *second = colon ? strchr(colon + 1, ':') : NULL;

	reader.directory = second ? second + 1 : colon ? colon + 1 : text;
	if (!second)
		reader.random_reads = colon ? strtoul(text, NULL, 10) : 0;
	if (second) {
		*colon = '\0';
		reader.pattern = NULL;
		reader.of = strtoul(colon + 1, NULL, 10);
		for (size_t i = 0; i < sizeof(patterns) / sizeof(*patterns); i++)
			if (!strcmp(patterns[i], text))
				reader.pattern = patterns[i];
		check(reader.pattern ? 0 : DWARFS_ERR_INVALID, text);
	}
	check(reader.of > 0 && count + reader.of <= MAX_READERS ? 0 : DWARFS_ERR_RANGE,
	      text);
	for (; reader.number < reader.of; reader.number++)
		readers[count + reader.number] = reader;
	return reader.of;
}

static void run_readers(size_t count)
{
	for (size_t i = 0; i < count; i++)
		check(pthread_create(&readers[i].thread, NULL, run, &readers[i])
			      ? DWARFS_ERR_NOMEM
			      : 0,
		      "thread");
	for (size_t i = 0; i < count; i++)
		pthread_join(readers[i].thread, NULL);
}

int main(int argc, char **argv)
{
	dwarfs_context *context;
	size_t count = 0;
	double began;

	if (argc > 2 && !strcmp(argv[1], "-p")) {
		piece_bytes = strtoul(argv[2], NULL, 10);
		argv += 2;
		argc -= 2;
	}
	if (argc < 4 || piece_bytes == 0) {
		fprintf(stderr, "usage: bench-cache [-p PIECE] IMAGE MIB READER...\n");
		return 1;
	}
	for (int i = 3; i < argc; i++)
		count += add_readers(argv[i], count);
	check(dwarfs_context_new(&context, NULL), "context");
	check(dwarfs_context_set_cache_bytes(context, strtoull(argv[2], NULL, 10) << 20,
					     NULL),
	      argv[2]);
	check(dwarfs_image_open(context, argv[1], NULL, &image, NULL), argv[1]);
	began = seconds(CLOCK_MONOTONIC);
	run_readers(count);
	report(context, seconds(CLOCK_MONOTONIC) - began);
	dwarfs_image_free(image);
	dwarfs_context_free(context);
	return 0;
}
