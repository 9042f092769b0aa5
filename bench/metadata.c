/* SPDX-License-Identifier: MIT */
/*
 * bench/metadata: speed of operations on the metadata of an image.
 *
 * bench-metadata tree DIRECTORY FILES make a tree with this many files bench-metadata
 * measure IMAGE [SECONDS] measure, each for SECONDS
 *
 * The files have sizes, but no contents. Names and sizes follow from a fixed sequence of
 * random numbers, so that the tree is the same everywhere. Figures go to stdout as JSON.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <dwarfs/dwarfs.h>

#define FILES_OF_A_DIRECTORY 100
#define DIRECTORIES_OF_ONE   20
#define OPENS		     15

static uint64_t next_random(uint64_t *state)
{
	uint64_t x = *state;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return *state = x;
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static int fail(const char *what, const dwarfs_error *error)
{
	fprintf(stderr, "bench-metadata: %s: %s\n", what,
		error ? dwarfs_error_message(error) : strerror(errno));
	return 1;
}

/* -- the tree ------------------------------------------------------------------------ */

static const char *const words[] = {
	"index",  "module",  "table",	"reader", "writer", "common", "util",	"test",
	"config", "session", "network", "image",  "core",   "string", "parser", "widget",
};
static const char *const endings[] = { ".c",	".h",	 ".py", ".txt",
				       ".html", ".json", ".o",	"" };

static int make_files(int dir, uint64_t count, uint64_t *state)
{
	static const mode_t modes[] = { 0644, 0644, 0644, 0755, 0600, 0444 };

	for (uint64_t i = 0; i < count; i++) {
		uint64_t r = next_random(state);
		struct timespec times[2];
		char name[80];
		int fd;

		snprintf(name, sizeof(name), "%s_%s%llx%s", words[r % 16],
			 words[(r >> 4) % 16],
			 (unsigned long long)(r & 1 ? i : (r >> 32 << 8) + i),
			 endings[(r >> 8) % 8]);
		fd = openat(dir, name, O_CREAT | O_EXCL | O_WRONLY, 0644);
		if (fd < 0)
			return -1;
		times[0].tv_sec = times[1].tv_sec =
			(time_t)(1600000000 + (r >> 16) % 100000000);
		times[0].tv_nsec = times[1].tv_nsec = 0;
		if (ftruncate(fd, (off_t)(1 + ((r >> 24) & ((1u << (4 + (r >> 48) % 14)) -
							    1)))) < 0 ||
		    fchmod(fd, modes[(r >> 12) % 6]) < 0 || futimens(fd, times) < 0) {
			close(fd);
			return -1;
		}
		close(fd);
	}
	return 0;
}

/* Directory number n is in number (n - 1) / DIRECTORIES_OF_ONE. */
static int open_directory(int root, uint64_t number)
{
	char path[256] = "", longer[256];
	int fd;

	for (; number > 0; number = (number - 1) / DIRECTORIES_OF_ONE) {
		snprintf(longer, sizeof(longer), "dir%llu%s%s",
			 (unsigned long long)number, *path ? "/" : "", path);
		memcpy(path, longer, sizeof(path));
	}
	if (!*path)
		return dup(root);
	if (mkdirat(root, path, 0755) < 0)
		return -1;
	fd = openat(root, path, O_RDONLY | O_DIRECTORY);
	return fd;
}

static int make_tree(const char *path, uint64_t files)
{
	uint64_t state = UINT64_C(0x9E3779B97F4A7C15), directory = 0;
	int root;

	if (mkdir(path, 0755) < 0 && errno != EEXIST)
		return fail(path, NULL);
	root = open(path, O_RDONLY | O_DIRECTORY);
	if (root < 0)
		return fail(path, NULL);
	while (files > 0) {
		uint64_t count =
			files < FILES_OF_A_DIRECTORY ? files : FILES_OF_A_DIRECTORY;
		int fd = open_directory(root, directory++);

		if (fd < 0 || make_files(fd, count, &state) < 0)
			return fail("making the tree", NULL);
		close(fd);
		files -= count;
	}
	close(root);
	return 0;
}

/* -- measuring ----------------------------------------------------------------------- */

struct bench {
	const char *path;
	double seconds;
	dwarfs_image *image;
	dwarfs_stat *stat;
	uint32_t inodes, entries;
	uint64_t state;
	uint64_t sum; /* of the results, so that the reads are not optimized away */
	dwarfs_error *error;
};

static int compare_doubles(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

/* Where the stored metadata is in its file. */
static int find_metadata(const struct bench *bench, uint64_t *offset, uint64_t *bytes)
{
	uint64_t type = 0;

	for (uint32_t i = 0; i < dwarfs_image_section_count(bench->image); i++) {
		if (dwarfs_image_section(bench->image, i, DWARFS_SECTION_FIELD_TYPE,
					 &type, NULL) < 0 ||
		    type != DWARFS_SECTION_METADATA)
			continue;
		dwarfs_image_section(bench->image, i, DWARFS_SECTION_FIELD_OFFSET, offset,
				     NULL);
		return dwarfs_image_section(
			bench->image, i, DWARFS_SECTION_FIELD_STORED_BYTES, bytes, NULL);
	}
	return -1;
}

/* Read the stored metadata into fresh memory and hash it: the minimum for opening without
 * a mapping. */
static int read_and_hash(const struct bench *bench, uint64_t offset, uint64_t bytes)
{
	char hex[DWARFS_DIGEST_HEX_BUFFER_BYTES];
	dwarfs_digest *digest = NULL;
	size_t done = 0;
	const size_t size = (size_t)bytes + 64; /* with the header */
	/* malloc() would return the same memory each time. */
	uint8_t *data = mmap(NULL, size, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd = open(bench->path, O_RDONLY | O_CLOEXEC), ret = -1;

	while (data != MAP_FAILED && fd >= 0 && done < size) {
		ssize_t got = pread(fd, data + done, size - done, (off_t)(offset + done));

		if (got <= 0)
			break;
		done += (size_t)got;
	}
	if (done == size && dwarfs_digest_new("xxh3-64", &digest, NULL) == 0) {
		dwarfs_digest_update(digest, data, size);
		dwarfs_digest_finish(digest, hex);
		ret = 0;
	}
	dwarfs_digest_free(digest);
	if (data != MAP_FAILED)
		munmap(data, size);
	close(fd);
	return ret;
}

/* The same, repeated as often as images are opened: the median and the minimum. */
static int time_reading(struct bench *bench)
{
	double times[OPENS];
	uint64_t offset = 0, bytes = 0;

	if (find_metadata(bench, &offset, &bytes) < 0)
		return -1;
	for (int i = 0; i < OPENS; i++) {
		double start = now();

		if (read_and_hash(bench, offset, bytes) < 0)
			return -1;
		times[i] = now() - start;
	}
	qsort(times, OPENS, sizeof(times[0]), compare_doubles);
	printf("  \"read_and_hash_ms\": %.3f,\n  \"read_and_hash_least_ms\": %.3f,\n",
	       times[OPENS / 2] * 1e3, times[0] * 1e3);
	return 0;
}

/* The median time to open, the minimum, and the first stat after it. */
static int time_open(struct bench *bench, int verify, bool is_mapped, const char *name)
{
	double times[OPENS], stats[OPENS];
	dwarfs_image_options *options;
	int ret = dwarfs_image_options_new(&options, &bench->error);

	if (ret < 0)
		return ret;
	dwarfs_image_options_set_offset(options, 0);
	dwarfs_image_options_set_verify(options, verify);
	dwarfs_image_options_set_mapped(options, is_mapped);
	for (int i = 0; ret == 0 && i < OPENS; i++) {
		dwarfs_image *image;
		dwarfs_inode last;
		double start = now();

		ret = dwarfs_image_open(NULL, bench->path, options, &image,
					&bench->error);
		if (ret < 0)
			break;
		times[i] = now() - start;
		last = dwarfs_inode_at(dwarfs_image_inode_count(image) - 1);
		start = now();
		ret = dwarfs_inode_stat(image, last, bench->stat, &bench->error);
		stats[i] = now() - start;
		dwarfs_image_free(image);
	}
	dwarfs_image_options_free(options);
	if (ret < 0)
		return ret;
	qsort(times, OPENS, sizeof(times[0]), compare_doubles);
	qsort(stats, OPENS, sizeof(stats[0]), compare_doubles);
	printf("  \"open_%s_ms\": %.3f,\n  \"open_%s_least_ms\": %.3f,\n"
	       "  \"first_stat_%s_ms\": %.3f,\n",
	       name, times[OPENS / 2] * 1e3, name, times[0] * 1e3, name,
	       stats[OPENS / 2] * 1e3);
	return 0;
}

/* One round of each kind: the number of operations, or an error. */
static int64_t stat_in_order(struct bench *bench)
{
	for (dwarfs_inode inode = { 0 }; inode.number < bench->inodes; inode.number++) {
		int ret = dwarfs_inode_stat(bench->image, inode, bench->stat,
					    &bench->error);

		if (ret < 0)
			return ret;
		bench->sum += dwarfs_stat_bytes(bench->stat);
	}
	return bench->inodes;
}

#define AT_ONCE 100000

static int64_t stat_at_random(struct bench *bench)
{
	for (int i = 0; i < AT_ONCE; i++) {
		dwarfs_inode inode = dwarfs_inode_at(
			(uint32_t)(next_random(&bench->state) % bench->inodes));
		int ret = dwarfs_inode_stat(bench->image, inode, bench->stat,
					    &bench->error);

		if (ret < 0)
			return ret;
		bench->sum += dwarfs_stat_bytes(bench->stat);
	}
	return AT_ONCE;
}

static int64_t list_names(struct bench *bench)
{
	char name[DWARFS_NAME_BUFFER_BYTES];
	int64_t done = 0;

	for (dwarfs_inode dir = DWARFS_ROOT_INODE;; dir.number++) {
		dwarfs_entry entry;
		dwarfs_inode inode;
		uint32_t count;
		size_t bytes;
		int ret = dwarfs_dir_range(bench->image, dir, &entry, &count, NULL);

		if (ret == DWARFS_ERR_NOT_DIR || ret == DWARFS_ERR_RANGE)
			return done;
		done += count;
		for (; count > 0; count--, entry.number++) {
			if ((ret = dwarfs_entry_name(bench->image, entry, name,
						     sizeof(name), &bytes,
						     &bench->error)) < 0 ||
			    (ret = dwarfs_entry_inode(bench->image, entry, &inode,
						      &bench->error)) < 0)
				return ret;
			bench->sum += (unsigned char)name[0] + inode.number;
		}
	}
}

static int64_t walk_tree(struct bench *bench)
{
	dwarfs_walk *walk;
	dwarfs_entry entry;
	int64_t done = 0;
	int ret = dwarfs_walk_new(bench->image, DWARFS_ROOT_ENTRY, DWARFS_WALK_TREE,
				  &walk, &bench->error);

	if (ret < 0)
		return ret;
	while ((ret = dwarfs_walk_next(walk, &entry, &bench->error)) > 0) {
		bench->sum += entry.number;
		done++;
	}
	dwarfs_walk_free(walk);
	return ret < 0 ? ret : done;
}

/* A directory and a name in it. */
struct question {
	dwarfs_inode dir;
	uint32_t bytes;
	char name[56];
};

static struct question *questions;

/* Choose entries at random, and find their directories. */
static int ask(struct bench *bench, uint32_t directories)
{
	questions = calloc(AT_ONCE, sizeof(*questions));
	if (!questions)
		return DWARFS_ERR_NOMEM;
	for (int i = 0; i < AT_ONCE; i++) {
		struct question *question = &questions[i];
		char name[DWARFS_NAME_BUFFER_BYTES];
		dwarfs_entry entry;
		uint32_t count = 0;
		size_t bytes = 0;
		int ret;

		do {
			question->dir.number =
				(uint32_t)(next_random(&bench->state) % directories);
			ret = dwarfs_dir_range(bench->image, question->dir, &entry,
					       &count, &bench->error);
			if (ret == 0 && count > 0) {
				entry.number +=
					(uint32_t)(next_random(&bench->state) % count);
				ret = dwarfs_entry_name(bench->image, entry, name,
							sizeof(name), &bytes,
							&bench->error);
			}
			if (ret < 0)
				return ret;
		} while (count == 0 || bytes >= sizeof(question->name));
		memcpy(question->name, name, bytes);
		question->bytes = (uint32_t)bytes;
	}
	return 0;
}

static int64_t look_up(struct bench *bench)
{
	for (int i = 0; i < AT_ONCE; i++) {
		const struct question *question = &questions[i];
		dwarfs_entry entry;
		int ret = dwarfs_dir_find(bench->image, question->dir, question->name,
					  question->bytes, &entry, &bench->error);

		if (ret < 0)
			return ret;
		bench->sum += entry.number;
	}
	return AT_ONCE;
}

/* All names looked up once, in an image that was just opened, without cached names. Bytes
 * that were read or hashed before are in memory; of an image that is mapped and opened
 * lazily, only those that the hashing thread has accessed. */
static int rate_fresh(struct bench *bench, int verify, bool is_mapped, const char *name)
{
	dwarfs_image *before = bench->image;
	dwarfs_image_options *options;
	int64_t done = -1;
	double start;
	int ret = dwarfs_image_options_new(&options, &bench->error);

	if (ret < 0)
		return ret;
	dwarfs_image_options_set_verify(options, verify);
	dwarfs_image_options_set_mapped(options, is_mapped);
	ret = dwarfs_image_open(NULL, bench->path, options, &bench->image, &bench->error);
	dwarfs_image_options_free(options);
	if (ret == 0) {
		start = now();
		done = look_up(bench);
		if (done > 0)
			printf("  \"lookup_fresh_%s_per_s\": %.0f,\n", name,
			       (double)done / (now() - start));
		dwarfs_image_free(bench->image);
	}
	bench->image = before;
	return done < 0 ? -1 : 0;
}

static int64_t look_up_what_is_not_there(struct bench *bench)
{
	for (int i = 0; i < AT_ONCE; i++) {
		const struct question *question = &questions[i];
		dwarfs_entry entry;

		/* The first bytes are those of a name, but the name does not exist. */
		if (dwarfs_dir_find(bench->image, question->dir, question->name,
				    question->bytes - 1, &entry, NULL) == 0)
			bench->sum += entry.number;
	}
	return AT_ONCE;
}

/* Rates of the first round (which unpacks tables and looks up names for the first time;
 * pages are mapped already), of all later ones, and of the best one. */
static int rate(struct bench *bench, const char *name, int64_t (*round)(struct bench *))
{
	double start = now(), best = 0, total = 0;
	int64_t done = round(bench);

	if (done < 0)
		return -1;
	printf("  \"%s_first_per_s\": %.0f,\n", name, (double)done / (now() - start));
	for (start = now(); now() - start < bench->seconds;) {
		double from = now(), took;

		done = round(bench);
		if (done < 0)
			return -1;
		took = now() - from;
		total += (double)done;
		if ((double)done / took > best)
			best = (double)done / took;
	}
	printf("  \"%s_per_s\": %.0f,\n  \"%s_best_per_s\": %.0f,\n", name,
	       total / (now() - start), name, best);
	return 0;
}

static uint32_t count_directories(const dwarfs_image *image)
{
	uint32_t low = 0, high = dwarfs_image_inode_count(image), count;
	dwarfs_entry first;

	while (low < high) {
		dwarfs_inode middle = dwarfs_inode_at(low + (high - low) / 2);

		if (dwarfs_dir_range(image, middle, &first, &count, NULL) == 0)
			low = middle.number + 1;
		else
			high = middle.number;
	}
	return low;
}

static int measure(struct bench *bench)
{
	uint32_t directories;
	uint64_t bytes = 0;

	if (dwarfs_stat_new(&bench->stat, &bench->error) < 0 ||
	    dwarfs_image_open(NULL, bench->path, NULL, &bench->image, &bench->error) < 0)
		return fail(bench->path, bench->error);
	bench->inodes = dwarfs_image_inode_count(bench->image);
	bench->entries = dwarfs_image_entry_count(bench->image);
	directories = count_directories(bench->image);
	for (uint32_t i = 0; i < dwarfs_image_section_count(bench->image); i++) {
		uint64_t type;

		if (dwarfs_image_section(bench->image, i, DWARFS_SECTION_FIELD_TYPE,
					 &type, NULL) == 0 &&
		    type == DWARFS_SECTION_METADATA)
			dwarfs_image_section(bench->image, i, DWARFS_SECTION_FIELD_BYTES,
					     &bytes, NULL);
	}
	printf("{\n  \"inodes\": %u,\n  \"entries\": %u,\n  \"directories\": %u,\n"
	       "  \"metadata_bytes\": %llu,\n",
	       bench->inodes, bench->entries, directories, (unsigned long long)bytes);
	if (time_reading(bench) < 0 ||
	    time_open(bench, DWARFS_VERIFY_EAGER, false, "eager") < 0 ||
	    time_open(bench, DWARFS_VERIFY_LAZY, false, "lazy") < 0 ||
	    time_open(bench, DWARFS_VERIFY_EAGER, true, "mapped_eager") < 0 ||
	    time_open(bench, DWARFS_VERIFY_LAZY, true, "mapped_lazy") < 0 ||
	    ask(bench, directories) < 0 ||
	    rate_fresh(bench, DWARFS_VERIFY_EAGER, false, "eager") < 0 ||
	    rate_fresh(bench, DWARFS_VERIFY_LAZY, false, "lazy") < 0 ||
	    rate_fresh(bench, DWARFS_VERIFY_EAGER, true, "mapped_eager") < 0 ||
	    rate_fresh(bench, DWARFS_VERIFY_LAZY, true, "mapped_lazy") < 0 ||
	    rate(bench, "stat", stat_in_order) < 0 ||
	    rate(bench, "stat_random", stat_at_random) < 0 ||
	    rate(bench, "lookup", look_up) < 0 ||
	    rate(bench, "lookup_absent", look_up_what_is_not_there) < 0 ||
	    rate(bench, "readdir", list_names) < 0 || rate(bench, "walk", walk_tree) < 0)
		return fail(bench->path, bench->error);
	printf("  \"sum\": %llu\n}\n", (unsigned long long)bench->sum);
	dwarfs_stat_free(bench->stat);
	dwarfs_image_free(bench->image);
	free(questions);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 4 && strcmp(argv[1], "tree") == 0)
		return make_tree(argv[2], strtoull(argv[3], NULL, 10));
	if ((argc == 3 || argc == 4) && strcmp(argv[1], "measure") == 0) {
		struct bench bench = {
			.path = argv[2],
			.seconds = argc == 4 ? strtod(argv[3], NULL) : 2,
			.state = UINT64_C(0x2545F4914F6CDD1D),
		};

		return measure(&bench);
	}
	fprintf(stderr, "usage: bench-metadata tree DIRECTORY FILES\n"
			"       bench-metadata measure IMAGE [SECONDS]\n");
	return 2;
}
