/* SPDX-License-Identifier: MIT */
/*
 * fork: read all files of an image in several processes, and count their bytes.
 *
 *     fork IMAGE PROCESSES          children use the image that the parent opened
 *     fork IMAGE PROCESSES again    each child opens the image again
 *
 * A child may use an image of its parent if no other thread of the parent was reading with
 * the same context during fork(), as in this program, which has one thread: the library's
 * threads end with the operations that start them. The child shares the memory of the
 * parent's metadata and of the blocks that were cached. In a program with threads a child
 * opens the image again with a context of its own; otherwise reads may fail with
 * DWARFS_ERR_INVALID.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <dwarfs/dwarfs.h>

enum { MOST_PROCESSES = 64 };

struct counts {
	uint64_t files, bytes;
};

/* A child, and the pipe that it writes its counts to. */
struct child {
	pid_t process;
	int pipe;
};

static int read_file(const dwarfs_image *image, dwarfs_inode inode, uint64_t *bytes,
		     dwarfs_error **err)
{
	static char buffer[1 << 16];
	uint64_t offset = 0;
	size_t count = 1;
	int ret = 0;

	while (ret == 0 && count > 0) {
		ret = dwarfs_read(image, inode, buffer, sizeof(buffer), offset, &count,
				  err);
		if (ret == 0)
			offset += count;
	}
	*bytes += offset;
	return ret;
}

/* Read every file whose number in the tree is `share` modulo `shares`. */
static int read_share(const dwarfs_image *image, uint64_t share, uint64_t shares,
		      struct counts *counts, dwarfs_error **err)
{
	dwarfs_walk *walk = NULL;
	dwarfs_stat *stat = NULL;
	dwarfs_entry entry;
	uint64_t number = 0;
	int ret;

	if ((ret = dwarfs_stat_new(&stat, err)) == 0 &&
	    (ret = dwarfs_walk_new(image, DWARFS_ROOT_ENTRY, DWARFS_WALK_TREE, &walk,
				   err)) == 0)
		while ((ret = dwarfs_walk_next(walk, &entry, err)) > 0) {
			if ((ret = dwarfs_entry_stat(image, entry, stat, err)) < 0)
				break;
			if (!S_ISREG(dwarfs_stat_mode(stat)) ||
			    number++ % shares != share)
				continue;
			counts->files++;
			ret = read_file(image, dwarfs_stat_inode(stat), &counts->bytes,
					err);
			if (ret < 0)
				break;
		}
	dwarfs_walk_free(walk);
	dwarfs_stat_free(stat);
	return ret;
}

/* In a child. An image that is opened again gets a new context: NULL. */
static int run_child(const char *path, const dwarfs_image *image, bool opens_again,
		     uint64_t share, uint64_t shares, int out)
{
	struct counts counts = { 0, 0 };
	dwarfs_image *own = NULL;
	dwarfs_error *err = NULL;
	int ret = 0;

	if (opens_again)
		ret = dwarfs_image_open(NULL, path, NULL, &own, &err);
	if (ret == 0)
		ret = read_share(own ? own : image, share, shares, &counts, &err);
	if (ret < 0)
		fprintf(stderr, "fork: %s: %s\n", path, dwarfs_error_message(err));
	else if (write(out, &counts, sizeof(counts)) != (ssize_t)sizeof(counts))
		ret = -1;
	dwarfs_error_free(err);
	dwarfs_image_free(own);
	return ret < 0;
}

static bool start_child(const char *path, dwarfs_image *image, bool opens_again,
			uint64_t share, uint64_t shares, struct child *child)
{
	int ends[2];

	if (pipe(ends) < 0)
		return false;
	child->process = fork();
	if (child->process == 0) {
		int status = run_child(path, image, opens_again, share, shares, ends[1]);

		/* The child also frees what the parent opened. */
		dwarfs_image_free(image);
		_exit(status);
	}
	close(ends[1]);
	child->pipe = ends[0];
	if (child->process < 0)
		close(ends[0]);
	return child->process > 0;
}

static bool wait_for_child(const struct child *child, struct counts *sum)
{
	struct counts counts;
	bool is_complete =
		read(child->pipe, &counts, sizeof(counts)) == (ssize_t)sizeof(counts);
	int status;

	close(child->pipe);
	if (waitpid(child->process, &status, 0) != child->process || status != 0 ||
	    !is_complete)
		return false;
	sum->files += counts.files;
	sum->bytes += counts.bytes;
	return true;
}

int main(int argc, char **argv)
{
	long processes = argc > 2 ? strtol(argv[2], NULL, 10) : 0;
	bool opens_again = argc == 4 && strcmp(argv[3], "again") == 0;
	struct child children[MOST_PROCESSES];
	struct counts sum = { 0, 0 };
	dwarfs_image *image = NULL;
	dwarfs_error *err = NULL;
	long started = 0, failed = 0;

	if (argc < 3 || argc > 3 + opens_again || processes < 1 ||
	    processes > MOST_PROCESSES) {
		fprintf(stderr, "usage: %s IMAGE PROCESSES [again]\n", argv[0]);
		return 2;
	}
	if (dwarfs_image_open(NULL, argv[1], NULL, &image, &err) < 0) {
		fprintf(stderr, "%s: %s\n", argv[0], dwarfs_error_message(err));
		dwarfs_error_free(err);
		return 1;
	}
	while (started < processes &&
	       start_child(argv[1], image, opens_again, (uint64_t)started,
			   (uint64_t)processes, &children[started]))
		started++;
	for (long i = 0; i < started; i++)
		failed += !wait_for_child(&children[i], &sum);
	dwarfs_image_free(image);
	if (failed > 0 || started < processes) {
		fprintf(stderr, "%s: %ld of %ld processes failed\n", argv[0],
			failed + processes - started, processes);
		return 1;
	}
	printf("%" PRIu64 " files, %" PRIu64 " bytes\n", sum.files, sum.bytes);
	return 0;
}
