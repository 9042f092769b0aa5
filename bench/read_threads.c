/* SPDX-License-Identifier: MIT */
/*
 * bench/read_threads: what bench/threads.py measures, in C.
 *
 *	bench-read-threads shared|own IMAGE LIST...
 *
 * A thread for each list of paths reads all files of it, from an image without workers that they
 * share, or that each of them opens. Prints "begin", waits for a line of input, opens and reads, and
 * prints "end" with the numbers of files and bytes; this until the input ends.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dwarfs/dwarfs.h>

enum { MAX_PATHS = 1 << 20, MAX_PATH_BYTES = 1 << 14, MAX_LISTS = 64 };

struct reader {
	pthread_t thread;
	const char *image_path;
	const dwarfs_image *shared; /* NULL if it opens its own */
	char **paths;
	size_t count;
	uint64_t bytes;
};

static void check(int ret, dwarfs_error **err)
{
	if (ret >= 0)
		return;
	fprintf(stderr, "bench-read-threads: %s\n", dwarfs_error_message(*err));
	exit(1);
}

static void *need(void *memory)
{
	if (memory)
		return memory;
	perror("bench-read-threads");
	exit(1);
}

/* Into memory of the size of the file, as other languages do it. */
static uint64_t read_file(const dwarfs_image *image, const char *path)
{
	dwarfs_error *err = NULL;
	dwarfs_entry entry;
	dwarfs_inode inode;
	dwarfs_file *file;
	size_t bytes, got;
	void *buffer;

	check(dwarfs_find_followed(image, path, &entry, &err), &err);
	check(dwarfs_entry_inode(image, entry, &inode, &err), &err);
	check(dwarfs_file_open(image, inode, &file, &err), &err);
	bytes = (size_t)dwarfs_file_bytes(file);
	buffer = need(malloc(bytes + 1));
	check(dwarfs_file_read(file, buffer, bytes, 0, &got, &err), &err);
	free(buffer);
	dwarfs_file_free(file);
	return got;
}

/* With a context of its own, which has the cache of blocks. */
static dwarfs_image *open_image(const char *path)
{
	dwarfs_context *context;
	dwarfs_error *err = NULL;
	dwarfs_image *image;

	check(dwarfs_context_new(&context, &err), &err);
	check(dwarfs_context_set_workers(context, 0, &err), &err);
	check(dwarfs_image_open(context, path, NULL, &image, &err), &err);
	dwarfs_context_free(context);
	return image;
}

static void *read_listed(void *user)
{
	struct reader *reader = user;
	dwarfs_image *own = reader->shared ? NULL : open_image(reader->image_path);

	reader->bytes = 0;
	for (size_t i = 0; i < reader->count; i++)
		reader->bytes += read_file(own ? own : reader->shared, reader->paths[i]);
	dwarfs_image_free(own);
	return NULL;
}

static void load(const char *path, struct reader *reader)
{
	FILE *in = need(fopen(path, "rb"));
	char line[MAX_PATH_BYTES];

	reader->paths = need(calloc(MAX_PATHS, sizeof(char *)));
	while (reader->count < MAX_PATHS && fgets(line, sizeof(line), in)) {
		line[strcspn(line, "\n")] = '\0';
		reader->paths[reader->count++] = need(strdup(line));
	}
	fclose(in);
}

static void run(const char *path, bool is_shared, struct reader *readers, int count)
{
	unsigned long long files = 0, bytes = 0;
	dwarfs_image *shared = is_shared ? open_image(path) : NULL;

	for (int i = 0; i < count; i++) {
		readers[i].shared = shared;
		readers[i].image_path = path;
		if (pthread_create(&readers[i].thread, NULL, read_listed, &readers[i]) !=
		    0)
			exit(1);
	}
	for (int i = 0; i < count; i++) {
		pthread_join(readers[i].thread, NULL);
		files += readers[i].count;
		bytes += readers[i].bytes;
	}
	dwarfs_image_free(shared);
	printf("end\t%llu\t%llu\n", files, bytes);
}

int main(int argc, char **argv)
{
	struct reader readers[MAX_LISTS] = { 0 };
	int count = argc - 3;

	if (count < 1 || count > MAX_LISTS) {
		fprintf(stderr, "usage: bench-read-threads shared|own IMAGE LIST...\n");
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (int i = 0; i < count; i++)
		load(argv[3 + i], &readers[i]);
	for (puts("begin"); getchar() == '\n'; puts("begin"))
		run(argv[2], strcmp(argv[1], "own") != 0, readers, count);
	for (int i = 0; i < count; i++) {
		for (size_t k = 0; k < readers[i].count; k++)
			free(readers[i].paths[k]);
		free(readers[i].paths);
	}
	return 0;
}
