/* SPDX-License-Identifier: MIT */
/*
 * bench/read_all: what bench/bindings.py measures, in C.
 *
 *	bench-read-all TIMES LIST IMAGE
 *
 * Reads all files of an image in the order of the tree, reads those of a list of paths, and gets
 * the attributes of these, each TIMES times. Prints the lines that bindings.py expects, and waits
 * for a line of input before each measurement.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <dwarfs/dwarfs.h>

enum { ROOM = 1 << 20, LIST_BYTES = 1 << 26, MOST_PATHS = 1 << 20 };

static char buffer[ROOM];

struct sum {
	uint64_t files, bytes;
};

struct list {
	char *text;
	char **paths;
	size_t count;
};

static void check(int ret, dwarfs_error **err)
{
	if (ret >= 0)
		return;
	fprintf(stderr, "bench-read-all: %s\n", dwarfs_error_message(*err));
	exit(1);
}

static dwarfs_image *open_image(const char *path)
{
	dwarfs_image *image;
	dwarfs_error *err = NULL;

	check(dwarfs_image_open(NULL, path, NULL, &image, &err), &err);
	return image;
}

static void read_entry(const dwarfs_image *image, dwarfs_entry entry, struct sum *sum)
{
	dwarfs_error *err = NULL;
	dwarfs_inode inode;
	dwarfs_file *file;
	uint64_t at = 0, bytes;
	size_t got;

	check(dwarfs_entry_inode(image, entry, &inode, &err), &err);
	check(dwarfs_file_open(image, inode, &file, &err), &err);
	for (bytes = dwarfs_file_bytes(file); at < bytes; at += got)
		check(dwarfs_file_read(file, buffer, ROOM, at, &got, &err), &err);
	dwarfs_file_free(file);
	sum->files++;
	sum->bytes += at;
}

static struct sum read_all(const char *path)
{
	dwarfs_image *image = open_image(path);
	dwarfs_error *err = NULL;
	dwarfs_stat *stat;
	dwarfs_walk *walk;
	dwarfs_entry entry = DWARFS_ROOT_ENTRY;
	struct sum sum = { 0, 0 };
	int more;

	check(dwarfs_stat_new(&stat, &err), &err);
	check(dwarfs_walk_new(image, entry, DWARFS_WALK_TREE, &walk, &err), &err);
	while ((more = dwarfs_walk_next(walk, &entry, &err)) > 0) {
		check(dwarfs_entry_stat(image, entry, stat, &err), &err);
		if (S_ISREG(dwarfs_stat_mode(stat)))
			read_entry(image, entry, &sum);
	}
	check(more, &err);
	dwarfs_walk_free(walk);
	dwarfs_stat_free(stat);
	dwarfs_image_free(image);
	return sum;
}

static struct sum read_listed(const char *path, const struct list *list)
{
	dwarfs_image *image = open_image(path);
	dwarfs_error *err = NULL;
	struct sum sum = { 0, 0 };
	dwarfs_entry entry;

	for (size_t i = 0; i < list->count; i++) {
		check(dwarfs_find_followed(image, list->paths[i], &entry, &err), &err);
		read_entry(image, entry, &sum);
	}
	dwarfs_image_free(image);
	return sum;
}

static struct sum stat_listed(const dwarfs_image *image, const struct list *list)
{
	dwarfs_error *err = NULL;
	dwarfs_stat *stat;
	struct sum sum = { list->count, 0 };
	dwarfs_entry entry;

	check(dwarfs_stat_new(&stat, &err), &err);
	for (size_t i = 0; i < list->count; i++) {
		check(dwarfs_find_followed(image, list->paths[i], &entry, &err), &err);
		check(dwarfs_entry_stat(image, entry, stat, &err), &err);
		sum.bytes += dwarfs_stat_bytes(stat);
	}
	dwarfs_stat_free(stat);
	return sum;
}

static void begin(const char *job)
{
	printf("begin\tC\t%s\n", job);
	getchar();
}

static void end(struct sum sum)
{
	printf("end\t%llu\t%llu\n", (unsigned long long)sum.files,
	       (unsigned long long)sum.bytes);
}

static struct list load(const char *path)
{
	FILE *in = fopen(path, "rb");
	struct list list = { calloc(1, LIST_BYTES), calloc(MOST_PATHS, sizeof(char *)),
			     0 };
	char *line;

	if (!in || !list.text || !list.paths ||
	    fread(list.text, 1, LIST_BYTES - 1, in) == 0) {
		perror(path);
		exit(1);
	}
	fclose(in);
	for (line = strtok(list.text, "\n"); line && list.count < MOST_PATHS;
	     line = strtok(NULL, "\n"))
		list.paths[list.count++] = line;
	return list;
}

int main(int argc, char **argv)
{
	dwarfs_image *image;
	struct list list;

	if (argc != 4) {
		fprintf(stderr, "usage: bench-read-all TIMES LIST IMAGE\n");
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	list = load(argv[2]);
	image = open_image(argv[3]);
	for (int times = atoi(argv[1]); times > 0; times--) {
		begin("all");
		end(read_all(argv[3]));
		begin("random");
		end(read_listed(argv[3], &list));
		begin("stat");
		end(stat_listed(image, &list));
	}
	dwarfs_image_free(image);
	free(list.paths);
	free(list.text);
	return 0;
}
