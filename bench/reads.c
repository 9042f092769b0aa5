/* SPDX-License-Identifier: MIT */
/*
 * bench/reads: speed of reading contents.
 *
 *	bench-reads first IMAGE       the first byte of the first file, with a fresh cache
 *	bench-reads sequential IMAGE  all files in the order of their entries, one thread
 *	bench-reads open DIRECTORY [SECONDS]
 *	                              open, read and close small files again and again
 *
 * Figures go to stdout as JSON. The first two use the library alone.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <dwarfs/dwarfs.h>

#define ROUNDS	    15
#define SMALL_BYTES 4096
#define MANY	    20000

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static double processor_seconds(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

static int fail(const char *what, const dwarfs_error *error)
{
	fprintf(stderr, "bench-reads: %s: %s\n", what,
		error ? dwarfs_error_message(error) : strerror(errno));
	return 1;
}

static int compare_times(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

/* An image with a separate cache, so that no block is decoded yet. */
static int open_fresh(const char *path, dwarfs_image **image_out)
{
	dwarfs_error *err = NULL;
	dwarfs_context *context = NULL;
	int ret = dwarfs_context_new(&context, &err);

	if (ret == 0)
		ret = dwarfs_context_set_workers(context, 0, &err);
	if (ret == 0)
		ret = dwarfs_image_open(context, path, NULL, image_out, &err);
	dwarfs_context_free(context);
	if (ret < 0)
		fail(path, err);
	dwarfs_error_free(err);
	return ret < 0;
}

/* -- the first byte ------------------------------------------------------------------ */

/* The first file that is not empty; for more blocks use more images.
 */
static int find_file(const dwarfs_image *image, dwarfs_inode *inode_out)
{
	dwarfs_stat *stat = NULL;
	uint32_t count = dwarfs_image_entry_count(image);
	dwarfs_entry entry = DWARFS_ROOT_ENTRY;
	int found = 0;

	if (dwarfs_stat_new(&stat, NULL) < 0)
		return 0;
	for (; count > 0 && !found; count--, entry.number++)
		if (dwarfs_entry_stat(image, entry, stat, NULL) == 0 &&
		    S_ISREG(dwarfs_stat_mode(stat)) && dwarfs_stat_bytes(stat) > 0) {
			*inode_out = dwarfs_stat_inode(stat);
			found = 1;
		}
	dwarfs_stat_free(stat);
	return found;
}

/* Time to hash the stored block with its pages in memory; < 0: failed. */
static double hash_ms(const char *path, uint64_t offset, uint64_t bytes)
{
	dwarfs_digest *digest = NULL;
	char hex[256];
	double began, best = -1;
	uint8_t *data = malloc((size_t)bytes);
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (data && fd >= 0 &&
	    pread(fd, data, (size_t)bytes, (off_t)offset) == (ssize_t)bytes &&
	    dwarfs_digest_new("xxh3-64", &digest, NULL) == 0)
		for (int i = 0; i < ROUNDS; i++) {
			began = now();
			dwarfs_digest_update(digest, data, (size_t)bytes);
			dwarfs_digest_finish(digest, hex);
			if (best < 0 || now() - began < best)
				best = now() - began;
		}
	dwarfs_digest_free(digest);
	if (fd >= 0)
		close(fd);
	free(data);
	return best < 0 ? best : best * 1e3;
}

static int first(const char *path)
{
	double times[ROUNDS], hash;
	uint64_t stored = 0, size = 0, offset = 0;

	for (int i = 0; i < ROUNDS; i++) {
		dwarfs_image *image = NULL;
		dwarfs_error *err = NULL;
		dwarfs_inode inode;
		char byte;
		size_t got = 0;
		double began;
		int ret;

		if (open_fresh(path, &image) != 0)
			return 1;
		if (!find_file(image, &inode))
			return fail("no file has contents", NULL);
		if (dwarfs_image_section(image, 0, DWARFS_SECTION_FIELD_STORED_BYTES,
					 &stored, NULL) < 0 ||
		    dwarfs_image_section(image, 0, DWARFS_SECTION_FIELD_BYTES, &size,
					 NULL) < 0 ||
		    dwarfs_image_section(image, 0, DWARFS_SECTION_FIELD_OFFSET, &offset,
					 NULL) < 0)
			return fail("section 0", NULL);
		began = now();
		ret = dwarfs_read(image, inode, &byte, 1, 0, &got, &err);
		times[i] = (now() - began) * 1e3;
		dwarfs_image_free(image);
		if (ret < 0 || got != 1)
			return fail("reading", err);
	}
	qsort(times, ROUNDS, sizeof(times[0]), compare_times);
	hash = hash_ms(path, offset, stored);
	if (hash < 0)
		return fail("hashing", NULL);
	printf("{\"block_bytes\": %llu, \"stored_bytes\": %llu, \"first_ms\": %.4f, "
	       "\"first_least_ms\": %.4f, \"hash_ms\": %.4f}\n",
	       (unsigned long long)size, (unsigned long long)stored, times[ROUNDS / 2],
	       times[0], hash);
	return 0;
}

/* -- all of it ----------------------------------------------------------------------- */

static int read_file(const dwarfs_image *image, dwarfs_inode inode, char *buffer,
		     size_t room, uint64_t *bytes)
{
	dwarfs_error *err = NULL;
	dwarfs_file *file = NULL;
	uint64_t at = 0;
	size_t got = 1;
	int ret = dwarfs_file_open(image, inode, &file, &err);

	while (ret == 0 && got > 0) {
		ret = dwarfs_file_read(file, buffer, room, at, &got, &err);
		at += ret == 0 ? got : 0;
	}
	dwarfs_file_free(file);
	*bytes += at;
	if (ret < 0)
		fail("reading", err);
	dwarfs_error_free(err);
	return ret < 0;
}

static int sequential(const char *path)
{
	enum { ROOM = 1 << 20 };
	dwarfs_stat *stat = NULL;
	dwarfs_image *image = NULL;
	char *buffer = malloc(ROOM);
	dwarfs_entry entry = DWARFS_ROOT_ENTRY;
	uint32_t count;
	uint64_t bytes = 0;
	double began, wall, cpu;
	int code = 0;

	if (!buffer || dwarfs_stat_new(&stat, NULL) < 0)
		return fail("memory", NULL);
	if (open_fresh(path, &image) != 0)
		return 1;
	cpu = processor_seconds();
	began = now();
	count = dwarfs_image_entry_count(image);
	for (; count > 0 && code == 0; count--, entry.number++)
		if (dwarfs_entry_stat(image, entry, stat, NULL) == 0 &&
		    S_ISREG(dwarfs_stat_mode(stat)))
			code = read_file(image, dwarfs_stat_inode(stat), buffer, ROOM,
					 &bytes);
	wall = now() - began;
	cpu = processor_seconds() - cpu;
	if (code == 0)
		printf("{\"bytes\": %llu, \"wall_s\": %.4f, \"cpu_s\": %.4f}\n",
		       (unsigned long long)bytes, wall, cpu);
	dwarfs_image_free(image);
	dwarfs_stat_free(stat);
	free(buffer);
	return code;
}

/* -- small files of a mount ---------------------------------------------------------- */

static char *small[MANY];
static size_t small_count;

static int note_small(const char *path, const struct stat *st, int kind,
		      struct FTW *place)
{
	(void)place;
	if (kind == FTW_F && S_ISREG(st->st_mode) && st->st_size > 0 &&
	    st->st_size <= SMALL_BYTES && small_count < MANY &&
	    (small[small_count] = strdup(path)))
		small_count++;
	return 0;
}

static int open_read_close(const char *path)
{
	char buffer[SMALL_BYTES];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int code = fd < 0 || read(fd, buffer, sizeof(buffer)) <= 0;

	if (fd >= 0)
		close(fd);
	return code;
}

static int open_small(const char *directory, double seconds)
{
	uint64_t count = 0;
	double began;

	if (nftw(directory, note_small, 64, FTW_PHYS) != 0 || small_count == 0)
		return fail(directory, NULL);
	for (size_t i = 0; i < small_count; i++)
		if (open_read_close(small[i]) != 0)
			return fail(small[i], NULL);
	began = now();
	while (now() - began < seconds)
		for (size_t i = 0; i < small_count; i++, count++)
			if (open_read_close(small[i]) != 0)
				return fail(small[i], NULL);
	printf("{\"files\": %zu, \"per_s\": %.0f}\n", small_count,
	       (double)count / (now() - began));
	for (size_t i = 0; i < small_count; i++)
		free(small[i]);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc >= 3 && strcmp(argv[1], "first") == 0)
		return first(argv[2]);
	if (argc >= 3 && strcmp(argv[1], "sequential") == 0)
		return sequential(argv[2]);
	if (argc >= 3 && strcmp(argv[1], "open") == 0)
		return open_small(argv[2], argc > 3 ? atof(argv[3]) : 1);
	fprintf(stderr, "usage: bench-reads first|sequential IMAGE\n"
			"       bench-reads open DIRECTORY [SECONDS]\n");
	return 2;
}
