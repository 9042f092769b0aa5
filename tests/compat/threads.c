/* SPDX-License-Identifier: MIT */
/*
 * threads: many threads walk and read one image at once; each must get the results of a
 * single thread.
 *
 * threads IMAGE...
 *
 * The cache is so small that blocks are evicted while other threads read them.
 */
#include <dwarfs/dwarfs.h>

#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define THREADS 6
#define PIECE	70000u
/* Of each file: enough to cross blocks, little of a hole. */
#define BYTES_MAX (2u << 20)

struct reader {
	const dwarfs_image *image;
	unsigned int number;
	char hash[DWARFS_DIGEST_HEX_BUFFER_BYTES];
	char failure[256];
};

static int read_file(const dwarfs_image *image, dwarfs_inode inode, dwarfs_digest *digest,
		     unsigned char *buffer, dwarfs_error **err)
{
	uint64_t offset = 0;
	size_t got;
	int ret;

	do {
		if ((ret = dwarfs_read(image, inode, buffer, PIECE, offset, &got, err)) <
		    0)
			return ret;
		dwarfs_digest_update(digest, buffer, got);
		offset += got;
	} while (got > 0 && offset < BYTES_MAX);
	return 0;
}

/* Threads visit entries in ascending or descending order, or from the middle, so that
 * their reads overlap at times. */
static int read_all(struct reader *reader, dwarfs_stat *stat, unsigned char *buffer,
		    dwarfs_digest *whole, dwarfs_digest *one, dwarfs_error **err)
{
	uint32_t count = dwarfs_image_entry_count(reader->image);
	char(*hashes)[DWARFS_DIGEST_HEX_BUFFER_BYTES] = calloc(count, sizeof(*hashes));
	char name[DWARFS_NAME_BUFFER_BYTES];
	int ret = 0;
	uint32_t i;

	if (!hashes)
		return DWARFS_ERR_NOMEM;
	for (i = 0; i < count && ret == 0; i++) {
		uint32_t number = (reader->number % 2 ? count - 1 - i : i);
		dwarfs_entry entry;
		uint32_t mode;

		number = (number + reader->number / 2 * (count / 3)) % count;
		entry = dwarfs_entry_at(number);
		if ((ret = dwarfs_entry_stat(reader->image, entry, stat, err)) < 0 ||
		    (ret = dwarfs_entry_name(reader->image, entry, name, sizeof(name),
					     NULL, err)) < 0)
			break;
		mode = dwarfs_stat_mode(stat);
		dwarfs_digest_update(one, name, strlen(name));
		dwarfs_digest_update(one, &mode, sizeof(mode));
		if (S_ISREG(mode))
			ret = read_file(reader->image, dwarfs_stat_inode(stat), one,
					buffer, err);
		dwarfs_digest_finish(one, hashes[number]);
	}
	for (i = 0; i < count; i++)
		dwarfs_digest_update(whole, hashes[i], strlen(hashes[i]));
	dwarfs_digest_finish(whole, reader->hash);
	free(hashes);
	return ret;
}

static void *run(void *argument)
{
	struct reader *reader = argument;
	unsigned char *buffer = malloc(PIECE);
	dwarfs_digest *whole = NULL;
	dwarfs_digest *one = NULL;
	dwarfs_stat *stat = NULL;
	dwarfs_error *err = NULL;

	if (!buffer || dwarfs_digest_new("sha256", &whole, &err) < 0 ||
	    dwarfs_digest_new("sha256", &one, &err) < 0 ||
	    dwarfs_stat_new(&stat, &err) < 0 ||
	    read_all(reader, stat, buffer, whole, one, &err) < 0)
		snprintf(reader->failure, sizeof(reader->failure), "%s",
			 err ? dwarfs_error_message(err) : "out of memory");
	dwarfs_error_free(err);
	dwarfs_stat_free(stat);
	dwarfs_digest_free(one);
	dwarfs_digest_free(whole);
	free(buffer);
	return NULL;
}

/* Whether a message names a codec that the library was built without, according to the
 * build. */
static bool is_absence(const char *message)
{
	const char *absent = getenv("DWARFS_CODECS_ABSENT");
	char text[64];
	size_t length;

	for (; absent && *absent; absent += length + (absent[length] == ',')) {
		length = strcspn(absent, ",");
		snprintf(text, sizeof(text), "%.*s is not built in", (int)length, absent);
		if (strstr(message, text))
			return true;
	}
	return false;
}

/* The number of threads that fail, or -1 for an image that needs an absent codec. */
static int try_image(const char *path)
{
	struct reader readers[THREADS + 1] = { 0 };
	pthread_t threads[THREADS];
	dwarfs_context *context = NULL;
	dwarfs_image *image = NULL;
	dwarfs_error *err = NULL;
	int failures = 0;
	size_t i;

	if (dwarfs_context_new(&context, &err) < 0 ||
	    dwarfs_context_set_cache_bytes(context, 1 << 20, &err) < 0 ||
	    dwarfs_image_open(context, path, NULL, &image, &err) < 0) {
		failures = is_absence(dwarfs_error_message(err)) ? -1 : 1;
		printf("# %s\n", dwarfs_error_message(err));
		dwarfs_error_free(err);
		dwarfs_context_free(context);
		return failures;
	}
	dwarfs_context_free(context);
	for (i = 0; i <= THREADS; i++)
		readers[i] = (struct reader){ .image = image, .number = (unsigned int)i };
	for (i = 0; i < THREADS; i++) {
		if (pthread_create(&threads[i], NULL, run, &readers[i]) != 0)
			exit(99);
	}
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	run(&readers[THREADS]);
	for (i = 0; i <= THREADS; i++) {
		if (readers[i].failure[0]) {
			printf("# thread %zu: %s\n", i, readers[i].failure);
			failures++;
		} else if (strcmp(readers[i].hash, readers[THREADS].hash) != 0) {
			printf("# thread %zu has another result\n", i);
			failures++;
		}
	}
	dwarfs_image_free(image);
	return failures;
}

int main(int argc, char **argv)
{
	const char *data = getenv("DWARFS_TEST_DATA");
	int failed = 0;
	char path[4096];
	int i;

	for (i = 1; i < argc; i++) {
		FILE *file;
		int failures;

		snprintf(path, sizeof(path), "%s/images/%s.dwarfs", data ? data : ".",
			 argv[i]);
		file = fopen(path, "rb");
		if (!file) {
			printf("1..0 # SKIP no test data: set DWARFS_TEST_DATA\n");
			return 0;
		}
		fclose(file);
		failures = try_image(path);
		printf("%sok %d - %d threads read %s%s\n", failures > 0 ? "not " : "", i,
		       THREADS, argv[i], failures < 0 ? " # SKIP a codec is absent" : "");
		failed += failures > 0;
	}
	printf("1..%d\n", argc - 1);
	return failed != 0;
}
